// SPDX-License-Identifier: Apache-2.0
// Writes calls of a recording as C++ statements.
#pragma once

#include <cushim/replay/shrink.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "buffers.hpp"
#include "pointees.hpp"

namespace cushim::replay {

// The most bytes of data in a test.
inline constexpr std::size_t kMostTestData = std::size_t{4} << 20;

// Variables of the test that have the handles and addresses of the recording.
class Variables {
 public:
  void add_handle(std::string_view kind, std::uint64_t recorded, std::string expression) {
    handles_[{std::string(kind), recorded}] = std::move(expression);
  }
  // `expression` is a CUdeviceptr. Forgets memory that was there.
  void add_memory(std::uint64_t recorded, std::uint64_t size, bool is_host_accessible,
                  std::string expression);
  std::optional<std::string> handle(std::string_view kind, std::uint64_t recorded) const;
  // Returns an expression of type CUdeviceptr.
  std::optional<std::string> address(std::uint64_t recorded) const;
  bool is_host_accessible(std::uint64_t recorded) const;
  bool is_in_memory(std::uint64_t recorded) const { return find(recorded) != nullptr; }

 private:
  struct Memory {
    std::uint64_t base = 0, size = 0;
    bool is_host_accessible = false;
    std::string expression;
  };
  const Memory *find(std::uint64_t recorded) const;

  std::map<std::pair<std::string, std::uint64_t>, std::string> handles_;
  std::map<std::uint64_t, Memory> memory_;
};

// The statements of one call: declarations of its arguments, then the call itself.
class CallWriter {
 public:
  // `number` makes the names of variables unique.
  CallWriter(const RecordedCall &call, std::size_t number, Variables &variables);

  // The statements before the call.
  const std::string &declarations() const noexcept { return declarations_; }
  // "driver.cuMemAlloc_v2(&dptr3, 64)".
  std::string call() const;
  // Statements that compare what the call wrote to `argument` with the recording; empty if it is a handle.
  std::string check(std::string_view argument) const;
  // Statements that write the items of pinned, registered and managed memory, or compare them.
  std::string host_memory(std::span<const Item> items, bool compares) const;
  // Bytes of data in the declarations.
  std::size_t data_size() const noexcept { return data_size_; }

 private:
  std::string argument(std::size_t index);
  std::string plain(std::size_t index);
  std::string value(const trace::Type &type, const void *bits, std::string_view name,
                    const std::string &spelling) const;
  std::string behind(const Buffer &buffer);
  std::string data(const Buffer &buffer, std::uint64_t address, std::uint64_t size);
  std::string objects(const Buffer &buffer, std::uint64_t size);
  std::string image(const Item &item, const std::string &variable);
  std::string kernel_parameters(const Item &item, const std::string &variable);
  std::string launch_options(const Item &item, const std::string &variable);
  std::string options(const Buffer &buffer, const std::string &variable);
  std::string bytes(const Item &item, const std::string &variable);
  void words(std::string_view bytes, const std::string &variable);
  void fill(const trace::Type &type, const char *bytes, const std::string &object, std::size_t offset,
            std::string_view name);
  void put_pointees(const Buffer &buffer, const Item &structure, std::uint64_t at, const std::string &object);
  void put_rows(const Pointee &pointee, const Item *item, const std::string &name, const std::string &object);
  void add_objects(const Buffer &buffer, const std::string &variable, bool is_array);
  std::string name_of(std::size_t index) const;

  const RecordedCall &call_;
  const std::size_t number_;
  Variables &variables_;
  std::string declarations_;
  std::vector<std::string> arguments_;
  std::map<std::size_t, std::string> outputs_;  // expressions of what the call writes, by argument
  std::size_t data_size_ = 0;
};

}  // namespace cushim::replay

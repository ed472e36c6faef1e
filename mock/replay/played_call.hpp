// SPDX-License-Identifier: Apache-2.0
// One call of a recording, made again.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/replay/player.hpp>
#include <cushim/replay/recording.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "mapping.hpp"
#include "pointees.hpp"

namespace cushim::replay {

// Host memory that may be used until play ends.
class HostMemory {
 public:
  // Returns zeroed memory. Throws std::bad_alloc.
  char *allocate(std::uint64_t size);
  // Returns memory at the same place in its page as the address.
  char *allocate_like(std::uint64_t address, std::uint64_t size);

 private:
  std::vector<std::unique_ptr<char[]>> all_;
};

class PlayedCall {
 public:
  PlayedCall(const RecordedCall &call, Mapping &mapping, HostMemory &kept)
      : call_(call), mapping_(mapping), kept_(kept), words_(call.words.begin(), call.words.end()) {}

  // Makes the arguments. Returns the reason if that is not possible.
  std::optional<std::string> prepare();
  CUresult make(cushim::Driver &driver) const;
  // Returns whether the call that was made had no current context although the recorded one had.
  bool lacks_context(CUresult result) const;
  // Compares, and adds the objects that the call made to the mapping.
  std::optional<Difference> finish(CUresult result, bool compares_values);

 private:
  std::optional<std::string> prepare_argument(std::size_t argument);
  std::optional<std::string> provide(const Buffer &buffer, std::uint64_t address);
  std::optional<std::string> provide_data(const Buffer &buffer, std::uint64_t address, std::uint64_t size);
  std::optional<std::string> provide_objects(const Buffer &buffer, std::uint64_t size);
  // Returns an array of pointers to the parameters that an item has; null if it is damaged.
  char *make_parameters(std::string_view item);
  char *make_launch_options(std::string_view bytes);
  // Provides what the pointers in a structure lead to, and sets them to null so that Mapping::replace() takes
  // no notice of them. `offset` is that of the structure in the argument's memory.
  std::optional<std::string> provide_pointees(const Buffer &buffer, char *structure, std::uint64_t offset);
  std::optional<std::string> provide_pointee(const Pointee &pointee, const Item *item, char *&to);
  void set_pointers();
  std::optional<Difference> compare_rows() const;
  // Writes what the host had written to pinned, registered and managed memory.
  void set_host_memory() const;
  std::optional<Difference> compare_host_memory() const;
  char *host_memory_of(const Item &item) const;
  char *allocate(std::uint64_t size) { return own_.allocate(size); }

  void set(std::size_t argument, const void *address);
  std::uint64_t size_of_buffer(const Buffer &buffer) const;
  void add_memory();
  std::optional<Difference> compare_completed_copies() const;
  std::optional<Difference> compare_buffer(const Buffer &buffer, const Item &item, bool compares_values);

  const RecordedCall &call_;
  Mapping &mapping_;
  HostMemory &kept_;
  HostMemory own_;
  std::vector<std::uint64_t> words_;
  // A pointer in a structure, and what it is set to.
  struct Pointer {
    char *at;
    const char *value;
  };
  std::vector<Pointer> pointers_;
  // Rows that the call writes, with the item that has their recorded bytes.
  struct Rows {
    HostRows rows;
    const Item *item;
  };
  std::vector<Rows> rows_;
};

}  // namespace cushim::replay

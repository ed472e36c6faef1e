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
  std::optional<std::string> provide_parameters(const Buffer &buffer);
  void provide_launch_options(const Buffer &buffer, const Item &item);
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
};

}  // namespace cushim::replay

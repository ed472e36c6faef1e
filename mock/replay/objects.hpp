// SPDX-License-Identifier: Apache-2.0
// The objects of a recording, and the handles and addresses that a program has for them. A driver reuses
// handles and addresses, and threads may make their calls in another order than they were recorded, so an
// object is identified by its recorded handle and by the calls that had created one with it before.
#pragma once

#include <cushim/replay/recording.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cushim::replay {

// Address space of the process that stands for memory of a recording. Its address modulo 2 MiB is that of the
// recorded one. Memory of a device is not accessible.
class Area {
 public:
  // Throws std::bad_alloc.
  Area(std::uint64_t recorded, std::uint64_t size, bool is_accessible);
  Area(Area &&other) noexcept;
  Area &operator=(Area &&) = delete;
  ~Area();

  std::uint64_t address() const noexcept { return address_; }
  std::uint64_t size() const noexcept { return mapped_; }
  // Makes it inaccessible and frees its memory.
  void close() noexcept;

 private:
  void *mapping_ = nullptr;
  std::uint64_t mapped_ = 0, address_ = 0;
};

// Not thread-safe. Times are those of RecordedCall::begin and end.
class Objects {
 public:
  explicit Objects(const Recording &recording);

  // Returns the program's handle for a recorded one. `kind` is the noun of its type, or empty.
  std::uint64_t handle(std::string_view kind, std::uint64_t recorded, std::uint64_t time);
  // Returns the program's address for a recorded one; nullopt if it was in no memory.
  std::optional<std::uint64_t> address(std::uint64_t recorded, std::uint64_t time);
  // Returns whether the address was in memory.
  bool is_in_memory(std::uint64_t recorded, std::uint64_t time) const;
  // Returns whether a recorded call created an object with this handle.
  bool is_created(std::string_view kind, std::uint64_t recorded) const {
    return creations_.contains({std::string(kind), recorded});
  }
  // Returns whether the address was in memory that the host could access.
  bool is_host_accessible(std::uint64_t recorded, std::uint64_t time) const;
  // The program passed this address of its own where the recorded program passed `recorded`.
  void set_address(std::uint64_t recorded, std::uint64_t time, std::uint64_t address);
  // Ends memory, given by its recorded address.
  void remove_memory(std::uint64_t recorded, std::uint64_t time);

 private:
  struct Memory {
    std::uint64_t base = 0, size = 0;
    bool is_host_accessible = false;
    std::uint64_t created = 0, freed = ~std::uint64_t{0};  // times
    std::optional<std::uint64_t> address{};                // once the program knows it
    std::optional<Area> area{};
  };
  void add(const RecordedCall &call);
  void add_memory(const RecordedCall &call);
  void end_memory(const RecordedCall &call);
  const Memory *memory_at(std::uint64_t recorded, std::uint64_t time) const;
  Memory *memory_at(std::uint64_t recorded, std::uint64_t time);

  using Handle = std::pair<std::string, std::uint64_t>;
  std::map<Handle, std::vector<std::uint64_t>> creations_;  // times, in order
  std::map<std::pair<Handle, std::size_t>, std::uint64_t> later_handles_;
  std::map<std::uint64_t, std::vector<Memory>> memory_;  // by base, in order of creation
  std::uint64_t largest_ = 0;
  // Areas of freed memory, oldest first, which are kept so that their addresses are not used again soon.
  std::deque<Area> freed_;
  std::uint64_t freed_size_ = 0;
};

}  // namespace cushim::replay

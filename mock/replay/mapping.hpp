// SPDX-License-Identifier: Apache-2.0
// Maps the objects and the memory of a recording to those of the replay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stand_ins.hpp"
#include "type.hpp"

namespace cushim::replay {

// The kind of the handles of conditional nodes, which have no type of their own.
inline constexpr const char *kConditionalHandle = "conditional handle";

class Mapping {
 public:
  struct Memory {
    std::uint64_t size = 0;
    std::uint64_t replayed = 0;       // its address in the replay
    bool is_host_accessible = false;  // pinned, registered or managed
    bool is_reservation = false;      // of addresses, parts of which may be mapped
    bool is_ended = false;            // freed: the program may have other memory there
  };

  // Memory that was allocated or mapped at this recorded address. Forgets freed memory that was there.
  void add_memory(std::uint64_t recorded, const Memory &memory);
  // Returns the address in the replay; nullopt if the recorded one is in no memory.
  std::optional<std::uint64_t> address(std::uint64_t recorded) const;
  // The memory at this recorded address was freed, or the reservation if the call frees one. Calls may still
  // name it.
  void end_memory(std::uint64_t recorded, bool is_reservation);
  // Returns the memory with this recorded address, which may have been freed; null if there is none.
  const Memory *memory_at(std::uint64_t recorded) const;
  // Returns the memory with this recorded address that was not freed; null if there is none.
  const Memory *live_memory_at(std::uint64_t recorded) const;

  // Returns the number of bytes from this recorded address to the end of its memory; 0 if it is in none.
  std::uint64_t room_at(std::uint64_t recorded) const;

  // Returns where the host accesses this recorded memory; null if it is not host-accessible, or smaller.
  char *host_memory(std::uint64_t recorded, std::uint64_t size) const;

  // The destination of an asynchronous copy to host memory, by RecordedCall::begin of its call.
  void add_copy(std::uint64_t call, std::string_view destination) { copies_[call] = destination; }
  // Returns the bytes that are there now; data() is null if the copy was not made.
  std::string_view copy(std::uint64_t call) const {
    const auto found = copies_.find(call);
    return found != copies_.end() ? found->second : std::string_view();
  }

  // A handle of a kind: the noun of its type, or empty for types without one. The text must exist as long as
  // this object.
  void add_handle(std::string_view kind, std::uint64_t recorded, std::uint64_t replayed);
  // Returns the handle in the replay; nullopt if the recorded one is unknown.
  std::optional<std::uint64_t> handle_of_kind(std::string_view kind, std::uint64_t recorded) const;
  // As handle_of_kind(). Kernels may be passed as functions.
  std::optional<std::uint64_t> handle(std::string_view kind, std::uint64_t recorded) const;

  // A handle of a part of a module, library or kernel, which the driver may give to another part after that
  // has ended.
  void add_part(std::string_view kind, std::uint64_t recorded, std::string_view whole, std::uint64_t of);
  // The parts of a module or library, and their parts, or all parts have ended.
  void end_parts(std::string_view whole, std::uint64_t of);
  void end_all_parts();
  // An object with this handle was destroyed. Another one may get it without a call that creates it.
  void end_handle(std::string_view kind, std::uint64_t recorded) { ended_parts_.emplace(kind, recorded); }
  // A graph has ended: drivers use its handle and those of its nodes again, and programs find nodes of
  // captured and cloned graphs that no call created.
  void end_graph() noexcept { ++ended_graphs_; }
  // Returns whether the part with this recorded handle has ended; for a graph and a node, whether it may
  // have.
  bool is_ended_part(std::string_view kind, std::uint64_t recorded) const;

  // Replaces what a value contains: handles, addresses of known memory, host functions. Returns the reason if
  // something in it is unknown. Of calls that do not access memory, addresses of unknown memory are replaced
  // by stand-ins.
  std::optional<std::string> replace(const trace::Type &type, void *value, std::string_view name,
                                     bool accesses_memory) const;
  // As replace(), for an address of a device.
  std::optional<std::string> replace_address(std::uint64_t &word, std::string_view name,
                                             bool accesses_memory) const;
  // A texture or surface object exists, or does not exist any more. Its handle may be a small number.
  void add_texture(std::uint64_t recorded) { textures_.insert(recorded); }
  void end_texture(std::uint64_t recorded) { textures_.erase(recorded); }
  // Replaces a parameter of a kernel: as replace_words(), or, if it has 8 bytes, the handle of a texture.
  void replace_parameter(std::span<char> bytes) const;
  // Replaces words that are addresses of known memory or handles, in bytes of unknown type.
  void replace_words(std::span<char> bytes) const;

  // No address stands for this recorded one, which a call makes that may not be played.
  void forbid_stand_in(std::uint64_t recorded, std::uint64_t size) { forbidden_[recorded] = size; }

  // An object that only the driver can interpret (CUdevResource), as the recorded and the played call
  // returned it.
  void add_opaque(std::string_view recorded, std::string_view replayed);
  // Replaces such an object by that of the replay. Of an object that the program has changed, only the bytes
  // that it did not change are replaced. Returns false if no call returned it.
  bool replace_opaque(std::span<char> object) const;

 private:
  std::optional<std::string> replace_structure(const trace::Type &type, char *value,
                                               bool accesses_memory) const;
  std::optional<std::uint64_t> any(std::uint64_t recorded) const;

  std::map<std::uint64_t, Memory> memory_;
  std::map<std::uint64_t, std::string_view> copies_;
  using Handle = std::pair<std::string, std::uint64_t>;  // kind, recorded
  struct Known {
    std::string_view kind;
    std::uint64_t replayed;
    std::uint64_t ended_graphs;  // when the handle was added
  };
  const Known *find(std::string_view kind, std::uint64_t recorded) const;
  std::unordered_map<std::uint64_t, std::vector<Known>> handles_;  // by recorded handle
  std::map<Handle, std::set<Handle>> parts_;
  std::set<Handle> ended_parts_;
  std::set<std::uint64_t> textures_;                        // recorded handles
  std::map<std::string, std::string, std::less<>> opaque_;  // recorded, replayed
  std::uint64_t ended_graphs_ = 0;
  std::optional<std::uint64_t> stand_in(std::uint64_t recorded) const;
  mutable StandIns stand_ins_;
  std::map<std::uint64_t, std::uint64_t> forbidden_;  // size by address
};

// Returns whether a handle means the same in each process: null, the legacy and the per-thread stream.
bool is_special(std::string_view kind, std::uint64_t handle);

// Returns whether the name of a parameter or field of an address type tells that it is a number.
bool is_number_name(std::string_view name);

}  // namespace cushim::replay

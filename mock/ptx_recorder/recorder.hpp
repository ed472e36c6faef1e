// SPDX-License-Identifier: Apache-2.0
// Keeps the PTX of cubins that other libraries and programs make in this process, so that the simulated
// driver can execute them. Nothing that these return is changed.
#pragma once

#include <link.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/ptx_store.hpp"

namespace cushim::recorder {

// Keeps the PTX of a cubin in the folder that CUSHIM_PTX_STORE names. `max_registers` is the limit that the
// compiler was given, 0 if none. Thread-safe; ignores failures.
void keep(std::string_view cubin, std::string_view ptx, std::string_view origin,
          unsigned max_registers = 0) noexcept;
// Returns the PTX of a cubin that was kept before.
std::optional<sim::StoredPtx> find(std::string_view cubin);

// Returns a function that a loaded library exports; null if there is none. dlsym() cannot be used from the
// audit namespace (it crashes in glibc 2.36), so this reads the library's hash table.
void *find_function(const link_map &library, std::string_view name);

template <class Type>
bool find_function(const link_map &library, std::string_view name, Type *&function) {
  function = reinterpret_cast<Type *>(find_function(library, name));
  return function != nullptr;
}

// The loaded libraries of one kind. Each has a slot, and each slot has functions of its own, since the
// functions that replace the library's have no argument that names it. `Type` is constructed from the
// library, and converts to false if a function is missing.
template <class Type>
class Libraries {
 public:
  static constexpr std::size_t kMost = 8;

  // Returns the slot of a library; kMost if it has a function too few or all slots are taken.
  std::size_t slot_of(const link_map &library) {
    const std::lock_guard lock(mutex_);
    std::size_t slot = kMost;
    for (std::size_t i = 0; i < kMost; ++i) {
      if (maps_[i] == &library) return i;
      if (maps_[i] == nullptr && slot == kMost) slot = i;
    }
    if (slot == kMost) return kMost;
    functions_[slot] = Type(library);
    if (!functions_[slot]) return kMost;
    maps_[slot] = &library;
    return slot;
  }
  void forget(const link_map &library) {
    const std::lock_guard lock(mutex_);
    for (const link_map *&map : maps_)
      if (map == &library) map = nullptr;
  }
  // Returns the functions of a slot, which do not change while the library is loaded.
  const Type &operator[](std::size_t slot) const { return functions_[slot]; }

 private:
  std::mutex mutex_;  // of slot_of() and forget()
  std::array<const link_map *, kMost> maps_{};
  std::array<Type, kMost> functions_{};
};

// Calls `use` with the slot as a constant, and returns its result; null without a slot.
template <std::size_t Most, class Use>
void *with_slot(std::size_t slot, Use use) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    void *function = nullptr;
    static_cast<void>(
        ((slot == I && (function = use(std::integral_constant<std::size_t, I>()), true)) || ...));
    return function;
  }
  (std::make_index_sequence<Most>());
}

// Return the function to call instead of a library's function of this name; null to call the library's.
void *replace_nvrtc(const link_map &library, std::string_view name);
void *replace_nvjitlink(const link_map &library, std::string_view name);
// Called when a library is unloaded.
void forget_nvrtc(const link_map &library);
void forget_nvjitlink(const link_map &library);

// Call at the start and at the end of the process. If the process is ptxas, the latter keeps its input.
void begin_ptxas();
void end_ptxas();

// Returns the limit that a compiler's options set on the registers of a thread (-maxrregcount=N, with one or
// two dashes, or N as the next option); 0 if none does.
unsigned max_registers(const std::vector<std::string> &options);

// Returns the content of a file; empty if it cannot be read.
std::string content_of(const std::string &file);

}  // namespace cushim::recorder

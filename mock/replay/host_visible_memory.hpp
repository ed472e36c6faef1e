// SPDX-License-Identifier: Apache-2.0
// Pinned, registered and managed memory of a program that is recorded. The host writes there without a driver
// call, so its bytes are recorded with the calls that let a device use them and with those that wait for it.
#pragma once

#include <cushim/mock/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernel_parameters.hpp"
#include "recording_format.hpp"

namespace cushim::replay {

struct HostRange {
  std::uint64_t address = 0, size = 0;  // 0 if there is none
};

// Returns the pinned, registered or managed memory that a call, which succeeded, has made.
HostRange host_memory_created_by(int slot, std::span<const std::uint64_t> words);

// Thread-safe.
class HostVisibleMemory {
 public:
  // Memory that is larger is not watched.
  static constexpr std::uint64_t kMostSize = std::uint64_t{1} << 20;

  struct Change {
    std::uint64_t address = 0;
    std::string bytes{};
    std::uint8_t item = kHostMemory;  // the argument number in the recording
  };
  struct CallOfProgram {
    int slot = 0;
    std::span<const std::uint64_t> words{};
    std::uint64_t stream = 0;   // in which it enqueues work or for which it waits; 0 if none
    std::uint64_t context = 0;  // of the stream, or for which it waits; 0 if none or unknown
    std::uint64_t begin = 0;    // RecordedCall::begin
  };

  // Returns whether before() and after() need not be called for an entry point.
  bool ignores(int slot) const;
  // Returns the memory that the call may let a device use and that has changed since it was last recorded.
  // Skips memory that earlier calls may still use.
  std::vector<Change> before(const CallOfProgram &call, KernelParameters &kernels);
  // Returns the memory that the call waited for and that has changed. Call it after a call that succeeded.
  std::vector<Change> after(const CallOfProgram &call);

  // Returns what is in the memory now, up to kMostCopied bytes.
  std::vector<Change> copy();
  // Returns the ranges whose bytes have changed since.
  static std::vector<Change> changes_since(const std::vector<Change> &copy);
  static constexpr std::uint64_t kMostCopied = std::uint64_t{16} << 20;

 private:
  struct Use {
    std::uint64_t stream = 0, context = 0, begin = 0;
    // If the stream only waits for a value: the address and the last seen value of the word. The stream does
    // not write it, so a change is a write of the host. The address is 0 for other uses.
    std::uint64_t word = 0, value = 0;
    std::uint64_t recorded = 0;  // the value that was recorded last
    std::size_t word_size = 0;
    bool is_source = false;  // an asynchronous copy reads it
  };
  struct Memory {
    std::uint64_t base = 0, size = 0, hash = 0;
    std::vector<Use> uses{};

    bool has_words() const;
    bool is_only_source() const;
  };
  void create(const CallOfProgram &call);
  void forget(std::uint64_t base);
  std::map<std::uint64_t, Memory>::iterator memory_at(std::uint64_t address);
  std::map<std::uint64_t, bool> memory_used_by(const CallOfProgram &call, bool is_held_copy,
                                               KernelParameters &kernels);
  void add_use(Memory &memory, const Use &use);
  std::size_t end_uses(Memory &memory, const CallOfProgram &call, const Use &recorded);
  bool is_held(const Use &use) const;
  bool is_only_waited_for(const Memory &memory) const;
  std::vector<Memory *> waiting_memory();
  static std::vector<Use> uses_of(const CallOfProgram &call);
  static bool has_released(Memory &memory);
  static void add_changed_words(Memory &memory, std::vector<Change> &changes);
  static bool waits_for(const CallOfProgram &call, const Use &use, const Use &recorded);
  static void add_if_changed(Memory &memory, std::vector<Change> &changes);

  std::atomic<bool> is_empty_{true};
  mock::Mutex mutex_;                       // guards the members below
  std::map<std::uint64_t, Memory> memory_;  // by base
  // So that a call costs as much with many allocations as with one, it looks up the addresses that it gives,
  // and otherwise visits only memory that is in use.
  std::map<std::uint64_t, Memory *> used_;  // that has uses, by base
  std::size_t waits_ = 0;                   // uses of a word for which a stream waits
  std::map<std::uint64_t, Use> events_;     // by handle: where and when they were recorded
};

}  // namespace cushim::replay

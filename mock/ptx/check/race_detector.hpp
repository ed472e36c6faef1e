// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "check/shadow.hpp"
#include "check/vector_clock.hpp"

namespace cushim::ptx::execute {

// Detects two accesses of different threads to the same byte, one of them a write and one not strong, that
// no synchronization orders. Threads have numbers: those of a block, and of a warp, are consecutive.
//
// A thread is ordered after the accesses in its clock. Barriers join the clocks of their threads. A strong
// write of memory, or of an mbarrier, adds to the clock of its address what its thread knew at its last fence
// (all that it knows, if it has .release); a strong read joins that clock.
class RaceDetector {
 public:
  struct Shape {
    std::uint32_t threads_of_block = 0, warps_of_block = 0;
  };
  // An access to up to 8 bytes, in a shadow cell.
  struct Record {
    std::uint64_t thread : 48 = 0;
    std::uint64_t bytes : 8 = 0;  // of the granule, as a mask; 0: no access
    std::uint64_t is_write : 1 = 0;
    std::uint64_t is_strong : 1 = 0;
    std::uint64_t warps : 3 = 0;  // InstructionTraits::warps
    Time time = 0;
    std::uint32_t where = 0;  // the instruction
  };
  struct Access {
    std::uint64_t thread;
    bool is_write, is_strong;
    std::uint8_t warps;
    std::uint32_t where;
  };
  // The clocks of a thread.
  struct Knowledge {
    SharedClock now, fenced;  // now: its clock; fenced: the clock that its next strong write releases
    // The addresses of the last strong reads, and their times. The thread is ordered after the earlier strong
    // accesses of the same address: a counter that the last thread resets by a plain write is not a race.
    struct {
      std::uint64_t address = 0;
      Time time = 0;
    } observed[2];
    void join(const Knowledge &other) {
      now = joined(now, other.now);
      fenced = joined(fenced, other.fenced);
    }
  };

  explicit RaceDetector(const Shape &shape) : shape_(shape) {}

  // Forgets the accesses to memory that gets a new owner.
  void reset(std::uint64_t host, std::uint64_t bytes);

  // Notes an access to host memory. Returns the earlier access that it conflicts with, or a record without
  // bytes.
  Record note(const Access &access, const Knowledge &knowledge, std::uint64_t host, std::uint64_t bytes);

  // Record a strong read and a strong write of an address, and a fence.
  void acquire(Knowledge &knowledge, std::uint64_t host);
  void release(std::uint64_t thread, const Knowledge &knowledge, std::uint64_t host, bool is_fenced);
  void fence(std::uint64_t thread, Knowledge &knowledge);

  // Joins the clocks of the threads in `group`, and their accesses so far, into `to`.
  void arrive(VectorClock::Group group, const Knowledge &knowledge, Knowledge &to);
  // In the clock that all threads of a block share after a barrier, replaces the entries of these threads and
  // of their warps by one entry for the block.
  void meet_in_block(std::uint64_t block, Knowledge &met);

 private:
  static constexpr std::uint64_t granule_bytes = 8;
  using Cell = std::array<Record, 4>;

  bool is_ordered(const Record &earlier, const Access &access, const Knowledge &knowledge,
                  std::uint64_t host) const;
  std::uint64_t warp_of(std::uint64_t thread) const {
    return thread / shape_.threads_of_block * shape_.warps_of_block + thread % shape_.threads_of_block / 32;
  }
  SharedClock with(const SharedClock &clock, VectorClock::Group group);

  Shape shape_;
  Time now_ = 1;
  Shadow<Cell, granule_bytes> cells_;
  std::unordered_map<std::uint64_t, SharedClock> released_;  // by address
};

}  // namespace cushim::ptx::execute

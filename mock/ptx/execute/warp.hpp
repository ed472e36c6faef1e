// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "cushim/ptx/access.hpp"

// The state of a warp, and one decoded operation. Files that include this header are compiled for several
// instruction sets. No inline function here may be emitted: the linker could keep the version of the wrong
// instruction set.
namespace cushim::ptx::execute {

inline constexpr unsigned lanes = 32;

struct Warp;
struct Op;

// Executes one operation for the active lanes. Returns the next one, or nullptr if the warp stops.
using Handler = const Op *(*)(Warp &, const Op *);

struct Op {
  Handler run = nullptr;
  // Offsets in the frame, in bytes. A register is 32 lanes of 2, 4, 8 or 16 bytes; a predicate is a 32-bit
  // mask with a bit for each lane.
  std::uint32_t d = 0, a = 0, b = 0, c = 0;
  std::int64_t immediate = 0;
  const void *data = nullptr;  // further data of the operation; owned by the code
  Handler inner = nullptr;     // the operation behind a guard
  Handler rounded = nullptr;   // the operation that runs in another rounding mode
  std::uint32_t guard = 0;     // offset of the predicate
  std::uint32_t extra = 0;
  std::uint16_t length = 0;  // of control transfers: number of instructions since the last one
  std::uint8_t guard_negated = 0;
  std::uint8_t cache = 0;    // index of the worker's cached range
  std::uint32_t source = 0;  // index of the instruction, for messages
};

// A range of device addresses that was resolved before.
struct CachedRange {
  std::uint64_t begin = 0, bytes = 0;
  std::byte *host = nullptr;
};
inline constexpr unsigned cached_ranges = 32;

struct Block;
struct Worker;
struct Frame;
class KernelChecker;

struct Warp {
  std::byte *frame = nullptr;    // registers of the running path
  std::uint32_t mask = 0;        // lanes that execute
  std::uint32_t partial = 0;     // not 0: other lanes are alive and keep their registers
  std::uint32_t live = 0;        // lanes that have not exited
  std::uint32_t lanes_mask = 0;  // lanes that exist
  std::int64_t budget = 0;       // instructions until the warp yields
  std::uint64_t instructions = 0, thread_instructions = 0;
  CachedRange *reads = nullptr, *writes = nullptr;  // of the worker; empty if all accesses are checked
  const std::byte *parameters = nullptr;            // of the kernel
  std::uint64_t parameter_bytes = 0;
  std::byte *shared = nullptr;     // of the block
  std::uint64_t shared_bytes = 0;  // that need no check
  std::byte *local = nullptr;      // of lane 0
  std::uint64_t local_bytes = 0;   // of a lane
  Block *block = nullptr;
  Worker *worker = nullptr;
  KernelChecker *checker = nullptr;  // null if no check is on
};

// Keys are instruction names with normalized modifiers. The signature lists the operands, destination first:
// 2, 4, 8 or g: bytes per lane (g: 16); p: predicate.
struct LaneOperation {
  const char *key;
  Handler run;
  const char *signature;
};
using LaneTable = std::initializer_list<LaneOperation>;

extern const LaneTable baseline_lanes, avx2_lanes;

// Slow path of loads and stores: resolves the address of one lane that is not cached. Returns the host
// address, or nullptr after storing a fault.
std::byte *resolve_global(Warp &, const Op *, unsigned lane, std::uint64_t address, unsigned bytes,
                          Access access);
std::byte *resolve_generic(Warp &, const Op *, unsigned lane, std::uint64_t address, unsigned bytes,
                           Access access);
// The same for an address of a shared state space or a generic address of shared memory, which may belong to
// another block of the cluster.
std::byte *resolve_shared(Warp &, const Op *, unsigned lane, std::uint64_t address, unsigned bytes,
                          Access access);
void fault_address(Warp &, const Op *, unsigned lane, std::uint64_t address, unsigned bytes);

}  // namespace cushim::ptx::execute

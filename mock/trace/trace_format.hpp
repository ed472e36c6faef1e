// SPDX-License-Identifier: Apache-2.0
// The layout of a trace: a header of one page, then chunks. Each chunk belongs to one thread and has
// records, each a whole number of words. A thread writes to a chunk that is mapped into memory; when it is
// full, it is copied to its own place in the file and used again, because the first write to a page of a file
// takes longer than many records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cushim::trace {

inline constexpr std::uint64_t kMagic = 0x3665636172747563;  // "cutrace6"
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kChunkSize = std::size_t{64} << 10;
inline constexpr std::size_t kGrowth = 16 * kChunkSize;  // the file grows by this at once

// A moment on both clocks: the processor's tick counter, and the monotonic clock in nanoseconds.
struct ClockPair {
  std::uint64_t ticks = 0;
  std::int64_t nanoseconds = 0;
};

struct FileHeader {
  std::uint64_t magic = kMagic;
  std::int32_t cuda_version = 0;  // of the headers, which determine the layout of structures
  std::int32_t entry_count = 0;
  std::int32_t process = 0;
  std::int32_t padding = 0;
  ClockPair first, last;
  char driver[512] = {};
  char program[1024] = {};
};
static_assert(sizeof(FileHeader) <= kPage);

struct ChunkHeader {
  std::uint64_t used = 0;    // bytes of complete records, this header included; 0: the chunk is not in use
  std::uint32_t thread = 0;  // number, from 1
  std::int32_t system_thread = 0;
  // The chunk's own place: its offset in the file, from which offsets of its records count. The chunk is
  // elsewhere as long as it is not full; it is not valid there once it has been copied to its place.
  std::uint64_t place = 0;
};

// A begin becomes a call when the call returns, if it is the last record of its chunk then. Otherwise an end
// follows later.
enum class RecordKind : std::uint16_t {
  begin = 1,
  end = 2,
  call = 3,
  call_in_virtual_time = 4,
  operation = 5,
  note = 6,
  call_stack = 7,     // the text of a call stack, once
  call_stack_of = 8,  // the call stack of a call
  name = 9,           // the name that the program gave to an object or a thread
  gpu_time = 10       // when the work of a call ran
};

struct RecordHeader {
  std::uint32_t words = 0;  // of the record, this header included
  RecordKind kind = RecordKind::begin;
  std::uint16_t slot = 0;  // of begins and calls; of an operation: of the call that enqueued it, or kNoSlot
  std::uint64_t ticks = 0;
};

// Follows the arguments of a call. In virtual time, the next word is the time. The values follow as in an
// end.
struct CallEnd {
  std::uint64_t ticks = 0;
  std::int32_t result = 0;
  std::uint32_t padding = 0;
};

// Follows the header of an end. The values follow this: for each a ValueHeader and its bytes in whole words.
struct EndHeader {
  std::uint64_t begin = 0;  // the offset of the begin's record in the file
  std::int64_t virtual_time = -1;
  std::int32_t result = 0;
  std::uint32_t padding = 0;
};

// Follows the header of an operation of a simulated stream.
struct OperationRecord {
  std::uint64_t call = 0;  // the offset of the begin's record in the file; 0 if it is unknown
  std::uint64_t number = 0;
  std::uint64_t stream = 0;
  std::int64_t begin = 0, end = 0;  // virtual time
  std::uint32_t copy_engine = 0;    // mock::CopyEngine
  std::int32_t device = 0;          // of the copy engine
};
// Follows the header of a note. The text follows this, in whole words.
struct NoteRecord {
  std::uint64_t call = 0;  // the offset of the begin's record in the file; 0 if no call ran on the thread
  std::uint64_t size = 0;  // of the text, in bytes
};
inline constexpr std::size_t kMostNote = 2000;
// Follows the header of a name. The noun and the name follow this, each in whole words.
struct NameRecord {
  std::uint64_t object = 0;          // the handle, or the system's number of the thread
  std::uint32_t noun = 0, size = 0;  // bytes of the noun and of the name
};
// Follows the header of a call stack. The text follows this, in whole words.
struct CallStackRecord {
  std::uint64_t number = 0;  // from 1, in the trace
  std::uint64_t size = 0;    // of the text, in bytes
};
inline constexpr std::size_t kMostCallStack = 8000;
// Follows the header of a call_stack_of.
struct CallStackOfCall {
  std::uint64_t call = 0;    // the offset of the begin's record in the file
  std::uint64_t number = 0;  // of the call stack
};
// Follows the header of a gpu_time, whose ticks are a moment before the work began.
struct GpuTimeRecord {
  std::uint64_t call = 0;           // the offset of the begin's record in the file
  std::uint64_t clock = 0;          // number of the clock
  std::int64_t begin = 0, end = 0;  // in nanoseconds
};
inline constexpr std::uint16_t kNoSlot = 0xffff;
// The thread in the header of a chunk of operations.
inline constexpr std::uint32_t kNoThread = 0xffffffff;

struct ValueHeader {
  std::uint32_t argument = 0;
  std::uint32_t size = 0;  // in bytes
};
static_assert(sizeof(ValueHeader) == sizeof(std::uint64_t));

inline constexpr std::size_t words_for(std::size_t bytes) { return (bytes + 7) / 8; }

}  // namespace cushim::trace

// SPDX-License-Identifier: Apache-2.0
// The layout of a recording: a header of one page, then chunks. Each chunk belongs to one thread and has
// records, each a whole number of words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cushim::trace {

inline constexpr std::uint64_t kMagic = 0x3165636172747563;  // "cutrace1"
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
};

enum class RecordKind : std::uint16_t { begin = 1, end = 2 };

struct RecordHeader {
  std::uint32_t words = 0;  // of the record, this header included
  RecordKind kind = RecordKind::begin;
  std::uint16_t slot = 0;  // of a begin
  std::uint64_t ticks = 0;
};

// Follows the header of an end. The values follow this: for each a ValueHeader and its bytes in whole words.
struct EndHeader {
  std::uint64_t begin = 0;  // the offset of the begin's record in the file
  std::int64_t virtual_time = -1;
  std::int32_t result = 0;
  std::uint32_t padding = 0;
};

struct ValueHeader {
  std::uint32_t argument = 0;
  std::uint32_t size = 0;  // in bytes
};
static_assert(sizeof(ValueHeader) == sizeof(std::uint64_t));

inline constexpr std::size_t words_for(std::size_t bytes) { return (bytes + 7) / 8; }

}  // namespace cushim::trace

// SPDX-License-Identifier: Apache-2.0
// The file format of recordings (docs/reference/recording.md): a header, then blocks. Each block is a piece
// of one thread's stream of bytes, in which calls follow each other. All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cushim::replay {

inline constexpr std::uint64_t kMagic = 0x3163'6572'6873'7563;  // "cushrec1"
inline constexpr std::uint32_t kVersion = 4;

struct FileHeader {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t size = 0;         // of this header
  std::int32_t cuda_version = 0;  // of the headers, which determine the layout of structures
  std::int32_t entry_count = 0;
  std::int32_t process = 0;
  std::int32_t parent = 0;     // the process's parent
  std::uint32_t data = 0;      // RecordData
  std::uint32_t reserved = 0;  // 0
  char driver[512] = {};       // its name; NUL-terminated, like the next
  char program[1024] = {};     // path
  std::uint64_t checksum = 0;  // of the bytes before it
};

enum class Codec : std::uint32_t { none = 0, zstd = 1 };

struct BlockHeader {
  std::uint32_t magic = 0;
  Codec codec = Codec::none;
  std::uint32_t size = 0;    // of the piece
  std::uint32_t stored = 0;  // bytes that follow this header
  std::uint32_t thread = 0;  // number in order of the threads' first calls, from 1
  std::int32_t system_thread = 0;
  std::uint64_t checksum =
      0;  // of the stored bytes, with the hash of the bytes before this field as its seed
};
inline constexpr std::uint32_t kBlockMagic = 0x6b6c6263;  // "cblk"
// Ends a recording that was flushed: size, stored and thread are 0.
inline constexpr std::uint32_t kEndMagic = 0x646e6563;  // "cend"

inline constexpr std::size_t kBlockSize = std::size_t{128} << 10;    // a writer's pieces are not larger
inline constexpr std::size_t kMostBlockSize = std::size_t{1} << 20;  // a reader accepts

// Returns a hash of bytes, for checksums and for data that is recorded by its hash. Not cryptographic.
inline std::uint64_t hash(std::string_view bytes, std::uint64_t seed = 0) noexcept {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::uint64_t value = seed ^ (bytes.size() * kFactor);
  const auto mix = [&](std::uint64_t word) {
    value = (value ^ word) * kFactor;
    value ^= value >> 29;
  };
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    mix(word);
    bytes.remove_prefix(sizeof word);
  }
  std::uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  mix(rest);
  return value ^ (value >> 32);
}

// Returns the hash of data: each piece has that of the pieces before it as its seed.
inline constexpr std::size_t kHashedPiece = std::size_t{32} << 10;
inline std::uint64_t hash_of_data(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kHashedPiece)
    value = hash(bytes.substr(at, kHashedPiece), value);
  return value;
}

// Returns the bytes of a header before its last field, the checksum.
template <class Header>
std::string_view checked_part(const Header &header) {
  return {reinterpret_cast<const char *>(&header), offsetof(Header, checksum)};
}

// Numbers have 7 bits a byte, lowest first; the top bit says that more follow.
inline constexpr std::size_t kMostNumberSize = 10;
inline char *put_number(char *to, std::uint64_t value) noexcept {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

// The argument number of an item with the bytes that an earlier asynchronous copy wrote.
inline constexpr std::uint8_t kCompletedCopy = 255;

// The argument number of an item with the memory behind a pointer in a structure.
inline constexpr std::uint8_t kPointee = 254;

// The argument number of an item with pinned, registered or managed memory.
inline constexpr std::uint8_t kHostMemory = 253;

// The argument number of an item with the bytes that a host function wrote to such memory.
inline constexpr std::uint8_t kHostFunction = 252;

// The argument number of an item with the bytes that the host wrote to such memory while the call waited for
// them.
inline constexpr std::uint8_t kReleasingWrite = 251;

// The argument number of an item with a word for which a stream waits, and which has changed since: the host
// or a device wrote it.
inline constexpr std::uint8_t kWaitedWord = 250;
inline constexpr std::uint8_t kFirstSpecial = kWaitedWord;

// The tag of an item; 0 ends a list of items.
inline constexpr std::uint64_t item_tag(std::size_t argument, bool is_hash) {
  return 1 + argument * 2 + (is_hash ? 1 : 0);
}

}  // namespace cushim::replay

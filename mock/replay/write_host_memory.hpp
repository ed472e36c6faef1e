// SPDX-License-Identifier: Apache-2.0
// Writes memory of the host that work of a device may read at the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cushim::replay {

// A stream that waits for a word sees either all its old bytes or all its new ones.
inline void write_host_memory(std::string_view bytes, char *to) {
  const auto write_one = [&]<class Word>(Word word) {
    if (bytes.size() < sizeof(Word) || reinterpret_cast<std::uintptr_t>(to) % sizeof(Word) != 0) return false;
    std::memcpy(&word, bytes.data(), sizeof(Word));
    std::atomic_ref(*reinterpret_cast<Word *>(to)).store(word, std::memory_order_release);
    bytes.remove_prefix(sizeof(Word));
    to += sizeof(Word);
    return true;
  };
  while (!bytes.empty())
    if (!write_one(std::uint64_t{}) && !write_one(std::uint32_t{})) write_one(char{});
}

}  // namespace cushim::replay

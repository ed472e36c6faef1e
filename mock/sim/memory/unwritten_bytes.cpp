// SPDX-License-Identifier: Apache-2.0
#include "memory/unwritten_bytes.hpp"

#include <cstring>

namespace cushim::sim {

void UnwrittenBytes::set(std::size_t offset, std::size_t size, State value) {
  const std::size_t end = offset + size;
  for (std::size_t unit = offset / kUnit; unit * kUnit < end; ++unit) {
    const std::size_t first = std::max(offset, unit * kUnit), last = std::min(end, (unit + 1) * kUnit);
    State &state = states_[unit];
    if (state == value) continue;
    if (last - first == kUnit) {
      state = value;
      continue;
    }
    if (state != State::by_bit) {
      std::memset(&bits_[unit * kUnit / 8], state == State::all ? 0xff : 0, kUnit / 8);
      state = State::by_bit;
    }
    for (std::size_t at = first; at < last;) {
      const std::size_t bits = std::min(8 - at % 8, last - at);
      const auto mask = static_cast<std::uint8_t>((0xff >> (8 - bits)) << at % 8);
      std::uint8_t &word = bits_[at / 8];
      word = static_cast<std::uint8_t>(value == State::all ? word | mask : word & ~mask);
      at += bits;
    }
  }
}

bool UnwrittenBytes::has(std::size_t offset, std::size_t size) const {
  const std::size_t end = offset + size;
  for (std::size_t unit = offset / kUnit; unit * kUnit < end; ++unit) {
    if (states_[unit] == State::none) continue;
    if (states_[unit] == State::all) return true;
    const std::size_t first = std::max(offset, unit * kUnit), last = std::min(end, (unit + 1) * kUnit);
    for (std::size_t at = first; at < last; ++at)
      if ((bits_[at / 8] >> at % 8 & 1) != 0) return true;
  }
  return false;
}

}  // namespace cushim::sim

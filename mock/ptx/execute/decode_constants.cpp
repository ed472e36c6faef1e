// SPDX-License-Identifier: Apache-2.0
// Places the constants of a function.
#include <algorithm>
#include <cstring>

#include "execute/decode.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::place_constants() {
  std::map<std::uint32_t, std::uint32_t> at;
  std::uint32_t end = 64;
  std::vector<std::pair<std::uint32_t, std::pair<unsigned, std::uint64_t>>> sorted = constant_list;
  for (const auto &[placeholder, value] : sorted) {
    const unsigned size = value.first == 1 ? 4 : value.first * lanes;
    end = value.first == 1 ? end : (end + 63) & ~63u;
    at[placeholder] = end;
    end += size;
  }
  end = (end + 63) & ~63u;
  out.constants.assign(end, std::byte{0});
  for (const auto &[placeholder, value] : sorted) {
    std::byte *const to = out.constants.data() + at[placeholder];
    if (value.first == 1) {
      const std::uint32_t word = value.second != 0 ? ~0u : 0;
      std::memcpy(to, &word, 4);
      continue;
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
      std::memset(to + lane * value.first, 0, value.first);
      std::memcpy(to + lane * value.first, &value.second, std::min(8u, value.first));
    }
  }
  const auto move = [&](std::uint32_t &offset) {
    if (offset >= 0x80000000u)
      offset = at.at(offset);
    else if (offset != 0)
      offset += end - 64;
  };
  for (Op &op : out.ops) {
    move(op.d);
    move(op.a);
    move(op.b);
    move(op.c);
    move(op.guard);
    if (is_setp(op) || is_warp(op)) {
      if (op.immediate > 0) {
        std::uint32_t second = static_cast<std::uint32_t>(op.immediate);
        move(second);
        op.immediate = second;
      }
    }
    if (is_bfi(op)) move(op.extra);
  }
  for (const PartOffset &one : part_lists) {
    std::byte *const word = reinterpret_cast<std::byte *>(one.list) + 4 * one.index;
    std::uint32_t offset;
    std::memcpy(&offset, word, 4);
    move(offset);
    std::memcpy(word, &offset, 4);
  }
  const auto move_slots = [&](std::vector<Slot> &slots) {
    for (Slot &one : slots) move(one.at);
  };
  move_slots(out.parameters);
  move_slots(out.results);
  for (Op &op : out.ops)
    if (op.run == execute::call) {
      auto &site = *const_cast<CallSite *>(static_cast<const CallSite *>(op.data));
      move_slots(site.arguments);
      move_slots(site.results);
    }
  frame += end - 64;
}

bool FunctionDecoder::is_setp(const Op &op) {
  static const auto all = [] {
    std::unordered_map<Handler, bool> found;
    for (const auto &[key, row] : operations())
      if (key.substr(0, 5) == "setp.") found[row->run] = true;
    return found;
  }();
  return all.count(effective(op)) != 0;
}

bool FunctionDecoder::is_bfi(const Op &op) {
  return effective(op) == find("bfi.b32")->run || effective(op) == find("bfi.b64")->run;
}

}  // namespace cushim::ptx::execute

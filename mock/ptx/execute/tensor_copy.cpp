// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. A copy completes when it is issued.
#include "execute/tensor_copy.hpp"

#include <string>

#include "execute/asynchronous.hpp"
#include "execute/atomics.hpp"
#include "execute/count.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"
#include "execute/tensor_box.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr u32 most_line_bytes = 256 * 8;

// Returns whether cp.reduce.async.bulk.tensor has the operation on this type.
bool can_reduce(u32 operation, std::string_view type) {
  const bool is_float = type.find('f') != type.npos;
  switch (operation) {
    case 0:  // add
      return type != "s64" && type != "f64" && type != "u8" && type != "u16";
    case 1:  // and, or, xor
    case 2:
    case 3:
      return !is_float && type != "u8" && type != "u16" && type != "s64";
    case 4:  // min, max
    case 5:
      return is_float ? type == "f16" || type == "bf16" : type != "u8" && type != "u16";
    default:  // inc, dec
      return type == "u32";
  }
}

// Rounds a float to the nearest TF32, ties away from zero. Returns 0x7fffe000 for a NaN.
u32 to_tf32(u32 value) {
  if ((value & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
  return (value & 0x7fffffff) == 0x7f800000 ? value : (value + 0x1000) & ~u32{0x1fff};
}

// Copies the box to shared memory. Returns false after a fault.
bool load(Warp &w, const Op *op, unsigned lane, const TensorMap &map, TensorBox box, u64 to) {
  // The GPU fills with one NaN of 16 bits, whatever the type.
  const u16 fill = map.get(TensorMap::fills_with_nan) != 0 ? 0x7ff7 : 0;
  std::byte outside[most_line_bytes] = {};
  for (u32 at = 0; at < box.line_bytes(); at += 2) std::memcpy(outside + at, &fill, 2);
  for (u64 line = 0; line < box.lines(); ++line, box.next()) {
    std::byte values[most_line_bytes];
    std::memcpy(values, outside, box.line_bytes());
    const auto part = box.in_tensor();
    if (const u32 bytes = part.end - part.first; bytes != 0) {
      const std::byte *const host = resolve_generic(w, op, lane, part.address, bytes, Access::read);
      if (host == nullptr) return false;
      count_move(w, op, part.address, bytes, false, false);
      std::memcpy(values + part.first, host, bytes);
    }
    for (u32 at = part.first; map.get(TensorMap::is_tf32) != 0 && at < part.end; at += 4)
      store_lane(values + at, 0, 4, to_tf32(u32(load_lane(values + at, 0, 4))));
    for (u32 byte = 0; byte < box.line_bytes(); byte += 16) {
      std::byte *const shared = resolve_shared(w, op, lane, box.in_shared(to, line, byte), 16, Access::write);
      if (shared == nullptr) return false;
      std::memcpy(shared, values + byte, 16);
    }
    count_move(w, op, box.in_shared(to, line, 0), box.line_bytes(), true, true);
  }
  return true;
}

// Copies the part of the box that is inside the tensor from shared memory. Returns false after a fault.
bool store(Warp &w, const Op *op, unsigned lane, const TensorMap &map, TensorBox box, u64 from,
           const TensorCopy &copy) {
  const u32 type = copy.reduces ? *atomic_kind(box.element().name) : 0, size = box.element().bytes;
  // A sum of FLOAT32 keeps subnormal numbers, as one in shared memory does; one of FLOAT32_FTZ flushes them.
  const bool flushes = map.get(TensorMap::format) != TensorMap::f32;
  for (u64 line = 0; line < box.lines(); ++line, box.next()) {
    std::byte values[most_line_bytes];
    for (u32 byte = 0; byte < box.line_bytes(); byte += 16) {
      const std::byte *const shared =
          resolve_shared(w, op, lane, box.in_shared(from, line, byte), 16, Access::read);
      if (shared == nullptr) return false;
      std::memcpy(values + byte, shared, 16);
    }
    const auto part = box.in_tensor();
    // The GPU stores multiples of 16 bytes, and so beyond the end of a row that is not such a multiple.
    const u32 bytes = (part.end - part.first + 15) & ~u32{15};
    if (bytes == 0) continue;
    std::byte *const host =
        resolve_generic(w, op, lane, part.address, bytes, copy.reduces ? Access::atomic : Access::write);
    if (host == nullptr) return false;
    count_move(w, op, box.in_shared(from, line, 0), box.line_bytes(), true, false);
    count_move(w, op, part.address, bytes, false, true);
    const std::byte *const first = values + part.first;
    if (!copy.reduces) std::memcpy(host, first, bytes);
    for (u32 at = 0; copy.reduces && at < bytes; at += size)
      update_atomically(host + at, copy.operation, type, load_lane(first + at, 0, size), 0, flushes);
  }
  return true;
}

bool copy_box(Warp &w, const Op *op, unsigned lane) {
  const auto &copy = *static_cast<const TensorCopy *>(op->data);
  const u64 map_at = reg<u64>(w, op->a)[lane], shared = reg<u64>(w, op->b)[lane];
  if ((map_at & 63) != 0 || (shared & 127) != 0) {
    fault(w, op, FaultKind::misaligned_address, lane, (map_at & 63) != 0 ? map_at : shared);
    return false;
  }
  const std::byte *const bytes_of_map = resolve_generic(w, op, lane, map_at, sizeof(TensorMap), Access::read);
  if (bytes_of_map == nullptr) return false;
  TensorMap map;
  std::memcpy(static_cast<void *>(&map), bytes_of_map, sizeof map);
  s64 coordinates[most_tensor_dimensions] = {}, offsets[most_tensor_dimensions] = {};
  for (unsigned i = 0; i < copy.dimensions; ++i)
    coordinates[i] = s32(load_lane(w.frame + copy.coordinates[i], lane, 4));
  for (unsigned i = 0; i < copy.offset_count; ++i)
    offsets[i] = s64(load_lane(w.frame + copy.offsets[i], lane, 2));
  TensorBox box;
  const char *reason = box.begin(map, copy, coordinates, offsets);
  if (reason == nullptr && copy.reduces && !can_reduce(copy.operation, box.element().name))
    reason = "the reduction is not defined for the data type of the tensor";
  if (reason != nullptr) {
    fault(w, op, FaultKind::illegal_instruction, lane, map_at, reason);
    return false;
  }
  if (copy.stores) return store(w, op, lane, map, box, shared, copy);
  const u64 mbarrier = reg<u64>(w, op->c)[lane];
  const auto bytes = u32(box.bytes());
  if (!copy.multicast)
    return load(w, op, lane, map, box, shared) && complete_bytes_at(w, op, lane, mbarrier, bytes);
  for (u32 ranks = reg<u16>(w, copy.ranks)[lane]; ranks != 0; ranks &= ranks - 1) {
    const u64 block = (u64(__builtin_ctz(ranks)) + 1) * cluster_block_bytes;
    if (!load(w, op, lane, map, box, block + shared % cluster_block_bytes) ||
        !complete_bytes_at(w, op, lane, block + mbarrier % cluster_block_bytes, bytes))
      return false;
  }
  return true;
}

// Writes one field as an H200 does: other bits than those of the field are ignored.
void replace(TensorMap &map, TensorMapPart part, unsigned dimension, u64 value) {
  const auto word = u32(value);
  switch (part) {
    case TensorMapPart::global_address:
      return map.set_address(value);
    case TensorMapPart::rank:
      return map.set(TensorMap::rank, word);
    case TensorMapPart::box_dim:
      return map.set(TensorMap::box(dimension), word - 1);
    case TensorMapPart::global_dim:
      return map.set(TensorMap::dimension(dimension), word - 1);
    case TensorMapPart::global_stride:
      return map.set_stride(dimension, value);
    case TensorMapPart::element_stride:
      return map.set(TensorMap::element_stride(dimension), word - 1);
    case TensorMapPart::elemtype: {
      constexpr u32 first_tf32 = 11;  // two types: without and with flushing
      map.set(TensorMap::is_tf32, word >= first_tf32);
      return map.set(TensorMap::format, word < first_tf32 ? word : word - first_tf32 + TensorMap::f32);
    }
    case TensorMapPart::interleave_layout:
      return map.set(TensorMap::interleave, word);
    case TensorMapPart::swizzle_mode:
      return map.set(TensorMap::swizzle, word);
    case TensorMapPart::fill_mode:
      return map.set(TensorMap::fills_with_nan, word);
  }
}

}  // namespace

const Op *replace_in_tensor_map(Warp &w, const Op *op) {
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    const u64 at = reg<u64>(w, op->a)[lane];
    std::byte *const bytes = (op->extra & 256) != 0
                                 ? resolve_shared(w, op, lane, at, sizeof(TensorMap), Access::atomic)
                                 : resolve_generic(w, op, lane, at, sizeof(TensorMap), Access::atomic);
    if (bytes == nullptr) return nullptr;
    TensorMap map;
    std::memcpy(static_cast<void *>(&map), bytes, sizeof map);
    replace(map, TensorMapPart(op->extra & 15), op->extra >> 4 & 15,
            load_lane(w.frame + op->b, lane, (op->extra & 512) != 0 ? 8 : 4));
    std::memcpy(bytes, &map, sizeof map);
  }
  return op + 1;
}

const Op *copy_tensor_map(Warp &w, const Op *op) {
  if (w.mask == 0) return op + 1;
  const auto lane = static_cast<unsigned>(__builtin_ctz(w.mask));  // the warp makes one copy
  const u64 to = reg<u64>(w, op->a)[lane], from = reg<u64>(w, op->b)[lane];
  const std::byte *const source = resolve_shared(w, op, lane, from, sizeof(TensorMap), Access::read);
  if (source == nullptr) return nullptr;
  std::byte *const destination = resolve_generic(w, op, lane, to, sizeof(TensorMap), Access::write);
  if (destination == nullptr) return nullptr;
  count_move(w, op, from, sizeof(TensorMap), true, false);
  count_move(w, op, to, sizeof(TensorMap), false, true);
  std::memcpy(destination, source, sizeof(TensorMap));
  return op + 1;
}

const Op *copy_tensor(Warp &w, const Op *op) {
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1)
    if (!copy_box(w, op, static_cast<unsigned>(__builtin_ctz(rest)))) return nullptr;
  return op + 1;
}

}  // namespace cushim::ptx::execute

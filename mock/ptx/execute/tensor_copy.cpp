// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor, in tiled mode. See PTX ISA, "Tensors". A copy
// completes when it is issued.
#include "execute/tensor_copy.hpp"

#include <algorithm>
#include <string>

#include <cushim/ptx/tensor_map.hpp>
#include "execute/asynchronous.hpp"
#include "execute/atomics.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr u32 most_line_bytes = 256 * 8;

// An element type by its CUtensorMapDataType, as a type of atomics.hpp. The types that change values
// (FLOAT32_FTZ, TFLOAT32) and the packed types of 4 and 6 bits are not supported.
struct ElementType {
  std::string_view name;
  u32 bytes;
};
constexpr ElementType element_types[] = {{"u8", 1},  {"u16", 2}, {"u32", 4}, {"s32", 4}, {"u64", 8},
                                         {"s64", 8}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"bf16", 2}};

// Bytes of the lines of a swizzled box, by CUtensorMapSwizzle.
constexpr u32 swizzle_bytes[] = {0, 32, 64, 128};

// Returns whether cp.reduce.async.bulk.tensor has the operation on this type.
bool can_reduce(u32 operation, std::string_view type) {
  const bool is_float = type.find('f') != type.npos;
  switch (operation) {
    case 0:  // add
      return type != "s64" && type != "f64" && type != "u8" && type != "u16";
    case 1:  // and, or, xor
    case 2:
    case 3:
      return !is_float && type != "u8" && type != "u16";
    case 4:  // min, max
    case 5:
      return is_float ? type == "f16" || type == "bf16" : type != "u8" && type != "u16";
    default:  // inc, dec
      return type == "u32";
  }
}

// The box of a tensor that one thread copies.
struct Box {
  TensorMap map;
  s64 origin[most_tensor_dimensions];
  u32 count[most_tensor_dimensions];  // elements of the box in each dimension
  u32 element_bytes, line_bytes, swizzle;
  u64 lines;

  u64 bytes() const { return lines * line_bytes; }

  // Returns the address of 16 bytes of the box in shared memory.
  u64 in_shared(u64 begin, u64 line, u32 byte) const {
    const u64 at = begin + line * (swizzle != 0 ? swizzle : line_bytes) + byte;
    return swizzle == 0 ? at : at ^ ((at >> 7 & (swizzle / 16 - 1)) << 4);
  }

  // The elements of a line that lie in the tensor: `first` to `end` - 1, none if equal; `address`: of the
  // first.
  struct Part {
    u32 first, end;
    u64 address;
  };
  Part in_tensor(u64 line) const {
    u64 address = map.address;
    for (unsigned i = 1; i < map.rank; ++i) {
      const s64 at = origin[i] + s64(line % count[i] * map.element_strides[i]);
      line /= count[i];
      if (at < 0 || at > s64{map.last[i]}) return {};
      address += u64(at) * map.strides[i - 1];
    }
    const s64 size = s64{map.last[0]} + 1, whole = count[0];
    const s64 first = std::clamp<s64>(-origin[0], 0, whole), end = std::clamp(size - origin[0], first, whole);
    return {u32(first), u32(end), address + u64(origin[0] + first) * element_bytes};
  }
};

// Returns whether the sizes of a tiled map are those that cuTensorMapEncodeTiled() accepts: a program may
// have changed the bytes.
bool is_sound(const TensorMap &map) {
  bool sound = map.address % 16 == 0 && map.box[0] * element_types[map.data_type].bytes % 16 == 0;
  for (unsigned i = 0; i < map.rank; ++i) sound = sound && map.box[i] >= 1 && map.box[i] <= 256;
  for (unsigned i = 1; i < map.rank; ++i)
    sound = sound && map.element_strides[i] != 0 && map.strides[i - 1] % 16 == 0;
  return sound;
}

// Reads the tensor map and the coordinates of a lane. Returns a reason if the copy is not supported.
const char *read(const Warp &w, const TensorCopy &copy, unsigned lane, Box &box) {
  const TensorMap &map = box.map;
  if (map.tag != TensorMap::expected_tag) return "the tensor map was not made by the simulated driver";
  if (map.rank != copy.dimensions) return "the tensor map has another number of dimensions";
  if (map.mode != TensorMap::Mode::tiled) return "the tensor map is not tiled";
  if (map.interleave != 0) return "interleaved tensors are not supported";
  if (map.fill != 0) return "a tensor filled with NaN is not supported";
  if (map.data_type >= std::size(element_types)) return "the data type of the tensor is not supported";
  if (map.swizzle >= std::size(swizzle_bytes)) return "the swizzle of the tensor is not supported";
  if (!is_sound(map)) return "the tensor map has sizes that the driver refuses";
  if (copy.reduces && !can_reduce(copy.operation, element_types[map.data_type].name))
    return "the reduction is not defined for the data type of the tensor";
  box.element_bytes = element_types[map.data_type].bytes;
  box.swizzle = swizzle_bytes[map.swizzle];
  box.lines = 1;
  for (unsigned i = 0; i < map.rank; ++i) {
    box.origin[i] = s32(load_lane(w.frame + copy.coordinates[i], lane, 4));
    const u32 step = i == 0 ? 1 : map.element_strides[i];
    box.count[i] = (map.box[i] + step - 1) / step;
    if (i != 0) box.lines *= box.count[i];
  }
  box.line_bytes = box.count[0] * box.element_bytes;
  return nullptr;
}

// Copies the box to shared memory; zeros where it is outside the tensor. Returns false after a fault.
bool load(Warp &w, const Op *op, unsigned lane, const Box &box, u64 to) {
  for (u64 line = 0; line < box.lines; ++line) {
    std::byte values[most_line_bytes] = {};
    const auto part = box.in_tensor(line);
    if (const u32 bytes = (part.end - part.first) * box.element_bytes; bytes != 0) {
      const std::byte *const host = resolve_generic(w, op, lane, part.address, bytes, false);
      if (host == nullptr) return false;
      std::memcpy(values + part.first * box.element_bytes, host, bytes);
    }
    for (u32 byte = 0; byte < box.line_bytes; byte += 16) {
      std::byte *const shared = resolve_shared(w, op, lane, box.in_shared(to, line, byte), 16);
      if (shared == nullptr) return false;
      std::memcpy(shared, values + byte, 16);
    }
  }
  return true;
}

// Copies the part of the box that is inside the tensor from shared memory. Returns false after a fault.
bool store(Warp &w, const Op *op, unsigned lane, const Box &box, u64 from, const TensorCopy &copy) {
  const u32 type = copy.reduces ? *atomic_kind(element_types[box.map.data_type].name) : 0;
  for (u64 line = 0; line < box.lines; ++line) {
    std::byte values[most_line_bytes];
    for (u32 byte = 0; byte < box.line_bytes; byte += 16) {
      const std::byte *const shared = resolve_shared(w, op, lane, box.in_shared(from, line, byte), 16);
      if (shared == nullptr) return false;
      std::memcpy(values + byte, shared, 16);
    }
    const auto part = box.in_tensor(line);
    const u32 bytes = (part.end - part.first) * box.element_bytes;
    if (bytes == 0) continue;
    std::byte *const host = resolve_generic(w, op, lane, part.address, bytes, true);
    if (host == nullptr) return false;
    const std::byte *const first = values + part.first * box.element_bytes;
    if (!copy.reduces) std::memcpy(host, first, bytes);
    for (u32 at = 0; copy.reduces && at < bytes; at += box.element_bytes)
      update_atomically(host + at, copy.operation, type, load_lane(first + at, 0, box.element_bytes), 0,
                        true);
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
  const std::byte *const map = resolve_generic(w, op, lane, map_at, sizeof(TensorMap), false);
  if (map == nullptr) return false;
  Box box;
  std::memcpy(static_cast<void *>(&box.map), map, sizeof box.map);
  if (const char *const reason = read(w, copy, lane, box); reason != nullptr) {
    fault(w, op, FaultKind::illegal_instruction, lane, map_at, reason);
    return false;
  }
  if (copy.stores) return store(w, op, lane, box, shared, copy);
  const u64 mbarrier = reg<u64>(w, op->c)[lane];
  const auto bytes = u32(box.bytes());
  if (!copy.multicast)
    return load(w, op, lane, box, shared) && complete_bytes_at(w, op, lane, mbarrier, bytes);
  for (u32 ranks = reg<u16>(w, copy.ranks)[lane]; ranks != 0; ranks &= ranks - 1) {
    const u64 block = (u64(__builtin_ctz(ranks)) + 1) * cluster_block_bytes;
    if (!load(w, op, lane, box, block + shared % cluster_block_bytes) ||
        !complete_bytes_at(w, op, lane, block + mbarrier % cluster_block_bytes, bytes))
      return false;
  }
  return true;
}

}  // namespace

const Op *copy_tensor(Warp &w, const Op *op) {
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1)
    if (!copy_box(w, op, static_cast<unsigned>(__builtin_ctz(rest)))) return nullptr;
  return op + 1;
}

}  // namespace cushim::ptx::execute

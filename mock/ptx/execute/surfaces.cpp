// SPDX-License-Identifier: Apache-2.0
// Loads, stores and reductions of surfaces.
#include <bit>
#include <iterator>

#include "execute/atomics.hpp"
#include "execute/lane_values.hpp"
#include "execute/machine.hpp"
#include "execute/textures.hpp"

namespace cushim::ptx::execute {
namespace {

enum class Place { inside, nowhere, fault };

// The element that a lane accesses.
struct Target {
  Place place = Place::nowhere;
  std::byte *at = nullptr;  // if inside
};

std::string outside_text(const Surface &surface, s64 x, s64 y, s64 z) {
  const Image &image = surface.image;
  return "the access at byte " + std::to_string(x) + ", row " + std::to_string(y) + ", slice " +
         std::to_string(z) + " is outside a surface of " +
         std::to_string(u64{image.width} * surface.format.bytes()) + " bytes, " +
         std::to_string(image.height) + " rows and " + std::to_string(image.depth) + " slices";
}

// Returns the place of `bytes` bytes at a lane's coordinates. A fault is stored.
Target target_of(Warp &w, const Op *op, const ImageAccess &access, const Surface &surface, unsigned lane,
                 unsigned bytes) {
  const auto coordinate = [&](unsigned index) -> s64 {
    const u32 at = access.at[ImageAccess::coordinates + index];
    return at == ImageAccess::absent ? 0 : reg<s32>(w, at)[lane];
  };
  const Image &image = surface.image;
  const unsigned axes = coordinates_of(access.geometry), first = is_layered(access.geometry) ? 1 : 0;
  s64 x = coordinate(first), y = axes > 1 ? coordinate(first + 1) : 0;
  s64 z = first == 1 ? s64{reg<u32>(w, access.at[ImageAccess::coordinates])[lane]}
          : axes > 2 ? coordinate(2)
                     : 0;
  if (access.is_formatted) x *= surface.format.bytes();
  const s64 row = s64{image.width} * surface.format.bytes(), size = bytes;
  const bool is_inside = x >= 0 && x <= row - size && y >= 0 && y < image.height && z >= 0 && z < image.depth;
  if (!is_inside) {
    if (access.outside == Outside::trap) {
      fault(w, op, FaultKind::trap, lane, 0, outside_text(surface, x, y, z));
      return {Place::fault};
    }
    if (access.outside == Outside::zero || row < size) return {};
    x = std::clamp<s64>(x, 0, (row / size - 1) * size);
    y = std::clamp<s64>(y, 0, image.height - 1);
    z = std::clamp<s64>(z, 0, image.depth - 1);
  }
  if (x % size != 0) {
    fault(w, op, FaultKind::misaligned_address, lane, static_cast<u64>(x),
          "the first coordinate of a surface is not a multiple of the size of the access");
    return {Place::fault};
  }
  std::byte *const at = image.at(static_cast<u64>(x), static_cast<u64>(y), static_cast<u64>(z));
  if (at == nullptr) return {};
  return {Place::inside, at};
}

// Calls visit(lane, surface, target) for each active lane. Returns the next operation.
template <class Size, class Visit>
const Op *for_targets(Warp &w, const Op *op, Size &&size_in, Visit &&visit) {
  const auto &access = *static_cast<const ImageAccess *>(op->data);
  const u64 *const handles = reg<u64>(w, op->a);
  Memory &memory = *w.worker->launch->memory;
  const Surface *surface = nullptr;
  u64 handle = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (surface == nullptr || handles[lane] != handle) surface = memory.surface(handle = handles[lane]);
    if (surface == nullptr)
      return fault(w, op, FaultKind::illegal_address, lane, handle,
                   "the address is not a handle of a surface");
    const Target target = target_of(w, op, access, *surface, lane, size_in(access, *surface));
    if (target.place == Place::fault) return nullptr;
    visit(access, *surface, lane, target.at);
  }
  return op + 1;
}

unsigned size_of_values(const ImageAccess &access, const Surface &) { return access.vector * access.bytes; }
unsigned size_of_element(const ImageAccess &, const Surface &surface) { return surface.format.bytes(); }

const Op *load(Warp &w, const Op *op) {
  return for_targets(w, op, size_of_values,
                     [&](const ImageAccess &access, const Surface &, unsigned lane, const std::byte *at) {
                       for (unsigned i = 0; i < access.vector; ++i) {
                         const u32 to = access.at[ImageAccess::values + i];
                         if (to == ImageAccess::absent) continue;
                         const u64 value = at == nullptr ? 0 : load_lane(at, i, access.bytes);
                         store_lane(w.frame + to, lane, access.register_bytes, value);
                       }
                     });
}

const Op *store(Warp &w, const Op *op) {
  return for_targets(
      w, op, size_of_values, [&](const ImageAccess &access, const Surface &, unsigned lane, std::byte *at) {
        for (unsigned i = 0; at != nullptr && i < access.vector; ++i)
          store_lane(at, i, access.bytes,
                     load_lane(w.frame + access.at[ImageAccess::values + i], lane, access.register_bytes));
      });
}

// Stores values in the format of the surface.
const Op *store_formatted(Warp &w, const Op *op) {
  return for_targets(w, op, size_of_element,
                     [&](const ImageAccess &access, const Surface &surface, unsigned lane, std::byte *at) {
                       Texel texel{};
                       for (unsigned i = 0; i < access.vector; ++i)
                         texel[i] = reg<u32>(w, access.at[ImageAccess::values + i])[lane];
                       if (at != nullptr) write_texel(surface.format, at, texel);
                     });
}

const Op *reduce(Warp &w, const Op *op) {
  state(w).waits = true;
  return for_targets(w, op, size_of_values,
                     [&](const ImageAccess &access, const Surface &surface, unsigned lane, std::byte *at) {
                       if (at == nullptr) return;
                       u32 type = access.type;
                       // The format decides whether the 32 bits of a sample are signed.
                       if (access.is_formatted && access.bytes == 4)
                         type = *atomic_kind(surface.format.type == ChannelType::s32 ? "s32" : "u32");
                       update_atomically(
                           at, access.operation, type,
                           load_lane(w.frame + access.at[ImageAccess::values], lane, access.register_bytes),
                           0, true);
                     });
}

}  // namespace

constinit const LaneTable surface_operations = {
    {"surface.load", load, ""},
    {"surface.store", store, ""},
    {"surface.store_formatted", store_formatted, ""},
    {"surface.reduce", reduce, ""},
};

}  // namespace cushim::ptx::execute

// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays: shapes, queries, copies.
#include <fmt/format.h>

#include <cstring>

#include "memory_walks.hpp"

namespace differential {

Argument<CUarray> array_at(Walk &w, unsigned k) {
  if (w.dice.once_in(60)) return {nullptr, "nullptr"};
  return {of_arrays(w).a[k].handle, fmt::format("a[{}]", k)};
}

namespace {

using Array = Arrays::Array;

unsigned an_array(Walk &w) {
  return pick(w, of_arrays(w).a, [](const Array &one) { return one.handle != nullptr; });
}

std::size_t bytes_of_channel(int format) {
  switch (format) {
    case 0x01:
    case 0x08:
      return 1;
    case 0x02:
    case 0x09:
    case 0x10:
      return 2;
    case 0x03:
    case 0x0a:
    case 0x20:
      return 4;
    default:
      return 0;
  }
}

CUDA_ARRAY3D_DESCRIPTOR a_shape(Walk &w, std::string &text, bool has_levels) {
  CUDA_ARRAY3D_DESCRIPTOR made{};
  const int format = w.dice.one_of({0x01, 0x01, 0x01, 0x02, 0x03, 0x03, 0x08, 0x09, 0x0a, 0x10, 0x20, 0x20,
                                    0xb0, 0xc0, 0x91, 0x00, 0x63, 0xc9, 0x9b});
  made.Format = static_cast<CUarray_format>(format);
  made.NumChannels = w.dice.one_of({1U, 1U, 1U, 2U, 4U, 4U, 3U, 0U});
  made.Width = w.dice.one_of<std::size_t>({16, 64, 64, 100, 33, 256, 7, 0, 131072, 131073, 40000});
  const bool is_long = made.Width > 1000;
  made.Height = is_long ? w.dice.one_of<std::size_t>({0, 0, 1})
                        : w.dice.one_of<std::size_t>({0, 1, 16, 16, 33, 64, 64, 100, 65537});
  made.Depth = made.Height > 1000 ? 0 : w.dice.one_of<std::size_t>({0, 0, 0, 0, 1, 4, 6, 12, 7, 16385});
  if (made.Depth > 1000) made.Height = std::min<std::size_t>(made.Height, 1);
  if (made.Depth > 1000) made.Width = std::min<std::size_t>(made.Width, 16);
  made.Flags =
      w.dice.one_of({0U, 0U,    0U,    0U,    0U,    0U,    1U,    1U,    2U,    2U,    3U,    4U,     5U,
                     8U, 0x10U, 0x20U, 0x40U, 0x40U, 0x41U, 0x80U, 0x80U, 0x81U, 0xc0U, 0x42U, 0x100U, 9U});
  text = fmt::format("shape({}, {}, {}, {}, {}, {})", made.Width, made.Height, made.Depth, format,
                     made.NumChannels, made.Flags);
  if (has_levels && made.Height > 1000) made.Height = 64;
  return made;
}

std::string text_of(const CUDA_ARRAY3D_DESCRIPTOR &is) {
  return fmt::format("{} {} {} {} {} {}", is.Width, is.Height, is.Depth, static_cast<int>(is.Format),
                     is.NumChannels, is.Flags);
}

// Writes all bytes of an array, whose initial contents are undefined.
void fill(const Array &array, unsigned value) {
  const std::size_t row = array.shape.Width * array.element, rows = at_least_1(array.shape.Height),
                    slices = at_least_1(array.shape.Depth);
  const std::vector<unsigned char> data(row * rows * slices, static_cast<unsigned char>(value));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = data.data();
  copy.srcPitch = row;
  copy.srcHeight = rows;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array.handle;
  copy.WidthInBytes = row;
  copy.Height = rows;
  copy.Depth = slices;
  driver().cuMemcpy3D(&copy);
}

void has_made(Walk &w, unsigned k, CUresult code, const CUDA_ARRAY3D_DESCRIPTOR &shape) {
  Array &made = of_arrays(w).a[k];
  if (code != CUDA_SUCCESS) {
    made = {};
    return;
  }
  made.shape = shape;
  // Arrays without memory fault, or read as zeros.
  constexpr unsigned without_memory = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
  made.element = (shape.Flags & without_memory) != 0 ? 0 : bytes_of_channel(shape.Format) * shape.NumChannels;
  if (made.element != 0) fill(made, k);
}

void create(Walk &w) {
  const unsigned k = pick(w, of_arrays(w).a, [](const Array &one) { return one.handle == nullptr; });
  if (k == kNone) return;
  std::string text;
  CUDA_ARRAY3D_DESCRIPTOR shape = a_shape(w, text, false);
  w.finish();
  const Argument out{&of_arrays(w).a[k].handle, fmt::format("&a[{}]", k)};
  if (w.dice.once_in(4)) {
    CUDA_ARRAY_DESCRIPTOR plane{};
    plane.Width = shape.Width;
    plane.Height = shape.Height;
    plane.Format = shape.Format;
    plane.NumChannels = shape.NumChannels;
    shape.Depth = 0;
    shape.Flags = 0;
    has_made(w, k, CALL(w, cuArrayCreate, out, Argument<const CUDA_ARRAY_DESCRIPTOR *>{&plane, text}), shape);
    return;
  }
  has_made(w, k, CALL(w, cuArray3DCreate, out, Argument<const CUDA_ARRAY3D_DESCRIPTOR *>{&shape, text}),
           shape);
}

void destroy(Walk &w) {
  const unsigned k = an_array(w);
  if (k == kNone) return;
  w.finish();
  const bool is_level = of_arrays(w).a[k].level_of >= 0;
  if (CALL(w, cuArrayDestroy, Argument{of_arrays(w).a[k].handle, fmt::format("a[{}]", k)}) == CUDA_SUCCESS &&
      !is_level)
    of_arrays(w).a[k] = {};
}

void describe(Walk &w) {
  const unsigned k = an_array(w);
  if (k == kNone) return;
  switch (w.dice.below(5)) {
    case 0: {
      Result<CUDA_ARRAY_DESCRIPTOR> found("found");
      CALL(w, cuArrayGetDescriptor, found.argument(), array_at(w, k));
      if (found.is_set())
        w.also(fmt::format("{} {} {} {}", found.value.Width, found.value.Height,
                           static_cast<int>(found.value.Format), found.value.NumChannels));
      break;
    }
    case 1: {
      Result<CUDA_ARRAY3D_DESCRIPTOR> found("found");
      CALL(w, cuArray3DGetDescriptor, found.argument(), array_at(w, k));
      if (found.is_set()) w.also(text_of(found.value));
      break;
    }
    case 2: {
      Result<CUDA_ARRAY_MEMORY_REQUIREMENTS> found("found");
      CALL(w, cuArrayGetMemoryRequirements, found.argument(), array_at(w, k), integer(0));
      if (found.is_set()) w.also(fmt::format("{} {}", found.value.size, found.value.alignment));
      break;
    }
    case 3: {
      Result<CUDA_ARRAY_SPARSE_PROPERTIES> found("found");
      CALL(w, cuArrayGetSparseProperties, found.argument(), array_at(w, k));
      const auto &is = found.value;
      if (found.is_set())
        w.also(fmt::format("{} {} {} {} {} {}", is.tileExtent.width, is.tileExtent.height,
                           is.tileExtent.depth, is.miptailFirstLevel, is.miptailSize, is.flags));
      break;
    }
    default: {
      CUarray plane = nullptr;
      const auto array = array_at(w, k);
      CALL(w, cuArrayGetPlane, Argument{&plane, "&plane"}, array, number(w.dice.below(3)));
    }
  }
}

// ---- Mipmapped arrays ----

void create_levels(Walk &w) {
  const unsigned k = pick(w, of_arrays(w).m, [](CUmipmappedArray one) { return one == nullptr; });
  if (k == kNone) return;
  std::string text;
  const CUDA_ARRAY3D_DESCRIPTOR shape = a_shape(w, text, true);
  const auto levels = number(w.dice.one_of({1U, 2U, 3U, 4U, 0U, 99U}));
  w.finish();
  if (CALL(w, cuMipmappedArrayCreate, Argument{&of_arrays(w).m[k], fmt::format("&m[{}]", k)},
           Argument<const CUDA_ARRAY3D_DESCRIPTOR *>{&shape, text}, levels) != CUDA_SUCCESS)
    of_arrays(w).m[k] = nullptr;
  of_arrays(w).shape_of_m[k] = shape;
}

void get_level(Walk &w) {
  const unsigned k = pick(w, of_arrays(w).m, [](CUmipmappedArray one) { return one != nullptr; });
  const unsigned to = pick(w, of_arrays(w).a, [](const Array &one) { return one.handle == nullptr; });
  if (k == kNone || to == kNone) return;
  Array &made = of_arrays(w).a[to];
  const unsigned level = w.dice.one_of({0U, 0U, 1U, 2U, 3U, 7U, 50U});
  const Argument out{&made.handle, fmt::format("&a[{}]", to)};
  const CUresult code = CALL(w, cuMipmappedArrayGetLevel, out,
                             Argument{of_arrays(w).m[k], fmt::format("m[{}]", k)}, number(level));
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  if (code == CUDA_SUCCESS && driver().cuArray3DGetDescriptor(&shape, made.handle) == CUDA_SUCCESS) {
    // The flags of a level do not say that it has no memory.
    shape.Flags = of_arrays(w).shape_of_m[k].Flags;
    has_made(w, to, code, shape);
    made.level_of = static_cast<int>(k);
  } else {
    made = {};
  }
}

void destroy_levels(Walk &w) {
  const unsigned k = pick(w, of_arrays(w).m, [](CUmipmappedArray one) { return one != nullptr; });
  if (k == kNone) return;
  w.finish();
  if (CALL(w, cuMipmappedArrayDestroy, Argument{of_arrays(w).m[k], fmt::format("m[{}]", k)}) != CUDA_SUCCESS)
    return;
  of_arrays(w).m[k] = nullptr;
  for (Array &one : of_arrays(w).a)
    if (one.level_of == static_cast<int>(k)) one = {};
}

void describe_levels(Walk &w) {
  const unsigned k = pick(w, of_arrays(w).m, [](CUmipmappedArray one) { return one != nullptr; });
  if (k == kNone) return;
  const Argument array{of_arrays(w).m[k], fmt::format("m[{}]", k)};
  if (w.dice.once_in(2)) {
    Result<CUDA_ARRAY_MEMORY_REQUIREMENTS> found("found");
    CALL(w, cuMipmappedArrayGetMemoryRequirements, found.argument(), array, integer(0));
    if (found.is_set()) w.also(fmt::format("{} {}", found.value.size, found.value.alignment));
  } else {
    Result<CUDA_ARRAY_SPARSE_PROPERTIES> found("found");
    CALL(w, cuMipmappedArrayGetSparseProperties, found.argument(), array);
    const auto &is = found.value;
    if (found.is_set())
      w.also(fmt::format("{} {} {} {} {} {}", is.tileExtent.width, is.tileExtent.height, is.tileExtent.depth,
                         is.miptailFirstLevel, is.miptailSize, is.flags));
  }
}

}  // namespace

Choices array_choices() {
  return waiting({
      {40, create},
      {8, destroy},
      {24, describe},
      {20, create_levels},
      {20, get_level},
      {4, destroy_levels},
      {10, describe_levels},
  });
}

}  // namespace differential

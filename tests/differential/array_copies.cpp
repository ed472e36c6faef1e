// SPDX-License-Identifier: Apache-2.0
// Copies of rows and boxes from, to and between arrays.
#include <fmt/format.h>

#include "memory_walks.hpp"
#include "support/structures.hpp"

namespace differential {
namespace {

using Array = Arrays::Array;

// Returns an array that the walk may read and write.
unsigned a_usable_array(Walk &w) {
  return pick(w, of_arrays(w).a, [](const Array &one) { return one.handle != nullptr && one.element != 0; });
}

// ---- Copies ----

std::size_t a_length(Walk &w, const Array &array) {
  const std::size_t row = array.shape.Width * array.element;
  return w.dice.one_of<std::size_t>({0, 1, array.element, 4 * array.element, row, row, row + array.element,
                                     row - 1, 3 * array.element + 1});
}

void copy_row(Walk &w) {
  const unsigned k = a_usable_array(w);
  if (k == kNone) return;
  const Array &array = of_arrays(w).a[k];
  const unsigned other = a_usable_array(w), b = w.a_buffer();
  w.finish();
  const std::size_t offset =
      w.dice.one_of<std::size_t>({0, 0, 0, array.element, 1, array.shape.Width * array.element});
  const std::size_t length = std::min<std::size_t>(a_length(w, array), 1 << 20);
  std::vector<unsigned char> data(std::max<std::size_t>(length, 1),
                                  static_cast<unsigned char>(w.dice.below(200)));
  const auto handle = array_at(w, k);
  switch (w.dice.below(5)) {
    case 0:
      CALL(w, cuMemcpyHtoA, handle, bytes(offset), Argument<const void *>{data.data(), "data"},
           bytes(length));
      break;
    case 1:
      CALL(w, cuMemcpyAtoH, Argument<void *>{data.data(), "data"}, handle, bytes(offset), bytes(length));
      w.also(digest(data));
      break;
    case 2:
      if (b == Walk::buffers || length > w.b[b].bytes) return;
      CALL(w, cuMemcpyDtoA, handle, bytes(offset), w.address_in(b, 0), bytes(length));
      break;
    case 3:
      if (b == Walk::buffers || length > w.b[b].bytes) return;
      CALL(w, cuMemcpyAtoD, w.address_in(b, 0), handle, bytes(offset), bytes(length));
      break;
    default:
      if (other == k) return;
      CALL(w, cuMemcpyAtoA, Argument{of_arrays(w).a[other].handle, fmt::format("a[{}]", other)}, bytes(0),
           handle, bytes(offset), bytes(length));
  }
  w.finish();
}

// One end of a copy.
struct End {
  // Writes the members of a copy that describe rows.
  void write(std::size_t &to_pitch, std::size_t &to_x, std::size_t &to_y) const {
    to_pitch = pitch;
    to_x = x;
    to_y = y;
  }

  cushim::test::CopyEnd place;
  std::size_t pitch = 0, height = 0, x = 0, y = 0, z = 0;
  std::string text{};
};

End an_end(Walk &w, unsigned k, std::size_t x, std::size_t y, std::size_t z) {
  return {.place = of_arrays(w).a[k].handle,
          .x = x,
          .y = y,
          .z = z,
          .text = fmt::format("a[{}] at {}, {}, {}", k, x, y, z)};
}

// Returns a CUDA_MEMCPY2D or CUDA_MEMCPY3D of rows between two ends.
template <class Copy>
Copy copy_between(const End &from, const End &to, std::size_t width, std::size_t height) {
  Copy copy{};
  set_source(copy, from.place);
  set_target(copy, to.place);
  from.write(copy.srcPitch, copy.srcXInBytes, copy.srcY);
  to.write(copy.dstPitch, copy.dstXInBytes, copy.dstY);
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

void copy_rows(Walk &w, const Argument<const CUDA_MEMCPY2D *> &rows) {
  const unsigned which = w.dice.below(3);
  if (which == 0)
    CALL(w, cuMemcpy2D, rows);
  else if (which == 1)
    CALL(w, cuMemcpy2DUnaligned, rows);
  else
    CALL(w, cuMemcpy2DAsync, rows, Argument<CUstream>{nullptr, "nullptr"});
}

void copy_box(Walk &w) {
  const unsigned k = a_usable_array(w);
  if (k == kNone) return;
  const Array &array = of_arrays(w).a[k];
  const std::size_t element = array.element, rows = at_least_1(array.shape.Height),
                    slices = at_least_1(array.shape.Depth);
  const std::size_t width = std::min<std::size_t>(a_length(w, array), 4096);
  const std::size_t height = w.dice.one_of<std::size_t>({1, 1, 2, 4, rows, rows, rows + 1, 0});
  const bool is_flat = w.dice.once_in(2);
  const std::size_t depth =
      is_flat ? 1 : w.dice.one_of<std::size_t>({1, 1, 2, slices, slices, slices + 1, 0});
  if (width * height * depth > (1 << 20)) return;
  const std::size_t z = is_flat ? 0 : w.dice.one_of<std::size_t>({0, 0, 0, 1, slices}),
                    y = w.dice.one_of<std::size_t>({0, 0, 0, 1, 2, rows}),
                    x = w.dice.one_of<std::size_t>({0, 0, 0, element, 4 * element, 1});
  const End array_end = an_end(w, k, x, y, z);
  const std::size_t pitch =
      w.dice.one_of<std::size_t>({width, width, width, width + 16, 0, width != 0 ? width - 1 : 0});
  const std::size_t high =
      w.dice.one_of<std::size_t>({height, height, height, height + 1, 0, height != 0 ? height - 1 : 0});
  std::vector<unsigned char> data((width + 16) * (height + 1) * (depth + 1) + 64,
                                  static_cast<unsigned char>(w.dice.below(200)));
  End other{.place = data.data(), .pitch = pitch, .height = high, .text = "data"};
  const unsigned b = w.a_buffer(), second = a_usable_array(w);
  switch (w.dice.below(4)) {
    case 0:
      // The driver does not find all copies beyond the end of a buffer.
      if (b == Walk::buffers || std::max(pitch, width) * std::max(high, height) * depth > w.b[b].bytes)
        return;
      other.place = w.b[b].address;
      other.text = fmt::format("b[{}]", b);
      break;
    case 1:
      if (second == k || second == kNone) return;
      other = an_end(w, second, 0, 0, 0);
      break;
    default:
      break;  // memory of the host
  }
  const bool is_read = w.dice.once_in(2);
  const End &from = is_read ? array_end : other, &to = is_read ? other : array_end;
  auto copy = copy_between<CUDA_MEMCPY3D>(from, to, width, height);
  copy.srcHeight = from.height;
  copy.srcZ = from.z;
  copy.dstHeight = to.height;
  copy.dstZ = to.z;
  copy.Depth = depth;
  const unsigned level = w.dice.once_in(40) ? 1 : 0;
  copy.srcLOD = level;
  const std::string text = fmt::format("{} to {}, {} {} {}, pitch {}, height {}, level {}", from.text,
                                       to.text, width, height, depth, pitch, high, level);
  w.finish();
  if (is_flat) {
    const auto flat = copy_between<CUDA_MEMCPY2D>(from, to, width, height);
    copy_rows(w, {&flat, text});
  } else if (w.dice.once_in(2)) {
    CALL(w, cuMemcpy3D, Argument<const CUDA_MEMCPY3D *>{&copy, text});
  } else {
    CALL(w, cuMemcpy3DAsync, Argument<const CUDA_MEMCPY3D *>{&copy, text},
         Argument<CUstream>{nullptr, "nullptr"});
  }
  w.finish();
  if (to.place.host != nullptr) w.also(digest(data));
}

}  // namespace

Choices array_copy_choices() { return waiting({{24, copy_row}, {50, copy_box}}); }

}  // namespace differential

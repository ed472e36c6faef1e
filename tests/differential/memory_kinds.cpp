// SPDX-License-Identifier: Apache-2.0
// Memory of other kinds in place of the usual ones: managed, pitched, stream-ordered, registered; frees that
// do not match the kind; pools; two-dimensional copies.
#include <fmt/format.h>

#include "walk.hpp"

namespace differential {
namespace {

// Returns the index of a free buffer; `buffers` if the chosen one is in use.
unsigned a_free_place(Walk &w) {
  const unsigned k = w.dice.below(Walk::buffers);
  return w.b[k].address == 0 ? k : Walk::buffers;
}
Argument<CUdeviceptr *> place_of(Walk &w, unsigned k) { return {&w.b[k].address, fmt::format("&b[{}]", k)}; }

void has_made(Walk &w, unsigned k, CUresult code, std::size_t size) {
  if (code != CUDA_SUCCESS) {
    w.b[k] = {};
    return;
  }
  w.b[k].bytes = size;
  w.did(fmt::format("fill({}, {})", k, size));
  w.shared.fill(k, w.b[k], w.active_contexts());
}

void allocate_managed(Walk &w) {
  const unsigned k = a_free_place(w);
  if (k == Walk::buffers) return;
  const std::size_t size = w.dice.one_of<std::size_t>({4096, 8192, 5000, 0});
  const auto flags = number(w.dice.one_of({1U, 1U, 1U, 2U, 0U, 4U, 8U}));
  has_made(w, k, CALL(w, cuMemAllocManaged, place_of(w, k), bytes(size), flags), size);
}

void allocate_pitched(Walk &w) {
  const unsigned k = a_free_place(w);
  if (k == Walk::buffers) return;
  Result<std::size_t> pitch("pitch");
  const std::size_t width = w.dice.one_of<std::size_t>({100, 512, 1000, 0});
  const std::size_t height = w.dice.one_of<std::size_t>({16, 9, 0});
  const auto element = number(w.dice.one_of({4U, 8U, 16U, 4U, 3U}));
  const CUresult code =
      CALL(w, cuMemAllocPitch, place_of(w, k), pitch.argument(), bytes(width), bytes(height), element);
  w.also_number(pitch);
  has_made(w, k, code, code == CUDA_SUCCESS ? pitch.value * height : 0);
}

void allocate_in_stream_order(Walk &w) {
  const unsigned k = a_free_place(w);
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream) || w.current() == nullptr) return;
  const std::size_t size = w.dice.one_of<std::size_t>({4096, 8192, 5000, 0});
  has_made(w, k, CALL(w, cuMemAllocAsync, place_of(w, k), bytes(size), stream), size);
}

void free_in_stream_order(Walk &w) {
  const unsigned k = w.a_buffer();
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream)) return;
  const std::size_t inside = w.dice.once_in(6) ? 256 : 0;
  if (CALL(w, cuMemFreeAsync, w.address_in(k, inside), stream) != CUDA_SUCCESS) return;
  w.b[k] = {};
  w.did(fmt::format("b[{}] = 0", k));
}

void end_in_a_wrong_way(Walk &w) {
  const unsigned k = w.a_buffer(), pinned = w.dice.below(static_cast<unsigned>(w.p.size()));
  w.finish();
  switch (w.dice.below(4)) {
    case 0:
      if (k == Walk::buffers) return;
      CALL(w, cuMemFreeHost,
           Argument<void *>{reinterpret_cast<void *>(w.b[k].address),
                            fmt::format("reinterpret_cast<void *>(b[{}])", k)});
      return;
    case 1:
      if (w.p[pinned] == nullptr) return;
      CALL(w, cuMemFree,
           Argument{reinterpret_cast<CUdeviceptr>(w.p[pinned]), fmt::format("CUdeviceptr(p[{}])", pinned)});
      return;
    case 2:
      if (w.p[pinned] == nullptr || w.is_registered(pinned)) return;
      CALL(w, cuMemHostUnregister, Argument<void *>{w.p[pinned], fmt::format("p[{}]", pinned)});
      return;
    default:
      if (w.p[pinned] == nullptr || !w.is_registered(pinned)) return;
      CALL(w, cuMemFreeHost, Argument<void *>{w.p[pinned], fmt::format("p[{}]", pinned)});
  }
}

void register_pages(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.p[k] != nullptr && !w.is_registered(k)) return;
  const auto flags = number(w.dice.one_of({0U, 1U, 2U, 3U, 4U, 16U}));
  unsigned char *const pages = w.shared.pages(k);
  const auto size = bytes(w.dice.once_in(8) ? 0 : buffer_bytes);
  if (CALL(w, cuMemHostRegister, Argument<void *>{pages, fmt::format("pages({})", k)}, size, flags) !=
      CUDA_SUCCESS)
    return;
  w.p[k] = pages;
  w.did(fmt::format("p[{}] = {{pages({})}}", k, k));
  w.did(fmt::format("fill_pinned({}, p[{}])", k, k));
  fill_pinned(k, w.p[k]);
}

void unregister_pages(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.p[k] != nullptr && !w.is_registered(k)) return;
  w.finish();
  const unsigned inside = w.dice.once_in(6) ? 64 : 0;
  if (CALL(w, cuMemHostUnregister,
           Argument<void *>{w.shared.pages(k) + inside, fmt::format("pages({}) + {}", k, inside)}) !=
      CUDA_SUCCESS)
    return;
  w.p[k] = nullptr;
  w.did(fmt::format("p[{}] = {{}}", k));
}

void pool_attribute(Walk &w) {
  Result<std::uint64_t> value("value");
  value.value = 0;
  const int which = static_cast<int>(w.dice.below(10));
  const CUresult code = CALL(w, cuMemPoolGetAttribute, Argument{w.shared.pool, "pool"},
                             Argument{static_cast<CUmemPool_attribute>(which),
                                      fmt::format("static_cast<CUmemPool_attribute>({})", which)},
                             Argument<void *>{&value.value, "&value", "std::uint64_t value{}"});
  // The reserved memory and the high-water marks depend on the whole process, so they are not compared.
  if (code == CUDA_SUCCESS && which <= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) w.also(std::to_string(value.value));
}

void range_attribute(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  Result<int> value("value");
  const int which = static_cast<int>(w.dice.below(6));
  const auto size = bytes(w.dice.one_of<std::size_t>({4, 4, 4, 3, 0}));
  const CUresult code =
      CALL(w, cuMemRangeGetAttribute, Argument<void *>{&value.value, "&value", "int value{}"}, size,
           Argument{static_cast<CUmem_range_attribute>(which),
                    fmt::format("static_cast<CUmem_range_attribute>({})", which)},
           w.address_in(k, 0), bytes(4096));
  if (code == CUDA_SUCCESS) w.also(std::to_string(value.value));
}

// Copies a box within one buffer, in the buffer's stream.
void copy_box(Walk &w) {
  const unsigned k = w.a_buffer();
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream)) return;
  const auto width = w.dice.one_of<std::size_t>({16, 60, 64, 100, 0});
  const auto height = w.dice.one_of<std::size_t>({1, 4, 10, 0});
  const auto pitch = w.dice.one_of<std::size_t>({64, 128, 0});
  const CUDA_MEMCPY2D box = box_within(w.b[k].address, pitch, width, height);
  CALL(w, cuMemcpy2DAsync,
       Argument<const CUDA_MEMCPY2D *>{
           &box, "&box",
           fmt::format("const CUDA_MEMCPY2D box = box_within(b[{}], {}, {}, {})", k, pitch, width, height)},
       stream);
}

}  // namespace

Choices kind_choices() {
  return Choices({
      waiting(6, allocate_managed),
      waiting(5, allocate_pitched),
      waiting(8, allocate_in_stream_order),
      waiting(5, free_in_stream_order),
      waiting(2, end_in_a_wrong_way),
      waiting(5, register_pages),
      waiting(3, unregister_pages),
      {2, pool_attribute},
      {2, range_attribute},
      {5, copy_box},
  });
}

}  // namespace differential

// SPDX-License-Identifier: Apache-2.0
// How much memory is free after calls that take and release memory. No other program may use the device. The
// file also has the calls that walks about one kind of memory share.
#include <fmt/format.h>

#include "walk.hpp"

namespace differential {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

void free_memory(Walk &w) {
  w.finish();
  std::size_t free = 0, total = 0;
  if (CALL(w, cuMemGetInfo, Argument{&free, "&free"}, Argument{&total, "&total"}) != CUDA_SUCCESS) return;
  std::size_t &first = w.more->usage.free_at_first;
  if (first == 0) first = free;
  w.also(fmt::format("{}", static_cast<long long>(first - free)));
}

void allocate(Walk &w) {
  const unsigned k = w.dice.below(4);
  CUdeviceptr &made = w.more->usage.d[k];
  if (made != 0 || w.current() == nullptr) return;
  if (w.more->usage.free_at_first == 0) free_memory(w);
  const auto size = bytes(w.dice.one_of<std::size_t>(
      {1, 4096, kMiB, kMiB + 1, 2 * kMiB, 2 * kMiB + 1, 3 * kMiB, 20 * kMiB, 33 * kMiB, 100 * kMiB}));
  if (CALL(w, cuMemAlloc, Argument{&made, fmt::format("&d[{}]", k)}, size) != CUDA_SUCCESS) made = 0;
  free_memory(w);
}

void release(Walk &w) {
  const unsigned k = w.dice.below(4);
  CUdeviceptr &one = w.more->usage.d[k];
  if (one == 0) return;
  w.finish();
  if (CALL(w, cuMemFree, Argument{one, fmt::format("d[{}]", k)}) == CUDA_SUCCESS) one = 0;
  free_memory(w);
}

void set_current(Walk &w) {
  const unsigned k = w.dice.below(2);
  if (CALL(w, cuCtxSetCurrent, Argument{w.shared.c[k], fmt::format("c[{}]", k)}) == CUDA_SUCCESS)
    w.has_set(w.shared.c[k]);
}

void create_physical(Walk &w) {
  auto &all = w.more->mappings.h;
  const unsigned k = w.dice.below(static_cast<unsigned>(all.size()));
  if (w.more->usage.free_at_first == 0) free_memory(w);
  if (all[k].references != 0) {
    if (CALL(w, cuMemRelease, Argument{all[k].handle, fmt::format("h[{}]", k)}) == CUDA_SUCCESS) all[k] = {};
  } else {
    CUmemAllocationProp with{};
    with.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    with.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const auto size = bytes(w.dice.one_of<std::size_t>({2 * kMiB, 4 * kMiB, 32 * kMiB, 66 * kMiB}));
    if (CALL(w, cuMemCreate, Argument{&all[k].handle, fmt::format("&h[{}]", k)}, size,
             Argument<const CUmemAllocationProp *>{&with, "&properties"},
             Argument{0ULL, "0"}) == CUDA_SUCCESS)
      all[k].references = 1, all[k].size = size.value;
  }
  free_memory(w);
}

void create_array(Walk &w) {
  auto &all = w.more->arrays.a;
  const unsigned k = w.dice.below(static_cast<unsigned>(all.size()));
  if (w.current() == nullptr) return;
  if (w.more->usage.free_at_first == 0) free_memory(w);
  w.finish();
  if (all[k].handle != nullptr) {
    if (CALL(w, cuArrayDestroy, Argument{all[k].handle, fmt::format("a[{}]", k)}) == CUDA_SUCCESS)
      all[k] = {};
  } else {
    CUDA_ARRAY3D_DESCRIPTOR with{};
    with.Width = w.dice.one_of<std::size_t>({64, 1024, 4096});
    with.Height = w.dice.one_of<std::size_t>({0, 64, 1024});
    with.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    with.NumChannels = 4;
    if (CALL(w, cuArray3DCreate, Argument{&all[k].handle, fmt::format("&a[{}]", k)},
             Argument<const CUDA_ARRAY3D_DESCRIPTOR *>{
                 &with, fmt::format("{} x {}", with.Width, with.Height)}) != CUDA_SUCCESS)
      all[k] = {};
  }
  free_memory(w);
}

void use_pool(Walk &w) {
  auto &all = w.more->pools.a;
  auto &pool = w.more->pools.q[0].handle;
  const unsigned k = w.dice.below(static_cast<unsigned>(all.size()));
  const Argument<CUstream> stream{nullptr, "nullptr"};
  if (w.current() == nullptr) return;
  if (w.more->usage.free_at_first == 0) free_memory(w);
  if (pool == nullptr) {
    CUmemPoolProps with{};
    with.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    with.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (CALL(w, cuMemPoolCreate, Argument{&pool, "&pool"},
             Argument<const CUmemPoolProps *>{&with, "&properties"}) != CUDA_SUCCESS)
      pool = nullptr;
  } else if (w.dice.once_in(6)) {
    CALL(w, cuMemPoolTrimTo, Argument{pool, "pool"}, bytes(0));
  } else if (all[k].address != 0) {
    if (CALL(w, cuMemFreeAsync, Argument{all[k].address, fmt::format("a[{}]", k)}, stream) == CUDA_SUCCESS)
      all[k] = {};
  } else {
    const auto size = bytes(w.dice.one_of<std::size_t>({4096, 3 * kMiB, 40 * kMiB}));
    if (CALL(w, cuMemAllocFromPoolAsync, Argument{&all[k].address, fmt::format("&a[{}]", k)}, size,
             Argument{pool, "pool"}, stream) != CUDA_SUCCESS)
      all[k] = {};
  }
  free_memory(w);
}

// ---- Calls that walks about one kind of memory share ----

void create_stream(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.s.size()));
  if (w.s[k].handle != nullptr) return;
  const auto flags = number(w.dice.one_of({0U, 0U, 1U, 1U, 2U}));
  if (CALL(w, cuStreamCreate, Argument{&w.s[k].handle, fmt::format("&s[{}]", k)}, flags) != CUDA_SUCCESS)
    w.s[k].handle = nullptr;
}

void synchronize_stream(Walk &w) { CALL(w, cuStreamSynchronize, w.a_stream()); }

}  // namespace

Choices usage_choices() {
  return waiting({
      {2, free_memory},
      {10, allocate},
      {6, release},
      {2, set_current},
      {10, create_physical},
      {10, create_array},
      {10, use_pool},
  });
}

Choices plain_choices() { return waiting({{6, create_stream}, {4, synchronize_stream}}); }

}  // namespace differential

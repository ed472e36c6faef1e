// SPDX-License-Identifier: Apache-2.0
// Device and pinned memory: allocation, release, and queries of addresses.
#include <fmt/format.h>

#include "pointer_attributes.hpp"
#include "walk.hpp"

namespace differential {
namespace {

void allocate(Walk &w) {
  const unsigned k = w.dice.below(Walk::buffers);
  if (w.b[k].address != 0) return;
  const std::size_t size = w.dice.one_of<std::size_t>({4096, 4096, 8192, 5000, 100'000, 0});
  if (CALL(w, cuMemAlloc, Argument{&w.b[k].address, fmt::format("&b[{}]", k)}, bytes(size)) != CUDA_SUCCESS) {
    w.b[k] = {};
    return;
  }
  w.b[k].bytes = size;
  w.did(fmt::format("fill({}, {})", k, size));  // the initial contents are undefined
  w.shared.fill(k, w.b[k], w.active_contexts());
}

void free_memory(Walk &w) {
  const unsigned k = w.a_buffer();
  if (w.dice.once_in(6)) {
    CALL(w, cuMemFree, Argument{CUdeviceptr{0}, "0"});
    return;
  }
  if (k == Walk::buffers || w.is_open_elsewhere(w.b[k])) return;
  w.end_buffer(k, [&](auto address) { return CALL(w, cuMemFree, address); });
}

void allocate_pinned(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.p[k] != nullptr) return;
  const unsigned flags = w.dice.one_of({0U, 1U, 2U, 3U, 4U, 7U, 8U});
  void *memory = nullptr;
  if (CALL(w, cuMemHostAlloc, Argument{&memory, fmt::format("&p[{}]", k)}, bytes(buffer_bytes),
           number(flags)) != CUDA_SUCCESS)
    return;
  w.p[k] = static_cast<unsigned char *>(memory);
  w.did(fmt::format("fill_pinned({}, p[{}])", k, k));
  fill_pinned(k, w.p[k]);
}

void free_pinned(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.p[k] == nullptr) {
    if (w.dice.once_in(4)) CALL(w, cuMemFreeHost, Argument<void *>{nullptr, "nullptr"});
    return;
  }
  w.finish();
  if (CALL(w, cuMemFreeHost, Argument<void *>{w.p[k], fmt::format("p[{}]", k)}) == CUDA_SUCCESS) {
    w.p[k] = nullptr;
    w.did(fmt::format("p[{}] = {{}}", k));
  }
}

// Returns an address of any kind, sometimes in the middle of an allocation.
Argument<CUdeviceptr> an_address(Walk &w) {
  const unsigned k = w.a_buffer();
  const unsigned pinned = w.dice.below(static_cast<unsigned>(w.p.size()));
  switch (w.dice.below(8)) {
    case 0:
      return {0, "0"};
    case 1:
      return {16, "16"};
    case 2:
      if (w.p[pinned] == nullptr) return {0, "0"};
      return {reinterpret_cast<CUdeviceptr>(w.p[pinned]), fmt::format("CUdeviceptr(p[{}])", pinned)};
    default:
      if (k == Walk::buffers) return {0, "0"};
      return w.address_in(k, w.dice.one_of<std::size_t>({0, 0, 1, 256, w.b[k].bytes - 1}));
  }
}

void address_range(Walk &w) {
  Result<CUdeviceptr> base("base");
  Result<std::size_t> size("size");
  const auto address = an_address(w);
  switch (w.dice.below(6)) {
    case 0:
      CALL(w, cuMemGetAddressRange, Argument<CUdeviceptr *>{nullptr, "nullptr"}, size.argument(), address);
      break;
    case 1:
      CALL(w, cuMemGetAddressRange, base.argument(), Argument<std::size_t *>{nullptr, "nullptr"}, address);
      break;
    default:
      CALL(w, cuMemGetAddressRange, base.argument(), size.argument(), address);
  }
  w.also_name(base);
  w.also_number(size);
}

void pointer_attribute(Walk &w) {
  const auto address = an_address(w);
  const int which = static_cast<int>(w.dice.below(22));
  if (which == CU_POINTER_ATTRIBUTE_P2P_TOKENS) return;  // not simulated
  const Argument attribute{static_cast<CUpointer_attribute>(which),
                           fmt::format("static_cast<CUpointer_attribute>({})", which)};
  std::uint64_t value[4] = {};  // large enough for every attribute
  const CUresult code =
      CALL(w, cuPointerGetAttribute, Argument<void *>{&value, "&value", "std::uint64_t value[4]{}"},
           attribute, address);
  if (code != CUDA_SUCCESS) return;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      also_attribute(w, {attribute.value, value[0]});
      break;
    default:
      break;  // identities
  }
}

void host_flags(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.p[k] == nullptr) return;
  Result<unsigned> flags("flags");
  CALL(w, cuMemHostGetFlags, flags.argument(), Argument<void *>{w.p[k], fmt::format("p[{}]", k)});
  // The real driver returns the portable flag of the chunk that contains the memory, so it is not compared.
  flags.leave_out(CU_MEMHOSTALLOC_PORTABLE, "1U");
  w.also_number(flags);
}

void device_pointer(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.p[k] == nullptr) return;
  Result<CUdeviceptr> pointer("pointer");
  const unsigned inside = w.dice.one_of({0U, 64U});
  CALL(w, cuMemHostGetDevicePointer, pointer.argument(),
       Argument{static_cast<void *>(w.p[k] + inside), fmt::format("p[{}] + {}", k, inside)},
       number(w.dice.once_in(5) ? 1U : 0U));
  w.also_name(pointer);
}

}  // namespace

Choices memory_choices() {
  return Choices({
      waiting(8, allocate),
      waiting(2, free_memory),
      waiting(4, allocate_pinned),
      waiting(1, free_pinned),
      {2, address_range},
      {4, pointer_attribute},
      {1, host_flags},
      {1, device_pointer},
  });
}

}  // namespace differential

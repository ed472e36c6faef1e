// SPDX-License-Identifier: Apache-2.0
// Attributes of pointers; registered memory; batches of copies.
#include <fmt/format.h>

#include <cstring>

#include "memory_walks.hpp"

namespace differential {
namespace {

// ---- Pointers ----

void attributes_of_pointer(Walk &w) {
  const auto address = some_bytes(w).address;
  std::uint64_t values[3][2];
  std::memset(values, 0x11, sizeof values);
  void *places[3] = {values[0], values[1], values[2]};
  CUpointer_attribute which[3];
  std::string text;
  for (CUpointer_attribute &one : which) {
    do one = static_cast<CUpointer_attribute>(w.dice.below(23));
    while (one == CU_POINTER_ATTRIBUTE_P2P_TOKENS);
    text += fmt::format("{}, ", static_cast<int>(one));
  }
  const unsigned count = w.dice.one_of({3U, 3U, 3U, 1U, 0U});
  CALL(w, cuPointerGetAttributes, number(count), Argument{which, text}, Argument{places, "values"}, address);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t value = values[i][0];
    switch (static_cast<int>(which[i])) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        if (value == 0x1111111111111111) break;
        w.also(w.name_of(reinterpret_cast<CUcontext>(value)));
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        w.also(w.name_of(CUdeviceptr{value}));
        break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        break;
      default:
        w.also(std::to_string(value));
    }
  }
}

void set_attribute(Walk &w) {
  const auto address = some_bytes(w).address;
  const unsigned value = w.dice.one_of({0U, 1U, 1U, 2U});
  CALL(w, cuPointerSetAttribute, Argument<const void *>{&value, fmt::format("&{}", value)},
       numbered("attribute", static_cast<CUpointer_attribute>(w.dice.one_of({6, 6, 6, 6, 1, 7, 8}))),
       address);
}

void address_range(Walk &w) {
  Result<CUdeviceptr> base("base");
  Result<std::size_t> size("size");
  CALL(w, cuMemGetAddressRange, base.argument(), size.argument(), some_bytes(w).address);
  w.also_name(base);
  w.also_number(size);
}

void host_pointer(Walk &w) {
  const auto address = some_bytes(w).address;
  const Argument<void *> host{reinterpret_cast<void *>(address.value), address.text};
  if (w.dice.once_in(2)) {
    Result<CUdeviceptr> pointer("pointer");
    CALL(w, cuMemHostGetDevicePointer, pointer.argument(), host, number(0));
    w.also_name(pointer);
  } else {
    Result<unsigned> flags("flags");
    CALL(w, cuMemHostGetFlags, flags.argument(), host);
    flags.leave_out(CU_MEMHOSTALLOC_PORTABLE, "1U");
    w.also_number(flags);
  }
}

// ---- Registered memory: parts of three adjacent pages; p[k] is the page k while just that page is
// registered ----

void register_pages(Walk &w) {
  const unsigned k = w.dice.below(3);
  if (w.p[k] != nullptr && !w.is_registered(k)) return;
  unsigned char *const page = w.shared.pages(k);
  const std::size_t offset = w.dice.one_of<std::size_t>({0, 0, 0, 0, 64, 2048});
  const std::size_t size = w.dice.one_of<std::size_t>({kPage, kPage, kPage, 0, 100, 2 * kPage});
  if (offset + size > (3 - k) * kPage) return;
  const auto flags = number(w.dice.one_of({0U, 0U, 1U, 2U, 3U, 4U, 8U, 16U}));
  if (CALL(w, cuMemHostRegister, Argument<void *>{page + offset, fmt::format("pages({}) + {}", k, offset)},
           bytes(size), flags) != CUDA_SUCCESS)
    return;
  if (offset == 0 && size == kPage) {
    w.p[k] = page;
    fill_pinned(k, page);
    return;
  }
  Result<CUdeviceptr> pointer("pointer");
  CALL(w, cuMemHostGetDevicePointer, pointer.argument(),
       Argument<void *>{page + offset + size - 1, "its last byte"}, number(0));
  CALL(w, cuMemHostUnregister, Argument<void *>{page + offset, "its first byte"});
}

void unregister_pages(Walk &w) {
  const unsigned k = w.dice.below(3);
  if (w.p[k] != nullptr && !w.is_registered(k)) return;
  w.finish();
  const unsigned inside = w.dice.once_in(6) ? w.dice.one_of({1U, 64U, 4095U}) : 0;
  if (CALL(w, cuMemHostUnregister,
           Argument<void *>{w.shared.pages(k) + inside, fmt::format("pages({}) + {}", k, inside)}) ==
      CUDA_SUCCESS)
    w.p[k] = nullptr;
}

// ---- Copies ----

// Memory that the walk may write, with its size.
Bytes some_memory(Walk &w) {
  const unsigned k = a_managed(w), b = w.a_buffer(), pinned = w.dice.below(3);
  switch (w.dice.below(4)) {
    case 0:
      if (b != Walk::buffers) return {w.address_in(b, 0), w.b[b].bytes};
      break;
    case 1:
      if (w.p[pinned] != nullptr)
        return {{reinterpret_cast<CUdeviceptr>(w.p[pinned]), fmt::format("p[{}]", pinned)}, buffer_bytes};
      break;
    default:
      break;
  }
  if (k == kNone) return {{0, "0"}, 0};
  return {{of_managed(w).g[k].base, fmt::format("g[{}]", k)}, of_managed(w).g[k].size};
}

void copy_batch(Walk &w) {
  CUdeviceptr to[2], from[2];
  std::size_t sizes[2];
  std::string text;
  for (unsigned i = 0; i < 2; ++i) {
    const Bytes target = some_memory(w), source = some_memory(w);
    to[i] = target.address.value;
    from[i] = source.address.value;
    if (to[i] == from[i]) return;
    sizes[i] = w.dice.one_of<std::size_t>({256, 256, 1024, 1, 0, target.size + 4096});
    if (sizes[i] > 4096 && !w.dice.once_in(4)) return;
    text += fmt::format("{{{} from {}, {}}}", target.address.text, source.address.text, sizes[i]);
  }
  if (to[0] == to[1] || to[0] == from[1] || to[1] == from[0]) return;  // in no order
  CUmemcpyAttributes with[2]{};
  for (CUmemcpyAttributes &one : with) {
    one.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(w.dice.one_of({1, 1, 1, 2, 3, 0, 4}));
    one.flags = w.dice.once_in(15) ? 2 : w.dice.below(2);
    text += fmt::format("{{{}, {}}}", static_cast<int>(one.srcAccessOrder), one.flags);
  }
  std::size_t first[2] = {w.dice.once_in(20) ? 1U : 0U, w.dice.once_in(10) ? 0U : 1U};
  const auto count = bytes(w.dice.one_of<std::size_t>({1, 2, 2, 2, 0}));
  const auto with_count = bytes(w.dice.one_of<std::size_t>({1, 1, 2, 0}));
  w.finish();
  CALL(w, cuMemcpyBatchAsync_v2, Argument{to, text},
       Argument{from, fmt::format("first {}, {}", first[0], first[1])}, Argument{sizes, "sizes"}, count,
       Argument{with, "with"}, Argument{first, "first"}, with_count, w.a_stream());
  w.finish();
}

void copy_box_batch(Walk &w) {
  const Bytes target = some_memory(w), source = some_memory(w);
  if (target.address.value == source.address.value || target.size < 4096 || source.size < 4096) return;
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = source.address.value;
  op.dst.op.ptr.ptr = target.address.value;
  op.src.op.ptr.rowLength = w.dice.one_of<std::size_t>({16, 32, 64, 0});
  op.src.op.ptr.layerHeight = w.dice.one_of<std::size_t>({4, 8, 0});
  op.dst.op.ptr.rowLength = w.dice.one_of<std::size_t>({16, 32, 64, 0});
  op.dst.op.ptr.layerHeight = w.dice.one_of<std::size_t>({4, 8, 0});
  op.extent.width = w.dice.one_of<std::size_t>({16, 8, 1, 0, 40});
  op.extent.height = w.dice.one_of<std::size_t>({4, 2, 0, 6});
  op.extent.depth = w.dice.one_of<std::size_t>({1, 2, 4, 0});
  op.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(w.dice.one_of({1, 1, 1, 2, 3, 0}));
  op.flags = w.dice.once_in(10) ? 2 : 0;
  const std::string text = fmt::format(
      "{} from {}, {} {} to {} {}, {} {} {}, {} {}", target.address.text, source.address.text,
      op.src.op.ptr.rowLength, op.src.op.ptr.layerHeight, op.dst.op.ptr.rowLength, op.dst.op.ptr.layerHeight,
      op.extent.width, op.extent.height, op.extent.depth, static_cast<int>(op.srcAccessOrder), op.flags);
  w.finish();
  const auto count = bytes(w.dice.once_in(15) ? 0 : 1);
  CALL(w, cuMemcpy3DBatchAsync_v2, count, Argument{&op, text},
       Argument{w.dice.once_in(20) ? 1ULL : 0ULL, "flags"}, Argument<CUstream>{nullptr, "nullptr"});
  w.finish();
}

void read_managed(Walk &w) {
  const unsigned k = a_managed(w);
  if (k == kNone) return;
  w.finish();
  std::vector<unsigned char> data(of_managed(w).g[k].size);
  CALL(w, cuMemcpyDtoH, Argument<void *>{data.data(), "data"},
       Argument{of_managed(w).g[k].base, fmt::format("g[{}]", k)}, bytes(data.size()));
  w.also(digest(data));
}

void set_managed(Walk &w) {
  const Bytes range = some_bytes(w);
  if (range.size > std::size_t{1} << 20) return;
  w.finish();
  const unsigned value = w.dice.below(200);
  CALL(w, cuMemsetD8, range.address, Argument{static_cast<unsigned char>(value), std::to_string(value)},
       bytes(range.size));
  w.finish();
}

}  // namespace

Choices pointer_choices() {
  return waiting({
      {14, attributes_of_pointer},
      {6, set_attribute},
      {6, address_range},
      {6, host_pointer},
      {14, register_pages},
      {8, unregister_pages},
      {14, copy_batch},
      {10, copy_box_batch},
      {10, read_managed},
      {5, set_managed},
  });
}

}  // namespace differential

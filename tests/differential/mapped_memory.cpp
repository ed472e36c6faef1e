// SPDX-License-Identifier: Apache-2.0
// The use of mapped memory: copies, sets, queries, calls for other kinds of memory.
#include <fmt/format.h>

#include "memory_walks.hpp"
#include "pointer_attributes.hpp"

namespace differential {
namespace {

// ---- Use ----

// Returns the access of the device at an address: 0 to 3.
unsigned long long access_at(CUdeviceptr address) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  unsigned long long flags = 0;
  return driver().cuMemGetAccess(&flags, &location, address) == CUDA_SUCCESS ? flags : 0;
}

// Returns whether the device has an access at the first byte that it does not have at all bytes: the real
// driver may submit work that then ends its context.
bool is_open_in_part(CUdeviceptr address, std::size_t size) {
  const auto first = access_at(address);
  for (CUdeviceptr at = address; first != 0 && at < address + size; at = at / granule * granule + granule)
    if (access_at(at) != first) return true;
  return false;
}

// Returns an address near a boundary of granules.
Argument<CUdeviceptr> a_place(Walk &w) {
  const unsigned k = a_range(w);
  if (k == kNone) return {0, "0"};
  const AddressRange &range = of_mappings(w).r[k];
  std::size_t offset = w.dice.below(static_cast<unsigned>(range.size / granule)) * granule +
                       w.dice.one_of<std::size_t>({0, 0, 64, granule - 64, granule - 4096, granule - 2});
  return {range.base + offset, fmt::format("r[{}] + {}", k, offset)};
}

void set_bytes(Walk &w) {
  const auto to = a_place(w);
  w.finish();
  const unsigned value = w.dice.below(200);
  const std::size_t size = w.dice.one_of<std::size_t>({16, 64, 128, 4096, 8192, granule, 2 * granule, 0});
  if (is_open_in_part(to.value, size)) return;
  switch (w.dice.below(4)) {
    case 0:
    case 1:
      CALL(w, cuMemsetD8, to, Argument{static_cast<unsigned char>(value), std::to_string(value)},
           bytes(size));
      break;
    case 2:
      CALL(w, cuMemsetD32, to, number(value), bytes(size / 4));
      break;
    default:
      if (access_at(to.value) != 3 || is_open_in_part(to.value, std::size_t{64} * 40)) return;
      CALL(w, cuMemsetD2D8, to, bytes(64), Argument{static_cast<unsigned char>(value), std::to_string(value)},
           bytes(60), bytes(40));
  }
  w.finish();
}

void write_bytes(Walk &w) {
  const auto to = a_place(w);
  w.finish();
  const std::vector<unsigned char> data(8192, static_cast<unsigned char>(w.dice.below(200)));
  const auto size = bytes(w.dice.one_of<std::size_t>({0, 2, 64, 128, 8192}));
  if (is_open_in_part(to.value, size.value)) return;
  CALL(w, cuMemcpyHtoD, to, Argument<const void *>{data.data(), fmt::format("data of {}", data[0])}, size);
  w.finish();
}

void read_bytes(Walk &w) {
  const auto from = a_place(w);
  w.finish();
  std::vector<unsigned char> data(8192);
  const auto size = bytes(w.dice.one_of<std::size_t>({0, 2, 64, 128, 8192}));
  if (is_open_in_part(from.value, size.value)) return;
  CALL(w, cuMemcpyDtoH, Argument<void *>{data.data(), "data"}, from, size);
  w.also(digest(data));
}

void copy_bytes(Walk &w) {
  const auto from = a_place(w);
  const unsigned k = w.a_buffer();
  const bool is_to_buffer = w.dice.once_in(3);
  if (is_to_buffer && k == Walk::buffers) return;
  const auto to = is_to_buffer ? w.address_in(k, 0) : a_place(w);
  w.finish();
  const std::size_t size = w.dice.one_of<std::size_t>({0, 2, 64, 128, 4096});
  if (is_open_in_part(to.value, size) || is_open_in_part(from.value, size)) return;
  if (to.value < from.value + size && from.value < to.value + size) return;  // overlapping: undefined
  if (w.dice.once_in(2))
    CALL(w, cuMemcpyDtoD, to, from, bytes(size));
  else
    CALL(w, cuMemcpy, to, from, bytes(size));
  w.finish();
}

void write_word(Walk &w) {
  const auto to = a_place(w);
  w.finish();
  CALL(w, cuStreamWriteValue32, Argument<CUstream>{nullptr, "nullptr"}, to, number(w.dice.below(99)),
       number(0));
  w.finish();
}

void attribute(Walk &w) {
  const auto address = an_address(w, w.dice.one_of<std::size_t>({0, 0, 1, granule - 1}));
  const auto attribute = an_attribute(w, address);
  if (!attribute) return;
  switch (attribute->which) {
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      break;  // identities
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      w.also(w.name_of(CUdeviceptr{attribute->value}));
      break;
    default:
      also_attribute(w, *attribute);
  }
}

void address_range(Walk &w) {
  Result<CUdeviceptr> base("base");
  Result<std::size_t> size("size");
  CALL(w, cuMemGetAddressRange, base.argument(), size.argument(),
       an_address(w, w.dice.one_of<std::size_t>({0, 0, 1, granule - 1})));
  w.also_name(base);
  w.also_number(size);
}

void end_in_a_wrong_way(Walk &w) {
  const auto address = an_address(w);
  const Argument<void *> host{reinterpret_cast<void *>(address.value), address.text};
  if (address.value == 0) return;
  w.finish();
  switch (w.dice.below(6)) {
    case 0:
      CALL(w, cuMemFree, address);
      break;
    case 1:
      CALL(w, cuMemFreeAsync, address, Argument<CUstream>{nullptr, "nullptr"});
      break;
    case 2:
      CALL(w, cuMemFreeHost, host);
      break;
    case 3:
      CALL(w, cuMemHostUnregister, host);
      break;
    case 4: {
      Result<CUdeviceptr> pointer("pointer");
      CALL(w, cuMemHostGetDevicePointer, pointer.argument(), host, number(0));
      w.also_name(pointer);
      break;
    }
    default: {
      Result<unsigned> flags("flags");
      CALL(w, cuMemHostGetFlags, flags.argument(), host);
      w.also_number(flags);
    }
  }
}

}  // namespace

Choices mapped_memory_choices() {
  return waiting({
      {10, set_bytes},
      {8, write_bytes},
      {12, read_bytes},
      {8, copy_bytes},
      {2, write_word},
      {10, attribute},
      {5, address_range},
      {5, end_in_a_wrong_way},
  });
}

}  // namespace differential

// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.hpp"

#include <algorithm>
#include <stdexcept>

namespace conformance {

CUmemAllocationProp plain_properties(int handle_types) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 0;
  properties.requestedHandleTypes = handle_type(handle_types);
  return properties;
}

void WithVirtualMemory::TearDown() {
  driver().cuCtxSetCurrent(context);
  driver().cuCtxSynchronize();
  for (const Range &one : mappings_) driver().cuMemUnmap(one.base, one.size);
  if (range_out != 0) driver().cuMemAddressFree(range_out, range_out_size);
  for (const Range &one : ranges_) driver().cuMemAddressFree(one.base, one.size);
  if (handle_out != 0) driver().cuMemRelease(handle_out);
  for (const Handle one : handles_) driver().cuMemRelease(one);
  OnDevice::TearDown();
}

WithVirtualMemory::Handle WithVirtualMemory::physical(std::size_t bytes, int handle_types) {
  Handle made = 0;
  const CUmemAllocationProp properties = plain_properties(handle_types);
  NEED(driver().cuMemCreate(&made, bytes, &properties, 0));
  own(made);
  return made;
}

CUdeviceptr WithVirtualMemory::range(std::size_t bytes, std::size_t alignment) {
  CUdeviceptr made = 0;
  NEED(driver().cuMemAddressReserve(&made, bytes, alignment, 0, 0));
  ranges_.push_back({made, bytes});
  return made;
}

CUdeviceptr WithVirtualMemory::range_at(CUdeviceptr at, std::size_t bytes) {
  CUdeviceptr made = 0;
  NEED(driver().cuMemAddressReserve(&made, bytes, 0, at, 0));
  ranges_.push_back({made, bytes});
  if (made != at) throw std::runtime_error("the driver reserved another range than the one asked for");
  return made;
}

CUdeviceptr WithVirtualMemory::map(CUdeviceptr at, std::size_t bytes, Handle memory) {
  NEED(driver().cuMemMap(at, bytes, 0, memory, 0));
  mappings_.push_back({at, bytes});
  return at;
}

CUdeviceptr WithVirtualMemory::grant(CUdeviceptr at, std::size_t bytes, int with_flags) {
  const CUmemAccessDesc wanted = access(with_flags);
  NEED(driver().cuMemSetAccess(at, bytes, &wanted, 1));
  return at;
}

CUdeviceptr WithVirtualMemory::mapped(std::size_t granules) {
  return map(range(granules * kGranule), granules * kGranule, physical(granules * kGranule));
}

CUdeviceptr WithVirtualMemory::accessible(std::size_t granules) {
  return grant(mapped(granules), granules * kGranule);
}

CUdeviceptr WithVirtualMemory::adjacent(std::size_t granules) {
  const CUdeviceptr at = range(granules * kGranule);
  for (std::size_t i = 0; i < granules; ++i) map(at + i * kGranule, kGranule, physical());
  return at;
}

CUdeviceptr WithVirtualMemory::accessible_adjacent(std::size_t granules) {
  return grant(adjacent(granules), granules * kGranule);
}

WithVirtualMemory::Handle WithVirtualMemory::disowned(Handle memory) {
  std::erase(handles_, memory);
  return memory;
}

CUmemAccessDesc WithVirtualMemory::access(int with_flags, int device_number) {
  CUmemAccessDesc wanted = {};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device_number;
  wanted.flags = access_flags(with_flags);
  return wanted;
}

unsigned long long WithVirtualMemory::access_at(CUdeviceptr at) {
  const CUmemLocation location = access().location;
  unsigned long long found = 77;
  const CUresult code = driver().cuMemGetAccess(&found, &location, at);
  return code == CUDA_SUCCESS ? found : 1000 + static_cast<unsigned long long>(code);
}

std::size_t WithVirtualMemory::free_memory() {
  std::size_t free = 0, total = 0;
  NEED(driver().cuMemGetInfo(&free, &total));
  return free;
}

void WithVirtualMemory::put_device(CUdeviceptr at, const std::vector<unsigned char> &bytes) {
  NEED(driver().cuMemcpyHtoD(at, bytes.data(), bytes.size()));
  NEED(driver().cuCtxSynchronize());  // unmapping does not wait for the copy
}

std::vector<unsigned char> WithVirtualMemory::take_device(CUdeviceptr at, std::size_t bytes) {
  std::vector<unsigned char> taken(bytes);
  NEED(driver().cuMemcpyDtoH(taken.data(), at, bytes));
  return taken;
}

}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
#include "memory_objects.hpp"

#include <fmt/format.h>

namespace differential {

using cushim::driver;

namespace {
template <class Ranges>
std::string name_in(const Ranges &ranges, const char *name, CUdeviceptr address) {
  for (unsigned k = 0; k < ranges.size(); ++k)
    if (ranges[k].contains(address)) return fmt::format("{}[{}]+{}", name, k, address - ranges[k].base);
  return {};
}
}  // namespace

Mappings::~Mappings() {
  for (const AddressRange &one : mapped) driver().cuMemUnmap(one.base, one.size);
  for (const AddressRange &one : r)
    if (one.base != 0) driver().cuMemAddressFree(one.base, one.size);
  for (Physical &one : h)
    for (; one.references != 0; --one.references) driver().cuMemRelease(one.handle);
}
std::string Mappings::name_of(CUdeviceptr address) const { return name_in(r, "r", address); }

// Imported memory and imported pools end before those that they come from.
Pools::~Pools() {
  CUmemoryPool usual = nullptr;
  if (driver().cuDeviceGetDefaultMemPool(&usual, 0) == CUDA_SUCCESS) driver().cuDeviceSetMemPool(0, usual);
  for (const bool is_import : {true, false})
    for (Memory &one : a)
      if (one.address != 0 && one.is_imported == is_import) driver().cuMemFree(one.address);
  driver().cuCtxSynchronize();
  for (const bool is_import : {true, false})
    for (Pool &one : q)
      if (one.handle != nullptr && (one.imported_from >= 0) == is_import)
        driver().cuMemPoolDestroy(one.handle);
}
std::string Pools::name_of(CUdeviceptr address) const {
  for (unsigned k = 0; k < a.size(); ++k)
    if (a[k].address != 0 && address - a[k].address < a[k].bytes)
      return fmt::format("a[{}]+{}", k, address - a[k].address);
  return {};
}

Arrays::~Arrays() {
  for (Array &one : a)
    if (one.handle != nullptr && one.level_of < 0) driver().cuArrayDestroy(one.handle);
  for (CUmipmappedArray one : m)
    if (one != nullptr) driver().cuMipmappedArrayDestroy(one);
}

Managed::~Managed() {
  driver().cuCtxSynchronize();
  for (const AddressRange &one : g)
    if (one.base != 0) driver().cuMemFree(one.base);
}
std::string Managed::name_of(CUdeviceptr address) const { return name_in(g, "g", address); }

Usage::~Usage() {
  for (const CUdeviceptr one : d)
    if (one != 0) driver().cuMemFree(one);
}

std::string MemoryObjects::name_of(CUdeviceptr address) const {
  for (const std::string &name :
       {mappings.name_of(address), pools.name_of(address), managed.name_of(address)})
    if (!name.empty()) return name;
  return {};
}

}  // namespace differential

// SPDX-License-Identifier: Apache-2.0
#include "pools.hpp"

namespace conformance {

void OnPools::SetUp() {
  CUSHIM_NEEDS(pools);
  OnDevice::SetUp();
}

void OnPools::TearDown() {
  if (context != nullptr) driver().cuCtxSetCurrent(context);
  if (pool_out != nullptr) driver().cuMemPoolDestroy(pool_out);
  for (CUmemoryPool made : pools_) driver().cuMemPoolDestroy(made);
  OnDevice::TearDown();
}

CUmemoryPool OnPools::own_pool(const CUmemPoolProps &properties) {
  CUmemoryPool made = nullptr;
  NEED(driver().cuMemPoolCreate(&made, &properties));
  return made;
}

CUmemoryPool OnPools::pool(const CUmemPoolProps &properties) {
  return pools_.emplace_back(own_pool(properties));
}

CUmemoryPool OnPools::pool_of_at_most(std::size_t bytes) {
  CUmemPoolProps properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE);
  set_member(properties, kOfMaxSize, bytes);
  return pool(properties);
}

CUmemoryPool OnPools::destroyed_pool() {
  const CUmemoryPool made = own_pool();
  NEED(driver().cuMemPoolDestroy(made));
  return made;
}

CUdeviceptr OnPools::from(CUmemoryPool pool, std::size_t bytes, CUstream work) {
  CUdeviceptr made = 0;
  NEED(driver().cuMemAllocFromPoolAsync(&made, bytes, pool, work));
  return made;
}

CUdeviceptr OnPools::synchronized_from(CUmemoryPool pool, std::size_t bytes) {
  const CUstream work = stream();
  const CUdeviceptr made = from(pool, bytes, work);
  NEED(driver().cuStreamSynchronize(work));
  return made;
}

unsigned long long OnPools::value_of(CUmemoryPool pool, CUmemPool_attribute attribute) {
  unsigned long long value = 0;
  NEED(driver().cuMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

void OnPools::set_value(CUmemoryPool pool, CUmemPool_attribute attribute, unsigned long long value) {
  NEED(driver().cuMemPoolSetAttribute(pool, attribute, &value));
}

int OnPools::access(CUmemoryPool pool, CUmemLocation location) {
  auto found = CU_MEM_ACCESS_FLAGS_PROT_READ;
  NEED(driver().cuMemPoolGetAccess(&found, pool, &location));
  return static_cast<int>(found);
}

CUresult OnPools::set_access(CUmemoryPool pool, CUmemLocation location, CUmemAccess_flags flags) {
  CUmemAccessDesc wanted{};
  wanted.location = location;
  wanted.flags = flags;
  return driver().cuMemPoolSetAccess(pool, &wanted, 1);
}

CUmemoryPool OnPools::default_pool() {
  CUmemoryPool found = nullptr;
  NEED(driver().cuDeviceGetDefaultMemPool(&found, 0));
  return found;
}

}  // namespace conformance

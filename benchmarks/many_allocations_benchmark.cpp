// SPDX-License-Identifier: Apache-2.0
// Measures calls on memory among 1,000 and among 100,000 allocations, pools, reserved ranges and mappings.
#include <utility>

#include "many_objects.hpp"

namespace {

using namespace cushim::bench;
using cushim::driver;

constexpr std::size_t kGranule = 2 << 20;

template <class Allocate>
Work each_address(Allocate allocate) {
  return [allocate](Running &running, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      CUdeviceptr at = 0;
      need(allocate(running, &at));
      running.addresses.push_back(at);
    }
  };
}

template <class Use>
Work with_each(Use use) {
  return [use](Running &running, std::size_t) {
    for (const CUdeviceptr at : running.addresses) need(use(running, at));
  };
}

// Frees every second address.
template <class Free>
Work with_each_second(Free free) {
  return [free](Running &running, std::size_t) {
    std::vector<CUdeviceptr> kept;
    for (std::size_t i = 0; i < running.addresses.size(); ++i)
      if (i % 2 == 0)
        need(free(running, running.addresses[i]));
      else
        kept.push_back(running.addresses[i]);
    running.addresses = std::move(kept);
  };
}

CUresult allocate_512(Running &, CUdeviceptr *at) { return driver().cuMemAlloc(at, 512); }
CUresult allocate_1024(Running &, CUdeviceptr *at) { return driver().cuMemAlloc(at, 1024); }
CUresult allocate_managed(Running &, CUdeviceptr *at) {
  return driver().cuMemAllocManaged(at, 512, CU_MEM_ATTACH_GLOBAL);
}
CUresult free_memory(Running &, CUdeviceptr at) { return driver().cuMemFree(at); }
CUresult allocate_host(Running &, CUdeviceptr *at) {
  void *made = nullptr;
  const CUresult code = driver().cuMemHostAlloc(&made, 512, 0);
  *at = reinterpret_cast<CUdeviceptr>(made);
  return code;
}
CUresult free_host(Running &, CUdeviceptr at) { return driver().cuMemFreeHost(reinterpret_cast<void *>(at)); }
CUresult allocate_async(Running &running, CUdeviceptr *at) {
  return driver().cuMemAllocFromPoolAsync(at, 512, running.pool, running.stream);
}
CUresult allocate_more_async(Running &running, CUdeviceptr *at) {
  return driver().cuMemAllocFromPoolAsync(at, 1024, running.pool, running.stream);
}
CUresult free_async(Running &running, CUdeviceptr at) { return driver().cuMemFreeAsync(at, running.stream); }
CUresult make_pool(Running &running, CUdeviceptr *at) {
  CUmemoryPool made = nullptr;
  const CUresult code = driver().cuMemPoolCreate(&made, &running.properties);
  *at = reinterpret_cast<CUdeviceptr>(made);
  return code;
}
CUresult destroy_pool(Running &, CUdeviceptr at) {
  return driver().cuMemPoolDestroy(reinterpret_cast<CUmemoryPool>(at));
}
CUresult reserve(Running &, CUdeviceptr *at) { return driver().cuMemAddressReserve(at, kGranule, 0, 0, 0); }
CUresult free_range(Running &, CUdeviceptr at) { return driver().cuMemAddressFree(at, kGranule); }
CUresult create(CUmemGenericAllocationHandle *out) {
  CUmemAllocationProp wanted = {};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return driver().cuMemCreate(out, kGranule, &wanted, 0);
}
CUresult map(Running &running, CUdeviceptr at) {
  if (running.mapped == 0) need(create(&running.mapped));
  return driver().cuMemMap(at, kGranule, 0, running.mapped, 0);
}
CUresult set_access(Running &, CUdeviceptr at) {
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver().cuMemSetAccess(at, kGranule, &access, 1);
}
CUresult set_bytes(Running &, CUdeviceptr at) { return driver().cuMemsetD8(at, 1, 16); }
CUresult advise(Running &, CUdeviceptr at) {
  return cushim::exact::cuMemAdvise_v8000(driver())(at, 512, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
}
CUresult unmap(Running &, CUdeviceptr at) { return driver().cuMemUnmap(at, kGranule); }
CUresult create_memory(Running &, CUdeviceptr *at) { return create(at); }
CUresult release(Running &, CUdeviceptr at) { return driver().cuMemRelease(at); }
CUresult get_pointer_attribute(Running &, CUdeviceptr at) {
  CUmemorytype type = {};
  return driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
}

}  // namespace

int main(int argc, char **argv) {
  const Life lives[] = {
      {"cuMemAlloc",
       {{"allocate", each_address(allocate_512)},
        {"set", with_each(set_bytes)},
        {"attribute", with_each(get_pointer_attribute)},
        {"free every second", with_each_second(free_memory)},
        {"allocate more", each_address(allocate_1024)},
        {"free", with_each(free_memory)}}},
      {"cuMemAllocManaged",
       {{"allocate", each_address(allocate_managed)},
        {"set", with_each(set_bytes)},
        {"advise", with_each(advise)},
        {"free every second", with_each_second(free_memory)},
        {"allocate", each_address(allocate_managed)},
        {"free", with_each(free_memory)}}},
      {"cuMemHostAlloc",
       {{"allocate", each_address(allocate_host)},
        {"set", with_each(set_bytes)},
        {"free", with_each(free_host)}}},
      {"cuMemAllocFromPoolAsync",
       {{"allocate", each_address(allocate_async)},
        {"set", with_each(set_bytes)},
        {"free every second", with_each_second(free_async)},
        {"allocate more", each_address(allocate_more_async)},
        {"free", with_each(free_async)},
        {"allocate again", each_address(allocate_async)}}},
      {"pools", {{"create", each_address(make_pool)}, {"destroy", with_each(destroy_pool)}}, 20'000},
      {"reserved ranges",
       {{"reserve", each_address(reserve)},
        {"map", with_each(map)},
        {"access", with_each(set_access)},
        {"set", with_each(set_bytes)},
        {"attribute", with_each(get_pointer_attribute)},
        {"unmap", with_each(unmap)},
        {"free", with_each(free_range)}},
       20'000},
      {"physical memory", {{"create", each_address(create_memory)}, {"release", with_each(release)}}, 60'000},
  };
  return measure_all(lives, argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// Memory, ranges of addresses and pools.
#include "make_object.hpp"
#include "support/structures.hpp"

namespace arguments {
namespace {

void fill(void *memory) { std::fill_n(static_cast<std::uint32_t *>(memory), kBytes / 4, 1U); }

// Pageable memory, which is used again by all cases of the process. Larger than an allocation, so that copies
// to it may be changed.
constexpr std::size_t kPageableBytes = 1 << 20;
void *pageable_memory(int index) {
  static void *memory[2]{};
  if (memory[index] == nullptr) memory[index] = map_with_gap(kPageableBytes);
  fill(memory[index]);
  return memory[index];
}

}  // namespace

Address Objects::allocated(std::string_view name) {
  return {once<CUdeviceptr>(
      name,
      [this, name](CUdeviceptr *made) {
        check(driver_->cuMemAlloc(made, kBytes), name);
        return driver_->cuMemsetD32(*made, 1, kBytes / 4);
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}
Address Objects::memory() { return allocated("memory"); }
Address Objects::other_memory() { return allocated("other memory"); }
Address Objects::managed() {
  return {once<CUdeviceptr>(
      "managed memory",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAllocManaged(made, kBytes, CU_MEM_ATTACH_GLOBAL), "managed memory");
        return driver_->cuMemsetD32(*made, 1, kBytes / 4);
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}
Address Objects::stream_ordered() {
  return {once<CUdeviceptr>(
      "stream-ordered memory",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAllocAsync(made, kBytes, stream()), "stream-ordered memory");
        driver_->cuMemsetD32Async(*made, 1, kBytes / 4, stream());
        return driver_->cuStreamSynchronize(stream());
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}
Address Objects::pool_memory() {
  return {once<CUdeviceptr>(
      "memory of the pool",
      [this](CUdeviceptr *made) {
        check(driver_->cuMemAllocFromPoolAsync(made, kBytes, pool(), stream()), "memory of the pool");
        driver_->cuMemsetD32Async(*made, 1, kBytes / 4, stream());
        return driver_->cuStreamSynchronize(stream());
      },
      [this](CUdeviceptr address) { driver_->cuMemFree(address); })};
}

HostMemory Objects::pinned() {
  return {once<void *>(
      "pinned memory",
      [this](void **made) {
        const CUresult result = driver_->cuMemAllocHost(made, kBytes);
        if (result == CUDA_SUCCESS) fill(*made);
        return result;
      },
      [this](void *memory) { driver_->cuMemFreeHost(memory); })};
}
HostMemory Objects::pageable() {
  return {driver_ == nullptr ? handle_of<void *>(kPlaceholder) : pageable_memory(0)};
}
HostMemory Objects::pageable_to_register() {
  const HostMemory memory = pageable();
  undo_later("registration", [this, memory] { driver_->cuMemHostUnregister(memory.value); });
  return memory;
}
HostMemory Objects::registered() {
  return {once<void *>(
      "registered memory",
      [this](void **made) {
        *made = pageable_memory(1);
        return driver_->cuMemHostRegister(*made, kBytes, CU_MEMHOSTREGISTER_DEVICEMAP);
      },
      [this](void *memory) { driver_->cuMemHostUnregister(memory); })};
}

CUmemGenericAllocationHandle Objects::physical() {
  return once<CUmemGenericAllocationHandle>(
      "physical memory",
      [this](CUmemGenericAllocationHandle *made) {
        const CUmemAllocationProp properties = physical_properties();
        return driver_->cuMemCreate(made, kMapped, &properties, 0);
      },
      [this](CUmemGenericAllocationHandle memory) { driver_->cuMemRelease(memory); });
}
Address Objects::range() {
  return {once<CUdeviceptr>(
      "range", [this](CUdeviceptr *made) { return driver_->cuMemAddressReserve(made, kReserved, 0, 0, 0); },
      [this](CUdeviceptr address) { driver_->cuMemAddressFree(address, kReserved); })};
}
Address Objects::mapped() {
  const Address address = range();
  const CUdeviceptr first = address.value;
  once<int>(
      "mapping",
      [this, first](int *) {
        check(driver_->cuMemMap(first, kMapped, 0, physical(), 0), "mapping");
        const CUmemAccessDesc access = cushim::test::full_access();
        check(driver_->cuMemSetAccess(first, kMapped, &access, 1), "mapping");
        check(driver_->cuMemsetD32(first + kMapped - 4, 1, 1), "mapping");
        check(driver_->cuMemsetD32(first, 1, kBytes / 4), "mapping");
        return driver_->cuStreamSynchronize(nullptr);  // a memset does not wait
      },
      [this, first](int) { driver_->cuMemUnmap(first, kMapped); });
  return address;
}
Address Objects::unmapped() { return {range().value + kMapped}; }

CUmemoryPool Objects::pool() {
  return once<CUmemoryPool>("pool", [this](CUmemoryPool *made) {
    const CUmemPoolProps properties = pool_properties();
    return driver_->cuMemPoolCreate(made, &properties);
  });
}
CUmemoryPool Objects::pool_to_set() {
  const CUmemoryPool made = pool();
  undo_later("default pool", [this] {
    CUmemoryPool by_default = nullptr;
    driver_->cuDeviceGetDefaultMemPool(&by_default, device);
    driver_->cuDeviceSetMemPool(device, by_default);
  });
  return made;
}

}  // namespace arguments

// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_memory_calls(Calls &calls) {
  // The numbers of bytes depend on what else runs on the device.
  CALL(cuMemGetInfo, o.hidden<std::size_t>(), o.hidden<std::size_t>());
  CALL(cuMemAlloc, o.made_memory(), std::size_t{4096});
  CALL(cuMemAllocPitch, o.made_memory(), o.out<std::size_t>(), std::size_t{100}, std::size_t{4}, 4U);
  CALL(cuMemAllocManaged, o.made_memory(), SmallSize{4096}, 1U);
  CALL(cuMemAllocHost, o.made_host_memory(), SmallSize{4096});
  CALL(cuMemHostAlloc, o.made_host_memory(), SmallSize{4096}, 0U);
  CALL(cuMemAllocAsync, o.made_memory(), SmallSize{4096}, o.stream());
  CALL(cuMemFree, o.memory()).destroys();
  CALL(cuMemFreeHost, o.pinned()).destroys();
  CALL(cuMemFreeAsync, o.stream_ordered(), o.stream()).destroys();
  CALL(cuMemGetAddressRange, o.hidden<CUdeviceptr>(), o.out<std::size_t>(), o.memory());
  CALL(cuMemHostGetDevicePointer, o.hidden<CUdeviceptr>(), o.pinned(), 0U);
  CALL(cuMemHostGetFlags, o.out<unsigned>(), o.pinned());
  CALL(cuMemHostRegister, o.pageable_to_register(), std::size_t{4096}, 0U);
  CALL(cuMemHostUnregister, o.registered()).destroys();
  CALL(cuMemGetHandleForAddressRange, o.hidden<int>(), o.memory(), std::size_t{kBytes},
       CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0ULL);
}

}  // namespace arguments

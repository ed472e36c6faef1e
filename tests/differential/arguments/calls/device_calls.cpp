// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_device_calls(Calls &calls) {
  CALL(cuInit, 0U);
  CALL(cuDriverGetVersion, o.out<int>());
  // The real driver crashes if the place is null.
  CALL(cuGetErrorString, CUDA_SUCCESS, o.hidden<const char *>()).without({"pStr=null"});
  CALL(cuGetErrorName, CUDA_SUCCESS, o.hidden<const char *>()).without({"pStr=null"});
  CALL(cuDeviceGet, o.out<int>(), 0);
  CALL(cuDeviceGetCount, o.out<int>());
  CALL(cuDeviceGetName, o.hidden<char>(), 100, o.device).without({"len=0"});  // the real driver crashes
  CALL(cuDeviceGetUuid, o.hidden<CUuuid>(), o.device);
  CALL(cuDeviceGetLuid, o.hidden<char>(), o.out<unsigned>(), o.device);
  CALL(cuDeviceTotalMem, o.hidden<std::size_t>(), o.device);
  CALL(cuDeviceGetTexture1DLinearMaxWidth, o.out<std::size_t>(), CU_AD_FORMAT_FLOAT, 1U, o.device);
  CALL_AS("half", cuDeviceGetTexture1DLinearMaxWidth, o.out<std::size_t>(), CU_AD_FORMAT_HALF, 4U, o.device);
  CALL(cuDeviceGetAttribute, o.out<int>(), CU_DEVICE_ATTRIBUTE_WARP_SIZE, o.device);
  CALL(cuDeviceGetHostAtomicCapabilities, o.out<unsigned>(),
       o.list({CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_EXCHANGE}), Count{2}, o.device);
  CALL(cuDeviceGetP2PAtomicCapabilities, o.out<unsigned>(), o.list({CU_ATOMIC_OPERATION_INTEGER_ADD}),
       Count{1}, o.device, o.device);
  CALL(cuDeviceGetP2PAttribute, o.out<int>(), CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, o.device, o.device);
  CALL(cuDeviceCanAccessPeer, o.out<int>(), o.device, o.device);
  CALL(cuDeviceGetExecAffinitySupport, o.out<int>(), CU_EXEC_AFFINITY_TYPE_SM_COUNT, o.device);
  CALL(cuDeviceGetByPCIBusId, o.out<int>(), "ffff:ff:1f.7");
  CALL(cuDeviceGetPCIBusId, o.hidden<char>(), 20, o.device);
  CALL(cuDeviceGetMemPool, o.hidden<CUmemoryPool>(), o.device);
  CALL(cuDeviceGetDefaultMemPool, o.hidden<CUmemoryPool>(), o.device);
  CALL(cuDeviceSetMemPool, o.device, o.pool_to_set());
  CALL(cuDeviceGraphMemTrim, o.device);
  // The value depends on graphs of earlier cases.
  CALL(cuDeviceGetGraphMemAttribute, o.device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, o.hidden<std::uint64_t>());
  CALL(cuDeviceSetGraphMemAttribute, o.device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, o.list<std::uint64_t>({0}));
  CALL(cuFlushGPUDirectRDMAWrites, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
  CALL(cuGraphicsMapResources, Count{0}, nullptr, o.stream());
  CALL(cuGraphicsUnmapResources, Count{0}, nullptr, o.stream());
  CALL(cuCoredumpGetAttribute, CU_COREDUMP_ENABLE_ON_EXCEPTION, o.hidden<int>(), o.in_out<std::size_t>(4));
  CALL(cuCoredumpGetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, o.hidden<int>(),
       o.in_out<std::size_t>(4));
  CALL(cuCheckpointProcessGetRestoreThreadId, fixed(::getpid()), o.hidden<int>());
  CALL(cuCheckpointProcessGetState, fixed(::getpid()), o.out<CUprocessState>());
  CALL(cuLogsCurrent, o.hidden<CUlogIterator>(), 0U);
}

}  // namespace arguments

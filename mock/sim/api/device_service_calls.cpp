// SPDX-License-Identifier: Apache-2.0
// Calls about a device as a whole: execution affinity, profilers, writes of other devices,
// asynchronous notifications, decompression. Measured on an H200, driver 580, except where noted.
#include "api/service.hpp"

namespace cushim::sim {
namespace {

CUresult get_affinity(Call &call, CUexecAffinityParam *out, CUexecAffinityType type) {
  const Context &context = call.context();
  require(out != nullptr);
  require(type == CU_EXEC_AFFINITY_TYPE_SM_COUNT, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  out->type = type;
  out->param.smCount.val =
      static_cast<unsigned>(context.device->attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  return CUDA_SUCCESS;
}

CUresult flush_remote_writes(Call &call, CUflushGPUDirectRDMAWritesTarget target,
                             CUflushGPUDirectRDMAWritesScope scope) {
  call.context();
  require(target == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
  require(scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER ||
          scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12040
// Not measured. No notification ever comes: the only kind is about memory budgets, which devices do not have.
CUresult register_notification(Call &call, CUdevice number, CUasyncCallback function, void *,
                               CUasyncCallbackHandle *out) {
  require(function != nullptr && out != nullptr);
  const Device &device = call.device(number);
  System &system = call.system;
  system.notifications.emplace(++system.last_registration, &device);
  *out = reinterpret_cast<CUasyncCallbackHandle>(std::uintptr_t{system.last_registration});
  return CUDA_SUCCESS;
}

CUresult unregister_notification(Call &call, CUdevice number, CUasyncCallbackHandle handle) {
  const Device &device = call.device(number);
  auto &registered = call.system.notifications;
  const auto found = registered.find(reinterpret_cast<std::uintptr_t>(handle));
  require(found != registered.end() && found->second == &device);
  registered.erase(found);
  return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12060
// An H200 has no hardware for it: CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK is 0.
CUresult decompress(Call &call, CUmemDecompressParams *, std::size_t, unsigned, std::size_t *,
                    CUstream stream) {
  call.stream(stream);
  return CUDA_ERROR_NOT_SUPPORTED;
}
#endif

}  // namespace

constinit const Entries entries_of_device_services = {
    entry<"cuCtxGetExecAffinity", get_affinity>,
    entries_with_result<CUDA_ERROR_NOT_SUPPORTED, "cuProfilerInitialize">,
    entry<"cuFlushGPUDirectRDMAWrites", flush_remote_writes>,
#if CUDA_VERSION >= 12040
    entry<"cuDeviceRegisterAsyncNotification", register_notification>,
    entry<"cuDeviceUnregisterAsyncNotification", unregister_notification>,
#endif
#if CUDA_VERSION >= 12060
    entry<"cuMemBatchDecompressAsync", decompress>,
#else
    entries_with_result<CUDA_ERROR_NOT_SUPPORTED, "cuMemBatchDecompressAsync">,
#endif
};

}  // namespace cushim::sim

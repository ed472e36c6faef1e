// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

namespace cushim::sim {
namespace {

CUresult allocate(Call &call, CUdeviceptr *out, std::size_t size, unsigned flags) {
  require(out != nullptr);
  Context &context = call.context();
  require(size != 0);
  require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
  Allocation *const made = call.system.memory.allocate_on_host(MemoryKind::managed, size);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
  made->device = context.device;
  made->flags = flags;
  *out = made->base;
  return CUDA_SUCCESS;
}

// Its bytes are always where they are wanted, so a prefetch moves nothing; it has its place in the stream.
CUresult prefetch(Call &call, CUdeviceptr address, std::size_t size, CUdevice to, CUstream handle) {
  Stream &stream = call.stream(handle);
  require(size != 0);
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::managed &&
          size <= allocation->end() - address);
  if (to != CU_DEVICE_CPU) call.device(to);
  call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

}  // namespace

void serve_managed_memory(Service &service) {
  service.serve<Entry::cuMemAllocManaged_v6000, allocate>();
  service.serve<Entry::cuMemPrefetchAsync_v8000, prefetch>();
  service.serve<Entry::cuMemPrefetchAsync_v8000_ptsz, prefetch>();
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "service.hpp"

namespace cushim::sim {
namespace {

constexpr int kHostLocation = 2;  // CU_MEM_LOCATION_TYPE_HOST, since CUDA 12.2

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
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::managed &&
          size <= allocation->end() - address);
  if (to != CU_DEVICE_CPU) call.device(to);
  allocation->last_prefetch = to;
  call.enqueue(stream, {});
  return CUDA_SUCCESS;
}

CUresult prefetch_to(Call &call, CUdeviceptr address, std::size_t size, CUmemLocation to, unsigned flags,
                     CUstream handle) {
  require(flags == 0);
  require(to.type == CU_MEM_LOCATION_TYPE_DEVICE || to.type == kHostLocation);
  return prefetch(call, address, size, to.type == CU_MEM_LOCATION_TYPE_DEVICE ? to.id : CU_DEVICE_CPU,
                  handle);
}

CUresult advise(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUdevice device) {
  require(size != 0 && advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::managed &&
          size <= allocation->end() - address);
  // Advice comes in pairs, to set and to unset: it is kept under the first's number.
  const bool is_set = advice % 2 == 1;
  if (is_set)
    allocation->advice[advice] = device;
  else
    allocation->advice.erase(advice - 1);
  return CUDA_SUCCESS;
}

CUresult advise_at(Call &call, CUdeviceptr address, std::size_t size, CUmem_advise advice, CUmemLocation at) {
  require(at.type == CU_MEM_LOCATION_TYPE_DEVICE || at.type == kHostLocation);
  return advise(call, address, size, advice, at.type == CU_MEM_LOCATION_TYPE_DEVICE ? at.id : CU_DEVICE_CPU);
}

CUresult get_range_attribute(Call &call, void *value, std::size_t size, CUmem_range_attribute attribute,
                             CUdeviceptr address, std::size_t count) {
  require(value != nullptr && count != 0 && size >= sizeof(int) && size % sizeof(int) == 0);
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::managed &&
          count <= allocation->end() - address);
  const auto advised = [&](CUmem_advise advice, int otherwise) {
    const auto place = allocation->advice.find(advice);
    return place != allocation->advice.end() ? place->second : otherwise;
  };
  int answer = CU_DEVICE_INVALID;
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      answer = allocation->advice.contains(CU_MEM_ADVISE_SET_READ_MOSTLY);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      answer = advised(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_INVALID);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      answer = advised(CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_INVALID);
      break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      answer = allocation->last_prefetch;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(value, 0xff, size);  // what a list does not fill
  std::memcpy(value, &answer, sizeof answer);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_managed_memory(Service &service) {
  service.serve<Entry::cuMemAllocManaged_v6000, allocate>();
  service.serve<Entry::cuMemPrefetchAsync_v8000, prefetch>();
  service.serve<Entry::cuMemPrefetchAsync_v8000_ptsz, prefetch>();
  service.serve<Entry::cuMemPrefetchAsync_v12020, prefetch_to>();
  service.serve<Entry::cuMemPrefetchAsync_v12020_ptsz, prefetch_to>();
  service.serve<Entry::cuMemAdvise_v8000, advise>();
  service.serve<Entry::cuMemAdvise_v12020, advise_at>();
  service.serve<Entry::cuMemRangeGetAttribute_v8000, get_range_attribute>();
}

}  // namespace cushim::sim

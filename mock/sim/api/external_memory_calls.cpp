// SPDX-License-Identifier: Apache-2.0
// Memory of other interfaces. The only one that can be imported is physical memory that cuMemCreate has made
// and cuMemExportToShareableHandle has exported: no graphics interface is simulated. Measured on an H200,
// driver 580, except where noted.
#include <unistd.h>

#include <cerrno>

#include "api/physical_import.hpp"
#include "api/reserved.hpp"
#include "api/service.hpp"
#include "objects/external_memory.hpp"

namespace cushim::sim {
namespace {

ExternalMemory &external(Call &call, CUexternalMemory handle) {
  return call.object<ExternalMemory>(handle, CUDA_ERROR_INVALID_VALUE);
}

// Checks everything but the file descriptor.
void check(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC &description) {
  const bool is_dedicated = (description.flags & CUDA_EXTERNAL_MEMORY_DEDICATED) != 0;
  require(description.size != 0 && (description.flags & ~unsigned{CUDA_EXTERNAL_MEMORY_DEDICATED}) == 0);
  require(is_zero(description.reserved));
  switch (static_cast<int>(description.type)) {
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD:
      return;
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE:
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE:
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT:
      require(is_dedicated);  // documentation
      [[fallthrough]];
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32:
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT:
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP:
    case CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF:
    case 9:  // CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, unnamed before 13.0
      fail(CUDA_ERROR_NOT_SUPPORTED);
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

// Takes over the file descriptor. The size may exceed that of the memory.
CUresult import(Call &call, CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description) {
  call.context();
  require(out != nullptr && description != nullptr);
  check(*description);
  auto made =
      std::make_unique<ExternalMemory>(import_physical(call, description->handle.fd), description->size);
  ExternalMemory &added = call.system.handles.add(std::move(made));
  close(description->handle.fd);
  *out = reinterpret_cast<CUexternalMemory>(added.handle);
  return CUDA_SUCCESS;
}

// Buffers stay valid.
CUresult destroy(Call &call, CUexternalMemory handle) {
  call.system.handles.erase(external(call, handle), call.name);
  return CUDA_SUCCESS;
}

CUresult map_buffer(Call &call, CUdeviceptr *out, CUexternalMemory handle,
                    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *description) {
  const ExternalMemory &memory = external(call, handle);
  require(out != nullptr && description != nullptr);
  Context &context = call.context();
  const std::size_t offset = description->offset, size = description->size, all = memory.memory->size();
  require(description->flags == 0 && is_zero(description->reserved));
  require(size != 0 && offset <= all && size <= all - offset);
  Allocation *const made = call.system.memory.map_external(memory.memory, offset, size);
  if (made == nullptr) {
    report_limit(call.name, errno);
    fail(CUDA_ERROR_OUT_OF_MEMORY);
  }
  made->context = &context;
  *out = made->base;
  return CUDA_SUCCESS;
}

CUresult map_levels(Call &call, CUmipmappedArray *out, CUexternalMemory handle,
                    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *description) {
  external(call, handle);
  require(out != nullptr && description != nullptr);
  call.system.engine.report(std::string(call.name) + ": arrays in external memory are not implemented");
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

constinit const Entries entries_of_external_memory = {
    entry<"cuImportExternalMemory", import>,
    entry<"cuDestroyExternalMemory", destroy>,
    entry<"cuExternalMemoryGetMappedBuffer", map_buffer>,
    entry<"cuExternalMemoryGetMappedMipmappedArray", map_levels>,
};

}  // namespace cushim::sim

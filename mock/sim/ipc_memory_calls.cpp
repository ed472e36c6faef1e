// SPDX-License-Identifier: Apache-2.0
// Device memory that other processes open.
#include <algorithm>
#include <bit>
#include <cstring>

#include "service.hpp"

namespace cushim::sim {
namespace {

CUresult get_handle(Call &call, CUipcMemHandle *out, CUdeviceptr address) {
  call.context();
  require(out != nullptr);
  call.system.engine.wait_for_moves(call.lock);  // sharing puts other memory behind the addresses
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::device && allocation->pool == nullptr &&
          allocation->imported == nullptr);
  if (allocation->exported == nullptr) {
    const auto table = call.system.sharing.own();
    require(table != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    std::size_t lead = 0;
    auto pieces = call.system.memory.share(*allocation, lead);
    require(!pieces.empty(), CUDA_ERROR_OUT_OF_MEMORY);
    allocation->exported =
        MemoryExport::make(table, std::move(pieces), lead, allocation->size, allocation->device->uuid);
    require(allocation->exported != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  }
  call.system.engine.work_in_background();
  *out = std::bit_cast<CUipcMemHandle>(allocation->exported->handle());
  return CUDA_SUCCESS;
}

Allocation *find_import(Memory &memory, const ShareHandle &handle) {
  Allocation *found = nullptr;
  memory.for_each([&](Allocation &allocation) {
    if (allocation.imported != nullptr && allocation.imported->handle == handle) found = &allocation;
  });
  return found;
}

CUresult open(Call &call, CUdeviceptr *out, CUipcMemHandle raw, unsigned flags) {
  require(out != nullptr);
  Context &context = call.context();
  require((flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0);  // other bits are not looked at
  const auto handle = std::bit_cast<ShareHandle>(raw);
  require(handle.is(ShareHandle::Kind::memory));
  Memory &memory = call.system.memory;
  if (Allocation *const known = find_import(memory, handle)) {
    ++known->imported->opens;
    *out = known->base;
    return CUDA_SUCCESS;
  }
  auto found = find_memory(*call.open_table(handle, CUDA_ERROR_INVALID_HANDLE), handle);
  require(found.has_value());  // it was freed
  const auto is_it = [&](const Device *device) {
    return std::memcmp(&device->uuid, &found->device, sizeof found->device) == 0;
  };
  const auto device = std::ranges::find_if(call.system.visible, is_it);
  require(device != call.system.visible.end(), CUDA_ERROR_INVALID_DEVICE);
  // It counts as memory of the opener's device, and is reached from there. Measured, driver 580.
  require(
      *device == context.device || context.device->peers[static_cast<std::size_t>((*device)->index)].access,
      CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  Allocation *const made = memory.add_imported(*context.device, std::move(*found), handle);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
  call.system.engine.work_in_background();
  *out = made->base;
  return CUDA_SUCCESS;
}

CUresult close(Call &call, CUdeviceptr address) {
  call.context();
  const auto find = [&] {
    Allocation *const allocation = call.system.memory.find(address);
    require(allocation != nullptr && allocation->base == address && allocation->imported != nullptr);
    return allocation;
  };
  Allocation *allocation = find();
  if (allocation->imported->opens == 1) call.wait_for_users(*allocation);
  allocation = find();  // the lock was given back meanwhile
  if (--allocation->imported->opens == 0) call.system.memory.release(*allocation);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_ipc_memory(Service &service) {
  service.serve<Entry::cuIpcGetMemHandle_v4010, get_handle>();
  service.serve<Entry::cuIpcOpenMemHandle_v4010, open>();
  service.serve<Entry::cuIpcOpenMemHandle_v11000, open>();
  service.serve<Entry::cuIpcCloseMemHandle_v4010, close>();
}

}  // namespace cushim::sim

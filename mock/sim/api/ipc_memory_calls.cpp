// SPDX-License-Identifier: Apache-2.0
// Device memory that processes share (CUipcMemHandle).
#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <utility>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

[[noreturn]] void refuse_for_limit(const Call &call, int error) {
  report_limit(call.name, error);
  fail(CUDA_ERROR_OUT_OF_MEMORY);
}

// Returns the allocation at an address if it can be shared by a handle.
const Allocation &allocation_to_share(Memory &memory, CUdeviceptr address) {
  const Allocation *const allocation = memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::device && allocation->pool == nullptr &&
          allocation->imported == nullptr && allocation->mapping == nullptr && allocation->is_usable());
  return *allocation;
}

CUresult get_handle(Call &call, CUipcMemHandle *out, CUdeviceptr address) {
  require(out != nullptr && address != 0);
  call.context();
  Memory &memory = call.system.memory;
  const Allocation *allocation = &allocation_to_share(memory, address);
  if (memory.will_move(allocation->device, memory.blocks_of(*allocation))) {
    call.system.engine.wait_for_moves(call.lock);
    allocation = &allocation_to_share(memory, address);
  }
  const auto table = call.system.sharing.own();
  if (table == nullptr) refuse_for_limit(call, errno);
  const Memory::Blocks blocks = memory.blocks_of(*allocation);
  const MemoryExport *const exported = memory.share(allocation->device, blocks, table);
  if (exported == nullptr) refuse_for_limit(call, errno);
  call.system.engine.work_in_background();
  *out = std::bit_cast<CUipcMemHandle>(exported->handle(allocation->base - blocks.base, allocation->size));
  return CUDA_SUCCESS;
}

// Maps the exporter's blocks that have the handle's number now into the current context.
std::shared_ptr<ImportedBlocks> map_blocks(Call &call, Context &context, const ShareHandle &handle,
                                           const ImportedBlocks::Key &key) {
  const auto table = call.open_table(handle, CUDA_ERROR_INVALID_HANDLE);
  const auto generation = current_generation(*table, handle);
  require(generation.has_value(), errno == EACCES ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_VALUE);
  auto found = find_blocks(*table, handle, *generation);
  if (!found && (errno == EMFILE || errno == ENFILE)) refuse_for_limit(call, errno);
  require(found.has_value());
  require(found->pool == 0, CUDA_ERROR_NOT_PERMITTED);
  const Device *const device = call.device_with(found->device);
  require(device != nullptr, CUDA_ERROR_INVALID_DEVICE);
  // The memory counts as memory of the importing context's device and is accessed from there. Measured,
  // driver 580.
  require(device == context.device || context.device->peers[static_cast<std::size_t>(device->index)].access,
          CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  call.system.engine.work_in_background();
  auto made = call.system.memory.map_blocks(key, std::move(*found));
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
  return made;
}

// A handle names bytes of blocks, whatever is allocated there by now. The blocks are mapped as a whole, and
// then stay openable without the exporter until all memory in them is closed. Only then does the handle name
// the blocks that have the number by now. Measured, driver 580.
CUresult open(Call &call, CUdeviceptr *out, CUipcMemHandle raw, unsigned flags) {
  require(out != nullptr);
  require((flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0);  // other bits are ignored
  Context &context = call.context();
  const auto handle = std::bit_cast<ShareHandle>(raw);
  require(handle.is(ShareHandle::Kind::memory));
  Memory &memory = call.system.memory;
  const ImportedBlocks::Key key{handle.nonce, handle.record, handle.generation};
  require(memory.is_open_only_in(context, key), CUDA_ERROR_INVALID_HANDLE);
  std::shared_ptr<ImportedBlocks> blocks = memory.find_blocks(key);
  if (blocks == nullptr) blocks = map_blocks(call, context, handle, key);
  const std::size_t offset = std::size_t{handle.offset} * ShareHandle::kGranule;
  require(handle.size != 0 && offset < blocks->size() && handle.size <= blocks->size() - offset);
  const CUdeviceptr address = blocks->base() + offset;
  Allocation *const known = memory.find(address);
  if (known != nullptr && known->base == address && known->size == handle.size) {
    ++known->imported->opens;
  } else {
    require(!memory.overlaps(address, handle.size), CUDA_ERROR_ALREADY_MAPPED);
    memory.add_imported(context.device, std::move(blocks), offset, handle.size);
  }
  *out = address;
  return CUDA_SUCCESS;
}

CUresult close(Call &call, CUdeviceptr address) {
  call.context();
  const auto find = [&] {
    Allocation *const allocation = call.system.memory.find(address);
    require(allocation != nullptr && allocation->base == address && allocation->imported != nullptr);
    return allocation;
  };
  const auto is_used = [](const Allocation &one) {
    return !std::ranges::all_of(one.users, [](const Work &work) { return is_complete(work); });
  };
  Allocation *allocation = find();
  if (allocation->imported->opens == 1) call.wait(Call::works_of(*allocation));
  // The wait released the lock: the memory may have been opened and used again.
  while ((allocation = find())->imported->opens == 1 && is_used(*allocation))
    call.wait(Call::works_of(*allocation));
  if (--allocation->imported->opens == 0) call.system.memory.release(*allocation);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_ipc_memory(Service &service) {
  service.serve<"cuIpcGetMemHandle", get_handle>();
  service.serve<"cuIpcOpenMemHandle", open>();
  service.serve<"cuIpcCloseMemHandle", close>();
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// Device memory that processes share (CUipcMemHandle).
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

[[noreturn]] void refuse_for_limit(const Call &call, int error) {
  report_limit(call.name, error);
  fail(CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult get_handle(Call &call, CUipcMemHandle *out, CUdeviceptr address) {
  call.context();
  require(out != nullptr);
  call.system.engine.wait_for_moves(call.lock);  // sharing remaps the addresses
  Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::device && allocation->pool == nullptr &&
          allocation->imported == nullptr && allocation->mapping == nullptr && allocation->is_usable());
  if (allocation->exported == nullptr) {
    const auto table = call.system.sharing.own();
    if (table == nullptr) refuse_for_limit(call, errno);
    std::size_t lead = 0;
    auto pieces = call.system.memory.share(*allocation, lead);
    if (pieces.empty()) refuse_for_limit(call, errno);
    auto exported =
        MemoryExport::make(table, std::move(pieces), lead, allocation->size, allocation->device->uuid);
    if (exported == nullptr) refuse_for_limit(call, ENOSPC);
    call.system.engine.work_in_background();
    allocation->exported = std::move(exported);
  }
  *out = std::bit_cast<CUipcMemHandle>(allocation->exported->handle());
  return CUDA_SUCCESS;
}

template <class Wanted>
Allocation *find_import(Memory &memory, const Wanted &is_wanted) {
  Allocation *found = nullptr;
  memory.for_each([&](Allocation &allocation) {
    if (allocation.imported != nullptr && is_wanted(allocation)) found = &allocation;
  });
  return found;
}

// Returns whether two allocations overlap the same block of the exporting process.
bool share_blocks(const std::vector<Piece> &some, const std::vector<Piece> &others) {
  const auto are_in_one_block = [](const Piece &a, const Piece &b) {
    const auto first = [](const Piece &piece) { return piece.offset / Memory::kBlock; };
    const auto last = [](const Piece &piece) { return (piece.offset + piece.size - 1) / Memory::kBlock; };
    return a.blocks->nonce() == b.blocks->nonce() && first(a) <= last(b) && first(b) <= last(a);
  };
  return std::ranges::any_of(some, [&](const Piece &a) {
    return std::ranges::any_of(others, [&](const Piece &b) { return are_in_one_block(a, b); });
  });
}

CUresult open(Call &call, CUdeviceptr *out, CUipcMemHandle raw, unsigned flags) {
  require(out != nullptr);
  require((flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0);  // other bits are ignored
  Context &context = call.context();
  const auto handle = std::bit_cast<ShareHandle>(raw);
  require(handle.is(ShareHandle::Kind::memory));
  Memory &memory = call.system.memory;
  const auto is_it = [&](const Allocation &one) { return one.imported->handle == handle; };
  if (Allocation *const known = find_import(memory, is_it)) {
    require(known->context == &context, CUDA_ERROR_INVALID_HANDLE);
    ++known->imported->opens;
    *out = known->base;
    return CUDA_SUCCESS;
  }
  auto found = find_memory(*call.open_table(handle, CUDA_ERROR_INVALID_HANDLE), handle);
  if (!found && (errno == EMFILE || errno == ENFILE)) refuse_for_limit(call, errno);
  require(found.has_value());  // otherwise it has been freed
  // A block is mapped as a whole and into one context only, with all allocations in it. Measured, driver 580.
  const auto is_taken = [&](const Allocation &one) {
    return one.context != &context && share_blocks(one.imported->pieces, found->pieces);
  };
  require(find_import(memory, is_taken) == nullptr, CUDA_ERROR_INVALID_HANDLE);
  const auto is_its = [&](const Device *device) {
    return std::memcmp(&device->uuid, &found->device, sizeof found->device) == 0;
  };
  const auto device = std::ranges::find_if(call.system.visible, is_its);
  require(device != call.system.visible.end(), CUDA_ERROR_INVALID_DEVICE);
  // The memory counts as memory of the importing context's device and is accessed from there. Measured,
  // driver 580.
  require(
      *device == context.device || context.device->peers[static_cast<std::size_t>((*device)->index)].access,
      CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  call.system.engine.work_in_background();
  Allocation *const made = memory.add_imported(*context.device, std::move(*found), handle);
  require(made != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  made->context = &context;
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

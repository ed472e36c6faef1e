// SPDX-License-Identifier: Apache-2.0
// Device memory, events and memory pools that processes share (CUipcMemHandle, CUipcEventHandle, exported
// pools and pointers).
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "api/service.hpp"
#include "ipc/shared_pool.hpp"

namespace cushim::sim {
namespace {

[[noreturn]] void refuse_for_limit(const Call &call, int error) {
  report_limit(call.name, error);
  fail(CUDA_ERROR_OUT_OF_MEMORY);
}

std::shared_ptr<ShareTable> own_table(Call &call) {
  auto table = call.system.sharing.own();
  if (table == nullptr) refuse_for_limit(call, errno);
  return table;
}

// ---- Device memory ----

// Returns the allocation at an address if it can be shared by a handle.
const Allocation &allocation_to_share(Memory &memory, CUdeviceptr address) {
  const Allocation *const allocation = memory.find(address);
  require(allocation != nullptr && allocation->kind == MemoryKind::device && allocation->pool == nullptr &&
          allocation->imported == nullptr && allocation->mapping == nullptr && allocation->is_usable());
  return *allocation;
}

CUresult get_memory(Call &call, CUipcMemHandle *out, CUdeviceptr address) {
  require(out != nullptr && address != 0);
  call.context();
  Memory &memory = call.system.memory;
  const Allocation *allocation = &allocation_to_share(memory, address);
  if (memory.will_move(allocation->device, memory.blocks_of(*allocation))) {
    call.system.engine.wait_for_moves(call.lock);
    allocation = &allocation_to_share(memory, address);
  }
  const auto table = own_table(call);
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
CUresult open_memory(Call &call, CUdeviceptr *out, CUipcMemHandle raw, unsigned flags) {
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

CUresult close_memory(Call &call, CUdeviceptr address) {
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

// ---- Events ----

CUresult get_event(Call &call, CUipcEventHandle *out, CUevent handle) {
  require(out != nullptr && handle != nullptr);
  call.context();
  Event &event = call.event(handle);
  require(event.is_interprocess(), CUDA_ERROR_INVALID_HANDLE);
  require(event.shared == nullptr || !event.shared->is_imported(), CUDA_ERROR_INVALID_HANDLE);
  if (event.shared == nullptr) {
    const auto table = own_table(call);
    auto shared = SharedEvent::make(table);
    require(shared != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    call.system.engine.work_in_background();
    if (event.record != nullptr) {
      event.record_number = shared->record();
      const auto complete = [shared, number = event.record_number](Time at) { shared->complete(number, at); };
      if (event.record->is_complete())
        complete(event.record->completed_at);
      else
        event.record->call_on_complete(complete);
    }
    event.shared = std::move(shared);
  }
  *out = std::bit_cast<CUipcEventHandle>(event.shared->handle());
  return CUDA_SUCCESS;
}

CUresult open_event(Call &call, CUevent *out, CUipcEventHandle raw) {
  require(out != nullptr);
  Context &context = call.context();
  const auto handle = std::bit_cast<ShareHandle>(raw);
  require(handle.is(ShareHandle::Kind::event), CUDA_ERROR_MAP_FAILED);
  auto shared = SharedEvent::open(call.open_table(handle, CUDA_ERROR_MAP_FAILED), handle);
  require(shared != nullptr, CUDA_ERROR_MAP_FAILED);
  auto event = std::make_unique<Event>();
  event->context = &context;
  event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  event->shared = std::move(shared);
  event->join(context.objects);
  call.system.engine.work_in_background();
  *out = reinterpret_cast<CUevent>(call.system.handles.add(std::move(event)).handle);
  return CUDA_SUCCESS;
}

// ---- Pools ----

constexpr auto kFileDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

CUresult export_pool(Call &call, void *out, CUmemoryPool handle, CUmemAllocationHandleType type,
                     unsigned long long flags) {
  require(out != nullptr && flags == 0 && type == kFileDescriptor);
  Pool &pool = call.pool(handle);
  require(!pool.is_imported && (pool.handle_types & kFileDescriptor) != 0);
  if (pool.nonce == 0) {
    const auto nonce = make_nonce();
    if (!nonce) refuse_for_limit(call, errno);
    pool.nonce = *nonce;
  }
  const ShareHandle shared = own_table(call)->handle(ShareHandle::Kind::pool, 0, 0, 0, pool.nonce);
  const int descriptor = make_pool_file({.handle = shared,
                                         .device = pool.device != nullptr ? pool.device->uuid : CUuuid{},
                                         .location = static_cast<std::uint64_t>(pool.place.location)});
  if (descriptor < 0) refuse_for_limit(call, errno);
  call.system.engine.work_in_background();  // other processes may wait for this one's work
  std::memcpy(out, &descriptor, sizeof descriptor);
  return CUDA_SUCCESS;
}

CUresult import_pool(Call &call, CUmemoryPool *out, void *os_handle, CUmemAllocationHandleType type,
                     unsigned long long flags) {
  require(out != nullptr && os_handle != nullptr && flags == 0);
  require(type != CU_MEM_HANDLE_TYPE_WIN32, CUDA_ERROR_NOT_SUPPORTED);
  require(type == kFileDescriptor);
  const auto shared = read_pool_file(static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle)));
  require(shared.has_value(), CUDA_ERROR_UNKNOWN);  // measured on an H200, driver 580.159
  PoolPlace place{.location = static_cast<int>(shared->location)};
  if (place.location == kDeviceLocation) {
    const Device *const device = call.device_with(shared->device);
    require(device != nullptr);
    place.id = device->index;
  }
  Pool &made = call.system.make_pool(place);
  made.is_imported = true;
  made.nonce = shared->handle.size;
  made.handle_types = kFileDescriptor;
  call.system.engine.work_in_background();
  *out = reinterpret_cast<CUmemoryPool>(made.handle);
  return CUDA_SUCCESS;
}

// ---- Pointers to allocations in pools ----

// Returns the allocation of an exported pool at an address.
const Allocation &allocation_to_export(Memory &memory, CUdeviceptr address) {
  const Allocation *const allocation = memory.find(address);
  require(allocation != nullptr && allocation->base == address && allocation->is_usable() &&
          allocation->pool != nullptr && allocation->imported == nullptr);
  require(allocation->pool->nonce != 0);
  return *allocation;
}

CUresult export_pointer(Call &call, CUmemPoolPtrExportData *out, CUdeviceptr address) {
  require(out != nullptr);
  Memory &memory = call.system.memory;
  const Allocation *allocation = &allocation_to_export(memory, address);
  if (memory.will_move(allocation->pool->device, memory.blocks_of(*allocation))) {
    call.system.engine.wait_for_moves(call.lock);
    allocation = &allocation_to_export(memory, address);
  }
  const Pool &pool = *allocation->pool;
  const Memory::Blocks blocks = memory.blocks_of(*allocation);
  const MemoryExport *const exported = memory.share(pool.device, blocks, own_table(call), pool.nonce);
  if (exported == nullptr) refuse_for_limit(call, errno);
  *out = std::bit_cast<CUmemPoolPtrExportData>(exported->handle(address - blocks.base, allocation->size));
  return CUDA_SUCCESS;
}

// Returns the table of the process that has the pool, which may be this one.
std::shared_ptr<ShareTable> table_of(Call &call, const ShareHandle &handle) {
  const bool is_own = handle.process() == Process::self();
  auto table = is_own ? own_table(call) : call.open_table(handle, CUDA_ERROR_INVALID_VALUE);
  require(table->layout().nonce == handle.nonce);
  return table;
}

CUresult import_pointer(Call &call, CUdeviceptr *out, CUmemoryPool pool_handle,
                        CUmemPoolPtrExportData *data) {
  require(out != nullptr && data != nullptr);
  Pool &pool = call.pool(pool_handle);
  require(pool.is_imported);
  const auto handle = std::bit_cast<ShareHandle>(*data);
  require(handle.is(ShareHandle::Kind::pool_memory));
  Memory &memory = call.system.memory;
  const ImportedBlocks::Key key{handle.nonce, handle.record, handle.generation, &pool};
  std::shared_ptr<ImportedBlocks> blocks = memory.find_blocks(key);
  if (blocks == nullptr) {
    auto found = find_blocks(*table_of(call, handle), handle, handle.generation);
    if (!found && (errno == EMFILE || errno == ENFILE)) refuse_for_limit(call, errno);
    require(found.has_value() && found->pool == pool.nonce);
    blocks = memory.map_blocks(key, std::move(*found), pool.kind);
    require(blocks != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  }
  const std::size_t offset = std::size_t{handle.offset} * ShareHandle::kGranule;
  require(handle.size != 0 && offset < blocks->size() && handle.size <= blocks->size() - offset);
  const CUdeviceptr address = blocks->base() + offset;
  const Allocation *const known = memory.find(address);
  *out = address;
  // A second import returns the same address. One free ends both: the driver does not count imports.
  if (known != nullptr && known->base == address && known->size == handle.size && !known->is_freed)
    return CUDA_SUCCESS;
  Allocation &made = memory.add_imported(pool.device, std::move(blocks), offset, handle.size);
  made.pool = &pool;
  ++pool.allocations;
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_ipc = {
    entry<"cuIpcGetMemHandle", get_memory>,
    entry<"cuIpcOpenMemHandle", open_memory>,
    entry<"cuIpcCloseMemHandle", close_memory>,
    entry<"cuIpcGetEventHandle", get_event>,
    entry<"cuIpcOpenEventHandle", open_event>,
    entry<"cuMemPoolExportToShareableHandle", export_pool>,
    entry<"cuMemPoolImportFromShareableHandle", import_pool>,
    entry<"cuMemPoolExportPointer", export_pointer>,
    entry<"cuMemPoolImportPointer", import_pointer>,
};

}  // namespace cushim::sim

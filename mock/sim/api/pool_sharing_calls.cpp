// SPDX-License-Identifier: Apache-2.0
// Memory pools that processes share, and pointers to allocations in them.
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "api/service.hpp"
#include "ipc/shared_pool.hpp"

namespace cushim::sim {
namespace {

constexpr auto kFileDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

[[noreturn]] void fail_at_limit(const Call &call, int error) {
  report_limit(call.name, error);
  fail(CUDA_ERROR_OUT_OF_MEMORY);
}

std::shared_ptr<ShareTable> own_table(Call &call) {
  auto table = call.system.sharing.own();
  if (table == nullptr) fail_at_limit(call, errno);
  return table;
}

// ---- Pools ----

CUresult export_pool(Call &call, void *out, CUmemoryPool handle, CUmemAllocationHandleType type,
                     unsigned long long flags) {
  require(out != nullptr && flags == 0 && type == kFileDescriptor);
  Pool &pool = call.pool(handle);
  require(!pool.is_imported && (pool.handle_types & kFileDescriptor) != 0);
  if (pool.nonce == 0) {
    const auto nonce = make_nonce();
    if (!nonce) fail_at_limit(call, errno);
    pool.nonce = *nonce;
  }
  const ShareHandle shared = own_table(call)->handle(ShareHandle::Kind::pool, 0, 0, 0, pool.nonce);
  const int descriptor = make_pool_file({.handle = shared,
                                         .device = pool.device != nullptr ? pool.device->uuid : CUuuid{},
                                         .location = static_cast<std::uint64_t>(pool.place.location)});
  if (descriptor < 0) fail_at_limit(call, errno);
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

// ---- Pointers ----

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
  if (exported == nullptr) fail_at_limit(call, errno);
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
    if (!found && (errno == EMFILE || errno == ENFILE)) fail_at_limit(call, errno);
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

void serve_pool_sharing(Service &service) {
  service.serve<"cuMemPoolExportToShareableHandle", export_pool>();
  service.serve<"cuMemPoolImportFromShareableHandle", import_pool>();
  service.serve<"cuMemPoolExportPointer", export_pointer>();
  service.serve<"cuMemPoolImportPointer", import_pointer>();
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// The source or destination of a copy.
#pragma once

#include "api/call.hpp"

namespace cushim::sim {

struct CopyEndpoint {
  CUdeviceptr address = 0;
  Allocation *allocation = nullptr;  // the first, if it extends over mappings; null: pageable memory
  std::size_t size = 0;              // of the accessed bytes; 0 for an array

  bool is_device() const noexcept { return allocation != nullptr && allocation->kind == MemoryKind::device; }
  bool is_pageable() const noexcept { return allocation == nullptr; }
  bool is_multicast() const noexcept { return allocation != nullptr && allocation->is_multicast(); }
  // Returns the device that takes part in the copy; null for host memory.
  Device *device() const noexcept { return is_device() ? allocation->device : nullptr; }
};

// How a call accesses the memory of an endpoint.
// read: memory of a multicast object is CUDA_ERROR_NOT_SUPPORTED (801), with a report.
// written: memory that is registered with CU_MEMHOSTREGISTER_READ_ONLY is INVALID_VALUE. Measured on an H200,
// driver 580.159, for batches, memsets and asynchronous copies to the host.
enum class Access { read, written };

// Returns an endpoint in memory that devices can access. INVALID_VALUE for other memory, and for a range that
// exceeds its allocation. A range in mapped memory may extend over adjacent mappings with access.
CopyEndpoint device_endpoint(Call &call, CUdeviceptr address, std::size_t size, Access access = Access::read);

// Returns an endpoint in memory of any kind (unified addressing). INVALID_VALUE for null, for a range that
// exceeds its allocation, and for unallocated device addresses. NOT_SUPPORTED, with a report, for bytes of a
// multicast object that are refused or not bound to memory of each device.
CopyEndpoint any_endpoint(Call &call, CUdeviceptr address, std::size_t size, Access access = Access::read);

// Throws NOT_SUPPORTED, with a report, for an access to a multicast object that the documentation does not
// define.
[[noreturn]] void refuse_multicast(const Call &call);

// `waits`: the call waits until its copy is complete.
enum class Sync { waits, returns };
// For calls without a stream argument: the host does not wait for copies between devices.
inline Sync host_waits(const CopyEndpoint &to, const CopyEndpoint &from) {
  return to.is_device() && from.is_device() ? Sync::returns : Sync::waits;
}

// INVALID_VALUE if a mapping in the endpoint's range may only be read. Not measured.
void require_writable(Memory &memory, const CopyEndpoint &endpoint);

// Adds work to the users of all memory of an endpoint. reserve_users() must come first; it throws
// std::bad_alloc.
void reserve_users(Memory &memory, const CopyEndpoint &endpoint);
void add_users(Memory &memory, const CopyEndpoint &endpoint, const Work &work) noexcept;

// Returns whether a context's device may access the memory directly, as memsets and stream memory operations
// do. It may not access another device's memory without peer access of the context, nor memory opened from
// another process outside the context that opened it (measured, driver 580). False for a multicast object,
// which only some calls and instructions write to. Copies work between any two devices, except for memory of
// a pool without access.
bool reaches(const Context &context, const Allocation &allocation);

// When a copy reads its source: during the call, which copies the bytes to a staging buffer, or when the
// stream comes to it.
enum class SourceRead { in_call, in_stream };
// The program may overwrite pageable memory as soon as an asynchronous call returns.
inline SourceRead source_read(const CopyEndpoint &to, const CopyEndpoint &from, Sync sync) {
  const bool is_staged = from.is_pageable() && sync == Sync::returns && to.is_device();
  return is_staged ? SourceRead::in_call : SourceRead::in_stream;
}

// Returns the operation that copies `size` bytes. INVALID_VALUE for memory of a pool without access.
Operation copy_operation(Call &call, const Context &context, const CopyEndpoint &to, const CopyEndpoint &from,
                         std::size_t size, SourceRead read);

// Adds a copy to a stream, and waits for it if `sync` says so or the destination is pageable. In a legacy
// stream, a copy of device memory of another context is also added to that context's legacy stream: otherwise
// the two are unordered. Measured, driver 580.
void submit_copy(Call &call, Stream &stream, Operation &&operation, const CopyEndpoint &to,
                 const CopyEndpoint &from, Sync sync);

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// Copies of one dimension.
#include "place.hpp"
#include "service.hpp"

namespace cushim::sim {
namespace {

CUdeviceptr address_of(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

void copy(Call &call, Stream &stream, const Place &to, const Place &from, std::size_t size, Sync sync) {
  if (size == 0) return;
  for (const Place &place : {to, from})
    if (place.allocation != nullptr && place.allocation->pool != nullptr)
      require(reaches(*stream.context, *place.allocation));
  Memory &memory = call.system.memory;
  const auto [resource, cost] = route(*stream.context, to, from, size);
  Operation operation{.cost = cost, .resource = resource};
  if (from.is_pageable() && sync == Sync::returns && to.is_device()) {
    // Pageable memory may be written again as soon as the call returns: it is staged.
    const auto *const bytes = reinterpret_cast<const std::byte *>(from.address);
    operation.run = [&memory, to = to.address,
                     staged = std::vector<std::byte>(bytes, bytes + size)](Move &move) {
      move = {memory.bytes(to, staged.size()), staged.data(), staged.size()};
    };
  } else {
    operation.run = [&memory, to = to.address, from = from.address, size](Move &move) {
      move = {memory.bytes(to, size), memory.bytes(from, size), size};
    };
  }
  submit_copy(call, stream, std::move(operation), to, from, sync);
}

CUresult to_device(Call &call, CUdeviceptr to, const void *from, std::size_t size) {
  Stream &stream = call.stream(nullptr);
  if (size == 0) return CUDA_SUCCESS;
  const Place target = device_place(call, to, size);
  copy(call, stream, target, any_place(call, address_of(from), size), size, Sync::waits);
  return CUDA_SUCCESS;
}

CUresult to_host(Call &call, void *to, CUdeviceptr from, std::size_t size) {
  Stream &stream = call.stream(nullptr);
  if (size == 0) return CUDA_SUCCESS;
  const Place source = device_place(call, from, size);
  copy(call, stream, any_place(call, address_of(to), size), source, size, Sync::waits);
  return CUDA_SUCCESS;
}

CUresult on_device(Call &call, CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  Stream &stream = call.stream(nullptr);
  if (size == 0) return CUDA_SUCCESS;
  const Place target = device_place(call, to, size), source = device_place(call, from, size);
  copy(call, stream, target, source, size, host_waits(target, source));
  return CUDA_SUCCESS;
}

CUresult unified(Call &call, CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  Stream &stream = call.stream(nullptr);
  if (size == 0) return CUDA_SUCCESS;
  const Place target = any_place(call, to, size), source = any_place(call, from, size);
  copy(call, stream, target, source, size, host_waits(target, source));
  return CUDA_SUCCESS;
}

CUresult to_device_async(Call &call, CUdeviceptr to, const void *from, std::size_t size, CUstream handle) {
  call.require_no_ended_context();
  Stream &stream = call.stream(handle);
  if (size == 0) return CUDA_SUCCESS;
  const Place target = device_place(call, to, size);
  copy(call, stream, target, any_place(call, address_of(from), size), size, Sync::returns);
  return CUDA_SUCCESS;
}

CUresult to_host_async(Call &call, void *to, CUdeviceptr from, std::size_t size, CUstream handle) {
  call.require_no_ended_context();
  Stream &stream = call.stream(handle);
  if (size == 0) return CUDA_SUCCESS;
  const Place source = device_place(call, from, size);
  copy(call, stream, any_place(call, address_of(to), size), source, size, Sync::returns);
  return CUDA_SUCCESS;
}

CUresult on_device_async(Call &call, CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream handle) {
  call.require_no_ended_context();
  Stream &stream = call.stream(handle);
  if (size == 0) return CUDA_SUCCESS;
  const Place target = device_place(call, to, size), source = device_place(call, from, size);
  copy(call, stream, target, source, size, Sync::returns);
  return CUDA_SUCCESS;
}

CUresult unified_async(Call &call, CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream handle) {
  call.require_no_ended_context();
  Stream &stream = call.stream(handle);
  if (size == 0) return CUDA_SUCCESS;
  const Place target = any_place(call, to, size), source = any_place(call, from, size);
  copy(call, stream, target, source, size, Sync::returns);
  return CUDA_SUCCESS;
}

CUresult peer_async(Call &call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                    CUcontext from_context, std::size_t size, CUstream handle) {
  call.require_no_ended_context();
  Stream &stream = call.stream(handle);
  // Null is taken for the current context; the addresses say where the memory is.
  if (to_context != nullptr) call.context(to_context);
  if (from_context != nullptr) call.context(from_context);
  if (size == 0) return CUDA_SUCCESS;
  const Place target = device_place(call, to, size), source = device_place(call, from, size);
  copy(call, stream, target, source, size, Sync::returns);
  return CUDA_SUCCESS;
}

CUresult peer(Call &call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
              std::size_t size) {
  return peer_async(call, to, to_context, from, from_context, size, nullptr);
}

// ---- The first ABI: wants a context with addresses of 32 bits, and there is none ----

CUresult to_device_32(Call &, unsigned, const void *, unsigned) { return CUDA_ERROR_INVALID_CONTEXT; }
CUresult to_host_32(Call &, void *, unsigned, unsigned) { return CUDA_ERROR_INVALID_CONTEXT; }

}  // namespace

void serve_copies(Service &service) {
  service.serve<Entry::cuMemcpy_v4000, unified>();
  service.serve<Entry::cuMemcpy_v7000_ptds, unified>();
  service.serve<Entry::cuMemcpyAsync_v4000, unified_async>();
  service.serve<Entry::cuMemcpyAsync_v7000_ptsz, unified_async>();
  service.serve<Entry::cuMemcpyHtoD_v2000, to_device_32>();
  service.serve<Entry::cuMemcpyHtoD_v3020, to_device>();
  service.serve<Entry::cuMemcpyHtoD_v7000_ptds, to_device>();
  service.serve<Entry::cuMemcpyHtoDAsync_v3020, to_device_async>();
  service.serve<Entry::cuMemcpyHtoDAsync_v7000_ptsz, to_device_async>();
  service.serve<Entry::cuMemcpyDtoH_v2000, to_host_32>();
  service.serve<Entry::cuMemcpyDtoH_v3020, to_host>();
  service.serve<Entry::cuMemcpyDtoH_v7000_ptds, to_host>();
  service.serve<Entry::cuMemcpyDtoHAsync_v3020, to_host_async>();
  service.serve<Entry::cuMemcpyDtoHAsync_v7000_ptsz, to_host_async>();
  service.serve<Entry::cuMemcpyDtoD_v3020, on_device>();
  service.serve<Entry::cuMemcpyDtoD_v7000_ptds, on_device>();
  service.serve<Entry::cuMemcpyDtoDAsync_v3020, on_device_async>();
  service.serve<Entry::cuMemcpyDtoDAsync_v7000_ptsz, on_device_async>();
  service.serve<Entry::cuMemcpyPeer_v4000, peer>();
  service.serve<Entry::cuMemcpyPeer_v7000_ptds, peer>();
  service.serve<Entry::cuMemcpyPeerAsync_v4000, peer_async>();
  service.serve<Entry::cuMemcpyPeerAsync_v7000_ptsz, peer_async>();
}

}  // namespace cushim::sim

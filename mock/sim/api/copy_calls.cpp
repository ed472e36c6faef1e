// SPDX-License-Identifier: Apache-2.0
// 1D copies.
#include "api/service.hpp"
#include "commands/submit.hpp"

namespace cushim::sim {
namespace {

CUdeviceptr address_of(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

void copy(Call &call, Stream &stream, const CopyEndpoint &to, const CopyEndpoint &from, std::size_t size,
          Sync sync) {
  if (size == 0) return;
  Operation operation = copy_operation(call, *stream.context, to, from, size, source_read(to, from, sync));
  submit_copy(call, stream, std::move(operation), to, from, sync);
}

// The ends of a copy, and whether a call without a stream argument waits for it.
struct Ends {
  CopyEndpoint to, from;
  Sync without_stream;
  CUmemorytype to_type, from_type;  // as the call declares them
};

// Each looks up the ends of its copies, in the order of the real driver's checks.
Ends to_device(Call &call, CUdeviceptr to, const void *from, std::size_t size) {
  const CopyEndpoint target = device_endpoint(call, to, size, Access::written);
  return {target, any_endpoint(call, address_of(from), size), Sync::waits, CU_MEMORYTYPE_DEVICE,
          CU_MEMORYTYPE_HOST};
}
Ends to_host(Call &call, void *to, CUdeviceptr from, std::size_t size) {
  const CopyEndpoint source = device_endpoint(call, from, size);
  return {any_endpoint(call, address_of(to), size, Access::written), source, Sync::waits, CU_MEMORYTYPE_HOST,
          CU_MEMORYTYPE_DEVICE};
}
Ends on_device(Call &call, CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  const CopyEndpoint target = device_endpoint(call, to, size, Access::written);
  const CopyEndpoint source = device_endpoint(call, from, size);
  return {target, source, host_waits(target, source), CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE};
}
Ends unified(Call &call, CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  const CopyEndpoint target = any_endpoint(call, to, size, Access::written);
  const CopyEndpoint source = any_endpoint(call, from, size);
  return {target, source, host_waits(target, source), CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED};
}

Memcpy in_3d(const Ends &ends, std::size_t size) {
  CUDA_MEMCPY3D with{};
  with.srcMemoryType = ends.from_type;
  with.dstMemoryType = ends.to_type;
  if (ends.from_type == CU_MEMORYTYPE_HOST)
    with.srcHost = reinterpret_cast<const void *>(ends.from.address);
  else
    with.srcDevice = ends.from.address;
  if (ends.to_type == CU_MEMORYTYPE_HOST)
    with.dstHost = reinterpret_cast<void *>(ends.to.address);
  else
    with.dstDevice = ends.to.address;
  with.WidthInBytes = size;
  with.Height = with.Depth = 1;
  return Memcpy(with);
}

// Copies between the ends that find(call, to, from, size) looks up. A copy of no bytes checks no address.
CUresult copy_between(Call &call, Stream &stream, auto find, auto to, auto from, std::size_t size,
                      bool waits) {
  if (size == 0) return CUDA_SUCCESS;
  const Ends ends = find(call, to, from, size);
  if (stream.capture != nullptr) return capture_command(call, stream, in_3d(ends, size)), CUDA_SUCCESS;
  copy(call, stream, ends.to, ends.from, size, waits ? ends.without_stream : Sync::returns);
  return CUDA_SUCCESS;
}

// The calls whose ends `find` looks up.
template <auto find>
struct Copies;
template <class To, class From, Ends (*find)(Call &, To, From, std::size_t)>
struct Copies<find> {
  static CUresult now(Call &call, To to, From from, std::size_t size) {
    return copy_between(call, call.stream(nullptr), find, to, from, size, true);
  }
  static CUresult async(Call &call, To to, From from, std::size_t size, CUstream stream) {
    return copy_between(call, call.stream_of_copy(stream), find, to, from, size, false);
  }
};

CUresult peer_async(Call &call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                    CUcontext from_context, std::size_t size, CUstream handle) {
  Stream &stream = call.stream_of_copy(handle);
  // Null stands for the current context. The addresses determine the location.
  if (to_context != nullptr) call.context(to_context);
  if (from_context != nullptr) call.context(from_context);
  return copy_between(call, stream, on_device, to, from, size, false);
}

CUresult peer(Call &call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
              std::size_t size) {
  return peer_async(call, to, to_context, from, from_context, size, nullptr);
}

}  // namespace

constinit const Entries entries_of_copies = {
    entries_with_result<kNeeds32BitAddresses, "cuMemcpyHtoD_v2000", "cuMemcpyHtoDAsync_v2000",
                        "cuMemcpyDtoH_v2000", "cuMemcpyDtoHAsync_v2000", "cuMemcpyDtoD_v2000",
                        "cuMemcpyDtoDAsync_v3000">,
    entry<"cuMemcpy", Copies<unified>::now>,
    entry<"cuMemcpyAsync", Copies<unified>::async>,
    entry<"cuMemcpyHtoD", Copies<to_device>::now>,
    entry<"cuMemcpyHtoDAsync", Copies<to_device>::async>,
    entry<"cuMemcpyDtoH", Copies<to_host>::now>,
    entry<"cuMemcpyDtoHAsync", Copies<to_host>::async>,
    entry<"cuMemcpyDtoD", Copies<on_device>::now>,
    entry<"cuMemcpyDtoDAsync", Copies<on_device>::async>,
    entry<"cuMemcpyPeer", peer>,
    entry<"cuMemcpyPeerAsync", peer_async>,
};

}  // namespace cushim::sim

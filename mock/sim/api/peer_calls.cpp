// SPDX-License-Identifier: Apache-2.0
#include "api/service.hpp"

namespace cushim::sim {
namespace {

const Peer &link(const Device &device, const Device &other) {
  return device.peers[static_cast<std::size_t>(other.index)];
}

CUresult can_access(Call &call, int *can, CUdevice number, CUdevice peer_number) {
  require(can != nullptr);
  const Device &device = call.device(number), &peer = call.device(peer_number);
  *can = &device != &peer && link(device, peer).access;
  return CUDA_SUCCESS;
}

// CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED, which older headers lack.
constexpr int kOnlyPartialNativeAtomics = 5;

CUresult get_attribute(Call &call, int *value, CUdevice_P2PAttribute attribute, CUdevice number,
                       CUdevice peer_number) {
  require(value != nullptr);
  const Device &device = call.device(number), &peer = call.device(peer_number);
  require(&device != &peer, CUDA_ERROR_INVALID_DEVICE);
  const Peer &peers = link(device, peer);
  switch (static_cast<int>(attribute)) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      *value = peers.performance_rank;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = peers.access;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      *value = peers.native_atomics;
      return CUDA_SUCCESS;
    case kOnlyPartialNativeAtomics:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult enable(Call &call, CUcontext peer_handle, unsigned flags) {
  Context &context = call.context();
  Context &peer = call.context(peer_handle);
  require(flags == 0);
  require(peer.device != context.device && link(*context.device, *peer.device).access,
          CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  require(context.peers.insert(&peer).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  peer.peer_of.insert(&context);
  return CUDA_SUCCESS;
}

CUresult disable(Call &call, CUcontext peer_handle) {
  Context &context = call.context();
  Context &peer = call.context(peer_handle);
  require(context.peers.erase(&peer) != 0, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  peer.peer_of.erase(&context);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
// The host has no atomic operations on a device that is not connected to it by NVLink. Capabilities before an
// unknown operation are written.
CUresult get_atomics_of_host(Call &call, unsigned *capabilities, const CUatomicOperation *operations,
                             unsigned count, CUdevice number) {
  require(capabilities != nullptr && operations != nullptr && count != 0);
  call.device(number);
  for (unsigned i = 0; i < count; ++i) {
    require(operations[i] >= 0 && operations[i] < CU_ATOMIC_OPERATION_MAX);
    capabilities[i] = 0;
  }
  return CUDA_SUCCESS;
}

// The capabilities of two devices with native atomics are not documented, and not measured.
CUresult get_atomics_of_peers(Call &call, unsigned *capabilities, const CUatomicOperation *operations,
                              unsigned count, CUdevice source, CUdevice destination) {
  require(capabilities != nullptr && operations != nullptr && count != 0);
  const Device &from = call.device(source), &to = call.device(destination);
  require(&from != &to, CUDA_ERROR_INVALID_DEVICE);
  if (from.peers[static_cast<std::size_t>(to.index)].native_atomics) {
    call.system.engine.report(std::string(call.name) + ": not implemented for devices with native atomics");
    fail(CUDA_ERROR_NOT_SUPPORTED);
  }
  return get_atomics_of_host(call, capabilities, operations, count, destination);
}
#endif

}  // namespace

constinit const Entries entries_of_peers = {
    entry<"cuDeviceCanAccessPeer", can_access>,
    entry<"cuDeviceGetP2PAttribute", get_attribute>,
    entry<"cuCtxEnablePeerAccess", enable>,
    entry<"cuCtxDisablePeerAccess", disable>,
#if CUDA_VERSION >= 13000
    entry<"cuDeviceGetHostAtomicCapabilities", get_atomics_of_host>,
    entry<"cuDeviceGetP2PAtomicCapabilities", get_atomics_of_peers>,
#endif
};

}  // namespace cushim::sim

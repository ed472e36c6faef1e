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

}  // namespace

void serve_peers(Service &service) {
  service.serve<"cuDeviceCanAccessPeer", can_access>();
  service.serve<"cuDeviceGetP2PAttribute", get_attribute>();
  service.serve<"cuCtxEnablePeerAccess", enable>();
  service.serve<"cuCtxDisablePeerAccess", disable>();
}

}  // namespace cushim::sim

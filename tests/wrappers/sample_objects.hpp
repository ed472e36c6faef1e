// SPDX-License-Identifier: Apache-2.0
// Objects of the recording driver that tests of single functions pass.
#pragma once

#include "recording_driver.hpp"

namespace cushim::test {

inline Device device() { return Device::from_handle(3); }
inline ContextRef context() { return ContextRef::from_handle(context_handle(0xc1)); }
inline StreamRef stream() { return StreamRef(stream_handle(0x50)); }
inline EventRef event() { return EventRef::from_handle(event_handle(0xe0)); }
inline Function function() { return Function::from_handle(reinterpret_cast<CUfunction>(0xf0)); }
inline Kernel kernel() { return Kernel::from_handle(reinterpret_cast<CUkernel>(0xf8)); }
inline GraphRef graph() { return GraphRef::from_handle(reinterpret_cast<CUgraph>(0x90)); }
inline GraphExecRef exec() { return GraphExecRef::from_handle(reinterpret_cast<CUgraphExec>(0x80)); }
template <class Node = GraphNode>
Node node() {
  return Node::from_handle(reinterpret_cast<CUgraphNode>(0xa0));
}
inline const DeviceSpan<int> kDevice(DevicePtr<int>(0x1000), 4);
inline int host[4];
inline const DeviceSpan2D<int> kRows{DevicePtr<int>(0x1000), 2, 2, 8};
inline const DeviceSpan3D<int> kSlices{DevicePtr<int>(0x1000), 2, 2, 2, 8};

inline ArrayRef array() { return ArrayRef::from_handle(reinterpret_cast<CUarray>(0xa8)); }
inline MipmappedArrayRef mipmaps() {
  return MipmappedArrayRef::from_handle(reinterpret_cast<CUmipmappedArray>(0xa9));
}
inline ExternalSemaphoreRef semaphore() {
  return ExternalSemaphoreRef::from_handle(reinterpret_cast<CUexternalSemaphore>(0x60));
}
inline ExternalMemoryRef external_memory() {
  return ExternalMemoryRef::from_handle(reinterpret_cast<CUexternalMemory>(0x61));
}
inline ReservedRange range() { return ReservedRange::from_address(0x10000, 0x2000); }
#if CUDA_VERSION >= 12010
inline PhysicalMemoryRef memory() { return PhysicalMemoryRef::from_handle(0x70); }
#endif

}  // namespace cushim::test

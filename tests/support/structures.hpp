// SPDX-License-Identifier: Apache-2.0
// Structures of <cuda.h> with the members that tests set.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstring>

namespace cushim::test {

// ---- Arrays and memory ----

inline CUDA_ARRAY3D_DESCRIPTOR array_shape(std::size_t width, std::size_t height = 0, std::size_t depth = 0,
                                           CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8,
                                           unsigned channels = 1, unsigned flags = 0) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Width = width;
  shape.Height = height;
  shape.Depth = depth;
  shape.Format = format;
  shape.NumChannels = channels;
  shape.Flags = flags;
  return shape;
}

// The properties of physical memory of a device.
inline CUmemAllocationProp device_memory(int device = 0) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

// The properties of a memory pool of a device.
inline CUmemPoolProps pool_of_device(int device = 0,
                                     CUmemAllocationHandleType exported_as = CU_MEM_HANDLE_TYPE_NONE) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = exported_as;
  properties.location = device_memory(device).location;
  return properties;
}

// Access of a device for reading and writing.
inline CUmemAccessDesc full_access(int device = 0) {
  return {device_memory(device).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

// ---- Copies: the ends and the extent of a CUDA_MEMCPY2D or CUDA_MEMCPY3D ----

// A place of a copy.
struct CopyEnd {
  CopyEnd(const void *place) : type(CU_MEMORYTYPE_HOST), host(const_cast<void *>(place)) {}
  CopyEnd(CUdeviceptr place) : type(CU_MEMORYTYPE_DEVICE), device(place) {}
  CopyEnd(CUarray place) : type(CU_MEMORYTYPE_ARRAY), array(place) {}

  // Writes the members of a copy that describe one end.
  template <class Host>
  void write(CUmemorytype &to_type, Host &to_host, CUdeviceptr &to_device, CUarray &to_array) const {
    to_type = type;
    to_host = host;
    to_device = device;
    to_array = array;
  }

  CUmemorytype type;
  void *host = nullptr;
  CUdeviceptr device = 0;
  CUarray array = nullptr;
};
template <class Copy>
void set_source(Copy &copy, const CopyEnd &place) {
  place.write(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray);
}
template <class Copy>
void set_target(Copy &copy, const CopyEnd &place) {
  place.write(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray);
}

// Returns a copy of a plane between two places.
inline CUDA_MEMCPY2D copy_of_plane(const CopyEnd &to, const CopyEnd &from, std::size_t width_in_bytes,
                                   std::size_t height) {
  CUDA_MEMCPY2D copy{};
  set_source(copy, from);
  set_target(copy, to);
  copy.WidthInBytes = width_in_bytes;
  copy.Height = height;
  return copy;
}

// Returns a copy of a box between two places.
inline CUDA_MEMCPY3D copy_of_box(const CopyEnd &to, const CopyEnd &from, std::size_t width_in_bytes,
                                 std::size_t height = 1, std::size_t depth = 1) {
  CUDA_MEMCPY3D copy{};
  set_source(copy, from);
  set_target(copy, to);
  copy.WidthInBytes = width_in_bytes;
  copy.Height = height;
  copy.Depth = depth;
  return copy;
}

// ---- Stream memory operations ----

// All other bytes are 0: a driver that reads a value of 64 bits finds the word.
inline CUstreamBatchMemOpParams write_of_word(CUdeviceptr address, unsigned value, unsigned flags = 0) {
  CUstreamBatchMemOpParams operation;
  std::memset(&operation, 0, sizeof operation);
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = address;
  operation.writeValue.value64 = value;
  operation.writeValue.flags = flags;
  return operation;
}
inline CUstreamBatchMemOpParams wait_for_word(CUdeviceptr address, unsigned value, unsigned flags) {
  CUstreamBatchMemOpParams operation = write_of_word(address, value, flags);
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  return operation;
}

// ---- Launches and nodes ----

// The arguments of a kernel with the parameters .u64 and .u32, as one block of bytes.
struct PackedArguments {
  PackedArguments(CUdeviceptr address, unsigned number) : bytes{address, number} {}
  PackedArguments(const PackedArguments &) = delete;
  PackedArguments &operator=(const PackedArguments &) = delete;

  struct {
    CUdeviceptr address;
    unsigned number;
  } bytes;
  std::size_t size = 12;
  void *extra[5] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                    CU_LAUNCH_PARAM_END};  // the last argument of cuLaunchKernel
};

// A launch of one thread with one attribute, which must exist as long as the configuration.
inline CUlaunchConfig launch_of_one_thread(CUstream stream, CUlaunchAttribute &attribute) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return config;
}

inline CUDA_KERNEL_NODE_PARAMS node_of_one_thread(CUfunction kernel, void **arguments) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = kernel;
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments;
  return parameters;
}

// A memset of `count` elements of `element_size` bytes.
inline CUDA_MEMSET_NODE_PARAMS memset_node(CUdeviceptr to, unsigned value, std::size_t count,
                                           unsigned element_size) {
  CUDA_MEMSET_NODE_PARAMS parameters{};
  parameters.dst = to;
  parameters.value = value;
  parameters.elementSize = element_size;
  parameters.width = count;
  parameters.height = 1;
  return parameters;
}

inline CUDA_MEM_ALLOC_NODE_PARAMS allocation_node(std::size_t bytes) {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps = pool_of_device();
  parameters.bytesize = bytes;
  return parameters;
}

#if CUDA_VERSION >= 13000
inline CUgraphNodeParams conditional_node(CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
                                          unsigned bodies, CUcontext context) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.handle = handle;
  parameters.conditional.type = type;
  parameters.conditional.size = bodies;
  parameters.conditional.ctx = context;
  return parameters;
}
#endif

}  // namespace cushim::test

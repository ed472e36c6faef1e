// SPDX-License-Identifier: Apache-2.0
#include "structures.hpp"

#include "support/structures.hpp"

namespace arguments {

using namespace cushim::test;

const char *const kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[64];
.const .align 4 .b8 constants[16];
.visible .global .align 4 .u32 counter;
.visible .entry empty() { ret; }
.visible .entry add(.param .u64 sum, .param .u32 number) {
  .reg .u64 %address;
  .reg .u32 %number, %before;
  ld.param.u64 %address, [sum];
  ld.param.u32 %number, [number];
  cvta.to.global.u64 %address, %address;
  atom.global.add.u32 %before, [%address], %number;
  ret;
}
.visible .entry uses_shared() {
  .shared .align 4 .b8 words[1024];
  .reg .u32 %zero;
  mov.u32 %zero, 0;
  st.shared.u32 [words], %zero;
  ret;
}
)";

void CUDA_CB do_nothing(void *) {}

CUDA_MEMCPY2D copy_2d(Objects &o) {
  CUDA_MEMCPY2D copy = copy_of_plane(o.memory().value, o.other_memory().value, 64, 4);
  copy.srcPitch = copy.dstPitch = 128;
  return copy;
}

CUDA_MEMCPY2D copy_2d_to_array(Objects &o) {
  CUDA_MEMCPY2D copy = copy_of_plane(o.array(), o.other_memory().value, 64, 4);
  copy.srcPitch = 128;
  return copy;
}

CUDA_MEMCPY2D copy_2d_from_host(Objects &o) {
  CUDA_MEMCPY2D copy = copy_of_plane(o.memory().value, o.pageable().value, 64, 4);
  copy.srcPitch = copy.dstPitch = 128;
  return copy;
}

namespace {
// Rows and slices of the ends of a copy of a box in linear memory.
template <class Copy>
void set_source_pitch(Copy &copy) {
  copy.srcPitch = 128;
  copy.srcHeight = 8;
}
template <class Copy>
void set_target_pitch(Copy &copy) {
  copy.dstPitch = 128;
  copy.dstHeight = 8;
}
}  // namespace

CUDA_MEMCPY3D copy_3d(Objects &o) {
  CUDA_MEMCPY3D copy = copy_of_box(o.memory().value, o.other_memory().value, 64, 4, 2);
  set_source_pitch(copy);
  set_target_pitch(copy);
  return copy;
}

CUDA_MEMCPY3D copy_3d_from_array(Objects &o) {
  CUDA_MEMCPY3D copy = copy_of_box(o.memory().value, o.array_3d(), 64, 4, 2);
  set_target_pitch(copy);
  return copy;
}

CUDA_MEMCPY3D copy_3d_to_host(Objects &o) {
  CUDA_MEMCPY3D copy = copy_of_box(static_cast<void *>(o.pageable().value), o.other_memory().value, 64, 4, 2);
  set_source_pitch(copy);
  set_target_pitch(copy);
  return copy;
}

CUDA_MEMCPY3D_PEER copy_3d_peer(Objects &o) {
  CUDA_MEMCPY3D_PEER copy{};
  set_source(copy, o.other_memory().value);
  set_target(copy, o.memory().value);
  copy.srcContext = copy.dstContext = o.context();
  set_source_pitch(copy);
  set_target_pitch(copy);
  copy.WidthInBytes = 64;
  copy.Height = 4;
  copy.Depth = 2;
  return copy;
}

CUDA_MEMSET_NODE_PARAMS memset_parameters(Objects &o) {
  CUDA_MEMSET_NODE_PARAMS parameters{};
  parameters.dst = o.memory().value;
  parameters.pitch = 128;
  parameters.value = 3;
  parameters.elementSize = 4;
  parameters.width = 16;
  parameters.height = 2;
  return parameters;
}

CUDA_KERNEL_NODE_PARAMS kernel_parameters(Objects &o) { return node_of_one_thread(o.function(), nullptr); }

CUDA_HOST_NODE_PARAMS host_parameters(Objects &) {
  CUDA_HOST_NODE_PARAMS parameters{};
  parameters.fn = do_nothing;
  return parameters;
}

CUDA_MEM_ALLOC_NODE_PARAMS allocation_parameters() { return allocation_node(4096); }

CUDA_BATCH_MEM_OP_NODE_PARAMS batch_parameters(Objects &o) {
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
  parameters.ctx = o.context();
  parameters.count = 1;
  parameters.paramArray = o.in(write_value(o)).value;
  return parameters;
}

CUstreamBatchMemOpParams write_value(Objects &o) { return write_of_word(o.memory().value, 0); }

CUstreamBatchMemOpParams wait_value(Objects &o) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = o.memory().value;
  operation.waitValue.value = 1;
  return operation;
}

CUlaunchConfig launch(Objects &o) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = o.stream();
  return config;
}

CUlaunchConfig launch(Objects &o, const CUlaunchAttribute &attribute) {
  CUlaunchConfig config = launch(o);
  config.attrs = o.in(attribute).value;
  config.numAttrs = 1;
  return config;
}

CUmemAllocationProp physical_properties() {
  CUmemAllocationProp properties = device_memory();
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

CUmemPoolProps pool_properties() {
  return cushim::test::pool_of_device(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

CUmemLocation location_of_device() {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return location;
}

CUDA_RESOURCE_DESC array_resource(CUarray array) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  return resource;
}

CUDA_RESOURCE_DESC mipmapped_resource(Objects &o) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = o.mipmapped();
  return resource;
}

CUDA_RESOURCE_DESC linear_resource(Objects &o) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {
      .devPtr = o.memory().value, .format = CU_AD_FORMAT_FLOAT, .numChannels = 1, .sizeInBytes = 4096};
  return resource;
}

CUDA_RESOURCE_DESC pitched_resource(Objects &o) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D = {.devPtr = o.memory().value,
                          .format = CU_AD_FORMAT_UNSIGNED_INT8,
                          .numChannels = 1,
                          .width = 64,
                          .height = 4,
                          .pitchInBytes = 128};
  return resource;
}

}  // namespace arguments

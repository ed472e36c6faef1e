// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

int attribute_of(const Device &device, CUdevice_attribute attribute) {
  const auto found = device.profile.attributes.find(static_cast<int>(attribute));
  require(found != device.profile.attributes.end());
  return found->second;
}

CUresult get_count(Call &call, int *count) {
  return store(count, [&] { return call.system.visible.size(); });
}

CUresult get(Call &call, CUdevice *device, int ordinal) {
  return store(device, [&] { return call.device(ordinal).ordinal; });
}

CUresult get_name(Call &call, char *name, int capacity, CUdevice number) {
  require(name != nullptr && capacity != 0);  // a negative capacity is read as a large unsigned one
  const std::string &text = call.device(number).profile.name;
  const std::size_t length =
      std::min(text.size(), static_cast<std::size_t>(static_cast<unsigned>(capacity)) - 1);
  std::memcpy(name, text.data(), length);
  name[length] = '\0';
  return CUDA_SUCCESS;
}

CUresult get_uuid(Call &call, CUuuid *uuid, CUdevice number) {
  return store(uuid, [&] { return call.device(number).uuid; });
}

// Only devices on Windows have a LUID.
CUresult get_luid(Call &call, char *luid, unsigned *mask, CUdevice number) {
  require(luid != nullptr && mask != nullptr);
  call.device(number);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult total_memory(Call &call, std::size_t *bytes, CUdevice number) {
  require(bytes != nullptr);
  *bytes = 0;  // also on failure: measured on an H200, driver 580.159
  *bytes = call.device(number).profile.total_memory;
  return CUDA_SUCCESS;
}

CUresult total_memory_32(Call &call, unsigned *bytes, CUdevice number) {
  require(bytes != nullptr);
  *bytes =
      static_cast<unsigned>(std::min<std::size_t>(call.device(number).profile.total_memory, 0xffffffffu));
  return CUDA_SUCCESS;
}

CUresult get_attribute(Call &call, int *value, CUdevice_attribute attribute, CUdevice number) {
  require(value != nullptr);
  const Device &device = call.device(number);
  *value = attribute_of(device, attribute);
  return CUDA_SUCCESS;
}

CUresult get_properties(Call &call, CUdevprop *properties, CUdevice number) {
  require(properties != nullptr);
  const Device &device = call.device(number);
  CUdevprop answer = {};
  answer.maxThreadsPerBlock = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  answer.maxThreadsDim[0] = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  answer.maxThreadsDim[1] = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  answer.maxThreadsDim[2] = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  answer.maxGridSize[0] = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  answer.maxGridSize[1] = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  answer.maxGridSize[2] = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  answer.sharedMemPerBlock = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  answer.totalConstantMemory = attribute_of(device, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  answer.SIMDWidth = attribute_of(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  answer.memPitch = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  answer.regsPerBlock = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  answer.clockRate = attribute_of(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  answer.textureAlign = attribute_of(device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  *properties = answer;
  return CUDA_SUCCESS;
}

CUresult compute_capability(Call &call, int *major, int *minor, CUdevice number) {
  require(major != nullptr && minor != nullptr);
  const Device &device = call.device(number);
  *major = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  *minor = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return CUDA_SUCCESS;
}

std::string bus_id_of(const Device &device) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0",
                static_cast<unsigned>(attribute_of(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)),
                static_cast<unsigned>(attribute_of(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)),
                static_cast<unsigned>(attribute_of(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)));
  return text;
}

CUresult get_bus_id(Call &call, char *text, int capacity, CUdevice number) {
  require(text != nullptr);
  const std::string id = bus_id_of(call.device(number));
  require(capacity > static_cast<int>(id.size()));
  std::memcpy(text, id.c_str(), id.size() + 1);
  return CUDA_SUCCESS;
}

CUresult get_by_bus_id(Call &call, CUdevice *number, const char *text) {
  require(number != nullptr && text != nullptr);
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  char rest = 0;
  // The documentation makes domain and function optional. Driver 580 requires the function.
  if (std::sscanf(text, "%x:%x:%x.%x%c", &domain, &bus, &slot, &function, &rest) != 4) {
    domain = 0;
    require(std::sscanf(text, "%x:%x.%x%c", &bus, &slot, &function, &rest) == 3);
  }
  for (const Device *device : call.system.visible) {
    if (static_cast<unsigned>(attribute_of(*device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)) != domain ||
        static_cast<unsigned>(attribute_of(*device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)) != bus ||
        static_cast<unsigned>(attribute_of(*device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)) != slot)
      continue;
    *number = device->ordinal;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

// Accepts every type. Measured on an H200, driver 580.159.
CUresult get_affinity_support(Call &call, int *value, CUexecAffinityType, CUdevice number) {
  require(value != nullptr);
  call.device(number);
  *value = 0;
  return CUDA_SUCCESS;
}

// The attribute is the width of elements of 16 bytes. Smaller elements can be as many as fill the same
// memory, but at most four times as many. Only the formats of the first headers are accepted. Measured on an
// H200, driver 580.159.
CUresult linear_texture_width(Call &call, std::size_t *width, CUarray_format format, unsigned channels,
                              CUdevice number) {
  require(width != nullptr);
  require(channels == 1 || channels == 2 || channels == 4);
  require(format <= CU_AD_FORMAT_FLOAT);
  const std::size_t bytes = element_of(format, channels).bytes;
  require(bytes != 0);
  const auto widest = static_cast<std::size_t>(
      attribute_of(call.device(number), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
  *width = std::min(4 * widest, 16 * widest / bytes);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_devices = {
    entry<"cuDeviceGetCount", get_count>,
    entry<"cuDeviceGet", get>,
    entry<"cuDeviceGetName", get_name>,
    entry<"cuDeviceGetUuid", get_uuid>,
    entry<"cuDeviceGetLuid", get_luid>,
    entry<"cuDeviceTotalMem", total_memory_32>,
    entry<"cuDeviceTotalMem", total_memory>,
    entry<"cuDeviceGetAttribute", get_attribute>,
    entry<"cuDeviceGetProperties", get_properties>,
    entry<"cuDeviceComputeCapability", compute_capability>,
    entry<"cuDeviceGetPCIBusId", get_bus_id>,
    entry<"cuDeviceGetByPCIBusId", get_by_bus_id>,
    entry<"cuDeviceGetExecAffinitySupport", get_affinity_support>,
    entry<"cuDeviceGetTexture1DLinearMaxWidth", linear_texture_width>,
};

}  // namespace cushim::sim

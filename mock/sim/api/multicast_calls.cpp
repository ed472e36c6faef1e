// SPDX-License-Identifier: Apache-2.0
// Multicast objects, from the documentation of the driver API, section "Multicast Object Management". Nothing
// here has been compared with a real driver.
#include "api/multicast_calls.hpp"

#include <algorithm>

#include "api/service.hpp"
#include "memory/physical_view.hpp"

namespace cushim::sim {

namespace {

[[noreturn]] void refuse(const Call &call, const char *what) {
  call.system.engine.report(std::string(call.name) + ": " + what);
  fail(CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace

void require_complete(const Call &call, const Multicast &multicast) {
  if (!multicast.is_complete())
    refuse(call,
           "not all devices of the multicast object have been added; the simulated driver does not wait");
}

CUresult export_multicast(const Call &call, const Multicast &multicast) {
  require(multicast.is_exportable);
  refuse(call, "sharing of multicast objects is not implemented");
}

#if CUDA_VERSION >= 12010

namespace {

constexpr auto kSupported = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
constexpr unsigned long long kFileDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

bool is_whole(std::size_t value) { return value % kGranularity == 0; }

// Checks the properties of a multicast object. The team has at most the devices of the process.
void check(Call &call, const CUmulticastObjectProp &properties) {
  const std::vector<Device *> &devices = call.system.visible;
  require(std::ranges::any_of(devices, [](const Device *one) { return one->attribute(kSupported) != 0; }),
          CUDA_ERROR_NOT_SUPPORTED);
  require(properties.numDevices != 0 && properties.numDevices <= devices.size());
  require(properties.size != 0 && properties.flags == 0);
  require((properties.handleTypes & ~kFileDescriptor) == 0, CUDA_ERROR_NOT_SUPPORTED);
}

// The documentation does not tell the value: the granularity of physical memory.
CUresult get_granularity(Call &call, std::size_t *granularity, const CUmulticastObjectProp *properties,
                         CUmulticastGranularity_flags option) {
  require(granularity != nullptr && properties != nullptr);
  require(option == CU_MULTICAST_GRANULARITY_MINIMUM || option == CU_MULTICAST_GRANULARITY_RECOMMENDED);
  check(call, *properties);
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

CUresult create(Call &call, CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *properties) {
  require(handle != nullptr && properties != nullptr);
  check(call, *properties);
  require(is_whole(properties->size));
  auto memory = std::make_shared<PhysicalMemory>();
  memory->multicast = std::make_shared<Multicast>(Multicast{.size = properties->size,
                                                            .team = properties->numDevices,
                                                            .is_exportable = properties->handleTypes != 0});
  *handle = call.system.handles.add(std::make_unique<PhysicalHandle>(std::move(memory))).handle;
  return CUDA_SUCCESS;
}

// Returns a multicast object; else INVALID_VALUE.
Multicast &multicast_of(Call &call, CUmemGenericAllocationHandle handle) {
  const PhysicalMemory &memory = *call.physical_handle(handle).memory;
  require(memory.multicast != nullptr);
  return *memory.multicast;
}

CUresult add_device(Call &call, CUmemGenericAllocationHandle handle, CUdevice number) {
  Multicast &multicast = multicast_of(call, handle);
  Device &device = call.device(number);
  require(device.attribute(kSupported) != 0, CUDA_ERROR_NOT_SUPPORTED);
  require(!multicast.is_complete() &&
          std::ranges::find(multicast.devices, &device) == multicast.devices.end());
  multicast.devices.push_back(&device);
  call.physical_handle(handle).memory->device = &device;  // a mapping counts as memory of the last one
  return CUDA_SUCCESS;
}

bool overlap(std::size_t offset, std::size_t size, const Multicast::Binding &binding) {
  return offset < binding.offset + binding.size && binding.offset < offset + size;
}

// Binds a part of the memory, which begins at `from`.
CUresult bind_part(Call &call, Multicast &multicast, std::size_t offset,
                   std::shared_ptr<PhysicalMemory> memory, std::size_t from, std::size_t size,
                   unsigned long long flags) {
  require(flags == 0 && size != 0 && is_whole(size) && is_whole(offset) && is_whole(from));
  require_complete(call, multicast);
  require(memory->multicast == nullptr);
  require(from <= memory->size() && size <= memory->size() - from);
  require(offset <= multicast.size && size <= multicast.size - offset);
  const Device *const device = memory->device;
  require(std::ranges::find(multicast.devices, device) != multicast.devices.end());
  require(!multicast.is_exportable || memory->is_exportable());
  require(std::ranges::none_of(multicast.bindings, [&](const Multicast::Binding &other) {
    return other.device == device && overlap(offset, size, other);
  }));
  auto view = PhysicalView::make(std::move(memory));
  require(view != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  multicast.bindings.push_back(
      {.device = device, .offset = offset, .size = size, .memory = std::move(view), .from = from});
  return CUDA_SUCCESS;
}

CUresult bind_memory(Call &call, CUmemGenericAllocationHandle handle, std::size_t offset,
                     CUmemGenericAllocationHandle memory, std::size_t from, std::size_t size,
                     unsigned long long flags) {
  return bind_part(call, multicast_of(call, handle), offset, call.physical_handle(memory).memory, from, size,
                   flags);
}

CUresult bind_address(Call &call, CUmemGenericAllocationHandle handle, std::size_t offset,
                      CUdeviceptr address, std::size_t size, unsigned long long flags) {
  Multicast &multicast = multicast_of(call, handle);
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->is_usable());
  if (allocation->pool != nullptr) refuse(call, "memory of pools is not implemented");
  require(allocation->mapping != nullptr);
  return bind_part(call, multicast, offset, allocation->mapping->physical, address - allocation->base, size,
                   flags);
}

// The second ABI names the device, which must be that of the memory.
CUresult bind_memory_of(Call &call, CUmemGenericAllocationHandle handle, CUdevice number, std::size_t offset,
                        CUmemGenericAllocationHandle memory, std::size_t from, std::size_t size,
                        unsigned long long flags) {
  require(call.physical_handle(memory).memory->device == &call.device(number));
  return bind_memory(call, handle, offset, memory, from, size, flags);
}

CUresult bind_address_of(Call &call, CUmemGenericAllocationHandle handle, CUdevice number, std::size_t offset,
                         CUdeviceptr address, std::size_t size, unsigned long long flags) {
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->device == &call.device(number));
  return bind_address(call, handle, offset, address, size, flags);
}

// Requires the offset and the size of a binding: the documentation calls others undefined.
CUresult unbind(Call &call, CUmemGenericAllocationHandle handle, CUdevice number, std::size_t offset,
                std::size_t size) {
  Multicast &multicast = multicast_of(call, handle);
  const Device *const device = &call.device(number);
  const auto bound = std::ranges::find_if(multicast.bindings, [&](const Multicast::Binding &one) {
    return one.device == device && one.offset == offset && one.size == size;
  });
  require(bound != multicast.bindings.end());
  multicast.bindings.erase(bound);
  return CUDA_SUCCESS;
}

}  // namespace

void serve_multicast(Service &service) {
  service.serve<"cuMulticastCreate", create>();
  service.serve<"cuMulticastAddDevice", add_device>();
  service.serve<"cuMulticastBindMem_v12010", bind_memory>();
  service.serve<"cuMulticastBindMem_v13010", bind_memory_of>();
  service.serve<"cuMulticastBindAddr_v12010", bind_address>();
  service.serve<"cuMulticastBindAddr_v13010", bind_address_of>();
  service.serve<"cuMulticastUnbind", unbind>();
  service.serve<"cuMulticastGetGranularity", get_granularity>();
}

#else

void serve_multicast(Service &) {}

#endif

}  // namespace cushim::sim

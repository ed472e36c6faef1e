// SPDX-License-Identifier: Apache-2.0
// Multicast objects, from the documentation of the driver API, section "Multicast Object Management". Nothing
// here has been compared with a real driver.
#include "api/multicast_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "api/service.hpp"
#include "memory/physical_view.hpp"

namespace cushim::sim {

namespace {

[[noreturn]] void refuse(const Call &call, const char *what) {
  call.system.engine.report(std::string(call.name) + ": " + what);
  fail(CUDA_ERROR_NOT_SUPPORTED);
}

// Memory of a pool. The binding does not keep it: it ends with the allocation.
class PoolMemory final : public BoundMemory {
 public:
  PoolMemory(Memory &memory, const Allocation &allocation)
      : memory_(memory), base_(allocation.base), id_(allocation.id) {}

  std::byte *bytes(std::size_t offset, std::size_t size) const override {
    return memory_.find(base_, id_) != nullptr ? memory_.bytes(base_ + offset, size) : nullptr;
  }

 private:
  Memory &memory_;
  const CUdeviceptr base_;
  const unsigned long long id_;
};

}  // namespace

void wait_for_team(Call &call, const Multicast &multicast) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds interval{100};
  auto report_at = Clock::now() + call.system.options.patience;
  while (!multicast.is_complete()) {
    call.lock.unlock();
    multicast.wait_for_device(interval);
    call.lock.lock();
    if (multicast.is_complete() || Clock::now() < report_at) continue;
    report_at = Clock::time_point::max();
    call.system.engine.report(std::string(call.name) +
                              " waits until all devices of the multicast object have been added");
  }
}

void prepare_mapping(Call &call, PhysicalMemory &object) {
  wait_for_team(call, *object.multicast);
  for (const CUuuid &device : object.multicast->devices())
    if (object.device == nullptr) object.device = call.device_with(device);
  require(object.device != nullptr);
}

int export_multicast(const Multicast &multicast) {
  require(multicast.is_exportable());
  return multicast.new_descriptor();
}

std::shared_ptr<PhysicalMemory> import_multicast(Call &call, int descriptor) {
  auto object = call.system.memory.multicasts.open(descriptor);
  if (object == nullptr) return nullptr;
  auto memory = std::make_shared<PhysicalMemory>();
  memory->multicast = std::move(object);
  call.system.engine.work_in_background();
  return memory;
}

#if CUDA_VERSION >= 12010

namespace {

constexpr auto kSupported = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
constexpr unsigned long long kFileDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

bool is_whole(std::size_t value) { return value % kGranularity == 0; }

// Checks the properties of a multicast object. The team has at most the devices of the machine; of the
// process if the object cannot be exported.
void check(Call &call, const CUmulticastObjectProp &properties) {
  const std::vector<Device *> &visible = call.system.visible;
  require(std::ranges::any_of(visible, [](const Device *one) { return one->attribute(kSupported) != 0; }),
          CUDA_ERROR_NOT_SUPPORTED);
  const std::size_t most = properties.handleTypes != 0 ? call.system.devices.size() : visible.size();
  require(properties.numDevices != 0 && properties.numDevices <= most);
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
  memory->multicast = call.system.memory.multicasts.make({.size = properties->size,
                                                          .team = properties->numDevices,
                                                          .is_exportable = properties->handleTypes != 0});
  if (memory->multicast == nullptr) {
    report_limit(call.name, errno);
    fail(CUDA_ERROR_OUT_OF_MEMORY);
  }
  *handle = call.system.handles.add(std::make_unique<PhysicalHandle>(std::move(memory))).handle;
  return CUDA_SUCCESS;
}

// Returns a multicast object; else INVALID_VALUE.
std::shared_ptr<Multicast> multicast_of(Call &call, CUmemGenericAllocationHandle handle) {
  const PhysicalMemory &memory = *call.physical_handle(handle).memory;
  require(memory.multicast != nullptr);
  return memory.multicast;
}

CUresult add_device(Call &call, CUmemGenericAllocationHandle handle, CUdevice number) {
  const auto multicast = multicast_of(call, handle);
  Device &device = call.device(number);
  require(device.attribute(kSupported) != 0, CUDA_ERROR_NOT_SUPPORTED);
  require(multicast->add(device));
  call.physical_handle(handle).memory->device = &device;  // a mapping counts as memory of the last one
  return CUDA_SUCCESS;
}

// A part of a multicast object that memory is to be bound to.
struct Part {
  std::size_t offset = 0, size = 0;
};

// Waits for the team. `from` is the offset or the address of the memory.
void check_binding(Call &call, const Multicast &multicast, const Part &part, std::size_t from,
                   unsigned long long flags) {
  require(flags == 0 && part.size != 0 && is_whole(part.size) && is_whole(part.offset) && is_whole(from));
  wait_for_team(call, multicast);
  require(part.offset <= multicast.size() && part.size <= multicast.size() - part.offset);
}

// Binds a part of the memory, which begins at `from`.
void bind_physical(Call &call, Multicast &multicast, const Part &part,
                   const std::shared_ptr<PhysicalMemory> &memory, std::size_t from,
                   unsigned long long flags) {
  check_binding(call, multicast, part, from, flags);
  require(memory->multicast == nullptr);
  require(from <= memory->size() && part.size <= memory->size() - from);
  require(memory->device != nullptr && multicast.has(*memory->device));
  require(!multicast.is_exportable() || memory->is_exportable());
  auto view = PhysicalView::make(memory);
  require(view != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  require(multicast.bind(*memory->device, part.offset, part.size, memory, std::move(view), from));
}

CUresult bind_memory(Call &call, CUmemGenericAllocationHandle handle, std::size_t offset,
                     CUmemGenericAllocationHandle memory, std::size_t from, std::size_t size,
                     unsigned long long flags) {
  const auto multicast = multicast_of(call, handle);
  bind_physical(call, *multicast, {offset, size}, call.physical_handle(memory).memory, from, flags);
  return CUDA_SUCCESS;
}

// Returns memory that the program can bind by its address; else INVALID_VALUE.
const Allocation &bindable(Call &call, CUdeviceptr address) {
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->is_usable());
  require(allocation->mapping != nullptr || allocation->pool != nullptr);
  return *allocation;
}

void bind_pool_memory(Call &call, Multicast &multicast, const Part &part, CUdeviceptr address,
                      unsigned long long flags) {
  check_binding(call, multicast, part, address, flags);
  const Allocation &allocation = bindable(call, address);
  require(part.size <= allocation.end() - address);
  require(allocation.kind == MemoryKind::device && multicast.has(*allocation.device));
  if (multicast.is_exportable()) {
    require(allocation.pool->handle_types != 0);
    refuse(call, "memory of pools in a multicast object that can be exported is not implemented");
  }
  require(multicast.bind(*allocation.device, part.offset, part.size,
                         std::make_shared<PoolMemory>(call.system.memory, allocation),
                         address - allocation.base));
}

CUresult bind_address(Call &call, CUmemGenericAllocationHandle handle, std::size_t offset,
                      CUdeviceptr address, std::size_t size, unsigned long long flags) {
  const auto multicast = multicast_of(call, handle);
  const Allocation &allocation = bindable(call, address);
  if (allocation.mapping == nullptr)
    bind_pool_memory(call, *multicast, {offset, size}, address, flags);
  else
    bind_physical(call, *multicast, {offset, size}, std::shared_ptr(allocation.mapping->physical),
                  address - allocation.base, flags);
  return CUDA_SUCCESS;
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
  require(multicast_of(call, handle)->unbind(call.device(number), offset, size));
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_multicast = {
    entry<"cuMulticastCreate", create>,
    entry<"cuMulticastAddDevice", add_device>,
    entry<"cuMulticastBindMem_v12010", bind_memory>,
    entry<"cuMulticastBindMem_v13010", bind_memory_of>,
    entry<"cuMulticastBindAddr_v12010", bind_address>,
    entry<"cuMulticastBindAddr_v13010", bind_address_of>,
    entry<"cuMulticastUnbind", unbind>,
    entry<"cuMulticastGetGranularity", get_granularity>,
};

#endif

}  // namespace cushim::sim

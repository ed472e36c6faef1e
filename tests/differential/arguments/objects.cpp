// SPDX-License-Identifier: Apache-2.0
#include "objects.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "make_object.hpp"

namespace arguments {

void *map_with_gap(std::size_t size) {
  constexpr std::size_t kReservedBytes = 64 << 20;
  void *const memory =
      ::mmap(nullptr, kReservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, size, PROT_READ | PROT_WRITE) != 0)
    throw std::runtime_error("cannot map memory");
  return memory;
}

void Objects::check(CUresult result, std::string_view name) {
  if (result != CUDA_SUCCESS) throw NotMade(fmt::format("no {}: {}", name, static_cast<int>(result)));
}

void Objects::destroy() {
  if (driver_ == nullptr) return;
  while (!named_.empty()) {
    const std::function<void()> destroy = std::move(named_.back().destroy);
    named_.pop_back();
    destroy();
  }
}

void Objects::forget(std::uint64_t handle) {
  std::erase_if(named_, [handle](const Named &named) { return named.handle == handle; });
}

void Objects::keep_results() {
  for (const Result &result : results_)
    if (is_written(static_cast<const std::uint32_t *>(result.place)))
      named_.push_back({"", 0, result.destroy});
}

void *Objects::allocate(std::size_t size) {
  constexpr std::size_t kStorage = 256 << 10;
  static std::byte *const storage = static_cast<std::byte *>(map_with_gap(kStorage));
  const std::size_t at = allocated_;
  allocated_ += (size + 63) / 64 * 64;
  if (allocated_ > kStorage) std::abort();
  return storage + at;
}

Out<CUdeviceptr> Objects::made_memory() {
  return made_with<CUdeviceptr>([this](CUdeviceptr memory) { driver_->cuMemFree(memory); });
}
Out<void *> Objects::made_host_memory() {
  return made_with<void *>([this](void *memory) { driver_->cuMemFreeHost(memory); });
}
Out<CUdeviceptr> Objects::made_range(std::size_t size) {
  return made_with<CUdeviceptr>([this, size](CUdeviceptr range) { driver_->cuMemAddressFree(range, size); });
}
Out<CUmemGenericAllocationHandle> Objects::made_physical() {
  return made_with<CUmemGenericAllocationHandle>(
      [this](CUmemGenericAllocationHandle memory) { driver_->cuMemRelease(memory); });
}
Out<CUtexObject> Objects::made_texture() {
  return made_with<CUtexObject>([this](CUtexObject texture) { driver_->cuTexObjectDestroy(texture); });
}
Out<CUsurfObject> Objects::made_surface() {
  return made_with<CUsurfObject>([this](CUsurfObject surface) { driver_->cuSurfObjectDestroy(surface); });
}
Out<int> Objects::made_descriptor() {
  return made_with<int>([](int descriptor) {
    if (descriptor > 2) ::close(descriptor);
  });
}

CUcontext Objects::other_context() {
  return once<CUcontext>("other context", [this](CUcontext *made) {
    CUcontext popped = nullptr;
    const CUresult result = driver_->cuCtxCreate(made, nullptr, 0, device);
    driver_->cuCtxPopCurrent(&popped);
    return result;
  });
}

CUdevice Objects::device_to_flag() {
  undo_later("flags", [this] { driver_->cuDevicePrimaryCtxSetFlags(device, 0); });
  return device;
}

CUdevResource *Objects::multiprocessors() {
  CUdevResource *const resource = new_value(CUdevResource{});
  if (driver_ != nullptr)
    check(driver_->cuDeviceGetDevResource(device, resource, CU_DEV_RESOURCE_TYPE_SM), "multiprocessors");
  return resource;
}
CUdevResourceDesc Objects::resource_description() {
  return once<CUdevResourceDesc>(
      "resource description",
      [this](CUdevResourceDesc *made) {
        CUdevResource *const part = new_value(CUdevResource{});
        CUdevResource rest{};
        unsigned count = 1;
        check(driver_->cuDevSmResourceSplitByCount(part, &count, multiprocessors(), &rest, 0, 16), "split");
        return driver_->cuDevResourceGenerateDesc(made, part, 1);
      },
      [](CUdevResourceDesc) {});
}
CUgreenCtx Objects::green_context() {
  return once<CUgreenCtx>("green context", [this](CUgreenCtx *made) {
    return driver_->cuGreenCtxCreate(made, resource_description(), device, CU_GREEN_CTX_DEFAULT_STREAM);
  });
}

}  // namespace arguments

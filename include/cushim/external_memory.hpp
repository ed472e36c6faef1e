// SPDX-License-Identifier: Apache-2.0
// Memory of other interfaces, such as Vulkan, and buffers that are mapped to it.
//
//   const auto memory = ExternalMemory::import(descriptor, bytes);
//   const auto pixels = memory.buffer<unsigned>(0, count);
//   fill(pixels.span(), 0u, stream);
#pragma once

#include <cushim/array.hpp>
#include <cushim/detail/handle.hpp>
#include <cushim/memory.hpp>

namespace cushim {
inline namespace v1 {

// `yes`: the other interface allocated the memory for one object only.
enum class DedicatedMemory : bool { no, yes };

// The calls that ExternalMemoryRef and ExternalMemory have in common.
template <class Self>
class ExternalMemoryCalls : public detail::NounBase<Self, CUexternalMemory> {
 public:
  // Maps count elements from an offset in bytes in the current context. The buffer may outlive the external
  // memory. Driver calls: cuExternalMemoryGetMappedBuffer; at the end cuMemFree.
  template <class T>
  DeviceBuffer<T> buffer(std::size_t offset, std::size_t count, Where where = Where::current()) const {
    constexpr const char *routine = "cuExternalMemoryGetMappedBuffer";
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
    description.offset = offset;
    description.size = detail::bytes_of<T>(count, routine, where);
    CUdeviceptr address = 0;
    detail::check(this->driver().cuExternalMemoryGetMappedBuffer(&address, this->handle(), &description),
                  routine, where, this->self().ref(),
                  detail::Argument{"offset", static_cast<long long>(offset)},
                  detail::Argument{"bytes", static_cast<long long>(description.size)});
    return DeviceBuffer<T>::adopt(DeviceSpan<T>(DevicePtr<T>(address), count), this->driver());
  }
  // Maps elements in a given context. Driver calls: push, as above, pop; at the end push, cuMemFree, pop.
  template <class T>
  DeviceBuffer<T> buffer(ContextRef context, std::size_t offset, std::size_t count,
                         Where where = Where::current()) const {
    return detail::Creation::in(context, where,
                                [&] { return this->template buffer<T>(offset, count, where); });
  }
  // Maps elements in a device's primary context, which the buffer retains until it is freed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end push, cuMemFree, pop,
  // cuDevicePrimaryCtxRelease.
  template <class T>
  DeviceBuffer<T> buffer(Device device, std::size_t offset, std::size_t count,
                         Where where = Where::current()) const {
    return detail::Creation::on(device, where,
                                [&] { return this->template buffer<T>(offset, count, where); });
  }

  // Maps an array with mipmaps from an offset in bytes in the current context. Driver calls:
  // cuExternalMemoryGetMappedMipmappedArray; at the end cuMipmappedArrayDestroy.
  MipmappedArray array(std::size_t offset, const ArrayShape &shape, unsigned levels = 1,
                       Where where = Where::current()) const {
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC description{};
    description.offset = offset;
    description.arrayDesc = shape.raw();
    description.numLevels = levels;
    CUmipmappedArray handle = nullptr;
    detail::check(
        this->driver().cuExternalMemoryGetMappedMipmappedArray(&handle, this->handle(), &description),
        "cuExternalMemoryGetMappedMipmappedArray", where, this->self().ref(),
        detail::Argument{"offset", static_cast<long long>(offset)});
    return MipmappedArray::adopt(handle, this->driver());
  }
  // Maps an array in a given context. Driver calls: push, as above, pop.
  MipmappedArray array(ContextRef context, std::size_t offset, const ArrayShape &shape, unsigned levels = 1,
                       Where where = Where::current()) const {
    return detail::Creation::in(context, where, [&] { return array(offset, shape, levels, where); });
  }
  // Maps an array in a device's primary context, which the array retains until it is destroyed. Driver calls:
  // cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  MipmappedArray array(Device device, std::size_t offset, const ArrayShape &shape, unsigned levels = 1,
                       Where where = Where::current()) const {
    return detail::Creation::on(device, where, [&] { return array(offset, shape, levels, where); });
  }

  static constexpr const char *kNoun = "external memory";
  static constexpr detail::NamedCall kDestroy{"cuDestroyExternalMemory", &Driver::cuDestroyExternalMemory};
};

// A reference to external memory. Owns nothing.
using ExternalMemoryRef = detail::HandleRef<ExternalMemoryCalls>;

// Owns the import of external memory. Buffers and arrays that are mapped to it stay valid without it.
class ExternalMemory : public detail::Owner<ExternalMemory, ExternalMemoryRef, ExternalMemoryCalls> {
 public:
  // Imports memory behind a file descriptor, of this size in bytes, in the current context. The driver owns
  // the descriptor afterwards; if this throws, the caller does. Driver calls: cuImportExternalMemory; at the
  // end cuDestroyExternalMemory.
  static ExternalMemory import(int descriptor, std::size_t bytes,
                               DedicatedMemory dedicated = DedicatedMemory::no,
                               Driver &driver = cushim::driver(), Where where = Where::current()) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = descriptor;
    description.size = bytes;
    if (dedicated == DedicatedMemory::yes) description.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
    CUexternalMemory handle = nullptr;
    detail::check(driver.cuImportExternalMemory(&handle, &description), "cuImportExternalMemory", where,
                  detail::Through{&driver}, detail::Argument{"descriptor", descriptor},
                  detail::Argument{"bytes", static_cast<long long>(bytes)});
    return ExternalMemory(handle, driver, 0);
  }
  // Imports memory in a given context. Driver calls: push, as above, pop.
  static ExternalMemory import(ContextRef context, int descriptor, std::size_t bytes,
                               DedicatedMemory dedicated = DedicatedMemory::no,
                               Where where = Where::current()) {
    return detail::Creation::in(
        context, where, [&] { return import(descriptor, bytes, dedicated, context.driver(), where); });
  }
  // Imports memory in a device's primary context, which the import retains until it is destroyed. Driver
  // calls: cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static ExternalMemory import(Device device, int descriptor, std::size_t bytes,
                               DedicatedMemory dedicated = DedicatedMemory::no,
                               Where where = Where::current()) {
    return detail::Creation::on(device, where,
                                [&] { return import(descriptor, bytes, dedicated, device.driver(), where); });
  }

 private:
  using Owner::Owner;
};

}  // namespace v1
}  // namespace cushim

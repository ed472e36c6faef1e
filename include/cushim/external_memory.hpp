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
class ExternalMemoryCalls : public detail::HandleCalls<Self, CUexternalMemory> {
 public:
  // Maps count elements from an offset in bytes. The buffer may outlive the external memory. Driver calls:
  // cuExternalMemoryGetMappedBuffer; at the end cuMemFree.
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

  // Maps an array with mipmaps from an offset in bytes. Driver calls:
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
};

namespace detail {

struct ExternalMemoryKind {
  using Handle = CUexternalMemory;
  static constexpr const char *kNoun = "external memory";
  template <class Self>
  using Calls = ExternalMemoryCalls<Self>;
};

}  // namespace detail

// A reference to external memory. Owns nothing.
using ExternalMemoryRef = detail::HandleRef<detail::ExternalMemoryKind>;

// Owns the import of external memory. Buffers and arrays that are mapped to it stay valid without it.
class ExternalMemory : public detail::Owner<ExternalMemory, ExternalMemoryRef, ExternalMemoryCalls> {
 public:
  // Empty.
  ExternalMemory() = default;

  // Imports memory behind a file descriptor, of this size in bytes. The driver owns the descriptor
  // afterwards; if this throws, the caller does. Driver calls: cuImportExternalMemory; at the end
  // cuDestroyExternalMemory.
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

  // Takes ownership of imported memory. No driver call.
  static ExternalMemory adopt(CUexternalMemory handle, Driver &driver = cushim::driver()) noexcept {
    return ExternalMemory(handle, driver, 0);
  }

 private:
  using Base = detail::Owner<ExternalMemory, ExternalMemoryRef, ExternalMemoryCalls>;
  friend Base;
  using Base::Base;
  static constexpr const char *kDestroy = "cuDestroyExternalMemory";
  static CUresult destroy(ExternalMemoryRef memory) noexcept {
    return memory.driver().cuDestroyExternalMemory(memory.handle());
  }
};

}  // namespace v1
}  // namespace cushim

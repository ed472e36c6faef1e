// SPDX-License-Identifier: Apache-2.0
// Queries about an address: one attribute, or the usual attributes at once.
#pragma once

#include <cushim/context.hpp>
#include <cushim/device_ptr.hpp>

#include <cstring>
#include <optional>

namespace cushim {
inline namespace v1 {

// An attribute of an address, with a value of type T.
template <class T>
struct PointerAttribute {
  int number;  // its CUpointer_attribute
};

// Names and numbers are those of cuda.h of CUDA 13.5 under all headers.
namespace pointer_attribute {
inline constexpr PointerAttribute<CUcontext> context{1};
inline constexpr PointerAttribute<CUmemorytype> memory_type{2};
inline constexpr PointerAttribute<CUdeviceptr> device_pointer{3};
inline constexpr PointerAttribute<void *> host_pointer{4};
inline constexpr PointerAttribute<bool> sync_memops{6};
inline constexpr PointerAttribute<unsigned long long> buffer_id{7};
inline constexpr PointerAttribute<bool> is_managed{8};
inline constexpr PointerAttribute<int> device_ordinal{9};
inline constexpr PointerAttribute<bool> is_legacy_cuda_ipc_capable{10};
inline constexpr PointerAttribute<CUdeviceptr> range_start_addr{11};
inline constexpr PointerAttribute<std::size_t> range_size{12};
inline constexpr PointerAttribute<bool> mapped{13};
inline constexpr PointerAttribute<unsigned long long> allowed_handle_types{14};
inline constexpr PointerAttribute<bool> is_gpu_direct_rdma_capable{15};
inline constexpr PointerAttribute<CUmemAccess_flags> access_flags{16};
inline constexpr PointerAttribute<CUmemoryPool> mempool_handle{17};
inline constexpr PointerAttribute<std::size_t> mapping_size{18};
inline constexpr PointerAttribute<CUdeviceptr> mapping_base_addr{19};
inline constexpr PointerAttribute<unsigned long long> memory_block_id{20};
inline constexpr PointerAttribute<bool> is_hw_decompress_capable{21};
inline constexpr PointerAttribute<int> locality_domain_ordinal{22};
}  // namespace pointer_attribute

// Returns one attribute of an address. Throws INVALID_VALUE if the driver does not know the address.
// Driver calls: cuPointerGetAttribute.
template <class T>
T attribute_of(CUdeviceptr address, PointerAttribute<T> which, Driver &driver = cushim::driver(),
               Where where = Where::current()) {
  unsigned long long value = 0;  // wide enough for each attribute; the driver writes the first bytes
  detail::check(driver.cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(which.number), address),
                "cuPointerGetAttribute", where, detail::Through{&driver}, detail::Address{"address", address},
                detail::Argument{"attribute", which.number});
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    T typed;
    std::memcpy(&typed, &value, sizeof typed);
    return typed;
  }
}

// Sets whether copies from and to this allocation are synchronous. Driver calls: cuPointerSetAttribute.
inline void set_sync_memops(CUdeviceptr address, bool on, Driver &driver = cushim::driver(),
                            Where where = Where::current()) {
  const unsigned value = on ? 1 : 0;
  detail::check(driver.cuPointerSetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address),
                "cuPointerSetAttribute", where, detail::Through{&driver},
                detail::Address{"address", address});
}

// The result of describe_pointer().
struct PointerInfo {
  std::optional<CUmemorytype> memory_type;  // nullopt: not known to the driver (pageable memory)
  ContextRef context;                       // empty if the memory belongs to no context
  int device_ordinal = 0;
  bool is_managed = false;
  CUdeviceptr range_start = 0;
  std::size_t range_size = 0;
};

// Returns the properties of any address. An address that the driver does not know is not an error. Driver
// calls: cuPointerGetAttributes.
inline PointerInfo describe_pointer(CUdeviceptr address, Driver &driver = cushim::driver(),
                                    Where where = Where::current()) {
  unsigned long long memory_type = 0, is_managed = 0, range_start = 0, range_size = 0;
  CUcontext context = nullptr;
  int ordinal = 0;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_CONTEXT,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void *values[] = {&memory_type, &context, &ordinal, &is_managed, &range_start, &range_size};
  detail::check(driver.cuPointerGetAttributes(6, which, values, address), "cuPointerGetAttributes", where,
                detail::Through{&driver}, detail::Address{"address", address});
  PointerInfo info;
  if (memory_type != 0) info.memory_type = static_cast<CUmemorytype>(memory_type);
  if (context != nullptr) info.context = ContextRef::from_handle(context, driver);
  info.device_ordinal = ordinal;
  info.is_managed = is_managed != 0;
  info.range_start = range_start;
  info.range_size = static_cast<std::size_t>(range_size);
  return info;
}

// Base and size of an allocation.
struct AddressRange {
  CUdeviceptr base;
  std::size_t size;  // bytes

  friend bool operator==(const AddressRange &, const AddressRange &) = default;
};

// Returns the allocation that contains an address. Throws NOT_FOUND if there is none. Driver calls:
// cuMemGetAddressRange.
inline AddressRange address_range(CUdeviceptr address, Driver &driver = cushim::driver(),
                                  Where where = Where::current()) {
  AddressRange range{};
  detail::check(driver.cuMemGetAddressRange(&range.base, &range.size, address), "cuMemGetAddressRange", where,
                detail::Through{&driver}, detail::Address{"address", address});
  return range;
}

}  // namespace v1
}  // namespace cushim

// SPDX-License-Identifier: Apache-2.0
// The reasons for errors of stream memory operations.
#pragma once

#include <cushim/driver.hpp>

namespace cushim {
inline namespace v1 {
namespace detail {

// Returns the probable reason why the driver rejected a word, or null. Driver calls: cuPointerGetAttributes,
// unless the address alone is the reason.
inline const char *word_remark(Driver &driver, CUdeviceptr address, std::size_t size) {
  if (address == 0) return "address is null";
  if (address % size != 0)
    return size == 4 ? "address is not a multiple of 4" : "address is not a multiple of 8";
  unsigned long long memory_type = 0, is_managed = 0;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void *values[] = {&memory_type, &is_managed};
  if (driver.cuPointerGetAttributes(2, which, values, address) != CUDA_SUCCESS) return nullptr;
  if (is_managed != 0) return "address is managed memory, on which streams cannot wait or write words";
  if (memory_type == 0) return "address is neither device memory nor page-locked memory";
  return nullptr;
}

// Returns the support that a device may lack for an operation with these flags, or null.
inline const char *support_remark(unsigned flags, std::size_t size) {
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return "the device may not be able to flush remote writes";
  if (flags == CU_STREAM_WAIT_VALUE_NOR) return "the device may not have the condition nor";
  if (size == 8) return "the device may not have memory operations of 64 bits";
  return nullptr;
}

// An operation that may have caused an error.
struct Suspect {
  CUdeviceptr address;
  std::size_t size;  // bytes of its word; 0 if it has none
  unsigned flags;

  const char *remark(CUresult result, Driver &driver) const {
    if (result == CUDA_ERROR_NOT_SUPPORTED) return support_remark(flags, size);
    if (result == CUDA_ERROR_INVALID_VALUE && size != 0) return word_remark(driver, address, size);
    return nullptr;
  }
};

inline Suspect suspect_of(const CUstreamBatchMemOpParams &operation) {
  switch (operation.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return {operation.waitValue.address, 4, operation.waitValue.flags};
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return {operation.waitValue.address, 8, operation.waitValue.flags};
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return {operation.writeValue.address, 4, 0};
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return {operation.writeValue.address, 8, 0};
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return {0, 0, CU_STREAM_WAIT_VALUE_FLUSH};
    default:
      return {0, 0, 0};
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim

// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_pointer_calls(Calls &calls) {
  // Addresses and handles are hidden, as are the numbers of buffers and blocks, which count in each process.
  CALL(cuPointerGetAttribute, o.hidden<std::uint64_t>(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, o.memory());
  for (const auto attribute :
       {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
        CU_POINTER_ATTRIBUTE_P2P_TOKENS, CU_POINTER_ATTRIBUTE_BUFFER_ID,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID})
    CALL_AS(std::to_string(attribute), cuPointerGetAttribute, o.hidden<std::uint64_t>(), fixed(attribute),
            o.memory());
  for (const auto attribute :
       {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_MAPPED,
        CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE})
    CALL_AS(std::to_string(attribute), cuPointerGetAttribute, o.out<bool>(), fixed(attribute), o.memory());
  for (const auto attribute : {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                               CU_POINTER_ATTRIBUTE_ACCESS_FLAGS})
    CALL_AS(std::to_string(attribute), cuPointerGetAttribute, o.out<int>(), fixed(attribute), o.memory());
  for (const auto attribute : {CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                               CU_POINTER_ATTRIBUTE_MAPPING_SIZE})
    CALL_AS(std::to_string(attribute), cuPointerGetAttribute, o.out<std::uint64_t>(), fixed(attribute),
            o.memory());
  CALL(cuPointerSetAttribute, o.list({1}), CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, o.memory());
  CALL(cuPointerGetAttributes, Count{2},
       o.list({CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED}),
       o.list<void *>({o.out<int>().place, o.out<int>().place}), o.memory());
}

}  // namespace arguments

// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <cushim/memory.hpp>
#include <cushim/pointer.hpp>

#include "memory_kinds.hpp"

namespace conformance {
namespace {

class PointerAttributes : public OnDevice {};

struct Attribute {
  CUpointer_attribute attribute;
  const char *name;
  bool comparable;  // the value is not an address, a handle or an id
  // Result codes for device, managed, pinned, registered and pageable memory.
  std::vector<int> codes = {0, 0, 0, 0, 1};
};
const Attribute attributes[] = {
    {CU_POINTER_ATTRIBUTE_CONTEXT, "context", false},
    {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "memory_type", true},
    {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, "device_pointer", false},
    {CU_POINTER_ATTRIBUTE_HOST_POINTER, "host_pointer", false, {1, 0, 0, 0, 1}},
    {CU_POINTER_ATTRIBUTE_P2P_TOKENS, "p2p_token_pair", false, {0, 0, 1, 1, 1}},
    {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, "sync_memops", true},
    {CU_POINTER_ATTRIBUTE_BUFFER_ID, "buffer_id", false},
    {CU_POINTER_ATTRIBUTE_IS_MANAGED, "is_managed", true},
    {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "device_ordinal", true},
    {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, "is_legacy_ipc_capable", true},
    {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "range_start", false},
    {CU_POINTER_ATTRIBUTE_RANGE_SIZE, "range_size", true},
    {CU_POINTER_ATTRIBUTE_MAPPED, "mapped", true},
    {CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, "allowed_handle_types", true},
    {CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, "is_gpu_direct_rdma_capable", true},
    {CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, "access_flags", true},
    {CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, "mempool_handle", false},
    {CU_POINTER_ATTRIBUTE_MAPPING_SIZE, "mapping_size", false},
    {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, "mapping_base", false},
    {CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, "memory_block_id", false},
    {static_cast<CUpointer_attribute>(21), "is_hw_decompress_capable", true},  // unnamed before 12.8
    {static_cast<CUpointer_attribute>(0), "attribute_0", true, {1, 1, 1, 1, 1}},
    {static_cast<CUpointer_attribute>(1000), "attribute_1000", true, {1, 1, 1, 1, 1}},
};

const bool codes = [] {
  for_each_code(attributes, kinds, [](const Attribute &attribute, Kind kind, CUresult expected) {
    ADD_TEST(PointerAttributes,
             std::string("The_") + attribute.name + "_of_" + name_of(kind) + "_memory_is_" +
                 (expected == CUDA_SUCCESS ? "told" : "not_told"),
             [=](OnDevice &test) {
               unsigned char value[64] = {};
               const CUdeviceptr at = memory_of(test, kind);
               expect_answer(__FILE__, __LINE__, std::string("cuPointerGetAttribute"),
                             driver().cuPointerGetAttribute(value, attribute.attribute, at), expected);
               unsigned number = 0;
               std::memcpy(&number, value, sizeof number);
               if (attribute.comparable) RECORD_VALUE(number);
             });
  });
  return true;
}();

const bool without_context = [] {
  for (const Attribute &attribute : attributes) {
    const int number = attribute.attribute;
    const bool is_refused = number == 0 || number == 1000 || number == CU_POINTER_ATTRIBUTE_P2P_TOKENS;
    ADD_TEST(PointerAttributes,
             std::string("The_") + attribute.name + (is_refused ? "_cannot" : "_can") +
                 "_be_asked_in_a_list_of_pageable_memory",
             [attribute, is_refused](OnDevice &test) {
               unsigned char value[64] = {};
               void *values[] = {value};
               CUpointer_attribute which[] = {attribute.attribute};
               const CUdeviceptr at = memory_of(test, Kind::pageable);
               expect_answer(__FILE__, __LINE__, "cuPointerGetAttributes",
                             driver().cuPointerGetAttributes(1, which, values, at),
                             is_refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
             });
  }
  return true;
}();

TEST_F(PointerAttributes, A_mapping_of_small_memory_is_one_page_of_the_device) {
  const CUdeviceptr at = memory(5000);
  std::size_t bytes = 0;
  CUdeviceptr start = 0;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at), CUDA_SUCCESS);
  EXPECT_VALUE(bytes, std::size_t{2} << 20);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at),
                CUDA_SUCCESS);
  EXPECT_VALUE(start % (2 << 20), 0u);
  EXPECT_VALUE(at - start < (2 << 20), true);
}

const bool memory_types = [] {
  const struct {
    const char *name, *address;
    Kind kind;
    unsigned type;
  } all[] = {{"device_memory_is_device", "memory()", Kind::device, CU_MEMORYTYPE_DEVICE},
             {"pinned_memory_is_host", "address_of(pinned())", Kind::pinned, CU_MEMORYTYPE_HOST},
             {"managed_memory_is_device", "managed()", Kind::managed, CU_MEMORYTYPE_DEVICE}};
  for (const auto &[name, address, kind, wanted] : all)
    ADD_TEST(
        PointerAttributes, std::string("The_memory_type_of_") + name,
        [address = address, kind = kind, wanted = wanted](OnDevice &test) {
          unsigned type = 0;
          expect_answer(
              __FILE__, __LINE__,
              std::string("cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ") + address + ")",
              driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory_of(test, kind)),
              CUDA_SUCCESS);
          EXPECT_VALUE(type, wanted);
        });
  return true;
}();
TEST_F(PointerAttributes, The_context_of_device_memory_is_the_one_it_was_made_in) {
  CUcontext of = nullptr;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, memory()), CUDA_SUCCESS);
  EXPECT_VALUE(of == context, true);
}
TEST_F(PointerAttributes, The_range_of_an_interior_address_is_its_allocation) {
  const CUdeviceptr base = memory(5000);
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + 4999),
                CUDA_SUCCESS);
  EXPECT_VALUE(start == base, true);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + 4999),
                CUDA_SUCCESS);
  EXPECT_VALUE(bytes, std::size_t{5000});
}
TEST_F(PointerAttributes, Buffer_ids_differ) {
  unsigned long long one = 0, other = 0;
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&one, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory()),
                CUDA_SUCCESS);
  EXPECT_VALUE(one != other, true);
}
TEST_F(PointerAttributes, The_device_pointer_of_pinned_memory_is_its_address) {
  CUdeviceptr of = 0;
  const CUdeviceptr at = address_of(pinned());
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at + 8),
                CUDA_SUCCESS);
  EXPECT_VALUE(of == at + 8, true);
}
TEST_F(PointerAttributes, Copies_can_be_made_synchronous) {
  const CUdeviceptr at = memory();
  unsigned on = 1, is = 0;
  EXPECT_ANSWER(driver().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at), CUDA_SUCCESS);
  EXPECT_VALUE(is & 1u, 1u);
}
TEST_F(PointerAttributes, Only_the_attribute_sync_memops_can_be_set) {
  unsigned long long value = 1;
  const CUdeviceptr at = memory();
  for (const Attribute &attribute : attributes)
    if (attribute.attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
      EXPECT_ANSWER(driver().cuPointerSetAttribute(&value, attribute.attribute, at),
                    CUDA_ERROR_INVALID_VALUE);
}
const unsigned one = 1;
STATEMENT(PointerAttributes, Setting_needs_a_value,
          driver().cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PointerAttributes, Setting_needs_an_address,
          driver().cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PointerAttributes, Of_pinned_memory_can_be_set_to_synchronous_copies,
          driver().cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address_of(pinned())),
          CUDA_SUCCESS)
STATEMENT(PointerAttributes, Asking_needs_a_place,
          driver().cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PointerAttributes, Asking_needs_an_address,
          driver().cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(PointerAttributes, Are_asked_without_a_context) {
  const CUdeviceptr at = memory();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at), CUDA_SUCCESS);
}
TEST_F(PointerAttributes, The_device_address_is_not_told_without_a_context) {
  const CUdeviceptr at = memory();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at),
                CUDA_ERROR_INVALID_CONTEXT);
}
// Measures the number of bytes that the driver writes to the result: 4 for the attributes that the
// documentation calls boolean, so a bool is too small for them.
[[maybe_unused]] const bool sizes_added = [] {
  static constexpr int bytes[] = {8, 4, 8, 8, 12, 4, 8, 4, 4, 4, 8, 8, 4, 8, 4, 4, 8, 8, 8, 8};
  for (int attribute = 1; attribute <= 20; ++attribute) {
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) continue;  // 12, if the driver supports them
    ADD_TEST(PointerAttributes, "Attribute_" + std::to_string(attribute) + "_is_so_long",
             [attribute](PointerAttributes &t) {
               const CUdeviceptr at = t.memory();
               unsigned char first[64], second[64];
               std::memset(first, 0x5a, sizeof first);
               std::memset(second, 0xa5, sizeof second);
               const auto which = static_cast<CUpointer_attribute>(attribute);
               RECORD_VALUE(static_cast<int>(driver().cuPointerGetAttribute(first, which, at)));
               driver().cuPointerGetAttribute(second, which, at);
               int written = 0;
               for (unsigned i = 0; i < sizeof first; ++i)
                 if (first[i] != 0x5a || second[i] != 0xa5) written = static_cast<int>(i) + 1;
               EXPECT_VALUE(written, bytes[attribute - 1]);
             });
  }
  return true;
}();

TEST_F(PointerAttributes, By_wrappers_describe_device_memory) {
  auto buffer = cushim::DeviceBuffer<char>::create(100);
  const auto info = cushim::describe_pointer(buffer.data().address());
  EXPECT_VALUE(info.range_size, std::size_t{100});
  EXPECT_VALUE(info.memory_type == CU_MEMORYTYPE_DEVICE, true);
  EXPECT_VALUE(info.is_managed, false);
}
TEST_F(PointerAttributes, By_wrappers_describe_pageable_memory_as_unknown) {
  const auto info = cushim::describe_pointer(address_of(&number));
  EXPECT_VALUE(info.memory_type.has_value(), false);
}

}  // namespace
}  // namespace conformance

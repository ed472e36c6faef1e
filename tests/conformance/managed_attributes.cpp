// SPDX-License-Identifier: Apache-2.0
// Queries of the attributes of ranges of managed memory.
#include <array>

#include "managed.hpp"

namespace conformance {
namespace {

class ManagedAttributes : public WithManagedMemory {
 public:
  std::array<int, 4> values{77, 77, 77, 77};

  // Asks for an attribute, and expects this code.
  void expect(CUresult code, std::size_t bytes, int attribute, CUdeviceptr address, std::size_t count) {
    expect_answer(__FILE__, __LINE__, "cuMemRangeGetAttribute(...)", get(bytes, attribute, address, count),
                  code);
  }
  CUresult get(std::size_t bytes, int attribute, CUdeviceptr address, std::size_t count) {
    return driver().cuMemRangeGetAttribute(values.data(), bytes,
                                           static_cast<CUmem_range_attribute>(attribute), address, count);
  }
};

// ---- Sizes of values, for each attribute and some that do not exist ----

[[maybe_unused]] const bool sizes_added = [] {
  for (const int attribute : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99})
    for (const std::size_t bytes : {0, 1, 4, 5, 8, 12}) {
      const bool is_known = attribute >= 1 && attribute <= 8;
      const bool is_list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
      const bool fits = is_list ? bytes != 0 && bytes % 4 == 0 : bytes == 4;
      const CUresult expected = is_known && fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      ADD_TEST(ManagedAttributes,
               "Attribute_" + std::to_string(attribute) + "_in_" + std::to_string(bytes) + "_bytes",
               [=](ManagedAttributes &t) {
                 t.expect(expected, bytes, attribute, t.managed(), kPage);
                 const std::size_t written = expected == CUDA_SUCCESS ? bytes / 4 : 0;
                 for (std::size_t i = 0; i < t.values.size(); ++i) {
                   const bool is_flag = attribute == 1, is_type = attribute == 5 || attribute == 7;
                   const int none = is_flag || is_type ? 0 : CU_DEVICE_INVALID;
                   EXPECT_VALUE(t.values[i], i < written ? none : 77);
                 }
               });
    }
  return true;
}();

// ---- Ranges ----

struct RangeCase {
  const char *name;
  Kind kind;
  std::size_t offset, count;
  CUresult code;
};
const RangeCase ranges[] = {
    {"The_whole", Kind::managed, 0, 2 * kPage, CUDA_SUCCESS},
    {"One_byte", Kind::managed, 0, 1, CUDA_SUCCESS},
    {"The_last_byte", Kind::managed, 2 * kPage - 1, 1, CUDA_SUCCESS},
    {"No_bytes", Kind::managed, 0, 0, CUDA_ERROR_INVALID_VALUE},
    {"Sixteen_mebibytes", Kind::managed, 0, 1 << 24, CUDA_ERROR_INVALID_VALUE},
    {"Bytes_that_wrap_around", Kind::managed, kPage, ~std::size_t{0}, CUDA_SUCCESS},
    {"Pinned_memory", Kind::pinned, 0, kPage, CUDA_ERROR_INVALID_VALUE},
    {"Registered_memory", Kind::registered, 0, kPage, CUDA_ERROR_INVALID_VALUE},
    {"Pageable_memory", Kind::pageable, 0, kPage, CUDA_ERROR_INVALID_VALUE},
};
[[maybe_unused]] const bool ranges_added = [] {
  for (const RangeCase &range : ranges)
    for (const int attribute : {1, 2, 3, 4})
      ADD_TEST(ManagedAttributes, std::string(range.name) + "_with_attribute_" + std::to_string(attribute),
               [=](ManagedAttributes &t) {
                 const CUdeviceptr address = memory_of(t, range.kind, 2 * kPage) + range.offset;
                 t.expect(range.code, 4, attribute, address, range.count);
                 RECORD_VALUE(t.values[0]);
               });
  return true;
}();

TEST_F(ManagedAttributes, Null_has_none) { expect(CUDA_ERROR_INVALID_VALUE, 4, 1, 0, kPage); }
TEST_F(ManagedAttributes, Are_not_read_without_a_context) {
  const CUdeviceptr of = managed();
  NEED(driver().cuCtxSetCurrent(nullptr));
  expect(CUDA_ERROR_INVALID_CONTEXT, 4, 1, of, kPage);
  expect(CUDA_ERROR_INVALID_CONTEXT, 3, 1, of, kPage);  // so in recorded random programs
}
TEST_F(ManagedAttributes, Are_read_in_another_context) {
  const CUdeviceptr of = managed();
  NEED(driver().cuCtxPushCurrent(other_context()));
  expect(CUDA_SUCCESS, 4, 1, of, kPage);
  NEED(driver().cuCtxPopCurrent(&context_out));
}

// ---- Lists of attributes ----

class ManagedAttributeLists : public WithManagedMemory {
 public:
  int first = 77, second = 77;
  void *values[2] = {&first, &second};
  std::size_t sizes[2] = {4, 4};
  CUmem_range_attribute attributes[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                         CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  std::size_t count = 2;
  CUdeviceptr address = 0;
  std::size_t bytes = kPage;

  // Asks for both attributes, and expects that these values are written.
  void expect(CUresult code, int first_written, int second_written) {
    if (address == 0) address = managed();
    EXPECT_ANSWER(driver().cuMemRangeGetAttributes(values, sizes, attributes, count, address, bytes), code);
    EXPECT_VALUE(first, first_written);
    EXPECT_VALUE(second, second_written);
  }
};
constexpr int kNone = CU_DEVICE_INVALID;

TEST_F(ManagedAttributeLists, Are_written) { expect(CUDA_SUCCESS, 0, kNone); }
TEST_F(ManagedAttributeLists, Of_one_are_written) { count = 1, expect(CUDA_SUCCESS, 0, 77); }
TEST_F(ManagedAttributeLists, Of_none_are_refused) { count = 0, expect(CUDA_ERROR_INVALID_VALUE, 77, 77); }
TEST_F(ManagedAttributeLists, With_the_same_attribute_twice) {
  attributes[0] = attributes[1];
  expect(CUDA_SUCCESS, kNone, kNone);
}
TEST_F(ManagedAttributeLists, With_a_second_size_in_error) {
  sizes[1] = 3;
  expect(CUDA_ERROR_INVALID_VALUE, 77, 77);
}
TEST_F(ManagedAttributeLists, With_a_second_attribute_in_error) {
  attributes[1] = static_cast<CUmem_range_attribute>(99);
  expect(CUDA_ERROR_INVALID_VALUE, 77, 77);
}
TEST_F(ManagedAttributeLists, With_a_second_value_of_null) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  values[1] = nullptr;
  expect(CUDA_ERROR_INVALID_VALUE, 77, 77);
}
TEST_F(ManagedAttributeLists, Of_no_bytes) { bytes = 0, expect(CUDA_ERROR_INVALID_VALUE, 77, 77); }
TEST_F(ManagedAttributeLists, Beyond_the_end) { bytes = 1 << 24, expect(CUDA_ERROR_INVALID_VALUE, 77, 77); }
TEST_F(ManagedAttributeLists, Of_device_memory) {
  address = memory();
  expect(CUDA_ERROR_INVALID_VALUE, 77, 77);
}
TEST_F(ManagedAttributeLists, Without_a_context) {
  address = managed();
  NEED(driver().cuCtxSetCurrent(nullptr));
  expect(CUDA_ERROR_INVALID_CONTEXT, 77, 77);
}
TEST_F(ManagedAttributeLists, Without_values) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemRangeGetAttributes(nullptr, sizes, attributes, count, managed(), bytes),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ManagedAttributeLists, Without_sizes) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemRangeGetAttributes(values, nullptr, attributes, count, managed(), bytes),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ManagedAttributeLists, Without_attributes) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemRangeGetAttributes(values, sizes, nullptr, count, managed(), bytes),
                CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

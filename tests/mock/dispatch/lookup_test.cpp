// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress of a mock driver.
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include <cstring>

namespace {

using cushim::Driver;
using cushim::mock::MockDriver;
using cushim::mock::Returns;
using testing::_;

#if CUDA_VERSION >= 12000
using Status = CUdriverProcAddressQueryResult;

template <class Function>
Function *look_up(Driver &driver, const char *base, int version, cuuint64_t flags = 0,
                  Status *status = nullptr) {
  void *found = &found;
  EXPECT_EQ(driver.cuGetProcAddress(base, &found, version, flags, status), CUDA_SUCCESS);
  Function *function;
  std::memcpy(&function, &found, sizeof function);
  return function;
}

TEST(MockLookup, A_pointer_that_was_looked_up_reaches_the_mock) {
  MockDriver mock;
  EXPECT_CALL(mock, cuInit(0)).WillOnce(Returns(CUDA_ERROR_NO_DEVICE));
  EXPECT_EQ(look_up<CUresult(unsigned)>(mock, "cuInit", 2000)(0), CUDA_ERROR_NO_DEVICE);
}

TEST(MockLookup, The_version_decides_the_ABI_and_the_flags_the_stream_variant) {
  MockDriver mock;
  Driver &driver = mock;
  EXPECT_EQ(look_up<CUresult(CUdeviceptr *, size_t)>(driver, "cuMemAlloc", 12000),
            driver.cuMemAlloc_v2.get());
#undef cuMemAlloc
  const auto first_abi = driver.cuMemAlloc.get();
#define cuMemAlloc cuMemAlloc_v2
  EXPECT_EQ(look_up<CUresult(CushimDeviceptr_v1 *, unsigned)>(driver, "cuMemAlloc", 2000), first_abi);
  EXPECT_EQ(look_up<CUresult(CUstream)>(driver, "cuStreamQuery", 12000, 2), driver.cuStreamQuery_ptsz.get());
}

TEST(MockLookup, Unknown_names_are_distinguished_from_versions_that_are_too_low) {
  MockDriver mock;
  Status status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(look_up<void()>(mock, "cuNoSuchThing", 12000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(look_up<void()>(mock, "cuMemAllocAsync", 11000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_NE(look_up<void()>(mock, "cuMemAllocAsync", 11020, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
}

TEST(MockLookup, A_version_above_the_driver_s_is_invalid) {
  MockDriver mock(12000);
  void *found = nullptr;
  EXPECT_EQ(mock.driver().cuGetProcAddress("cuInit", &found, 12010, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(mock.driver().cuGetProcAddress(nullptr, &found, 12000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(mock.driver().cuGetProcAddress("cuInit", nullptr, 12000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(MockLookup, The_first_ABI_fails_where_the_second_reports) {
  MockDriver mock;
  Driver &driver = mock;
  void *found = nullptr;
#undef cuGetProcAddress
  EXPECT_EQ(driver.cuGetProcAddress("cuNoSuchThing", &found, 12000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuGetProcAddress("cuInit", &found, 12000, 0), CUDA_SUCCESS);
#define cuGetProcAddress cuGetProcAddress_v2
  EXPECT_NE(found, nullptr);
}

TEST(MockLookup, A_test_s_own_expectation_wins) {
  MockDriver mock;
  EXPECT_CALL(mock, cuGetProcAddress(testing::StrEq("cuInit"), _, _, _, _))
      .WillOnce(Returns(CUDA_ERROR_NOT_FOUND));
  void *found = nullptr;
  EXPECT_EQ(mock.driver().cuGetProcAddress("cuInit", &found, 12000, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}
#endif

}  // namespace

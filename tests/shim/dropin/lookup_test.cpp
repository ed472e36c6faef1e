// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress of the drop-in library.
#include <gtest/gtest.h>
#include <cushim/mock/mock_driver.hpp>

#include <cstring>

#include "unmodified.h"

namespace {

using cushim::ScopedDriver;
using cushim::mock::MockDriver;
using cushim::mock::Returns;
using testing::_;

// The first ABI, which headers since 12.0 hide behind a macro.
extern "C" CUresult first_lookup(const char *, void **, int, cuuint64_t) __asm__("cuGetProcAddress");
extern "C" CUresult per_thread_query(CUstream) __asm__("cuStreamQuery_ptsz");
extern "C" CUresult first_alloc(CushimDeviceptr_v1 *, unsigned) __asm__("cuMemAlloc");

template <class Function>
Function *look_up(const char *base, int version, cuuint64_t flags = 0) {
  void *found = nullptr;
  EXPECT_EQ(unmodified_look_up(base, &found, version, flags), CUDA_SUCCESS);
  Function *function;
  std::memcpy(&function, &found, sizeof function);
  return function;
}

TEST(DropInLookup, It_answers_the_library_s_own_functions) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  EXPECT_EQ(look_up<CUresult(unsigned)>("cuInit", 11080), unmodified_address_of_init());
  EXPECT_EQ(look_up<CUresult(CUstream)>("cuStreamQuery", 11080, 2), &per_thread_query);
  EXPECT_EQ((look_up<CUresult(CushimDeviceptr_v1 *, unsigned)>("cuMemAlloc", 2000)), &first_alloc);
}

TEST(DropInLookup, A_looked_up_function_follows_the_current_driver) {
  MockDriver first;
  MockDriver second;
  EXPECT_CALL(second, cuInit(0)).WillOnce(Returns(CUDA_ERROR_NO_DEVICE));
  const ScopedDriver first_scope(first);
  auto *const init = look_up<CUresult(unsigned)>("cuInit", 11080);
  const ScopedDriver second_scope(second);
  EXPECT_EQ(init(0), CUDA_ERROR_NO_DEVICE);
}

TEST(DropInLookup, A_looked_up_cuGetProcAddress_is_the_function_of_the_library) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  EXPECT_EQ((look_up<CUresult(const char *, void **, int, cuuint64_t)>("cuGetProcAddress", 11030)),
            &first_lookup);
}

TEST(DropInLookup, The_first_ABI_answers_the_same) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  void *found = nullptr;
  EXPECT_EQ(first_lookup("cuInit", &found, 11080, 0), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void *>(unmodified_address_of_init()));
}

TEST(DropInLookup, A_name_that_the_driver_does_not_find_is_not_found) {
  MockDriver mock;
  const ScopedDriver scope(mock);
#if CUDA_VERSION >= 12000
  EXPECT_EQ(look_up<void()>("cuNoSuchThing", 12000), nullptr);
#endif
  void *found = nullptr;
  EXPECT_EQ(first_lookup("cuNoSuchThing", &found, 11080, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(found, nullptr);
}

TEST(DropInLookup, A_function_that_cushim_does_not_know_stays_the_driver_s) {
  MockDriver mock;
  const ScopedDriver scope(mock);
  void *const theirs = &mock;
#undef cuGetProcAddress
  EXPECT_CALL(mock, cuGetProcAddress(_, _, _, _)).WillOnce(cushim::mock::Gives(theirs));
  void *found = nullptr;
  EXPECT_EQ(first_lookup("cuFutureThing", &found, 11080, 0), CUDA_SUCCESS);
  EXPECT_EQ(found, theirs);
}

}  // namespace

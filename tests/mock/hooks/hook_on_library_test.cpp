// SPDX-License-Identifier: Apache-2.0
// Hooks on a driver that was loaded from a library, like the real driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/mock/hook.hpp>

#include <cstring>

#include "support/every_entry.hpp"
#include "support/fakes.hpp"

namespace {

using cushim::Driver;
using cushim::Entry;
namespace hook = cushim::hook;

class HookOnLibrary : public testing::Test {
 protected:
  Driver &driver_ = *Driver::load({.library = fake_path("13000").c_str()});
};

TEST_F(HookOnLibrary, It_runs_and_the_driver_s_own_function_after_it) {
  int calls = 0;
  const auto counted = hook::before<&cuInit>(driver_, [&](unsigned) { ++calls; });
  const int before = fake_function<int()>("13000", "fake_calls")();
  EXPECT_EQ(driver_.cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(fake_function<int()>("13000", "fake_calls")(), before + 1);
}

TEST_F(HookOnLibrary, Entries_without_a_hook_keep_the_driver_s_own_functions) {
  const auto hooked = hook::before<&cuInit>(driver_, [](unsigned) {});
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    const std::string_view base = cushim_entry(slot)->base;
    if (base == "cuInit" || base == "cuGetProcAddress" || !driver_.supports(static_cast<Entry>(slot)))
      continue;
    EXPECT_EQ(cell_of(driver_, slot), cushim_own_function(&driver_, slot)) << cushim_entry(slot)->symbol;
  }
}

TEST_F(HookOnLibrary, Removing_the_last_hook_restores_the_table) {
  {
    const auto hooked = hook::before<&cuInit>(driver_, [](unsigned) {});
  }
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    if (!driver_.supports(static_cast<Entry>(slot))) continue;
    EXPECT_EQ(cell_of(driver_, slot), cushim_own_function(&driver_, slot)) << cushim_entry(slot)->symbol;
  }
}

TEST_F(HookOnLibrary, A_hook_can_implement_an_entry_that_the_driver_lacks) {
  Driver &incomplete = *Driver::load({.library = fake_path("incomplete").c_str()});
  {
    const auto watched = hook::before<&cuMemAllocAsync>(incomplete, [](auto...) {});
    EXPECT_EQ(incomplete.cuMemAllocAsync(nullptr, 0, nullptr), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
    const auto stand_in = hook::replace<&cuMemAllocAsync>(
        incomplete, [](CUdeviceptr *, size_t, CUstream) { return CUDA_ERROR_OUT_OF_MEMORY; });
    EXPECT_EQ(incomplete.cuMemAllocAsync(nullptr, 0, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  }
  EXPECT_EQ(incomplete.cuMemAllocAsync(nullptr, 0, nullptr), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
}

#if CUDA_VERSION >= 12000
template <class Function>
Function *look_up(Driver &driver, const char *base, int version, cuuint64_t flags = 0) {
  void *found = nullptr;
  EXPECT_EQ(driver.cuGetProcAddress(base, &found, version, flags, nullptr), CUDA_SUCCESS);
  Function *function;
  std::memcpy(&function, &found, sizeof function);
  return function;
}

TEST_F(HookOnLibrary, A_pointer_that_was_looked_up_does_not_bypass_the_hook) {
  int calls = 0;
  const auto hooked = hook::before<&cuInit>(driver_, [&](unsigned) { ++calls; });
  EXPECT_EQ(look_up<CUresult(unsigned)>(driver_, "cuInit", 2000)(0), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
}

TEST_F(HookOnLibrary, A_pointer_that_was_looked_up_while_another_hook_was_on_does_not_bypass_it) {
  const auto other = hook::before<&cuCtxSynchronize>(driver_, [] {});
  auto *const init = look_up<CUresult(unsigned)>(driver_, "cuInit", 2000);
  int calls = 0;
  const auto hooked = hook::before<&cuInit>(driver_, [&](unsigned) { ++calls; });
  EXPECT_EQ(init(0), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
}

TEST_F(HookOnLibrary, A_pointer_that_was_looked_up_stays_valid_after_the_hooks_are_removed) {
  CUresult (*init)(unsigned) = nullptr;
  {
    const auto hooked = hook::before<&cuInit>(driver_, [](unsigned) { return CUDA_ERROR_UNKNOWN; });
    init = look_up<CUresult(unsigned)>(driver_, "cuInit", 2000);
  }
  const int before = fake_function<int()>("13000", "fake_calls")();
  EXPECT_EQ(init(0), CUDA_SUCCESS);
  EXPECT_EQ(fake_function<int()>("13000", "fake_calls")(), before + 1);
}

TEST_F(HookOnLibrary, A_name_that_the_driver_does_not_find_is_not_found) {
  const auto hooked = hook::before<&cuInit>(driver_, [](unsigned) {});
  void *found = &found;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(driver_.cuGetProcAddress("cuNoSuchThing", &found, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(driver_.cuGetProcAddress("cuInit", &found, 99000, 0, &status), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HookOnLibrary, A_hook_on_the_lookup_sees_each_name_until_it_is_removed) {
  std::string asked;
  hook::Hook on_lookup =
      hook::before<&cuGetProcAddress>(driver_, [&](const char *base, auto...) { asked += base; });
  hook::Hook on_init = hook::before<&cuInit>(driver_, [](unsigned) {});
  look_up<void()>(driver_, "cuInit", 2000);
  EXPECT_EQ(asked, "cuInit");
  on_lookup.remove();
  void *found = nullptr;
  driver_.cuGetProcAddress("cuInit", &found, 2000, 0, nullptr);
  EXPECT_EQ(asked, "cuInit");
  EXPECT_EQ(reinterpret_cast<void (*)()>(found), cell_of(driver_, static_cast<int>(Entry::cuInit_v2000)));
}
#endif

TEST_F(HookOnLibrary, The_lookup_of_an_older_driver_does_not_bypass_the_hook) {
  Driver &older = *Driver::load({.library = fake_path("11040").c_str()});
  int calls = 0;
  const auto hooked = hook::before<&cuInit>(older, [&](unsigned) { ++calls; });
  void *found = nullptr;
#undef cuGetProcAddress
  EXPECT_EQ(older.cuGetProcAddress("cuInit", &found, 11030, 0), CUDA_SUCCESS);
  reinterpret_cast<CUresult (*)(unsigned)>(found)(0);
  EXPECT_EQ(calls, 1);
}

}  // namespace

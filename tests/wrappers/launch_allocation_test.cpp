// SPDX-License-Identifier: Apache-2.0
// Launches pack their arguments without an allocation.
#include <gtest/gtest.h>
#include <cushim/cushim.hpp>

#include <string_view>

#include "support/replaced_new.hpp"

namespace {

thread_local long allocations = 0;

}  // namespace

void before_allocation() { ++allocations; }

namespace cushim::test {
namespace {

// Succeeds, whatever the arguments are.
CUresult accept_launch() { return CUDA_SUCCESS; }
CUresult accept_parameters(CUfunction, std::size_t index, std::size_t *offset, std::size_t *size) {
  *offset = 8 * index;
  *size = 8;
  return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void (*resolve_launches(void *, const char *symbol))() {
  const std::string_view name = symbol;
  if (name == "cuFuncGetParamInfo") return reinterpret_cast<void (*)()>(accept_parameters);
  return name == "cuLaunchKernel" || name == "cuLaunchKernelEx" ? reinterpret_cast<void (*)()>(accept_launch)
                                                                : nullptr;
}

TEST(LaunchAllocation, No_launch_allocates_memory) {
  Driver &driver = Driver::from_functions("launches", 13000, resolve_launches);
  const ScopedDriver scope(driver);
  const StreamRef stream(reinterpret_cast<CUstream>(0x50));
  const Function function = Function::from_handle(reinterpret_cast<CUfunction>(0xf0));
  const TypedKernel<void(DevicePtr<float>, double)> typed(function);
  const CUlaunchAttribute more[] = {launch_attribute::priority(-2)};
  const DevicePtr<float> pointer(0x8000);

  const long before = allocations;
  launch(function, {.grid = 4, .block = 32}, stream, 1, 2.0F, pointer);
  launch(function, {.cluster = 2, .cooperative = true, .attributes = more}, stream, 1, 2.0F, pointer);
  launch(typed, {.grid = 4}, stream, pointer, 2.0F);
  launch(typed, {.attributes = more}, stream, pointer, 2.0F);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace cushim::test

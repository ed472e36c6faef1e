// SPDX-License-Identifier: Apache-2.0
// A machine with an older driver version.
#include <cstdlib>

#include "support/machine_fixture.hpp"

// The tests call both ABIs by their symbols.
#undef cuGetProcAddress

namespace cushim::sim {
namespace {

#if CUDA_VERSION >= 12000
// Returns the status of a lookup, and the function in `found`.
CUdriverProcAddressQueryResult look_up(const char *name, int version, void *&found) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  found = nullptr;
  need(driver().cuGetProcAddress_v2(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  return status;
}
#endif

TEST(OldDriver, Answers_its_version) {
  const Running running({.driver_version = 11080});
  int version = 0;
  need(driver().cuDriverGetVersion(&version));
  EXPECT_EQ(version, 11080);
  EXPECT_EQ(running.machine.driver().version(), 11080);
}

TEST(OldDriver, Lacks_the_entry_points_of_later_ones) {
  const Running running({.driver_version = 11080});
  EXPECT_TRUE(supports(Entry::cuEventRecord_v2000));
  EXPECT_TRUE(supports(Entry::cuGetProcAddress_v11030));
  EXPECT_FALSE(supports(Entry::cuGetProcAddress_v12000));
  EXPECT_FALSE(running.machine.driver().supports("cuStreamGetId", 12000));
#if CUDA_VERSION >= 12000
  unsigned long long id = 0;
  EXPECT_EQ(driver().cuStreamGetId(nullptr, &id), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
#endif
}

TEST(OldDriver, Finds_no_function_and_takes_no_version_that_came_later) {
  const Running running({.driver_version = 11080});
  void *found = nullptr;
  const auto look_up = [&](const char *name, int version) {
    return driver().cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT);
  };
  EXPECT_EQ(look_up("cuStreamGetId", 11080), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(look_up("cuEventRecord", 12000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(look_up("cuEventRecord", 11080), CUDA_SUCCESS);
  EXPECT_NE(found, nullptr);
}

#if CUDA_VERSION >= 12000
TEST(OldDriver, Distinguishes_an_unknown_name_from_a_version_that_is_too_low) {
  const Running running({.driver_version = 12000});
  void *found = nullptr;
  EXPECT_EQ(look_up("cuStreamGetId", 12000, found), CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(look_up("cuStreamGetId", 11080, found), CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(look_up("cuCtxGetId", 12000, found), CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(look_up("cuStreamGetDevice", 12000, found), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << "of 12.8";
}
#endif

TEST(OldDriver, Does_not_know_later_attributes) {
  const Running running({.driver_version = 11080});
  int value = 0;
  EXPECT_EQ(driver().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(124), 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(125), 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(OldDriver, Is_chosen_by_the_environment_too) {
  setenv("CUSHIM_DRIVER_VERSION", "11.8", 1);
  EXPECT_EQ(options_from_environment().driver_version, 11080);
  setenv("CUSHIM_DRIVER_VERSION", "9.0", 1);
  EXPECT_THROW(options_from_environment(), std::invalid_argument);
  unsetenv("CUSHIM_DRIVER_VERSION");
  EXPECT_EQ(options_from_environment().driver_version, 0);
}

TEST(OldDriver, Of_the_options_overrides_that_of_the_description) {
  const Machine machine({.devices = "h200;driver=12.4", .driver_version = 11080});
  EXPECT_EQ(machine.driver().version(), 11080);
}

}  // namespace
}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

// Sets the variables until the end of the test; null unsets one.
class VisibleDevices : public ::testing::Test {
 protected:
  ~VisibleDevices() override { set(nullptr, nullptr); }

  static void set(const char *visible, const char *order) {
    set_one("CUDA_VISIBLE_DEVICES", visible);
    set_one("CUDA_DEVICE_ORDER", order);
  }

  // Returns the names of the devices that a process sees, in order; or the code of cuInit if it failed.
  static std::string seen(const char *devices, const char *visible, const char *order = nullptr) {
    set(visible, order);
    const Machine machine({.devices = devices});
    const ScopedDriver scope(machine.driver());
    if (const CUresult code = driver().cuInit(0); code != CUDA_SUCCESS) return std::to_string(code);
    int count = 0;
    need(driver().cuDeviceGetCount(&count));
    std::string names;
    for (int device = 0; device < count; ++device) {
      char name[64] = {};
      need(driver().cuDeviceGetName(name, sizeof name, device));
      int bus = 0;
      need(driver().cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
      names += (device == 0 ? "" : ", ") + std::string(name) + " at " + std::to_string(bus);
    }
    return names;
  }

 private:
  static void set_one(const char *variable, const char *value) {
    if (value != nullptr)
      setenv(variable, value, 1);
    else
      unsetenv(variable);
  }
};

constexpr char mixed[] = "l4,h200,l4,h200";

TEST_F(VisibleDevices, Come_with_the_fastest_first) {
  const char fastest[] = "NVIDIA H200 at 1, NVIDIA H200 at 3, NVIDIA L4 at 0, NVIDIA L4 at 2";
  EXPECT_EQ(seen(mixed, nullptr), fastest);
  EXPECT_EQ(seen(mixed, nullptr, "FASTEST_FIRST"), fastest);
}

TEST_F(VisibleDevices, Come_by_PCI_address_if_that_is_asked_for) {
  EXPECT_EQ(seen(mixed, nullptr, "PCI_BUS_ID"),
            "NVIDIA L4 at 0, NVIDIA H200 at 1, NVIDIA L4 at 2, NVIDIA H200 at 3");
}

TEST_F(VisibleDevices, Are_numbered_in_the_order_that_was_asked_for) {
  EXPECT_EQ(seen(mixed, "0,2"), "NVIDIA H200 at 1, NVIDIA L4 at 0");
  EXPECT_EQ(seen(mixed, "2,0", "PCI_BUS_ID"), "NVIDIA L4 at 2, NVIDIA L4 at 0");
}

TEST_F(VisibleDevices, Are_named_by_the_beginning_of_an_identity_too) {
  // A UUID begins with the id of the profile: "l4", "h200".
  EXPECT_EQ(seen("l4,h200", "GPU-6c34"), "NVIDIA L4 at 0");
  EXPECT_EQ(seen("l4,h200", "GPU-6C34,0"), "NVIDIA L4 at 0, NVIDIA H200 at 1");
  EXPECT_EQ(seen("l4x2", "GPU-6c34"), "100") << "two devices begin so";
}

TEST_F(VisibleDevices, End_at_the_first_that_does_not_exist) {
  EXPECT_EQ(seen("l4x3", "1,7,0"), "NVIDIA L4 at 1");
  EXPECT_EQ(seen("l4x3", "-1,0"), "100");
  EXPECT_EQ(seen("l4x3", ""), "100");
}

TEST_F(VisibleDevices, Named_twice_are_an_invalid_device) { EXPECT_EQ(seen("l4x3", "1,1"), "101"); }

}  // namespace
}  // namespace cushim::sim

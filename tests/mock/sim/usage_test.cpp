// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

// Returns the live objects of this kind; zero if it is not in the list.
Usage::Alive alive(const Usage &usage, const std::string &what) {
  const auto found = std::ranges::find(usage.alive, what, &Usage::Alive::what);
  return found != usage.alive.end() ? *found : Usage::Alive{what, 0, 0};
}

TEST(Usage, Is_empty_before_the_first_call) {
  const Machine machine({.devices = "smallx2"});
  const Usage usage = machine.usage();
  EXPECT_TRUE(usage.calls.empty());
  EXPECT_TRUE(usage.alive.empty());
  ASSERT_EQ(usage.devices.size(), 2u);
  EXPECT_EQ(usage.devices[1].peak, 0u);
  EXPECT_FALSE(usage.has_findings());
}

TEST(Usage, Counts_each_function_by_its_symbol) {
  const Running running;
  const CUdeviceptr memory = running.memory();
  int version = 0;
  for (int i = 0; i < 3; ++i) need(driver().cuDriverGetVersion(&version));
  EXPECT_EQ(driver().cuMemFree(0), CUDA_SUCCESS);
  need(driver().cuMemFree(memory));
  const Usage usage = running.machine.usage();
  EXPECT_EQ(usage.calls.at("cuDriverGetVersion"), 3u);
  EXPECT_EQ(usage.calls.at("cuMemAlloc_v2"), 1u);
  EXPECT_EQ(usage.calls.at("cuMemFree_v2"), 2u);
  EXPECT_FALSE(usage.calls.contains("cuMemAlloc"));
  EXPECT_FALSE(usage.has_findings());
}

TEST(Usage, Keeps_the_most_memory_that_was_in_use_on_each_device) {
  const Running running({.devices = "smallx2"});
  const std::size_t size = std::size_t{8} << 20;
  for (int i = 0; i < 2; ++i) need(driver().cuMemFree(running.memory(size)));
  const CUdeviceptr first = running.memory(size), second = running.memory(size);
  need(driver().cuMemFree(first));
  need(driver().cuMemFree(second));
  const Usage usage = running.machine.usage();
  EXPECT_EQ(usage.devices[0].peak, 2 * size);
  EXPECT_EQ(usage.devices[1].peak, 0u);
}

TEST(Usage, Lists_objects_that_were_not_freed_by_kind) {
  const Running running;
  running.stream();
  running.stream();
  running.event();
  running.memory(1000);
  running.memory(24);
  running.pinned<char>(100);
  CUcontext context = nullptr;
  need(driver().cuCtxCreate(&context, nullptr, 0, 0));
  const Usage usage = running.machine.usage();
  EXPECT_EQ(alive(usage, "contexts").count, 1u) << "the primary one is not the program's to free";
  EXPECT_EQ(alive(usage, "streams").count, 2u);
  EXPECT_EQ(alive(usage, "events").count, 1u);
  EXPECT_EQ(alive(usage, "device memory").count, 2u);
  EXPECT_EQ(alive(usage, "device memory").bytes, 1024u);
  EXPECT_EQ(alive(usage, "pinned memory").bytes, 100u);
  EXPECT_EQ(usage.alive.size(), 5u);
  EXPECT_TRUE(usage.has_findings());
}

TEST(Usage, Names_each_entry_point_that_is_not_implemented_once) {
  const Running running;
  int list = 0;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(driver().cuDeviceGetNvSciSyncAttributes(&list, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  const Usage usage = running.machine.usage();
  EXPECT_EQ(usage.not_implemented, std::vector<std::string>{"cuDeviceGetNvSciSyncAttributes"});
  EXPECT_TRUE(usage.has_findings());
}

TEST(Usage, Names_entry_points_whose_lookup_failed) {
  const Running running;
  void *function = nullptr;
  CUdriverProcAddressQueryResult found{};
  need(driver().cuGetProcAddress("cuNoSuchThing", &function, 13000, 0, &found));
  const Usage usage = running.machine.usage();
  EXPECT_EQ(usage.not_found, std::vector<std::string>{"cuNoSuchThing"});
  EXPECT_FALSE(usage.has_findings()) << "a program may ask for what there is not";
}

}  // namespace
}  // namespace cushim::sim

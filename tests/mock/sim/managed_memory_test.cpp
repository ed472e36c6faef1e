// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

using Three = std::array<int, 3>;
constexpr int kNone = CU_DEVICE_INVALID;
constexpr CUmemLocation kHost{.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};

CUmemLocation on(CUdevice device) { return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}; }

// A managed page on a machine of three devices.
struct Page : Running {
  Page() : Running({.devices = "smallx3"}) {
    need(driver().cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL));
  }
  void advise(CUmem_advise advice, CUmemLocation place) const {
    need(driver().cuMemAdvise_v2(memory, 4096, advice, place));
  }
  int attribute(CUmem_range_attribute attribute) const {
    int value = 77;
    need(driver().cuMemRangeGetAttribute(&value, sizeof value, attribute, memory, 4096));
    return value;
  }
  Three accessors() const {
    Three list{};
    need(driver().cuMemRangeGetAttribute(list.data(), sizeof list, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory,
                                         4096));
    return list;
  }
  CUdeviceptr memory = 0;
};

TEST(ManagedMemory, Lists_all_locations_that_access_it) {
  const Page page;
  EXPECT_EQ(page.accessors(), (Three{kNone, kNone, kNone}));
  page.advise(CU_MEM_ADVISE_SET_ACCESSED_BY, kHost);
  page.advise(CU_MEM_ADVISE_SET_ACCESSED_BY, on(2));
  page.advise(CU_MEM_ADVISE_SET_ACCESSED_BY, on(0));
  EXPECT_EQ(page.accessors(), (Three{0, 2, CU_DEVICE_CPU}));
  page.advise(CU_MEM_ADVISE_UNSET_ACCESSED_BY, on(0));
  EXPECT_EQ(page.accessors(), (Three{2, CU_DEVICE_CPU, kNone}));
  EXPECT_EQ(page.attribute(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY), 2) << "a list of one";
}

// Measured on an H200, driver 580.
TEST(ManagedMemory, Is_attached_to_one_stream_unless_that_is_null) {
  const Page page;
  const auto attach = [&](CUstream stream) {
    return driver().cuStreamAttachMemAsync(stream, page.memory, 0, CU_MEM_ATTACH_SINGLE);
  };
  EXPECT_EQ(attach(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attach(CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(attach(page.stream()), CUDA_SUCCESS);
}

TEST(ManagedMemory, Has_locations_by_type_and_id) {
  const Page page;
  EXPECT_EQ(page.attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_INVALID);
  page.advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on(1));
  EXPECT_EQ(page.attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(page.attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), 1);
  need(driver().cuMemPrefetchAsync_v2(page.memory, 4096, kHost, 0, nullptr));
  EXPECT_EQ(page.attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_HOST);
}

TEST(ManagedMemory, Accepts_the_first_NUMA_node_of_the_host_and_does_not_return_it) {
  const Page page;
  constexpr CUmemLocation node{.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0};
  constexpr CUmemLocation other{.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 99};
  page.advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node);
  EXPECT_EQ(page.attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_INVALID);
  EXPECT_EQ(page.attribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), kNone);
  EXPECT_EQ(driver().cuMemPrefetchAsync_v2(page.memory, 4096, node, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemPrefetchAsync_v2(page.memory, 4096, other, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemAdvise_v2(page.memory, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, node),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(ManagedMemory, Returns_several_attributes_at_once) {
  const Page page;
  page.advise(CU_MEM_ADVISE_SET_READ_MOSTLY, on(0));
  page.advise(CU_MEM_ADVISE_SET_ACCESSED_BY, on(1));
  int is_read_mostly = 77;
  Three accessors{};
  void *values[] = {&is_read_mostly, accessors.data()};
  std::size_t sizes[] = {sizeof is_read_mostly, sizeof accessors};
  CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};
  EXPECT_EQ(driver().cuMemRangeGetAttributes(values, sizes, attributes, 2, page.memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(is_read_mostly, 1);
  EXPECT_EQ(accessors, (Three{1, kNone, kNone}));
  EXPECT_EQ(driver().cuMemRangeGetAttributes(values, sizes, attributes, 0, page.memory, 4096),
            CUDA_ERROR_INVALID_VALUE);
  sizes[1] = 3;
  EXPECT_EQ(driver().cuMemRangeGetAttributes(values, sizes, attributes, 2, page.memory, 4096),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(ManagedMemory, Can_be_set_to_synchronize_copies) {
  const Page page;
  const int on = 1;
  int is_on = 0;
  EXPECT_EQ(driver().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, page.memory), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuPointerGetAttribute(&is_on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, page.memory),
            CUDA_SUCCESS);
  EXPECT_EQ(is_on, 1);
}

}  // namespace
}  // namespace cushim::sim

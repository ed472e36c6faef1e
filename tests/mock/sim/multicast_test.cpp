// SPDX-License-Identifier: Apache-2.0
// Multicast objects: their traffic, and what the simulated driver refuses, and reports. tests/conformance has
// the rest.
#include <cushim/sim/usage.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "support/machine_fixture.hpp"

#if CUDA_VERSION >= 12010

namespace cushim::sim {
namespace {

constexpr std::size_t kGranule = 2 << 20;

CUmemGenericAllocationHandle object(unsigned devices, unsigned long long handle_types = 0) {
  const CUmulticastObjectProp properties{
      .numDevices = devices, .size = kGranule, .handleTypes = handle_types, .flags = 0};
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMulticastCreate(&made, &properties));
  return made;
}

CUmemGenericAllocationHandle physical(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMemCreate(&made, kGranule, &properties, 0));
  return made;
}

// A machine of two devices that keeps its reports.
struct Reporting {
  std::vector<std::string> reports;
  Running running{
      {.devices = "h200x2", .report = [this](const std::string &text) { reports.push_back(text); }}};

  bool has_reported(const std::string &text) const {
    return std::ranges::any_of(reports, [&](const std::string &one) { return one.find(text) != one.npos; });
  }
};

TEST(Multicast, Binds_memory_of_each_device_of_the_team_once) {
  const Running running({.devices = "h200x2"});
  const auto handle = object(2);
  need(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_EQ(driver().cuMulticastAddDevice(handle, 0), CUDA_ERROR_INVALID_VALUE);
  need(driver().cuMulticastAddDevice(handle, 1));
  for (const int device : {0, 1}) {
    EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(device), 0, kGranule, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(device), 0, kGranule, 0),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(driver().cuMulticastUnbind(handle, 1, 0, kGranule), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMulticastUnbind(handle, 1, 0, kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(1), 0, kGranule, 0), CUDA_SUCCESS);
}

TEST(Multicast, Keeps_bound_memory_until_it_ends) {
  const Running running;
  const auto free_memory = [] {
    std::size_t free = 0, total = 0;
    need(driver().cuMemGetInfo(&free, &total));
    return free;
  };
  const auto handle = object(1), memory = physical(0);
  need(driver().cuMulticastAddDevice(handle, 0));
  need(driver().cuMulticastBindMem(handle, 0, memory, 0, kGranule, 0));
  const std::size_t before = free_memory();
  need(driver().cuMemRelease(memory));
  EXPECT_EQ(free_memory(), before);
  need(driver().cuMemRelease(handle));
  EXPECT_EQ(free_memory(), before + kGranule);
}

TEST(Multicast, Does_not_bind_memory_of_a_device_outside_the_team) {
  const Running running({.devices = "h200x2"});
  const auto handle = object(1);
  need(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(1), 0, kGranule, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(Multicast, Does_not_bind_private_memory_to_an_object_that_can_be_exported) {
  const Running running;
  const auto handle = object(1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  need(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(0), 0, kGranule, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(Multicast, Reports_a_binding_before_all_devices_are_added) {
  Reporting machine;
  const auto handle = object(2);
  need(driver().cuMulticastAddDevice(handle, 0));
  EXPECT_EQ(driver().cuMulticastBindMem(handle, 0, physical(0), 0, kGranule, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(machine.has_reported("cuMulticastBindMem: not all devices"));
}

TEST(Multicast, Reports_an_export) {
  Reporting machine;
  const auto handle = object(1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  int file = -1;
  EXPECT_EQ(driver().cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(machine.has_reported("sharing of multicast objects is not implemented"));
}

// Returns a mapping that device 0 can access.
CUdeviceptr map(CUmemGenericAllocationHandle handle) {
  CUdeviceptr at = 0;
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  need(driver().cuMemAddressReserve(&at, kGranule, 0, 0, 0));
  need(driver().cuMemMap(at, kGranule, 0, handle, 0));
  need(driver().cuMemSetAccess(at, kGranule, &access, 1));
  return at;
}

// A machine of two devices with a mapped multicast object, and mappings of the memory that is bound to it.
struct Bound : Reporting {
  Bound() {
    const auto handle = object(2);
    for (const int device : {0, 1}) need(driver().cuMulticastAddDevice(handle, device));
    for (const int device : {0, 1}) {
      const auto memory = physical(device);
      need(driver().cuMulticastBindMem(handle, 0, memory, 0, kGranule, 0));
      own[device] = map(memory);
      need(driver().cuMemsetD32(own[device], 1 + static_cast<unsigned>(device), 16));
    }
    at = map(handle);
    need(driver().cuCtxSynchronize());
  }

  std::vector<std::uint32_t> words(int device) const {
    std::vector<std::uint32_t> words(4);
    need(driver().cuMemcpyDtoH(words.data(), own[device], 16));
    return words;
  }
  void expect_both(const std::vector<std::uint32_t> &wanted) const {
    EXPECT_EQ(words(0), wanted);
    EXPECT_EQ(words(1), wanted);
  }

  CUdeviceptr own[2] = {}, at = 0;
};

using Words = std::vector<std::uint32_t>;

TEST(Multicast, Copies_and_memsets_write_to_the_memory_of_each_device) {
  const Bound bound;
  const Words words{7, 8, 9, 10};
  EXPECT_EQ(driver().cuMemcpyHtoD(bound.at, words.data(), 16), CUDA_SUCCESS);
  bound.expect_both(words);
  EXPECT_EQ(driver().cuMemcpyDtoD(bound.at + 8, bound.own[0], 8), CUDA_SUCCESS);
  bound.expect_both({7, 8, 7, 8});
  EXPECT_EQ(driver().cuMemsetD32(bound.at + 4, 5, 2), CUDA_SUCCESS);
  bound.expect_both({7, 5, 5, 8});
  EXPECT_EQ(driver().cuMemsetD2D8(bound.at, 8, 0, 4, 2), CUDA_SUCCESS);
  bound.expect_both({0, 5, 0, 8});
}

TEST(Multicast, Multimem_instructions_of_a_kernel_reach_the_memory_of_each_device) {
  const Bound bound;
  const std::string ptx =
      ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 at) {\n"
      ".reg .b64 %rd<2>; .reg .b32 %r<4>;\nld.param.u64 %rd1, [at];\n"
      "multimem.ld_reduce.weak.global.add.u32 %r1, [%rd1];\n"
      "multimem.st.weak.global.u32 [%rd1+4], %r1;\n"
      "mov.u32 %r2, 10;\nmultimem.red.relaxed.sys.global.add.u32 [%rd1], %r2;\nret;\n}\n";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(driver().cuModuleLoadData(&module, ptx.c_str()));
  need(driver().cuModuleGetFunction(&function, module, "k"));
  CUdeviceptr at = bound.at;
  void *parameters[] = {&at};
  need(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(bound.words(0), (Words{11, 3, 1, 1}));
  EXPECT_EQ(bound.words(1), (Words{12, 3, 2, 2}));
}

TEST(Multicast, Reports_reads_of_a_mapping) {
  const Bound bound;
  std::uint32_t word = 0;
  EXPECT_EQ(driver().cuMemcpyDtoH(&word, bound.at, sizeof word), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(bound.has_reported("this access to a multicast object is not implemented"));
}

TEST(Multicast, Reports_writes_where_a_device_has_no_memory) {
  const Reporting machine;
  const auto handle = object(1);
  need(driver().cuMulticastAddDevice(handle, 0));
  const CUdeviceptr at = map(handle);
  EXPECT_EQ(driver().cuMemsetD8(at, 1, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(machine.has_reported("bytes of a multicast object are not bound to memory of each device"));
  EXPECT_EQ(driver().cuMemUnmap(at, kGranule), CUDA_SUCCESS);
}

TEST(Multicast, Is_not_supported_by_a_device_without_it) {
  const Running running({.devices = "a100"});
  const CUmulticastObjectProp properties{.numDevices = 1, .size = kGranule, .handleTypes = 0, .flags = 0};
  CUmemGenericAllocationHandle made = 0;
  EXPECT_EQ(driver().cuMulticastCreate(&made, &properties), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace cushim::sim

#endif

// SPDX-License-Identifier: Apache-2.0
// Kernels in C++ that run instead of PTX, and in cubins without PTX.
#include <cushim/sim/kernel.hpp>

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include "support/cubin.hpp"
#include "support/kernels.hpp"
#include "support/machine_fixture.hpp"
#include "support/ptx_header.hpp"

namespace cushim::sim {
namespace {

// A module whose PTX does nothing, so that what happens is done by registered kernels.
const std::string kPtx = CUSHIM_PTX_HEADER R"(
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) { ret; }
.visible .entry sums(.param .u64 from, .param .u64 to) { ret; }
.visible .entry nothing() { ret; }
)";

struct Loaded : RunningWithReports {
  explicit Loaded(Options options = {}, const void *image = kPtx.c_str())
      : RunningWithReports(std::move(options)) {
    module = load(image);
  }

  static CUmodule load(const void *image) {
    CUmodule made = nullptr;
    if (image != nullptr) need(driver().cuModuleLoadData(&made, image));
    return made;
  }
  CUfunction function(const char *name) const { return test::kernel_of(module, name); }
  CUresult launch(const char *name, std::vector<void *> parameters, Dim3 grid = {}, Dim3 block = {},
                  unsigned shared = 0) const {
    const CUresult code = driver().cuLaunchKernel(function(name), grid.x, grid.y, grid.z, block.x, block.y,
                                                  block.z, shared, nullptr, parameters.data(), nullptr);
    return code != CUDA_SUCCESS ? code : driver().cuCtxSynchronize();
  }
  CUdeviceptr floats(const std::vector<float> &values) const {
    const CUdeviceptr made = memory(values.size() * sizeof(float));
    need(driver().cuMemcpyHtoD(made, values.data(), values.size() * sizeof(float)));
    return made;
  }
  static float float_at(CUdeviceptr address) {
    float value = 0;
    need(driver().cuMemcpyDtoH(&value, address, sizeof value));
    return value;
  }

  CUmodule module = nullptr;
};

void saxpy(const Launch &, int n, float a, const float *x, float *y) {
  for (int i = 0; i < n; ++i) y[i] += a * x[i];
}

TEST(RegisteredKernels, Run_once_a_launch_instead_of_the_PTX) {
  Loaded on;
  on.machine.kernel("saxpy", saxpy);
  int n = 3;
  float a = 2;
  CUdeviceptr x = on.floats({1, 2, 3}), y = on.floats({10, 20, 30});
  ASSERT_EQ(on.launch("saxpy", {&n, &a, &x, &y}), CUDA_SUCCESS);
  EXPECT_EQ(Loaded::float_at(y), 12);
  EXPECT_EQ(Loaded::float_at(y + 2 * sizeof(float)), 36);
}

TEST(RegisteredKernels, Run_once_a_thread) {
  Loaded on;
  on.machine.kernel("saxpy", [](const KernelThread &thread, int n, float a, const float *x, float *y) {
    if (thread.x() < static_cast<unsigned>(n)) y[thread.x()] += a * x[thread.x()];
  });
  int n = 5;
  float a = 3;
  CUdeviceptr x = on.floats({1, 1, 1, 1, 1, 1}), y = on.floats({0, 0, 0, 0, 0, 0});
  ASSERT_EQ(on.launch("saxpy", {&n, &a, &x, &y}, {3}, {2}), CUDA_SUCCESS);
  EXPECT_EQ(Loaded::float_at(y + 4 * sizeof(float)), 3);
  EXPECT_EQ(Loaded::float_at(y + 5 * sizeof(float)), 0);
}

TEST(RegisteredKernels, Run_once_a_block_with_shared_memory_and_a_barrier) {
  Loaded on;
  on.machine.kernel("sums", [](KernelBlock &block, const float *from, float *to) {
    const auto shared = block.shared<float>();
    block.for_each_thread([&](const Dim3 &thread) {
      shared[thread.x] = from[block.index.x * block.launch.block.x + thread.x];
    });
    block.for_each_thread([&](const Dim3 &thread) {
      if (thread.x == 0) to[block.index.x] = std::accumulate(shared.begin(), shared.end(), 0.0F);
    });
  });
  CUdeviceptr from = on.floats({1, 2, 3, 4, 5, 6}), to = on.floats({0, 0});
  ASSERT_EQ(on.launch("sums", {&from, &to}, {2}, {3}, 3 * sizeof(float)), CUDA_SUCCESS);
  EXPECT_EQ(Loaded::float_at(to), 6);
  EXPECT_EQ(Loaded::float_at(to + sizeof(float)), 15);
}

TEST(RegisteredKernels, Run_when_the_stream_comes_to_them) {
  Loaded on({.schedule = Schedule::deferred});
  int runs = 0;
  on.machine.kernel("nothing", [&runs](const Launch &) { ++runs; });
  need(driver().cuLaunchKernel(on.function("nothing"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(runs, 0);
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(runs, 1);
}

TEST(RegisteredKernels, Get_null_and_the_end_of_an_allocation_as_pointers) {
  Loaded on;
  std::ptrdiff_t length = 0;
  on.machine.kernel("sums", [&length](const Launch &, const float *from, float *to) {
    length = from == nullptr ? -1 : to - from;
  });
  CUdeviceptr from = on.memory(4096), to = from + 4096;
  ASSERT_EQ(on.launch("sums", {&from, &to}), CUDA_SUCCESS);
  EXPECT_EQ(length, 1024);
  from = 0;
  ASSERT_EQ(on.launch("sums", {&from, &to}), CUDA_SUCCESS);
  EXPECT_EQ(length, -1);
}

TEST(RegisteredKernels, An_address_that_is_not_allocated_is_a_fault_of_the_launch) {
  Loaded on;
  on.machine.kernel("sums", [](const Launch &, const float *, float *) {});
  CUdeviceptr from = 16, to = on.memory();
  EXPECT_EQ(on.launch("sums", {&from, &to}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(on.reports->find("kernel sums: address 0x10 is in no memory"), std::string::npos) << *on.reports;
}

TEST(RegisteredKernels, An_exception_is_a_fault_of_the_launch) {
  Loaded on;
  on.machine.kernel("nothing", [](const Launch &) { throw std::runtime_error("as the test says"); });
  EXPECT_EQ(on.launch("nothing", {}), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(on.reports->find("kernel nothing: as the test says"), std::string::npos) << *on.reports;
  Loaded other;
  other.machine.kernel("nothing", [](const Launch &) { throw KernelFault(CUDA_ERROR_ASSERT, "asserted"); });
  EXPECT_EQ(other.launch("nothing", {}), CUDA_ERROR_ASSERT);
}

TEST(RegisteredKernels, Parameters_that_differ_from_the_image_are_reported) {
  Loaded on;
  CUdeviceptr from = on.memory(), to = from;
  on.machine.kernel("sums", [](const Launch &, const float *) {});
  EXPECT_EQ(on.launch("sums", {&from, &to}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(on.reports->find("registered with 1 parameters, and the image declares 2"), std::string::npos)
      << *on.reports;
  on.machine.kernel("sums", [](const Launch &, const float *, int) {});
  EXPECT_EQ(on.launch("sums", {&from, &to}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(on.reports->find("its parameter 1 is registered with 4 bytes, and the image declares 8"),
            std::string::npos)
      << *on.reports;
}

// ---- Cubins ----

TEST(RegisteredKernels, Make_a_cubin_without_PTX_loadable) {
  Loaded on({}, nullptr);
  on.machine.kernel("saxpy", saxpy);
  const std::string cubin = cubin_with({"saxpy", "other"});
  on.module = Loaded::load(cubin.data());
  int n = 1;
  float a = 2;
  CUdeviceptr x = on.floats({1}), y = on.floats({10});
  ASSERT_EQ(on.launch("saxpy", {&n, &a, &x, &y}), CUDA_SUCCESS);
  EXPECT_EQ(Loaded::float_at(y), 12);
}

TEST(RegisteredKernels, A_cubin_of_which_none_is_registered_is_not_loaded) {
  Loaded on({}, nullptr);
  const std::string cubin = cubin_with({"saxpy"});
  CUmodule module = nullptr;
  EXPECT_EQ(driver().cuModuleLoadData(&module, cubin.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(on.reports->find("cushim run"), std::string::npos) << *on.reports;
}

TEST(RegisteredKernels, A_kernel_of_a_cubin_that_is_not_registered_is_not_found) {
  Loaded on({}, nullptr);
  on.machine.kernel("saxpy", saxpy);
  const std::string cubin = cubin_with({"saxpy", "other"});
  on.module = Loaded::load(cubin.data());
  CUfunction function = nullptr;
  EXPECT_EQ(driver().cuModuleGetFunction(&function, on.module, "other"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(on.reports->find("the kernel other is in a cubin"), std::string::npos) << *on.reports;
  EXPECT_EQ(driver().cuModuleGetFunction(&function, on.module, "absent"), CUDA_ERROR_NOT_FOUND);
}

TEST(RegisteredKernels, By_an_option_other_kernels_of_cubins_do_nothing) {
  const std::string cubin = cubin_with({"other"});
  Loaded on({.skips_kernels = true}, cubin.data());
  int unknown = 0;
  EXPECT_EQ(on.launch("other", {&unknown}), CUDA_SUCCESS);
  EXPECT_EQ(on.machine.usage().skipped_kernels.at("other"), 1U);
  EXPECT_TRUE(on.machine.usage().has_findings());
}

TEST(RegisteredKernels, Run_from_libraries_too) {
  Loaded on({}, nullptr);
  int runs = 0;
  on.machine.kernel("saxpy", [&runs](const Launch &, int, float, CUdeviceptr, CUdeviceptr) { ++runs; });
  const std::string cubin = cubin_with({"saxpy"});
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  need(driver().cuLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  need(driver().cuLibraryGetKernel(&kernel, library, "saxpy"));
  std::size_t offset = 0, size = 0;
  need(driver().cuKernelGetParamInfo(kernel, 2, &offset, &size));
  EXPECT_EQ(offset, 8U);
  int n = 0;
  float a = 0;
  CUdeviceptr any = 0;
  void *parameters[] = {&n, &a, &any, &any};
  need(driver().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters,
                               nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(runs, 1);
  need(driver().cuLibraryUnload(library));
}

// ---- Modules ----

std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

TEST(Modules, Of_10000_that_are_unloaded_nothing_is_left) {
  if (kIsSanitized) GTEST_SKIP() << "the sanitizer keeps freed memory";
  const Loaded on;
  const auto load_and_unload = [](int count) {
    for (int i = 0; i < count; ++i) {
      const CUmodule module = Loaded::load(kPtx.c_str());
      CUfunction function = nullptr;
      need(driver().cuModuleGetFunction(&function, module, "nothing"));
      need(driver().cuModuleUnload(module));
    }
  };
  load_and_unload(1'000);
  const std::size_t before = resident_pages();
  load_and_unload(9'000);
  EXPECT_LT(resident_pages(), before + 64);
}

TEST(Modules, Take_no_storage_for_the_zeros_of_large_variables) {
  if (kIsSanitized) GTEST_SKIP() << "the sanitizer has memory of its own for that of the program";
  const Loaded on;
  const std::size_t before = resident_pages();
  const CUmodule module = Loaded::load(
      ".version 8.0\n.target sm_70\n.address_size 64\n"
      ".global .u64 plain[268435456];\n.global .attribute(.managed) .u64 managed[268435456];\n"
      ".global .u64 both[268435456] = {1, 2};\n");
  EXPECT_LT(resident_pages() - before, 64 * 256);  // of 6 GiB
  CUdeviceptr address = 0;
  std::size_t size = 0;
  need(driver().cuModuleGetGlobal(&address, &size, module, "both"));
  EXPECT_EQ(size, std::size_t{2} << 30);
  std::uint64_t begin[3] = {}, end = 1;
  need(driver().cuMemcpyDtoH(begin, address, sizeof begin));
  need(driver().cuMemcpyDtoH(&end, address + size - sizeof end, sizeof end));
  EXPECT_THAT(begin, testing::ElementsAre(1, 2, 0));
  EXPECT_EQ(end, 0);
  need(driver().cuModuleUnload(module));
}

TEST(Modules, That_are_not_unloaded_are_reported) {
  const Loaded on;
  CUlibrary library = nullptr;
  need(driver().cuLibraryLoadData(&library, kPtx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  const auto alive = on.machine.usage().alive;
  ASSERT_EQ(alive.size(), 2U);
  EXPECT_EQ(alive[0].what, "modules");
  EXPECT_EQ(alive[1].what, "libraries");
}

}  // namespace
}  // namespace cushim::sim

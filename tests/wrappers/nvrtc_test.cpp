// SPDX-License-Identifier: Apache-2.0
// Tests run-time compilation: with a fake NVRTC, and with a real one, if this machine has it, on the
// simulated driver.
#include <gmock/gmock.h>
#include <cushim/cushim.hpp>
#include <cushim/nvrtc.hpp>
#include <cushim/sim/machine.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace cushim::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const nvrtc::Compiler &fake() {
  static const nvrtc::Loaded loaded = nvrtc::load(FAKE_NVRTC);
  if (!loaded) throw std::runtime_error(loaded.diagnosis.text());
  return *loaded;
}

TEST(Nvrtc, Has_a_version_and_architectures) {
  EXPECT_EQ(fake().version(), 13010);
  EXPECT_THAT(fake().architectures(), ElementsAre(75, 80, 90));
  EXPECT_EQ(fake().library(), FAKE_NVRTC);
}

TEST(Nvrtc, The_architecture_for_a_device_is_the_newest_that_runs_there) {
  const auto for_device = [](const char *id) {
    const sim::Machine machine({.devices = id});
    const ScopedDriver scope(machine.driver());
    init();
    return fake().architecture_for(Device::get(0));
  };
  EXPECT_EQ(for_device("h200"), 90);
  EXPECT_EQ(for_device("a100"), 80);
  EXPECT_EQ(for_device("rtx4090"), 80);  // is 89
}

TEST(Nvrtc, Options_reach_the_compiler) {
  const nvrtc::Compiled compiled = fake().compile("source", {.name = "scale.cu",
                                                             .architecture = 90,
                                                             .options = {"--use_fast_math"},
                                                             .headers = {{"a.h", "int a;"}},
                                                             .name_expressions = {"scale<float>"}});
  EXPECT_EQ(compiled.ptx,
            "program scale.cu\nheader a.h\ntext int a;\nexpression scale<float>\n"
            "option --gpu-architecture=compute_90\noption --use_fast_math\n");
  EXPECT_EQ(compiled.log, "a warning");
  EXPECT_EQ(compiled.lowered_names.at("scale<float>"), "_Z5scaleIfEvv");
}

TEST(Nvrtc, Errors_have_the_log_and_leave_no_program) {
  try {
    fake().compile("#error");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const nvrtc::Error &error) {
    EXPECT_EQ(error.result(), 6);
    EXPECT_STREQ(error.log(), "program.cu(1): error");
    EXPECT_THAT(error.what(),
                HasSubstr("nvrtcCompileProgram: NVRTC_ERROR_COMPILATION (6): program.cu(1): error ("));
    EXPECT_THAT(error.what(), HasSubstr("nvrtc_test.cpp"));
  }
  EXPECT_THROW(fake().compile(""), nvrtc::Error);
  void *const library = ::dlopen(FAKE_NVRTC, RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(*static_cast<int *>(::dlsym(library, "fake_live_programs")), 0);
}

TEST(Nvrtc, A_missing_library_is_reported_with_the_libraries_that_were_tried) {
  const nvrtc::Loaded loaded = nvrtc::load("/nonexistent/libnvrtc.so");
  EXPECT_FALSE(loaded);
  EXPECT_EQ(loaded.diagnosis.id, "no-nvrtc");
  EXPECT_THAT(loaded.diagnosis.text(),
              HasSubstr("cushim[no-nvrtc]: NVRTC not found (/nonexistent/libnvrtc.so"));
  EXPECT_THAT(loaded.diagnosis.advice, HasSubstr("CUSHIM_NVRTC"));
}

TEST(Nvrtc, Another_library_is_reported_with_the_function_that_it_lacks) {
  const nvrtc::Loaded loaded = nvrtc::load("libm.so.6");
  EXPECT_EQ(loaded.diagnosis.id, "not-nvrtc");
  EXPECT_THAT(loaded.diagnosis.what, HasSubstr("libm.so.6 has no function nvrtcGetErrorString"));
}

TEST(Nvrtc, The_environment_names_the_library_or_none) {
  ::setenv("CUSHIM_NVRTC", FAKE_NVRTC, 1);
  EXPECT_TRUE(nvrtc::load());
  ::setenv("CUSHIM_NVRTC", "none", 1);
  EXPECT_EQ(nvrtc::load().diagnosis.id, "nvrtc-disabled");
  EXPECT_TRUE(nvrtc::load(FAKE_NVRTC)) << "a name in the call comes first";
  ::unsetenv("CUSHIM_NVRTC");
}

TEST(Nvrtc, Compiles_a_kernel_that_runs_on_the_simulated_driver) {
  const nvrtc::Loaded loaded = nvrtc::load();
  if (!loaded) GTEST_SKIP() << loaded.diagnosis.text();
  const sim::Machine machine;
  const ScopedDriver scope(machine.driver());
  init();
  const Device device = Device::get(0);
  const auto primary = PrimaryContext::retain(device);
  const ScopedContext current(primary);
  const nvrtc::Compiled code = loaded->compile(
      R"(template <class T> __global__ void scale(T *data, T factor, unsigned count) {
           const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
           if (i < count) data[i] *= factor;
         })",
      {.architecture = loaded->architecture_for(device), .name_expressions = {"scale<float>"}});
  const Module module = Module::load(code.ptx);
  const TypedKernel<void(DevicePtr<float>, float, unsigned)> scale(
      module.function(code.lowered_names.at("scale<float>")));
  const Stream stream = Stream::create();
  const auto data = DeviceBuffer<float>::create(1000);
  fill(data, 3.0f, stream);
  launch(scale, {.grid = 4, .block = 256}, stream, data, 2.0f, 1000);
  std::vector<float> result(1000);
  copy_pageable(result, data, stream);
  EXPECT_THAT(result, Each(6.0f));
}

}  // namespace
}  // namespace cushim::test

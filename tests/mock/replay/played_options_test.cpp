// SPDX-License-Identifier: Apache-2.0
// Options of the compiler, of linkers and of libraries in calls that are made again, or answered from a
// recording.
#include <cushim/mock/hook.hpp>

#include <cstring>
#include <sstream>

#include "driver_of_recording.hpp"
#include "option_values.hpp"
#include "played.hpp"

namespace cushim::test {
namespace {

constexpr const char *kBroken = ".version 7.0\n.target sm_52\n.address_size 64\nthis is no PTX\n";

template <class T>
void *value(T number) {
  return reinterpret_cast<void *>(static_cast<std::uintptr_t>(number));
}

// Loads PTX with a log of errors, and returns the log.
std::string log_of(Driver &driver, const char *image, CUresult expected) {
  CUmodule module = nullptr;
  char log[512] = {};
  CUjit_option names[] = {CU_JIT_MAX_REGISTERS, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {value(32), log, value(sizeof log)};
  EXPECT_EQ(driver.cuModuleLoadDataEx(&module, image, 3, names, values), expected);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values[2]), std::strlen(log));
  return log;
}

// Links a kernel, with options whose values are numbers, buffers and names.
void link(Driver &driver) {
  CUlinkState state = nullptr;
  char log[256] = {};
  const char *kernels[] = {"add"};
  CUjit_option names[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                          CU_JIT_REFERENCED_KERNEL_NAMES, CU_JIT_REFERENCED_KERNEL_COUNT};
  void *values[] = {log, value(sizeof log), static_cast<void *>(kernels), value(1)};
  EXPECT_EQ(driver.cuLinkCreate(4, names, values, &state), CUDA_SUCCESS);
  CUjit_option of_input[] = {CU_JIT_GENERATE_DEBUG_INFO};
  void *debug[] = {value(1)};
  std::string ptx = kAdd;
  EXPECT_EQ(driver.cuLinkAddData(state, CU_JIT_INPUT_PTX, ptx.data(), ptx.size() + 1, "add.ptx", 1, of_input,
                                 debug),
            CUDA_SUCCESS);
  void *image = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(driver.cuLinkComplete(state, &image, &size), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLinkDestroy(state), CUDA_SUCCESS);
}

class PlayedOptions : public Player {};

TEST_F(PlayedOptions, Numbers_buffers_and_names_are_those_of_the_recording) {
  unsigned linkers = 0;
  const Recording recording = recording_of(link);
  const sim::Machine machine;
  const auto creates = hook::replace<&cuLinkCreate_v2>(
      machine.driver(),
      [&](const auto &next, unsigned count, CUjit_option *names, void **values, CUlinkState *state) {
        ++linkers;
        EXPECT_EQ(count, 4U);
        EXPECT_EQ(names[2], CU_JIT_REFERENCED_KERNEL_NAMES);
        std::memset(values[0], 'x', reinterpret_cast<std::uintptr_t>(values[1]));
        EXPECT_STREQ(static_cast<const char *const *>(values[2])[0], "add");
        return next(count, names, values, state);
      });
  const Report report = play(recording, machine.driver());
  EXPECT_EQ(linkers, 1U);
  EXPECT_EQ(report.replayed, recording.calls().size());
  EXPECT_TRUE(report.differences.empty());
}

TEST_F(PlayedOptions, The_log_of_an_image_that_the_driver_rejects_is_compared) {
  const auto program = [](Driver &driver) {
    EXPECT_NE(log_of(driver, kBroken, CUDA_ERROR_INVALID_PTX), "");
    EXPECT_EQ(log_of(driver, kAdd, CUDA_SUCCESS), "");
  };
  expect_equal(program);
  const Recording recording = recording_of(program);
  const sim::Machine machine;
  const auto loads = hook::replace<&cuModuleLoadDataEx>(
      machine.driver(), [](const auto &next, CUmodule *module, const void *image, unsigned count,
                           CUjit_option *names, void **values) {
        const CUresult result = next(module, image, count, names, values);
        if (result != CUDA_SUCCESS) static_cast<char *>(values[1])[0] = '#';
        return result;
      });
  const Report report = play(recording, machine.driver());
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].what, "optionValues");
  EXPECT_EQ(report.differences[0].replayed[1], '#');
}

TEST_F(PlayedOptions, Calls_that_fail_because_of_an_option_fail_again) {
  expect_equal([](Driver &driver) {
    CUlinkState state = nullptr;
    CUjit_option names[] = {CU_JIT_MAX_REGISTERS};
    void *values[] = {nullptr};
    EXPECT_EQ(driver.cuLinkCreate(1, names, values, &state), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuLinkCreate(1, nullptr, nullptr, &state), CUDA_ERROR_INVALID_VALUE);
    CUlibrary library = nullptr;
    EXPECT_EQ(driver.cuLibraryLoadData(&library, kAdd, names, values, 1, nullptr, nullptr, 0),
              CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(PlayedOptions, A_log_line_that_tells_a_time_is_not_compared) {
  EXPECT_TRUE(replay::are_equal_logs("info\nCompile time = 3.5 ms\n", "info\nCompile time = 17.1 ms\n"));
  EXPECT_FALSE(replay::are_equal_logs("info\nCompile time = 3.5 ms\n", "other\nCompile time = 3.5 ms\n"));
  EXPECT_FALSE(replay::are_equal_logs("info\n", ""));
}

class AnsweredOptions : public DriverOfRecording {};

TEST_F(AnsweredOptions, A_program_gets_the_recorded_log) {
  const std::string file = record([](Driver &driver) {
    make_context(driver);
    log_of(driver, kBroken, CUDA_ERROR_INVALID_PTX);
  });
  const sim::Machine machine;
  make_context(machine.driver());
  const std::string expected = log_of(machine.driver(), kBroken, CUDA_ERROR_INVALID_PTX);
  replay::Driver driver(Recording::read(file));
  make_context(driver);
  EXPECT_EQ(log_of(driver, kBroken, CUDA_ERROR_INVALID_PTX), expected);
  EXPECT_EQ(driver.calls_left(), 0U);
}

}  // namespace
}  // namespace cushim::test

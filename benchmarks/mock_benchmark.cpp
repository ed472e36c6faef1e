// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the mock driver and of hooks.
#include <benchmark/benchmark.h>
#include <gmock/gmock.h>

#include <cushim/mock/hook.hpp>
#include <cushim/mock/mock_driver.hpp>

#include "summary.hpp"

namespace {

using cushim::Driver;
using cushim::mock::MockDriver;
using cushim::mock::Returns;
using testing::AnyNumber;

const CUevent kEvent = reinterpret_cast<CUevent>(0x10);
const CUstream kStream = reinterpret_cast<CUstream>(0x20);

void construct(benchmark::State &state) {
  for (auto _ : state) MockDriver mock;
}
BENCHMARK(construct);

// An expectation that compares two arguments.
void expected_call(benchmark::State &state) {
  MockDriver mock;
  Driver &driver = mock;
  EXPECT_CALL(mock, cuEventRecord(kEvent, kStream)).Times(AnyNumber()).WillRepeatedly(Returns(CUDA_SUCCESS));
  for (auto _ : state) benchmark::DoNotOptimize(driver.cuEventRecord(kEvent, kStream));
}
BENCHMARK(expected_call);

// A call without an expectation, answered by allow_unset().
void default_call(benchmark::State &state) {
  MockDriver mock;
  Driver &driver = mock;
  mock.allow_unset(CUDA_ERROR_NOT_SUPPORTED);
  for (auto _ : state) benchmark::DoNotOptimize(driver.cuEventRecord(kEvent, kStream));
}
BENCHMARK(default_call);

// A call answered by ON_CALL.
void on_call(benchmark::State &state) {
  MockDriver mock;
  Driver &driver = mock;
  ON_CALL(mock, cuEventRecord).WillByDefault(Returns(CUDA_SUCCESS));
  for (auto _ : state) benchmark::DoNotOptimize(driver.cuEventRecord(kEvent, kStream));
}
BENCHMARK(on_call);

void call_with_a_hook(benchmark::State &state) {
  Driver &driver = Driver::by_default();
  const auto hook = cushim::hook::before<&cuEventRecord>(driver, [](CUevent, CUstream) {});
  for (auto _ : state) benchmark::DoNotOptimize(driver.cuEventRecord(kEvent, kStream));
}
BENCHMARK(call_with_a_hook);

}  // namespace

int main(int argc, char **argv) {
  testing::GTEST_FLAG(throw_on_failure) = true;
  int one = 1;
  testing::InitGoogleMock(&one, argv);
  cushim::bench::Summary summary;
  summary.value("construct and end a mock driver", "construct", 1e-3, "us");
  summary.value("an expected call", "expected_call", 1, "ns");
  summary.value("a default call", "default_call", 1, "ns");
  summary.value("a call answered by ON_CALL", "on_call", 1, "ns");
  summary.value("a call with a hook", "call_with_a_hook", 1, "ns");
  return summary.run(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// GPU times of calls, measured by events. The virtual time of the simulated driver tells what they are.
#include "trace_file.hpp"

#include <gmock/gmock.h>
#include <cushim/mock/hook.hpp>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

class GpuTimesOfCalls : public TraceFile {
 protected:
  GpuTimesOfCalls() {
    EXPECT_EQ(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuMemAlloc(&memory_, kSize), CUDA_SUCCESS);
  }

  void measure(const std::function<void()> &program) {
    const Tracer tracer(driver_, file_, {.gpu_times = true});
    program();
  }

  // Returns the GPU time of each call that has one, by its symbol.
  std::vector<std::pair<std::string, std::int64_t>> times() const {
    std::vector<std::pair<std::string, std::int64_t>> times;
    const Trace trace(file_);
    for (const cushim::trace::Call &call : trace.calls())
      if (call.gpu) times.emplace_back(cushim_entry(call.slot)->symbol, call.gpu->end - call.gpu->begin);
    return times;
  }

  static constexpr std::size_t kSize = 64 << 20;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

// Measures work by events of the program, as the tracer does.
class Measured {
 public:
  explicit Measured(Driver &driver) : driver_(driver) {
    for (CUevent &event : events_) driver.cuEventCreate(&event, 0);
  }
  void work(CUstream stream, const std::function<void()> &enqueue) {
    driver_.cuEventRecord(events_[0], stream);
    enqueue();
    driver_.cuEventRecord(events_[1], stream);
    driver_.cuStreamSynchronize(stream);
    float milliseconds = 0;
    driver_.cuEventElapsedTime(&milliseconds, events_[0], events_[1]);
    times.push_back(std::llround(static_cast<double>(milliseconds) * 1e6));
  }
  std::vector<std::int64_t> times;

 private:
  Driver &driver_;
  CUevent events_[2] = {};
};

TEST_F(GpuTimesOfCalls, Are_those_that_events_around_the_work_measure_in_each_stream) {
  std::vector<char> host(1 << 20);
  const auto run = [&](auto &&work) {
    work(stream_, [&] { driver_.cuMemsetD8Async(memory_, 1, kSize, stream_); });
    work(CUstream{}, [&] { driver_.cuMemsetD8Async(memory_, 1, 1000, nullptr); });
    work(CUstream{}, [&] { driver_.cuMemcpyHtoD(memory_, host.data(), host.size()); });
    work(stream_, [&] { driver_.cuMemsetD32Async(memory_, 1, 100'000, stream_); });
    work(CU_STREAM_PER_THREAD, [&] { driver_.cuMemsetD8Async(memory_, 1, kSize, CU_STREAM_PER_THREAD); });
  };
  Measured measured(driver_);
  run([&](CUstream stream, const auto &enqueue) { measured.work(stream, enqueue); });
  measure([&] {
    run([&](CUstream stream, const auto &enqueue) {
      enqueue();
      driver_.cuStreamSynchronize(stream);
    });
  });
  std::vector<std::int64_t> durations;
  for (const auto &[name, time] : times()) durations.push_back(time);
  EXPECT_THAT(durations, testing::ElementsAreArray(measured.times));
}

TEST_F(GpuTimesOfCalls, Are_placed_on_the_clock_of_the_host_in_the_order_of_the_device) {
  measure([&] {
    for (int i = 0; i < 3; ++i) driver_.cuMemsetD8Async(memory_, 1, kSize, stream_);
    driver_.cuStreamSynchronize(stream_);
  });
  const Trace trace(file_);
  std::vector<cushim::trace::GpuTime> times;
  for (int i = 0; i < 3; ++i) times.push_back(trace.calls().at(i).gpu.value());
  EXPECT_GT(times[0].begin, 0);
  EXPECT_GE(times[1].begin, times[0].end);
  EXPECT_EQ(times[2].begin - times[1].begin, times[1].begin - times[0].begin);
  EXPECT_EQ(times[2].end - times[2].begin, times[0].end - times[0].begin);
}

TEST_F(GpuTimesOfCalls, Are_in_each_format) {
  measure([&] {
    driver_.cuMemsetD8Async(memory_, 1, kSize, stream_);
    std::vector<char> host(1000);
    driver_.cuMemcpyDtoH(host.data(), memory_, host.size());
    driver_.cuStreamSynchronize(stream_);
  });
  const auto expected = times();
  ASSERT_EQ(expected.size(), 2U);
  char text[64];
  std::snprintf(text, sizeof text, " us, GPU %.1f us>\n", static_cast<double>(expected[0].second) / 1e3);
  EXPECT_THAT(written(cushim::trace::write_text), HasSubstr(text));
  EXPECT_THAT(written(cushim::trace::write_json),
              HasSubstr("\"gpu_duration_ns\":" + std::to_string(expected[0].second)));
  EXPECT_THAT(written(cushim::trace::write_html), HasSubstr("of the host, with the GPU"));
  const std::string summary = written(cushim::trace::write_summary);
  EXPECT_THAT(summary, testing::ContainsRegex("GPU us +calls.*\n.* 1 .*cuMemsetD8Async\n"));
  EXPECT_THAT(summary, HasSubstr("time of the host, with the GPU: "));
  std::map<std::string, std::vector<std::string>> slices;  // names, by track
  std::map<std::int64_t, std::string> tracks;
  std::vector<std::string> flows;
  const Json timeline = Json::parse(written(cushim::trace::write_chrome));
  for (const Json &event : timeline["traceEvents"])
    if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
  for (const Json &event : timeline["traceEvents"]) {
    if (event["ph"] == "X") slices[tracks[event["tid"]]].push_back(event["name"]);
    if (event["ph"] == "f") flows.push_back(event["name"]);
    EXPECT_EQ(event["pid"], getpid());
  }
  EXPECT_THAT(slices["stream#1"], ElementsAre("cuMemsetD8Async"));
  EXPECT_THAT(slices["copies device to host"], ElementsAre("cuMemcpyDtoH_v2"));
  EXPECT_THAT(flows, testing::IsSupersetOf({"enqueues", "waits"}));
}

TEST_F(GpuTimesOfCalls, Kernels_have_their_names) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  driver_.cuModuleLoadData(
      &module, ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry idle() { ret; }\n");
  measure([&] {
    driver_.cuModuleGetFunction(&function, module, "idle");
    driver_.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr);
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_;
    driver_.cuLaunchKernelEx(&config, function, nullptr, nullptr);
    driver_.cuStreamSynchronize(stream_);
  });
  EXPECT_EQ(times().size(), 2U);
  EXPECT_THAT(written(cushim::trace::write_summary), testing::ContainsRegex(" 2 +[0-9.]+ +[0-9.]+  idle\n"));
}

TEST_F(GpuTimesOfCalls, Are_not_measured_while_a_stream_is_captured) {
  CUgraph graph = nullptr;
  std::size_t nodes = 0;
  measure([&] {
    CUstream other = nullptr;
    EXPECT_EQ(driver_.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuMemsetD8Async(memory_, 1, 100, stream_), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuMemsetD8Async(memory_, 1, 100, other), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuMemsetD32Async(memory_, 1, 100, other), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  EXPECT_EQ(nodes, 1U);
  EXPECT_THAT(times(), ElementsAre(testing::Pair("cuMemsetD32Async", testing::_)));
}

TEST_F(GpuTimesOfCalls, Are_missing_where_events_fail_and_the_program_sees_no_error) {
  const auto failing = cushim::hook::replace<&cuEventRecord>(
      driver_, [](CUevent, CUstream) { return CUDA_ERROR_LAUNCH_FAILED; });
  measure([&] {
    EXPECT_EQ(driver_.cuMemsetD8Async(memory_, 1, 100, stream_), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuMemsetD8Async(0, 1, 100, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  });
  EXPECT_THAT(times(), testing::IsEmpty());
  EXPECT_EQ(Trace(file_).calls().size(), 3U);
}

TEST_F(GpuTimesOfCalls, Use_events_again_and_destroy_them_before_their_context_ends) {
  int alive = 0, made = 0;
  const auto created =
      cushim::hook::after<&cuEventCreate>(driver_, [&](CUresult, CUevent *, unsigned) { ++alive, ++made; });
  const auto destroyed = cushim::hook::after<&cuEventDestroy>(driver_, [&](CUresult, CUevent) { --alive; });
  measure([&] {
    for (int i = 0; i < 1000; ++i) {
      driver_.cuMemsetD8Async(memory_, 1, 100, stream_);
      driver_.cuStreamSynchronize(stream_);
    }
    driver_.cuMemsetD8Async(memory_, 1, 100, stream_);
    driver_.cuDevicePrimaryCtxReset(0);
  });
  EXPECT_EQ(times().size(), 1001U);
  EXPECT_LE(made, 4);
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace cushim::test

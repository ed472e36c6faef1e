// SPDX-License-Identifier: Apache-2.0
// Traces as JSON, timelines, summaries and advice.
#include "trace_file.hpp"

#include <gmock/gmock.h>
#include <cushim/mock/operations.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace cushim::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

TEST_F(TraceFile, JSON_has_one_object_a_line) {
  record([](Driver &driver) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemFree(memory);
  });
  std::istringstream text(written(cushim::trace::write_json));
  std::string line;
  ASSERT_TRUE(std::getline(text, line));
  const Json first = Json::parse(line);
  EXPECT_EQ(first["call"], "cuMemAlloc_v2");
  EXPECT_EQ(first["arguments"], (Json{{"dptr", "memory#1"}, {"bytesize", "4096"}}));
  EXPECT_EQ(first["result"], "CUDA_SUCCESS");
  EXPECT_EQ(first["system_thread"], getpid());
  EXPECT_GE(first["duration_ns"], 0);
  ASSERT_TRUE(std::getline(text, line));
  EXPECT_EQ(Json::parse(line)["call"], "cuMemFree_v2");
}

TEST_F(TraceFile, The_timeline_has_an_event_for_each_call_and_for_each_change_of_memory) {
  record([](Driver &driver) {
    CUdeviceptr memory = 0;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemFree(memory);
  });
  const Json timeline = Json::parse(written(cushim::trace::write_chrome));
  std::vector<std::string> names;
  std::vector<int> bytes;
  for (const Json &event : timeline["traceEvents"]) {
    if (event["ph"] == "X") names.push_back(event["name"]);
    if (event["ph"] == "C") bytes.push_back(event["args"]["bytes"]);
  }
  EXPECT_THAT(names, ElementsAre("cuMemAlloc_v2", "cuMemFree_v2"));
  EXPECT_THAT(bytes, ElementsAre(4096, 0));
}

TEST_F(TraceFile, The_timeline_has_the_operations_of_simulated_streams_in_virtual_time) {
  {
    const Tracer tracer(driver_, file_,
                        {.virtual_time = [&] { return machine_.now(); },
                         .observe = [&](cushim::mock::OperationObserver *one) { machine_.observe(one); }});
    CUstream streams[2] = {};
    CUdeviceptr memory = 0;
    CUevent event = nullptr;
    driver_.cuMemAlloc(&memory, 1 << 20);
    for (CUstream &stream : streams) driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver_.cuEventCreate(&event, 0);
    driver_.cuMemsetD8Async(memory, 1, 1 << 20, streams[0]);
    driver_.cuEventRecord(event, streams[0]);
    driver_.cuStreamWaitEvent(streams[1], event, 0);
    driver_.cuMemsetD32Async(memory, 2, 1 << 18, streams[1]);
    driver_.cuCtxSynchronize();
  }
  struct Slice {
    double begin, end;
    std::int64_t track;
  };
  std::map<std::string, Slice> operations, calls;
  std::map<int, std::pair<double, double>> flows;  // from the call to the operation
  std::vector<std::string> tracks;
  const Json timeline = Json::parse(written(cushim::trace::write_chrome));
  for (const Json &event : timeline["traceEvents"]) {
    if (event["pid"] == Trace(file_).process()) continue;
    const std::string kind = event["ph"];
    if (kind == "M") tracks.push_back(event["args"]["name"]);
    if (kind == "s") flows[event["id"]].first = event["ts"];
    if (kind == "f") flows[event["id"]].second = event["ts"];
    if (kind != "X") continue;
    const double begin = event["ts"], duration = event["dur"];
    (event.contains("args") ? operations : calls)[event["name"]] = {begin, begin + duration, event["tid"]};
  }
  const Slice &first = operations.at("cuMemsetD8Async"), &second = operations.at("cuMemsetD32Async");
  EXPECT_GT(first.end, first.begin);
  EXPECT_GE(second.begin, first.end) << "the second stream waited for the first one";
  EXPECT_NE(first.track, second.track);
  EXPECT_GE(calls.at("cuCtxSynchronize").end, second.end);
  EXPECT_GE(first.begin, calls.at("cuMemsetD8Async").begin);
  EXPECT_THAT(flows, Contains(testing::Pair(testing::_,
                                            std::pair(calls.at("cuMemsetD32Async").begin, second.begin))));
  EXPECT_THAT(tracks, Contains(HasSubstr("virtual time")));
  EXPECT_THAT(tracks, Contains("stream#2"));
  const std::string summary = written(cushim::trace::write_summary);
  EXPECT_THAT(summary,
              testing::ContainsRegex("virtual time: [0-9.]+ us; at least one stream busy [0-9]+ %, two or "
                                     "more 0 %\ncritical path: [0-9]+ steps, gaps 0.0 us\n"));
  EXPECT_THAT(summary, testing::ContainsRegex("[0-9.]+ +1  cuMemsetD32Async\n"));
  machine_.run();  // without an observer
}

TEST_F(TraceFile, The_timeline_has_copy_engines_and_flows_from_work_to_what_waits_for_it) {
  {
    Tracer tracer(driver_, file_,
                  {.virtual_time = [&] { return machine_.now(); },
                   .observe = [&](cushim::mock::OperationObserver *one) { machine_.observe(one); }});
    CUstream streams[2] = {};
    CUdeviceptr memory = 0;
    CUevent event = nullptr;
    void *host = nullptr;
    driver_.cuMemAlloc(&memory, 1 << 20);
    driver_.cuMemHostAlloc(&host, 1 << 20, 0);
    for (CUstream &stream : streams) driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    tracer.name(streams[0], "upload");
    driver_.cuEventCreate(&event, 0);
    driver_.cuMemcpyHtoDAsync(memory, host, 1 << 20, streams[0]);
    driver_.cuEventRecord(event, streams[0]);
    driver_.cuStreamWaitEvent(streams[1], event, 0);
    driver_.cuMemcpyDtoHAsync(host, memory, 1 << 20, streams[1]);
    driver_.cuEventSynchronize(event);
    driver_.cuStreamSynchronize(streams[1]);
    driver_.cuMemsetD8Async(memory, 1, 1 << 20, streams[0]);
    driver_.cuCtxSynchronize();
  }
  std::map<std::int64_t, std::string> tracks;
  std::map<std::string, std::vector<std::string>> slices;    // names, by track
  std::map<int, std::pair<std::string, std::string>> flows;  // the slices that they leave and enter, by id
  const Json timeline = Json::parse(written(cushim::trace::write_chrome));
  std::vector<Json> events;
  for (const Json &event : timeline["traceEvents"])
    if (event["pid"] != Trace(file_).process()) events.push_back(event);
  for (const Json &event : events)
    if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
  for (const Json &event : events)
    if (event["ph"] == "X") slices[tracks[event["tid"]]].push_back(event["name"]);
  EXPECT_THAT(slices["stream#1 \"upload\""],
              ElementsAre("cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuMemsetD8Async"));
  EXPECT_THAT(slices["device 0: copies to the device"], ElementsAre("cuMemcpyHtoDAsync_v2"));
  EXPECT_THAT(slices["device 0: copies to the host"], ElementsAre("cuMemcpyDtoHAsync_v2"));
  // Returns the name of the slice of a track that a flow leaves or enters.
  const auto slice_at = [&](const Json &flow) {
    std::string name;
    for (const Json &event : events)
      if (event["ph"] == "X" && event["tid"] == flow["tid"] && event["ts"] <= flow["ts"] &&
          flow["ts"].get<double>() <= event["ts"].get<double>() + event["dur"].get<double>())
        name = event["name"];
    return name;
  };
  for (const Json &event : events) {
    if (event["name"] != "waits") continue;
    (event["ph"] == "s" ? flows[event["id"]].first : flows[event["id"]].second) = slice_at(event);
  }
  std::vector<std::pair<std::string, std::string>> waits;
  for (const auto &[id, flow] : flows) waits.push_back(flow);
  EXPECT_THAT(waits, ElementsAre(std::pair("cuEventRecord", "cuMemcpyDtoHAsync_v2"),
                                 std::pair("cuEventRecord", "cuEventSynchronize"),
                                 std::pair("cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"),
                                 std::pair("cuMemsetD8Async", "cuCtxSynchronize")));
}

TEST_F(TraceFile, The_summary_has_calls_copies_memory_and_streams) {
  record([](Driver &driver) {
    std::vector<char> host(1000);
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
    driver.cuMemAlloc(&memory, 4096);
    driver.cuMemcpyHtoD(memory, host.data(), host.size());
    driver.cuStreamCreate(&stream, 0);
    driver.cuMemsetD8Async(memory, 1, 10, stream);
    driver.cuStreamSynchronize(stream);
    driver.cuMemFree(0x10);
  });
  const std::string summary = written(cushim::trace::write_summary);
  EXPECT_THAT(summary, HasSubstr("6 calls of 6 functions by 1 thread\n"));
  EXPECT_THAT(summary, testing::ContainsRegex(" 1 +[0-9.]+ +[0-9.]+ +1  cuMemFree_v2"));
  EXPECT_THAT(summary, testing::ContainsRegex("1 +0.001 +0.001 +[0-9.]+  host to device"));
  EXPECT_THAT(summary, HasSubstr("1 allocations, at most 0.004 MB in use"));
  EXPECT_THAT(summary, HasSubstr("            1  stream#1\n"));
  EXPECT_THAT(summary, HasSubstr("1 synchronizations, "));
  EXPECT_THAT(summary, Not(HasSubstr("advice")));
}

// ---- Advice: a program with the fault, and its twin without it ----

TEST_F(TraceFile, Pageable_copies_are_found_and_pinned_ones_are_not) {
  std::vector<char> pageable(1 << 20);
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver_.cuMemAlloc(&memory, pageable.size()), CUDA_SUCCESS);
  record([&](Driver &driver) { driver.cuMemcpyHtoD(memory, pageable.data(), pageable.size()); });
  EXPECT_THAT(rules(), ElementsAre("pageable-copy"));
  record([&](Driver &driver) {
    void *pinned = nullptr;
    driver.cuMemAllocHost(&pinned, pageable.size());
    driver.cuMemcpyHtoD(memory, pinned, pageable.size());
    driver.cuMemHostRegister(pageable.data(), pageable.size(), 0);
    driver.cuMemcpyHtoD(memory, pageable.data(), pageable.size());
    driver.cuMemHostUnregister(pageable.data());
  });
  EXPECT_THAT(rules(), IsEmpty());
}

TEST_F(TraceFile, A_wait_for_each_operation_is_found_and_one_for_many_is_not) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  ASSERT_EQ(driver_.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  for (const int operations : {1, 5}) {
    record([&](Driver &driver) {
      for (int i = 0; i < 10; ++i) {
        for (int k = 0; k < operations; ++k) driver.cuMemsetD8Async(memory, 1, 10, stream);
        driver.cuStreamSynchronize(stream);
      }
    });
    EXPECT_EQ(rules().size(), operations == 1 ? 1 : 0);
  }
}

TEST_F(TraceFile, Allocations_in_a_loop_are_found_and_different_ones_are_not) {
  for (const std::size_t step : {0, 1}) {
    record([&](Driver &driver) {
      CUdeviceptr memory = 0;
      for (std::size_t i = 0; i < 10; ++i) {
        driver.cuMemAlloc(&memory, 4096 + step * i);
        driver.cuMemFree(memory);
      }
    });
    EXPECT_EQ(rules().size(), step == 0 ? 1 : 0);
  }
}

TEST_F(TraceFile, Timed_events_that_are_not_read_are_found) {
  for (const bool is_read : {false, true}) {
    record([&](Driver &driver) {
      CUevent event = nullptr;
      float time = 0;
      driver.cuEventCreate(&event, 0);
      for (int i = 0; i < 10; ++i) driver.cuEventRecord(event, nullptr);
      if (is_read) driver.cuEventElapsedTime(&time, event, event);
    });
    EXPECT_EQ(rules().size(), is_read ? 0 : 1);
  }
}

TEST_F(TraceFile, Work_in_the_legacy_stream_beside_others_is_found) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  ASSERT_EQ(driver_.cuMemAlloc(&memory, 100), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  for (const bool has_other : {false, true}) {
    record([&](Driver &driver) {
      for (int i = 0; i < 10; ++i) driver.cuMemsetD8Async(memory, 1, 10, nullptr);
      if (has_other) driver.cuMemsetD8Async(memory, 1, 10, stream);
    });
    EXPECT_EQ(rules().size(), has_other ? 1 : 0);
  }
}

}  // namespace
}  // namespace cushim::test

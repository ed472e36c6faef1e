// SPDX-License-Identifier: Apache-2.0
// Tests streams: the exact driver calls of each operation, and the lifetime of callables.
#include <gmock/gmock.h>

#include <memory>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Stream, Creating_is_one_call_and_destroying_is_one) {
  Recording recording;
  { const Stream stream = Stream::create(); }
  { const Stream stream = Stream::create({.flags = StreamFlags::non_blocking, .priority = -5}); }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamCreate(&, 0)", "cuStreamDestroy_v2(0x1000)",
                          "cuStreamCreateWithPriority(&, 1, -5)", "cuStreamDestroy_v2(0x2000)"));
}

TEST(Stream, Its_device_is_that_of_its_context) {
  Recording recording;
  recording.on<Entry::cuCtxGetDevice_v2000>([](CUdevice *device) {
    *device = 3;
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(StreamRef(kRaw).device(), 3);
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamGetCtx(0x50, &)", "cuCtxPushCurrent_v2(0xd0)",
                                             "cuCtxGetDevice(&)", "cuCtxPopCurrent_v2(&)"));
}

TEST(Stream, Every_question_is_one_call) {
  Recording recording;
  recording.on<Entry::cuStreamGetId_v12000>([](CUstream, unsigned long long *id) {
    *id = 7;
    return CUDA_SUCCESS;
  });
  recording.on<Entry::cuStreamGetPriority_v5050>([](CUstream, int *priority) {
    *priority = -3;
    return CUDA_SUCCESS;
  });
  recording.on<Entry::cuStreamGetFlags_v5050>([](CUstream, unsigned *flags) {
    *flags = CU_STREAM_NON_BLOCKING;
    return CUDA_SUCCESS;
  });
  recording.on<Entry::cuStreamIsCapturing_v10000>([](CUstream, CUstreamCaptureStatus *status) {
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
  const StreamRef stream(kRaw);
  EXPECT_TRUE(stream.is_done());
  stream.synchronize();
  EXPECT_EQ(stream.id(), 7u);
  EXPECT_EQ(stream.context().handle(), kStreamContext);
  EXPECT_EQ(stream.priority(), -3);
  EXPECT_EQ(stream.flags(), StreamFlags::non_blocking);
  EXPECT_EQ(stream.capture_status(), CaptureStatus::active);
  stream.attach(0x1000, 0, MemoryAttachment::host);
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuStreamQuery(0x50)", "cuStreamSynchronize(0x50)", "cuStreamGetId(0x50, &)",
                  "cuStreamGetCtx(0x50, &)", "cuStreamGetPriority(0x50, &)", "cuStreamGetFlags(0x50, &)",
                  "cuStreamIsCapturing(0x50, &)", "cuStreamAttachMemAsync(0x50, 0x1000, 0, 2)"));
}

TEST(Stream, Is_done_answers_and_throws_only_on_errors) {
  Recording recording;
  recording.answer(Entry::cuStreamQuery, CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(default_stream().is_done());
  EXPECT_FALSE(default_stream().synchronize_for(std::chrono::milliseconds(0)));
  recording.answer(Entry::cuStreamQuery, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(error_of([] { default_stream().is_done(); }).result(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST(Stream, A_negative_timeout_is_refused_without_a_driver_call) {
  Recording recording;
  EXPECT_THAT(error_of([] { default_stream().synchronize_for(std::chrono::seconds(-1)); }).what(),
              HasSubstr("the default stream, timeout is negative"));
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Stream, Waiting_for_an_event_is_one_call) {
  Recording recording;
  StreamRef(kRaw).wait(EventRef::from_handle(event_handle(0xe0)));
  StreamRef(kRaw).wait(EventRef::from_handle(event_handle(0xe0)), WaitFlags::external);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamWaitEvent(0x50, 0xe0, 0)", "cuStreamWaitEvent(0x50, 0xe0, 1)"));
}

TEST(Stream, Waiting_for_a_stream_goes_by_an_event_of_that_streams_context) {
  Recording recording;
  StreamRef(kRaw).wait(StreamRef(stream_handle(0x60)));
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamGetCtx(0x60, &)", "cuCtxPushCurrent_v2(0xd0)", "cuEventCreate(&, 2)",
                          "cuCtxPopCurrent_v2(&)", "cuEventRecord(0x1000, 0x60)",
                          "cuStreamWaitEvent(0x50, 0x1000, 0)", "cuEventDestroy_v2(0x1000)"));
}

TEST(Stream, Attributes_are_read_and_set_with_their_own_type) {
  Recording recording;
  recording.on<Entry::cuStreamGetAttribute_v11000>([](CUstream, CUstreamAttrID, CUstreamAttrValue *value) {
    value->syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
    return CUDA_SUCCESS;
  });
  int set = 0;
  recording.on<Entry::cuStreamSetAttribute_v11000>(
      [&](CUstream, CUstreamAttrID, const CUstreamAttrValue *value) {
        set = value->priority;
        return CUDA_SUCCESS;
      });
  const StreamRef stream(kRaw);
  EXPECT_EQ(stream.attribute(stream_attribute::synchronization_policy), CU_SYNC_POLICY_BLOCKING_SYNC);
  stream.set_attribute(stream_attribute::priority, -4);
  EXPECT_EQ(set, -4);
  stream.copy_attributes(default_stream());
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamGetAttribute(0x50, 3, &)", "cuStreamSetAttribute(0x50, 8, &)",
                          "cuStreamCopyAttributes(0x50, null)"));
}

// ---- Host functions ----------------------------------------------------------------------------

// Counts its calls and its living copies.
struct Counted {
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  void operator()() const { ++*calls; }
};

std::vector<std::string> names_of(const Calls &calls) {
  std::vector<std::string> names;
  for (const std::string &call : calls) names.push_back(call.substr(0, call.find('(')));
  return names;
}

TEST(Stream, A_host_function_runs_once_and_is_deleted_after_it) {
  Recording recording;
  const Counted counted;
  default_stream().launch_host(counted);
  EXPECT_THAT(names_of(recording.calls()), ElementsAre("cuStreamGetCaptureInfo_v2", "cuLaunchHostFunc"));
  EXPECT_EQ(counted.calls.use_count(), 2);
  recording.launched.at(0)();
  EXPECT_EQ(*counted.calls, 1);
  EXPECT_EQ(counted.calls.use_count(), 1);
}

TEST(Stream, A_host_function_that_was_not_accepted_is_deleted_at_once) {
  for (int failing = 1; failing <= 2; ++failing) {
    Recording recording;
    const Counted counted;
    recording.fail(failing, CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(error_of([&] { default_stream().launch_host(counted); }).result(), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(counted.calls.use_count(), 1) << failing;
  }
}

TEST(Stream, A_host_function_may_be_any_callable_that_moves) {
  Recording recording;
  auto owned = std::make_unique<int>(5);
  int seen = 0;
  default_stream().launch_host([&seen, owned = std::move(owned)] { seen = *owned; });
  recording.launched.at(0)();
  EXPECT_EQ(seen, 5);
}

TEST(Stream, What_a_host_function_throws_goes_to_the_handler) {
  Recording recording;
  default_stream().launch_host([] { throw std::runtime_error("from the host function"); });
  default_stream().launch_host([] { throw 7; });
  for (const auto &run : recording.launched) run();
  EXPECT_THAT(Recording::unreported(),
              ElementsAre("from the host function", HasSubstr("something that is not a std::exception")));
}

// A stream in capture, and the user object that keeps what the graph needs alive.
struct Capture {
  explicit Capture(Recording &recording) {
    recording.on<Entry::cuStreamGetCaptureInfo_v11030>([](CUstream, CUstreamCaptureStatus *status,
                                                          cuuint64_t *, CUgraph *graph, const CUgraphNode **,
                                                          std::size_t *) {
      *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
      *graph = reinterpret_cast<CUgraph>(0x90);
      return CUDA_SUCCESS;
    });
    recording.on<Entry::cuUserObjectCreate_v11030>(
        [this](CUuserObject *object, void *pointer, CUhostFn destroy, unsigned, unsigned) {
          *object = reinterpret_cast<CUuserObject>(0x91);
          end = [=] { destroy(pointer); };
          return CUDA_SUCCESS;
        });
    const auto release = [this] {
      end();
      return CUDA_SUCCESS;
    };
    recording.on<Entry::cuUserObjectRelease_v11030>([=](CUuserObject, unsigned) { return release(); });
    recording.on<Entry::cuGraphReleaseUserObject_v11030>(
        [=](CUgraph, CUuserObject, unsigned) { return release(); });
  }
  std::function<void()> end;
};

TEST(Stream, A_host_function_in_capture_belongs_to_the_graph_and_may_run_again) {
  Recording recording;
  Capture capture(recording);
  const Counted counted;
  StreamRef(kRaw).launch_host(counted);
  EXPECT_THAT(names_of(recording.calls()), ElementsAre("cuStreamGetCaptureInfo_v2", "cuUserObjectCreate",
                                                       "cuGraphRetainUserObject", "cuLaunchHostFunc"));
  recording.launched.at(0)();
  recording.launched.at(0)();
  EXPECT_EQ(*counted.calls, 2);
  EXPECT_EQ(counted.calls.use_count(), 2);
  capture.end();
  EXPECT_EQ(counted.calls.use_count(), 1);
}

TEST(Stream, A_host_function_in_capture_that_was_not_accepted_is_deleted) {
  for (int failing = 1; failing <= 4; ++failing) {
    Recording recording;
    Capture capture(recording);
    const Counted counted;
    recording.fail(failing, CUDA_ERROR_INVALID_VALUE);
    error_of([&] { StreamRef(kRaw).launch_host(counted); });
    EXPECT_EQ(counted.calls.use_count(), 1) << failing;
  }
}

TEST(Stream, A_callback_gets_its_stream_and_the_result_so_far) {
  Recording recording;
  StreamRef seen;
  CUresult result = CUDA_SUCCESS;
  StreamRef(kRaw).add_callback([&](StreamRef stream, CUresult so_far) {
    seen = stream;
    result = so_far;
  });
  EXPECT_THAT(names_of(recording.calls()), ElementsAre("cuStreamAddCallback"));
  recording.launched.at(0)();
  EXPECT_EQ(seen, StreamRef(kRaw));
  EXPECT_EQ(result, CUDA_ERROR_LAUNCH_FAILED);
}

TEST(Stream, A_callback_that_was_not_accepted_is_deleted_at_once) {
  Recording recording;
  const auto counter = std::make_shared<int>();
  recording.fail(1, CUDA_ERROR_INVALID_VALUE);
  error_of([&] { default_stream().add_callback([counter](StreamRef, CUresult) {}); });
  EXPECT_EQ(counter.use_count(), 1);
}

// ---- Null, default and empty -------------------------------------------------------------------

TEST(Stream, The_null_stream_is_not_empty_and_an_empty_stream_is_not_null) {
  Recording recording;
  EXPECT_FALSE(default_stream().is_empty());
  default_stream().synchronize();
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamSynchronize(null)"));
  EXPECT_TRUE(Stream().is_empty());
  const EventRef event = EventRef::from_handle(event_handle(0xe0));
  const Stream empty;
  EXPECT_THAT(error_of([&] { event.record(empty); }).what(), HasSubstr("event 0xe0, an empty stream"));
  EXPECT_THAT(error_of([&] { default_stream().copy_attributes(empty); }).what(),
              HasSubstr("an empty stream"));
  EXPECT_THAT(error_of([&] { empty.launch_host([] {}); }).what(), HasSubstr("an empty stream"));
}

TEST(Stream, The_default_streams_are_named_in_words) {
  Recording recording;
  EXPECT_EQ(to_text(default_stream()), "the default stream");
  EXPECT_EQ(to_text(legacy_stream()), "the legacy default stream");
  EXPECT_EQ(to_text(per_thread_stream()), "the per-thread default stream");
}

TEST(Stream, A_default_stream_cannot_be_owned) {
  Recording recording;
  for (CUstream handle : {CUstream{}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD})
    EXPECT_EQ(error_of([=] { Stream::adopt(handle); }).result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Stream, Adopted_is_destroyed_and_released_is_not) {
  Recording recording;
  Stream stream = Stream::create();
  const CUstream raw = stream.release();
  EXPECT_TRUE(stream.is_empty());
  recording.calls();
  { const Stream owner = Stream::adopt(raw); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamDestroy_v2(0x1000)"));
}

}  // namespace
}  // namespace cushim::test

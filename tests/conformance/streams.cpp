// SPDX-License-Identifier: Apache-2.0
// Creating, querying, configuring and destroying streams. stream_queries.cpp tests the calls that only query,
// stream_order.cpp the implicit ordering.
#include <cushim/exact.hpp>
#include <cushim/stream.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class Streams : public OnDevice {};

// ---- Creating ----

STATEMENT(Streams, Are_created_blocking, driver().cuStreamCreate(&stream_out, CU_STREAM_DEFAULT),
          CUDA_SUCCESS)
STATEMENT(Streams, Are_created_non_blocking, driver().cuStreamCreate(&stream_out, CU_STREAM_NON_BLOCKING),
          CUDA_SUCCESS)
STATEMENT(Streams, Need_a_place_for_the_handle, driver().cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Streams, Need_a_place_and_good_flags, driver().cuStreamCreate(nullptr, ~0u),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Streams, With_a_priority_need_a_place, driver().cuStreamCreateWithPriority(nullptr, 0, 0),
          CUDA_ERROR_INVALID_VALUE)

[[maybe_unused]] const bool flags_added = [] {
  for (int bit = 1; bit < 32; ++bit) {
    const unsigned flag = 1u << bit;
    ADD_TEST(Streams, "Refuse_the_flag_" + std::to_string(flag), [flag](Streams &t) {
      EXPECT_ANSWER(driver().cuStreamCreate(&t.stream_out, flag), CUDA_ERROR_INVALID_VALUE);
      EXPECT_ANSWER(driver().cuStreamCreate(&t.stream_out, flag | CU_STREAM_NON_BLOCKING),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(Streams, "With_a_priority_refuse_the_flag_" + std::to_string(flag), [flag](Streams &t) {
      EXPECT_ANSWER(driver().cuStreamCreateWithPriority(&t.stream_out, flag, 0), CUDA_ERROR_INVALID_VALUE);
    });
  }
  return true;
}();

// A priority outside the range is valid: it is clamped to the range.
[[maybe_unused]] const bool priorities_added = [] {
  for (const int priority : {-2147483647 - 1, -100, -6, -5, -4, -3, -2, -1, 0, 1, 2, 100, 2147483647})
    for (const unsigned flags : {unsigned(CU_STREAM_DEFAULT), unsigned(CU_STREAM_NON_BLOCKING)}) {
      const std::string kind = flags == CU_STREAM_DEFAULT ? "blocking" : "non_blocking";
      std::string number = std::to_string(priority);
      if (priority < 0) number = "minus_" + number.substr(1);
      ADD_TEST(Streams, "Are_created_" + kind + "_with_priority_" + number, [=](Streams &t) {
        int least = 0, greatest = 0, given = 0;
        NEED(driver().cuCtxGetStreamPriorityRange(&least, &greatest));
        EXPECT_ANSWER(driver().cuStreamCreateWithPriority(&t.stream_out, flags, priority), CUDA_SUCCESS);
        EXPECT_ANSWER(driver().cuStreamGetPriority(t.stream_out, &given), CUDA_SUCCESS);
        EXPECT_VALUE(given, std::max(greatest, std::min(least, priority)));
        EXPECT_ANSWER(driver().cuStreamGetFlags(t.stream_out, &t.flags), CUDA_SUCCESS);
        EXPECT_VALUE(t.flags, flags);
      });
    }
  return true;
}();

TEST_F(Streams, Leave_the_place_alone_if_refused) {
  CUstream made = reinterpret_cast<CUstream>(0x1234);
  EXPECT_ANSWER(driver().cuStreamCreate(&made, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(made == reinterpret_cast<CUstream>(0x1234), true);
}

TEST_F(Streams, Are_not_created_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuStreamCreate(&stream_out, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuStreamCreateWithPriority(&stream_out, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Streams, Bad_arguments_are_found_before_the_missing_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuStreamCreate(&stream_out, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuStreamCreate(&stream_out, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Streams, Are_told_apart_by_handle_and_number) {
  const CUstream one = stream(), other = stream();
  EXPECT_VALUE(one != other, true);
  unsigned long long first = 0, second = 0;
  EXPECT_ANSWER(driver().cuStreamGetId(one, &first), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamGetId(other, &second), CUDA_SUCCESS);
  EXPECT_VALUE(first != second, true);
}

TEST_F(Streams, Are_in_the_context_that_was_current) {
  const CUstream there = in_other_context([this] { return stream(); });
  EXPECT_ANSWER(driver().cuStreamGetCtx(there, &context_out), CUDA_SUCCESS);
  EXPECT_VALUE(context_out == other_context(), true);
}

TEST_F(Streams, The_null_stream_has_the_number_of_the_legacy_stream) {
  unsigned long long null = 0, legacy_id = 0, own = 0;
  NEED(driver().cuStreamGetId(nullptr, &null));
  NEED(driver().cuStreamGetId(legacy(), &legacy_id));
  NEED(driver().cuStreamGetId(per_thread(), &own));
  EXPECT_VALUE(null == legacy_id, true);
  EXPECT_VALUE(null != own, true);
}

TEST_F(Streams, The_null_stream_of_a_per_thread_call_is_the_per_thread_stream) {
  unsigned long long null = 0, own = 0;
  NEED(cushim::exact::cuStreamGetId_v12000_ptsz(driver())(nullptr, &null));
  NEED(driver().cuStreamGetId(per_thread(), &own));
  EXPECT_VALUE(null == own, true);
}

// ---- Destroying ----

class DestroyingStreams : public OnDevice {
 public:
  CUstream made(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream made = nullptr;
    NEED(driver().cuStreamCreate(&made, flags));
    return made;
  }
};

STATEMENT(DestroyingStreams, Is_done_once, driver().cuStreamDestroy(made()), CUDA_SUCCESS)
STATEMENT(DestroyingStreams, Is_done_by_the_first_ABI_too,
          cushim::exact::cuStreamDestroy_v2000(driver())(made()), CUDA_SUCCESS)
STATEMENT(DestroyingStreams, The_null_stream_is_refused, driver().cuStreamDestroy(nullptr),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(DestroyingStreams, The_legacy_stream_is_refused, driver().cuStreamDestroy(legacy()),
          CUDA_ERROR_INVALID_HANDLE)
STATEMENT(DestroyingStreams, The_per_thread_stream_is_refused, driver().cuStreamDestroy(per_thread()),
          CUDA_ERROR_INVALID_HANDLE)

TEST_F(DestroyingStreams, Needs_no_context) {
  const CUstream work = made();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuStreamDestroy(work), CUDA_SUCCESS);
}

TEST_F(DestroyingStreams, Is_done_from_another_context) {
  const CUstream work = made();
  NEED(driver().cuCtxPushCurrent(other_context()));
  EXPECT_ANSWER(driver().cuStreamDestroy(work), CUDA_SUCCESS);
  NEED(driver().cuCtxPopCurrent(&context_out));
}

TEST_F(DestroyingStreams, The_default_streams_are_refused_without_a_context_too) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuStreamDestroy(legacy()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuStreamDestroy(per_thread()), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DestroyingStreams, Does_not_wait_for_the_work) {
  const CUstream work = made();
  const CUevent mark = event();
  Hold held = hold_and_record(work, mark);
  EXPECT_ANSWER(driver().cuStreamDestroy(work), CUDA_SUCCESS);
  expect_complete_after(held, mark, "mark");
}

TEST_F(DestroyingStreams, The_work_is_done_all_the_same) {
  const CUstream work = made();
  const CUdeviceptr words = memory();
  unsigned word = 0;
  Hold held = hold(work);
  NEED(driver().cuMemsetD32Async(words, 7, 1, work));
  NEED(driver().cuStreamDestroy(work));
  held.release();
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  NEED(driver().cuMemcpyDtoH(&word, words, sizeof word));
  EXPECT_VALUE(word, 7u);
}

// ---- Wrappers ----

class StreamWrappers : public OnDevice {};

// Returns the code of the error that the wrapper throws; CUDA_SUCCESS if it does not throw.
template <class Action>
CUresult code_of(Action action) {
  try {
    action();
    return CUDA_SUCCESS;
  } catch (const cushim::Error &error) {
    return static_cast<CUresult>(error.code().value());
  }
}

TEST_F(StreamWrappers, Own_a_blocking_stream) {
  const auto work = cushim::Stream::create();
  EXPECT_VALUE(work.flags() == cushim::StreamFlags::none, true);
  EXPECT_VALUE(work.is_done(), true);
  EXPECT_VALUE(work.priority(), 0);
}

TEST_F(StreamWrappers, Own_a_non_blocking_stream) {
  const auto work = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  EXPECT_VALUE(work.flags() == cushim::StreamFlags::non_blocking, true);
  EXPECT_VALUE(work.context().handle() == context, true);
}

TEST_F(StreamWrappers, Clamp_the_priority) {
  const auto work = cushim::Stream::create({.priority = -1000});
  EXPECT_VALUE(work.priority() == cushim::ContextRef::current().stream_priorities().greatest, true);
}

TEST_F(StreamWrappers, Refuse_bad_flags) {
  EXPECT_ANSWER(code_of([] { cushim::Stream::create({.flags = static_cast<cushim::StreamFlags>(2)}); }),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamWrappers, Create_in_a_given_context) {
  const auto there = cushim::ContextRef::from_handle(other_context());
  const auto work = cushim::Stream::create(there);
  EXPECT_VALUE(work.context().handle() == other_context(), true);
  EXPECT_VALUE(cushim::ContextRef::current().handle() == context, true);
}

TEST_F(StreamWrappers, Create_nothing_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(code_of([] { cushim::Stream::create(); }), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(StreamWrappers, Say_that_held_work_is_not_done) {
  const auto work = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  Hold held = hold(work.handle());
  expect_done_after(held, work, "work");
}

TEST_F(StreamWrappers, Read_and_set_the_synchronization_policy) {
  const auto work = cushim::Stream::create();
  const auto policy = cushim::stream_attribute::synchronization_policy;
  EXPECT_VALUE(int(work.attribute(policy)), -1);
  work.set_attribute(policy, CU_SYNC_POLICY_SPIN);
  EXPECT_VALUE(int(work.attribute(policy)), int(CU_SYNC_POLICY_SPIN));
  const auto copy = cushim::Stream::create();
  copy.copy_attributes(work);
  EXPECT_VALUE(int(copy.attribute(policy)), int(CU_SYNC_POLICY_SPIN));
}

TEST_F(StreamWrappers, Are_not_capturing) {
  EXPECT_VALUE(cushim::Stream::create().capture_status() == cushim::CaptureStatus::none, true);
  EXPECT_VALUE(cushim::legacy_stream().capture_status() == cushim::CaptureStatus::none, true);
}

TEST_F(StreamWrappers, Give_each_stream_a_number) {
  const auto one = cushim::Stream::create(), other = cushim::Stream::create();
  EXPECT_VALUE(one.id() != other.id(), true);
  EXPECT_VALUE(cushim::legacy_stream().id() != cushim::per_thread_stream().id(), true);
}

TEST_F(StreamWrappers, Do_not_own_default_streams) {
  EXPECT_ANSWER(code_of([] { cushim::Stream::adopt(nullptr); }), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(code_of([] { cushim::Stream::adopt(CU_STREAM_LEGACY); }), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(code_of([] { cushim::Stream::adopt(CU_STREAM_PER_THREAD); }), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamWrappers, Wait_for_another_stream) {
  const auto work = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  const auto waiting = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  Hold held = hold(work.handle());
  waiting.wait(work);
  EXPECT_VALUE(waiting.is_done(), false);
  held.release();
  waiting.synchronize();
  EXPECT_VALUE(work.is_done(), true);
}

}  // namespace
}  // namespace conformance

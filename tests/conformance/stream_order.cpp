// SPDX-License-Identifier: Apache-2.0
// Implicit ordering of streams. The legacy stream and blocking streams wait for each other; non-blocking
// streams do not.
#include <cushim/exact.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

namespace exact = cushim::exact;

class StreamOrder : public OnDevice {
 public:
  CUdeviceptr words = 0;
  // Adds an operation to a stream.
  void work_in(CUstream stream) {
    if (words == 0) words = memory();
    NEED(driver().cuMemsetD32Async(words, 1, 1, stream));
  }
};

struct Kind {
  const char *name;
  CUstream (*make)(StreamOrder &t);
  int sort;  // 0: legacy, 1: blocking, 2: non-blocking
};
const Kind kinds[] = {
    {"the_null_stream", [](StreamOrder &) { return CUstream{}; }, 0},
    {"the_legacy_stream", [](StreamOrder &) { return legacy(); }, 0},
    {"the_per_thread_stream", [](StreamOrder &) { return per_thread(); }, 1},
    {"a_blocking_stream", [](StreamOrder &t) { return t.stream(CU_STREAM_DEFAULT); }, 1},
    {"a_non_blocking_stream", [](StreamOrder &t) { return t.stream(CU_STREAM_NON_BLOCKING); }, 2},
};

// Work in the second stream, added while the first is held, waits if one of the two is the legacy stream and
// the other is not a non-blocking stream.
[[maybe_unused]] const bool pairs_added = [] {
  for (const Kind &first : kinds)
    for (const Kind &second : kinds) {
      const bool waits = (first.sort == 0 && second.sort < 2) || (second.sort == 0 && first.sort < 2);
      const std::string name = "Work_in_" + std::string(second.name) + (waits ? "_waits_for_" : "_passes_") +
                               first.name + (first.name == second.name ? "_again" : "");
      const bool same =
          first.name == second.name && first.sort != 0 && std::string(first.name).starts_with("the");
      ADD_TEST(StreamOrder, name, [=](StreamOrder &t) {
        const CUstream before = first.make(t), after = second.make(t);
        t.work_in(before);  // allocates the memory before the hold
        NEED(driver().cuCtxSynchronize());
        const CUevent mark = t.event();
        Hold held = hold(before);
        t.work_in(after);
        NEED(driver().cuEventRecord(mark, after));
        if (waits || same) {
          EXPECT_ANSWER(driver().cuStreamQuery(after), CUDA_ERROR_NOT_READY);
          EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
        } else {
          EXPECT_ANSWER(driver().cuStreamSynchronize(after), CUDA_SUCCESS);
          EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_SUCCESS);
        }
        EXPECT_ANSWER(driver().cuStreamQuery(before), CUDA_ERROR_NOT_READY);
        held.release();
        EXPECT_ANSWER(driver().cuStreamSynchronize(before), CUDA_SUCCESS);
        EXPECT_ANSWER(driver().cuStreamSynchronize(after), CUDA_SUCCESS);
      });
    }
  return true;
}();

TEST_F(StreamOrder, A_blocking_stream_waits_for_another_if_the_legacy_stream_lies_between) {
  const CUstream first = stream(CU_STREAM_DEFAULT), second = stream(CU_STREAM_DEFAULT);
  work_in(first);
  NEED(driver().cuCtxSynchronize());
  Hold held = hold(first);
  work_in(legacy());
  work_in(second);
  expect_complete_after(held, second, "second");
}

TEST_F(StreamOrder, An_event_in_the_legacy_stream_waits_for_a_blocking_stream) {
  const CUstream work = stream(CU_STREAM_DEFAULT);
  const CUevent mark = event();
  Hold held = hold(work);
  NEED(driver().cuEventRecord(mark, legacy()));
  expect_complete_after(held, mark, "mark");
}

TEST_F(StreamOrder, The_null_stream_of_a_per_thread_call_is_not_held_by_a_blocking_stream) {
  const CUstream work = stream(CU_STREAM_DEFAULT);
  Hold held = hold(work);
  EXPECT_ANSWER(exact::cuStreamQuery_v7000_ptsz(driver())(nullptr), CUDA_SUCCESS);
  EXPECT_ANSWER(exact::cuStreamSynchronize_v7000_ptsz(driver())(nullptr), CUDA_SUCCESS);
}

TEST_F(StreamOrder, The_legacy_stream_of_a_per_thread_call_is_the_legacy_stream) {
  Hold held = hold(legacy());
  EXPECT_ANSWER(exact::cuStreamQuery_v7000_ptsz(driver())(legacy()), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(exact::cuStreamQuery_v7000_ptsz(driver())(nullptr), CUDA_SUCCESS);
  EXPECT_ANSWER(exact::cuStreamQuery_v2000(driver())(nullptr), CUDA_ERROR_NOT_READY);
}

TEST_F(StreamOrder, Of_one_context_does_not_bind_another) {
  const CUstream there = in_other_context([this] { return stream(CU_STREAM_DEFAULT); });
  Hold held = hold(legacy());
  EXPECT_ANSWER(driver().cuStreamSynchronize(there), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(legacy()), CUDA_ERROR_NOT_READY);
}

TEST_F(StreamOrder, Work_in_one_stream_is_done_in_order) {
  const CUstream work = stream();
  const CUevent first = event(), second = event();
  NEED(driver().cuEventRecord(first, work));
  Hold held = hold_and_record(work, second);
  EXPECT_ANSWER(driver().cuEventSynchronize(first), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(second), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventQuery(second), CUDA_SUCCESS);
}

// ---- Calls that add an operation to an idle blocking stream while the legacy stream is held ----

// Every operation waits for the legacy stream, so a stream that is complete has none.
struct Put {
  const char *name;
  void (*put)(StreamOrder &t, CUstream idle, CUevent complete);
  bool makes_busy;
};
template <unsigned flags>
void record(StreamOrder &t, CUstream idle, CUevent) {
  NEED(driver().cuEventRecord(t.event(flags), idle));
}
const Put puts[] = {
    // The event itself waits nevertheless; see the statement below.
    {"An_event_without_timing_leaves", record<CU_EVENT_DISABLE_TIMING>, false},
    {"An_event_with_timing_makes", record<CU_EVENT_DEFAULT>, true},
    {"An_event_to_block_on_makes", record<CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING>, true},
    {"An_event_for_other_processes_makes", record<CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING>, true},
    {"A_wait_for_a_complete_event_leaves",
     [](StreamOrder &, CUstream idle, CUevent complete) {
       NEED(driver().cuStreamWaitEvent(idle, complete, 0));
     },
     false},
    {"An_empty_batch_makes",
     [](StreamOrder &, CUstream idle, CUevent) {
       CUstreamBatchMemOpParams none{};
       NEED(driver().cuStreamBatchMemOp_v2(idle, 0, &none, 0));
     },
     true},
};
[[maybe_unused]] const bool puts_added = [] {
  for (const Put &row : puts)
    ADD_TEST(StreamOrder, row.name + std::string("_an_idle_stream_") + (row.makes_busy ? "busy" : "complete"),
             [&row](StreamOrder &t) {
               const CUstream idle = t.stream(CU_STREAM_DEFAULT);
               const CUevent complete = t.event();
               NEED(driver().cuEventRecord(complete, idle));
               NEED(driver().cuEventSynchronize(complete));
               Hold held = hold(legacy());
               row.put(t, idle, complete);
               EXPECT_ANSWER(driver().cuStreamQuery(idle),
                             row.makes_busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
               held.release();
               EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
               EXPECT_ANSWER(driver().cuStreamQuery(idle), CUDA_SUCCESS);
             });
  return true;
}();

TEST_F(StreamOrder, An_event_without_timing_in_an_idle_stream_waits_for_the_legacy_stream) {
  const CUstream idle = stream(CU_STREAM_DEFAULT);
  const CUevent mark = event(CU_EVENT_DISABLE_TIMING);
  Hold held = hold(legacy());
  NEED(driver().cuEventRecord(mark, idle));
  expect_complete_after(held, mark, "mark");
}

TEST_F(StreamOrder, Records_of_one_event_for_other_processes_come_one_after_the_other) {
  const CUstream first = stream(), second = stream();
  const CUevent mark = event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  Hold held = hold_and_record(first, mark);
  NEED(driver().cuEventRecord(mark, second));
  expect_complete_after(held, second, "second");
}

TEST_F(StreamOrder, Records_of_one_event_without_timing_do_not_wait_for_each_other) {
  const CUstream first = stream(), second = stream();
  const CUevent mark = event(CU_EVENT_DISABLE_TIMING);
  const Hold held = hold_and_record(first, mark);
  NEED(driver().cuEventRecord(mark, second));
  EXPECT_ANSWER(driver().cuStreamSynchronize(second), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(first), CUDA_ERROR_NOT_READY);
}

// No other dependency orders the two: each context has its own legacy stream.
TEST_F(StreamOrder, A_copy_in_the_legacy_stream_waits_for_that_of_the_contexts_whose_memory_it_reads) {
  const CUdeviceptr here = memory();
  const CUdeviceptr there = in_other_context([this] { return memory(); });
  NEED(driver().cuCtxSynchronize());
  Hold held = in_other_context([] { return hold(legacy()); });
  NEED(driver().cuMemcpyDtoDAsync(here, there, 16, legacy()));
  EXPECT_ANSWER(driver().cuStreamQuery(legacy()), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(legacy()), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// Host functions that streams call: cuLaunchHostFunc and cuStreamAddCallback.
#include <atomic>
#include <cushim/exact.hpp>
#include <cushim/stream.hpp>
#include <thread>

#include "conformance.hpp"

namespace conformance {
namespace {

namespace exact = cushim::exact;

// The observations of a host function.
struct Seen {
  std::atomic<int> calls = 0;
  std::thread::id thread;
  CUstream stream = nullptr;
  CUresult status = CUDA_ERROR_UNKNOWN;
  CUresult answer_within = CUDA_ERROR_UNKNOWN;
};

void CUDA_CB function(void *data) {
  auto &seen = *static_cast<Seen *>(data);
  seen.thread = std::this_thread::get_id();
  ++seen.calls;
}
void CUDA_CB callback(CUstream stream, CUresult status, void *data) {
  auto &seen = *static_cast<Seen *>(data);
  seen.stream = stream;
  seen.status = status;
  function(data);
}
void CUDA_CB nothing(void *) {}
void CUDA_CB no_more(CUstream, CUresult, void *) {}

class HostFunctions : public OnDevice {
 public:
  Seen seen;
};

struct Kind {
  const char *name;
  CUstream (*make)(HostFunctions &t);
  bool is_default;
};
const Kind kinds[] = {
    {"a_blocking_stream", [](HostFunctions &t) { return t.stream(CU_STREAM_DEFAULT); }, false},
    {"a_non_blocking_stream", [](HostFunctions &t) { return t.stream(CU_STREAM_NON_BLOCKING); }, false},
    {"the_null_stream", [](HostFunctions &) { return CUstream{}; }, true},
    {"the_legacy_stream", [](HostFunctions &) { return legacy(); }, true},
    {"the_per_thread_stream", [](HostFunctions &) { return per_thread(); }, true},
};

struct Call {
  const char *name;
  CUresult (*launch)(CUstream stream, Seen *seen);
  CUresult (*launch_null)(CUstream stream);
};
const Call calls[] = {
    {"A_function",
     [](CUstream s, Seen *seen) { return exact::cuLaunchHostFunc_v10000(driver())(s, function, seen); },
     [](CUstream s) { return exact::cuLaunchHostFunc_v10000(driver())(s, nullptr, nullptr); }},
    {"A_function_by_a_per_thread_call",
     [](CUstream s, Seen *seen) { return exact::cuLaunchHostFunc_v10000_ptsz(driver())(s, function, seen); },
     [](CUstream s) { return exact::cuLaunchHostFunc_v10000_ptsz(driver())(s, nullptr, nullptr); }},
    {"A_callback",
     [](CUstream s, Seen *seen) { return exact::cuStreamAddCallback_v5000(driver())(s, callback, seen, 0); },
     [](CUstream s) { return exact::cuStreamAddCallback_v5000(driver())(s, nullptr, nullptr, 0); }},
    {"A_callback_by_a_per_thread_call",
     [](CUstream s, Seen *seen) {
       return exact::cuStreamAddCallback_v7000_ptsz(driver())(s, callback, seen, 0);
     },
     [](CUstream s) { return exact::cuStreamAddCallback_v7000_ptsz(driver())(s, nullptr, nullptr, 0); }},
};

[[maybe_unused]] const bool calls_added = [] {
  for (const Call &call : calls)
    for (const Kind &kind : kinds) {
      const std::string in = std::string(call.name) + "_in_" + kind.name;
      ADD_TEST(HostFunctions, in + "_is_called_once_and_on_another_thread", [=](HostFunctions &t) {
        const CUstream work = kind.make(t);
        EXPECT_ANSWER(call.launch(work, &t.seen), CUDA_SUCCESS);
        EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_VALUE(t.seen.calls.load(), 1);
        EXPECT_VALUE(t.seen.thread != std::this_thread::get_id(), true);
      });
      ADD_TEST(HostFunctions, in + "_must_not_be_null", [=](HostFunctions &t) {
        EXPECT_ANSWER(call.launch_null(kind.make(t)), CUDA_ERROR_INVALID_VALUE);
      });
      ADD_TEST(HostFunctions, in + "_without_a_context", [=](HostFunctions &t) {
        const CUstream work = kind.make(t);
        NEED(driver().cuCtxSetCurrent(nullptr));
        EXPECT_ANSWER(call.launch(work, &t.seen),
                      kind.is_default ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
        NEED(driver().cuCtxSetCurrent(t.context));
        NEED(driver().cuCtxSynchronize());
        EXPECT_VALUE(t.seen.calls.load(), kind.is_default ? 0 : 1);
      });
    }
  return true;
}();

TEST_F(HostFunctions, A_null_function_is_found_before_the_missing_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuLaunchHostFunc(nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostFunctions, Are_not_called_before_the_work_ahead_is_done) {
  const CUstream work = stream();
  Hold held = hold(work);
  NEED(driver().cuLaunchHostFunc(work, function, &seen));
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  EXPECT_VALUE(seen.calls.load(), 0);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(seen.calls.load(), 1);
}

TEST_F(HostFunctions, Hold_the_work_behind_them) {
  struct Gate {
    std::atomic<bool> is_open = false;
  } gate;
  const CUstream work = stream();
  const CUevent mark = event();
  NEED(driver().cuLaunchHostFunc(
      work, [](void *data) { static_cast<Gate *>(data)->is_open.wait(false); }, &gate));
  NEED(driver().cuEventRecord(mark, work));
  EXPECT_ANSWER(driver().cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  gate.is_open = true;
  gate.is_open.notify_all();
  EXPECT_ANSWER(driver().cuEventSynchronize(mark), CUDA_SUCCESS);
  NEED(driver().cuStreamSynchronize(work));
}

TEST_F(HostFunctions, Are_called_in_order) {
  const CUstream work = stream();
  std::vector<int> order;
  struct Item {
    std::vector<int> *order;
    int number;
  };
  Item items[10];
  for (int i = 0; i < 10; ++i) {
    items[i] = {&order, i};
    NEED(driver().cuLaunchHostFunc(
        work,
        [](void *data) {
          const auto &item = *static_cast<Item *>(data);
          item.order->push_back(item.number);
        },
        &items[i]));
  }
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  for (int i = 0; i < 10; ++i) EXPECT_VALUE(order.at(static_cast<std::size_t>(i)), i);
}

TEST_F(HostFunctions, Must_not_call_the_driver) {
  NEED(driver().cuLaunchHostFunc(
      stream(),
      [](void *data) {
        CUdeviceptr words = 0;
        static_cast<Seen *>(data)->answer_within = driver().cuMemAlloc(&words, 16);
      },
      &seen));
  NEED(driver().cuCtxSynchronize());
  EXPECT_ANSWER(seen.answer_within, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(HostFunctions, A_callback_is_given_its_stream_and_success) {
  const CUstream work = stream();
  NEED(driver().cuStreamAddCallback(work, callback, &seen, 0));
  NEED(driver().cuStreamSynchronize(work));
  EXPECT_VALUE(seen.stream == work, true);
  EXPECT_VALUE(static_cast<int>(seen.status), 0);
}

[[maybe_unused]] const bool flags_added = [] {
  for (const unsigned flags : {1u, 2u, 4u, 0x80000000u, ~0u})
    ADD_TEST(HostFunctions, "A_callback_refuses_the_flags_" + std::to_string(flags),
             [flags](HostFunctions &t) {
               EXPECT_ANSWER(driver().cuStreamAddCallback(t.stream(), no_more, nullptr, flags),
                             CUDA_ERROR_INVALID_VALUE);
             });
  return true;
}();

STATEMENT(HostFunctions, Need_no_data, driver().cuLaunchHostFunc(stream(), nothing, nullptr), CUDA_SUCCESS)
STATEMENT(HostFunctions, Callbacks_need_no_data, driver().cuStreamAddCallback(stream(), no_more, nullptr, 0),
          CUDA_SUCCESS)

TEST_F(HostFunctions, A_stream_with_one_to_call_may_be_destroyed) {
  CUstream work = nullptr;
  NEED(driver().cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  Hold held = hold(work);
  NEED(driver().cuLaunchHostFunc(work, function, &seen));
  EXPECT_ANSWER(driver().cuStreamDestroy(work), CUDA_SUCCESS);
  held.release();
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_VALUE(seen.calls.load(), 1);
}

TEST_F(HostFunctions, Are_callables_by_the_wrappers) {
  const auto work = cushim::Stream::create();
  int calls = 0;
  work.launch_host([&] { ++calls; });
  work.add_callback([&](cushim::StreamRef, CUresult result) { calls += result == CUDA_SUCCESS ? 10 : 100; });
  work.synchronize();
  EXPECT_VALUE(calls, 11);
}

}  // namespace
}  // namespace conformance

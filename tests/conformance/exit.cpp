// SPDX-License-Identifier: Apache-2.0
// The end of a process with live objects and unfinished work, and calls made while it ends.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "conformance.hpp"

namespace conformance {
namespace {

using cushim::testing::Channel;

class Exit : public Initialized {};

// The objects that each child creates before it ends.
struct Live {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  void *pinned = nullptr;

  Live() {
    make_context();
    NEED(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    NEED(driver().cuMemAlloc(&memory, 4096));
    NEED(driver().cuMemHostAlloc(&pinned, 4096, 0));
  }
};

// The channel to the parent, for functions that run while the process ends.
Channel *at_exit_channel = nullptr;
void keep(Channel &parent) {
  static Channel kept(parent);  // constructed before the driver registers its own handlers
  at_exit_channel = &kept;
}
Live *at_exit_live = nullptr;

#define ENDS(name, child, status)         \
  TEST_F(Exit, name) {                    \
    CUSHIM_NEEDS(gpus(1));                \
    Child process(child);                 \
    EXPECT_VALUE(process.wait(), status); \
  }

CUSHIM_CHILD(exits_after_cuInit) {
  NEED(driver().cuInit(0));
  std::exit(7);
}
ENDS(After_initialization_keeps_its_status, "exits_after_cuInit", 7)

CUSHIM_CHILD(exits_with_live_objects) {
  const Live live;
  std::exit(7);
}
ENDS(With_live_objects_keeps_its_status, "exits_with_live_objects", 7)

CUSHIM_CHILD(exits_at_once_with_live_objects) {
  const Live live;
  _exit(7);
}
ENDS(At_once_with_live_objects_keeps_its_status, "exits_at_once_with_live_objects", 7)

CUSHIM_CHILD(exits_with_work) {
  const Live live;
  for (int i = 0; i < 100; ++i) NEED(driver().cuMemsetD8Async(live.memory, 1, 4096, live.stream));
  NEED(driver().cuEventRecord(live.event, live.stream));
  std::exit(7);
}
ENDS(With_work_in_a_stream_keeps_its_status, "exits_with_work", 7)

CUSHIM_CHILD(exits_with_held_work) {
  const Live live;
  alarm(15);
  const Hold held = hold(live.stream);
  NEED(driver().cuMemsetD8Async(live.memory, 1, 4096, live.stream));
  NEED(driver().cuEventRecord(live.event, live.stream));
  _exit(7);
}
ENDS(At_once_with_work_that_never_ends_keeps_its_status, "exits_with_held_work", 7)

CUSHIM_CHILD(exits_with_a_context_of_its_own) {
  CUcontext made = nullptr;
  NEED(driver().cuInit(0));
  NEED(driver().cuCtxCreate_v2(&made, 0, 0));
  std::exit(7);
}
ENDS(With_a_context_of_its_own_keeps_its_status, "exits_with_a_context_of_its_own", 7)

CUSHIM_CHILD(returns_with_live_objects) { const Live live; }
ENDS(By_return_from_main_is_0, "returns_with_live_objects", 0)

CUSHIM_CHILD(quick_exits_with_live_objects) {
  const Live live;
  std::quick_exit(7);
}
ENDS(Quick_with_live_objects_keeps_its_status, "quick_exits_with_live_objects", 7)

TEST_F(Exit, Of_one_process_leaves_the_memory_of_another) {
  CUSHIM_NEEDS(gpus(1));
  const Live live;
  NEED(driver().cuMemsetD8(live.memory, 5, 4096));
  Child process("exits_with_live_objects");
  EXPECT_VALUE(process.wait(), 7);
  unsigned char byte = 0;
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&byte, live.memory, 1), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(byte), 5);
  NEED(driver().cuStreamDestroy(live.stream));
  NEED(driver().cuEventDestroy(live.event));
  NEED(driver().cuMemFree(live.memory));
  NEED(driver().cuMemFreeHost(live.pinned));
  NEED(driver().cuDevicePrimaryCtxRelease(0));
}

// ---- Calls while the process ends ----

using LateAnswers = std::array<CUresult, 9>;
constexpr std::array<const char *, 9> late_keys = {"late.count",  "late.current", "late.query",
                                                   "late.record", "late.event",   "late.allocate",
                                                   "late.free",   "late.destroy", "late.release"};
void call_late() {
  int count = 0;
  CUcontext current = nullptr;
  CUdeviceptr made = 0;
  const LateAnswers late = {driver().cuDeviceGetCount(&count),
                            driver().cuCtxGetCurrent(&current),
                            driver().cuStreamQuery(at_exit_live->stream),
                            driver().cuEventRecord(at_exit_live->event, at_exit_live->stream),
                            driver().cuEventSynchronize(at_exit_live->event),
                            driver().cuMemAlloc(&made, 64),
                            driver().cuMemFree(at_exit_live->memory),
                            driver().cuStreamDestroy(at_exit_live->stream),
                            driver().cuDevicePrimaryCtxRelease(0)};
  at_exit_channel->send(late);
}
#define ANSWERS_LATE(name, child, code)                              \
  TEST_F(Exit, name) {                                               \
    CUSHIM_NEEDS(gpus(1));                                           \
    Child process(child);                                            \
    expect_answers(late_keys, process.receive<LateAnswers>(), code); \
    EXPECT_VALUE(process.wait(), 7);                                 \
  }

// An exit handler registered after cuInit runs before the driver's own handler.
CUSHIM_CHILD(calls_at_exit) {
  keep(parent);
  static Live live;
  at_exit_live = &live;
  std::atexit(call_late);
  std::exit(7);
}
ANSWERS_LATE(Handlers_registered_after_initialization_find_the_driver_there, "calls_at_exit", CUDA_SUCCESS)

// An exit handler registered before cuInit runs after the driver's own handler, which cuInit registers.
CUSHIM_CHILD(calls_late_at_exit) {
  keep(parent);
  std::atexit(call_late);
  static Live live;
  at_exit_live = &live;
  std::exit(7);
}
ANSWERS_LATE(Handlers_registered_before_initialization_find_the_driver_gone, "calls_late_at_exit",
             CUDA_ERROR_DEINITIALIZED)

// Objects with static storage duration, constructed after and before the driver was initialized.
struct CallsWhenDestroyed {
  ~CallsWhenDestroyed() { call_late(); }
};
CUSHIM_CHILD(calls_in_a_static_destructor) {
  keep(parent);
  static Live live;
  at_exit_live = &live;
  static const CallsWhenDestroyed last;
  std::exit(7);
}
ANSWERS_LATE(Static_objects_made_after_initialization_find_the_driver_there, "calls_in_a_static_destructor",
             CUDA_SUCCESS)
CUSHIM_CHILD(calls_in_an_early_static_destructor) {
  keep(parent);
  static const CallsWhenDestroyed first;
  static Live live;
  at_exit_live = &live;
  std::exit(7);
}
ANSWERS_LATE(Static_objects_made_before_initialization_find_the_driver_gone,
             "calls_in_an_early_static_destructor", CUDA_ERROR_DEINITIALIZED)

}  // namespace
}  // namespace conformance

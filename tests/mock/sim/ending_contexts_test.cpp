// SPDX-License-Identifier: Apache-2.0
// Calls of one thread while a call of another thread waits to end a context or memory.
#include <functional>
#include <future>
#include <semaphore>

#include "support/machine_fixture.hpp"
#include "support/schedules.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kBytes = 1 << 20;

// A machine that reports each wait after 1 ms. The report tells the test that the other thread waits.
class EndingIn : public ::testing::TestWithParam<Schedule> {
 protected:
  // Starts the call in a new thread, in the same context, and returns when the call waits or has returned.
  std::future<CUresult> start(std::function<CUresult()> call) {
    auto answer = std::async(std::launch::async, [this, context = context_, call = std::move(call)] {
      need(driver().cuCtxSetCurrent(context));
      const CUresult code = call();
      waits_or_returned_.release();
      return code;
    });
    waits_or_returned_.acquire();
    return answer;
  }

  // Creates a context and makes it current.
  CUcontext make_context() {
    need(driver().cuCtxCreate_v2(&context_, 0, 0));
    return context_;
  }
  void use_primary_context() {
    need(driver().cuDevicePrimaryCtxRetain(&context_, 0));
    need(driver().cuCtxSetCurrent(context_));
    need(driver().cuDevicePrimaryCtxRelease(0));
  }

  struct OtherContext {
    CUcontext context;
    CUstream stream;
  };
  // Creates a context with a stream. The next context that a test creates replaces it as current one.
  OtherContext make_other_context() { return {make_context(), running_.stream()}; }

  // Opens the gate, and returns the result of a call that waits for work behind it.
  static CUresult result_behind(Gate &gate, std::future<CUresult> &call) {
    gate.open();
    return call.get();
  }

  // A primary context that was retained again while a call that ends it waits for a stream.
  struct RetainedContext {
    CUstream stream;
    CUdeviceptr memory;
    Gate gate;  // in the stream
    std::future<CUresult> ended;
  };
  static CUresult release() { return driver().cuDevicePrimaryCtxRelease(0); }
  static CUresult reset() { return driver().cuDevicePrimaryCtxReset(0); }
  RetainedContext retain_primary_context_during(CUresult (*end)()) {
    use_primary_context();
    const CUstream stream = running_.stream();
    const CUdeviceptr memory = running_.memory(kBytes);
    Gate gate = running_.machine.gate(stream);
    std::future<CUresult> ended = start(end);
    CUcontext retained = nullptr;
    need(driver().cuDevicePrimaryCtxRetain(&retained, 0));
    return {stream, memory, std::move(gate), std::move(ended)};
  }

  // Expects that an array, or a mipmapped array with the level `written`, is refused while a call waits to
  // destroy it.
  template <class Array, class Destroy>
  void expect_refusal(CUarray written, std::size_t bytes, Array array, Destroy destroy) {
    const std::vector<char> host(bytes);
    const CUstream stream = running_.stream();
    Gate gate = running_.machine.gate(stream);
    need(driver().cuMemcpyHtoAAsync(written, 0, host.data(), bytes, stream));
    auto destroyed = start([&] { return destroy(array); });
    EXPECT_EQ(driver().cuMemcpyHtoAAsync(written, 0, host.data(), bytes, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(destroy(array), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(result_behind(gate, destroyed), CUDA_SUCCESS);
  }

  std::counting_semaphore<> waits_or_returned_{0};
  Running running_{{.schedule = GetParam(),
                    .patience = std::chrono::milliseconds(1),
                    .report = [this](const std::string &) { waits_or_returned_.release(); }}};
  CUcontext context_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(, EndingIn, ::testing::ValuesIn(kEachSchedule), ScheduleName());

CUdeviceptr device_address(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

// ---- Contexts ----

TEST_P(EndingIn, A_context_that_is_being_destroyed_takes_no_more_work) {
  const CUcontext ended = make_context();
  const CUstream stream = running_.stream();
  const CUdeviceptr pinned = device_address(running_.pinned<char>(kBytes)), memory = running_.memory(kBytes);
  Gate gate = running_.machine.gate(stream);
  auto destroyed = start([&] { return driver().cuCtxDestroy(ended); });
  CUdeviceptr more = 0;
  CUstream another = nullptr;
  EXPECT_EQ(driver().cuMemsetD8Async(pinned, 1, kBytes, stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver().cuMemsetD8Async(memory, 1, kBytes, stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver().cuMemAlloc(&more, kBytes), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver().cuStreamCreate(&another, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver().cuCtxPushCurrent(ended), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(result_behind(gate, destroyed), CUDA_SUCCESS);
}

TEST_P(EndingIn, Memory_of_a_context_that_is_being_destroyed_is_refused_in_all_contexts) {
  const auto [user, elsewhere] = make_other_context();
  const CUcontext ended = make_context();
  const CUstream stream = running_.stream();
  const CUdeviceptr pinned = device_address(running_.pinned<char>(kBytes)), memory = running_.memory(kBytes);
  Gate gate = running_.machine.gate(stream);
  auto destroyed = start([&] { return driver().cuCtxDestroy(ended); });
  need(driver().cuCtxSetCurrent(user));
  EXPECT_EQ(driver().cuMemsetD8Async(pinned, 1, kBytes, elsewhere), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyDtoDAsync(memory, pinned, kBytes, elsewhere), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result_behind(gate, destroyed), CUDA_SUCCESS);
}

TEST_P(EndingIn, Only_one_of_two_threads_that_destroy_a_context_succeeds) {
  const CUcontext ended = make_context();
  Gate gate = running_.machine.gate(running_.stream());
  auto first = start([&] { return driver().cuCtxDestroy(ended); });
  auto second = std::async(std::launch::async, [&] {
    const CUresult code = driver().cuCtxDestroy(ended);
    waits_or_returned_.release();
    return code;
  });
  waits_or_returned_.acquire();
  EXPECT_EQ(result_behind(gate, first), CUDA_SUCCESS);
  EXPECT_EQ(second.get(), CUDA_ERROR_INVALID_CONTEXT);
  const CUcontext one = make_context(), other = make_context();
  EXPECT_NE(one, other);
  EXPECT_EQ(driver().cuCtxDestroy(one), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_P(EndingIn, A_primary_context_that_is_retained_while_its_release_waits_lives_on) {
  auto [stream, memory, gate, released] = retain_primary_context_during(release);
  EXPECT_EQ(driver().cuMemsetD8Async(memory, 1, kBytes, stream), CUDA_SUCCESS);
  EXPECT_EQ(result_behind(gate, released), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_P(EndingIn, A_primary_context_that_is_retained_and_released_while_a_release_waits_ends_once) {
  auto [stream, memory, first_gate, first] = retain_primary_context_during(release);
  Gate second_gate = running_.machine.gate(stream);
  need(driver().cuMemsetD8Async(memory, 1, kBytes, stream));
  auto second = start(release);
  EXPECT_EQ(result_behind(first_gate, first), CUDA_SUCCESS);  // the second call ends the context
  EXPECT_EQ(result_behind(second_gate, second), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_P(EndingIn, A_reset_ends_a_primary_context_that_is_retained_meanwhile) {
  auto [stream, memory, gate, ended] = retain_primary_context_during(reset);
  EXPECT_EQ(driver().cuMemsetD8Async(memory, 1, kBytes, stream), CUDA_SUCCESS);
  EXPECT_EQ(result_behind(gate, ended), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_P(EndingIn, A_context_whose_device_is_lost_while_its_destruction_waits_ends_at_once) {
  const CUcontext ended = make_context();
  const CUstream stream = running_.stream();
  Gate gate = running_.machine.gate(stream);
  need(driver().cuMemsetD8Async(running_.memory(kBytes), 1, kBytes, stream));
  auto destroyed = start([&] { return driver().cuCtxDestroy(ended); });
  running_.machine.lose_device(0, CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_EQ(destroyed.get(), CUDA_ERROR_ECC_UNCORRECTABLE);
}

// ---- Memory ----

// Frees memory that a stream writes behind a gate, and returns the results of other calls meanwhile.
class FreedMemory {
 public:
  FreedMemory(const Running &running, CUdeviceptr memory)
      : memory_(memory),
        used_in_(running.stream()),
        another_(running.stream()),
        gate_(const_cast<Running &>(running).machine.gate(used_in_)) {
    need(driver().cuMemsetD8Async(memory_, 1, kBytes, used_in_));
  }
  CUresult set() const { return driver().cuMemsetD8Async(memory_, 2, kBytes, another_); }
  void open() { gate_.open(); }

 private:
  CUdeviceptr memory_;
  CUstream used_in_, another_;
  Gate gate_;
};

TEST_P(EndingIn, Device_memory_that_is_being_freed_is_refused) {
  make_context();
  const CUdeviceptr memory = running_.memory(kBytes);
  FreedMemory freed(running_, memory);
  auto answer = start([&] { return driver().cuMemFree(memory); });
  EXPECT_EQ(freed.set(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemFreeAsync(memory, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuStreamWriteValue32(running_.stream(), memory, 1, 0), CUDA_ERROR_INVALID_VALUE);
  freed.open();
  EXPECT_EQ(answer.get(), CUDA_SUCCESS);
}

TEST_P(EndingIn, Pinned_memory_that_is_being_freed_is_refused) {
  make_context();
  void *const memory = running_.pinned<char>(kBytes);
  FreedMemory freed(running_, device_address(memory));
  auto answer = start([&] { return driver().cuMemFreeHost(memory); });
  EXPECT_EQ(freed.set(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
  freed.open();
  EXPECT_EQ(answer.get(), CUDA_SUCCESS);
}

TEST_P(EndingIn, Registered_memory_that_is_being_unregistered_is_refused) {
  make_context();
  std::vector<char> memory(kBytes);
  need(driver().cuMemHostRegister(memory.data(), kBytes, 0));
  FreedMemory freed(running_, device_address(memory.data()));
  auto answer = start([&] { return driver().cuMemHostUnregister(memory.data()); });
  EXPECT_EQ(freed.set(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemHostUnregister(memory.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  freed.open();
  EXPECT_EQ(answer.get(), CUDA_SUCCESS);
}

TEST_P(EndingIn, An_array_that_is_being_destroyed_is_refused) {
  make_context();
  CUDA_ARRAY_DESCRIPTOR shape = {};
  shape.Width = kBytes / 1024;
  shape.Height = 16;
  shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  shape.NumChannels = 1;
  CUarray array = nullptr;
  need(driver().cuArrayCreate(&array, &shape));
  expect_refusal(array, shape.Width, array, driver().cuArrayDestroy);
  EXPECT_EQ(driver().cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_P(EndingIn, A_mipmapped_array_that_is_being_destroyed_is_refused) {
  make_context();
  const CUDA_ARRAY3D_DESCRIPTOR shape = test::array_shape(64, 64);
  CUmipmappedArray array = nullptr;
  need(driver().cuMipmappedArrayCreate(&array, &shape, 3));
  CUarray level = nullptr;
  need(driver().cuMipmappedArrayGetLevel(&level, array, 1));
  expect_refusal(level, 16, array, driver().cuMipmappedArrayDestroy);
}

TEST_P(EndingIn, Memory_that_ends_with_its_context_while_a_free_of_it_waits_is_freed_once) {
  const auto [user, elsewhere] = make_other_context();
  const CUcontext owner = make_context();
  const CUdeviceptr memory = running_.memory(kBytes);
  need(driver().cuCtxSetCurrent(context_ = user));
  Gate gate = running_.machine.gate(elsewhere);
  need(driver().cuMemcpyDtoDAsync(memory, running_.memory(kBytes), kBytes, elsewhere));
  auto freed = start([&] { return driver().cuMemFree(memory); });
  auto destroyed = start([&] { return driver().cuCtxDestroy(owner); });
  EXPECT_EQ(result_behind(gate, destroyed), CUDA_SUCCESS);
  const CUresult answer = freed.get();  // either call may be first
  EXPECT_TRUE(answer == CUDA_SUCCESS || answer == CUDA_ERROR_INVALID_VALUE) << answer;
}

TEST_P(EndingIn, A_free_in_stream_order_frees_no_memory_that_was_allocated_after_it) {
  make_context();
  const CUstream stream = running_.stream();
  make_context();
  const CUdeviceptr memory = running_.memory(kBytes);
  Gate gate = running_.machine.gate(stream);
  need(driver().cuMemFreeAsync(memory, stream));
  need(driver().cuCtxDestroy(context_));
  make_context();
  const CUdeviceptr next = running_.memory(kBytes);
  ASSERT_EQ(next, memory) << "it is in the same place";
  gate.open();
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(driver().cuMemsetD8(next, 1, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(next), CUDA_SUCCESS);
}

// ---- A call that cannot end an object leaves it unchanged ----

// Returns a stream that waits for a word that no other work writes, so waiting for it would deadlock.
CUstream hopeless_stream(const Running &running, CUdeviceptr word) {
  const CUstream stream = running.stream();
  need(driver().cuMemsetD32(word, 0, 1));
  need(driver().cuCtxSynchronize());
  need(driver().cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  return stream;
}

TEST(Ending, Memory_whose_free_is_a_deadlock_stays_usable) {
  if (kHasThreadOfTool) GTEST_SKIP() << "the sanitizer's thread might end the wait";
  const Running running({.report = [](const std::string &) {}});
  const CUdeviceptr word = running.memory();
  hopeless_stream(running, word);
  EXPECT_EQ(driver().cuMemFree(word), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(driver().cuMemsetD32Async(word, 1, 1, running.stream()), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(word), CUDA_SUCCESS);
}

TEST(Ending, A_context_whose_destruction_is_a_deadlock_stays_usable) {
  if (kHasThreadOfTool) GTEST_SKIP() << "the sanitizer's thread might end the wait";
  const Running running({.report = [](const std::string &) {}});
  CUcontext context = nullptr;
  need(driver().cuCtxCreate_v2(&context, 0, 0));
  const CUdeviceptr word = running.memory();
  hopeless_stream(running, word);
  EXPECT_EQ(driver().cuCtxDestroy(context), CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(driver().cuMemsetD32Async(word, 1, 1, running.stream()), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxDestroy(context), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cushim::sim

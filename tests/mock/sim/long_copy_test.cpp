// SPDX-License-Identifier: Apache-2.0
// Long copies run without the machine's lock: other threads continue meanwhile, and the order is kept.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

namespace cushim::sim {
namespace {

constexpr std::size_t kSize = 1 << 20;

// Host memory that blocks its reader until the test releases it.
class Stop {
 public:
  explicit Stop(void *memory) : memory_(memory) {
    current_ = this;
    struct sigaction action = {};
    action.sa_handler = &arrive;
    sigaction(SIGSEGV, &action, &before_);
    EXPECT_EQ(mprotect(memory_, kSize, PROT_NONE), 0);
  }
  ~Stop() { sigaction(SIGSEGV, &before_, nullptr); }
  Stop(const Stop &) = delete;
  Stop &operator=(const Stop &) = delete;

  void wait_until_reached() const { is_reached_.wait(false); }
  void go_on() {
    may_go_on_ = true;
    may_go_on_.notify_all();
  }

 private:
  static void arrive(int) {
    Stop &stop = *current_;
    stop.is_reached_ = true;
    stop.is_reached_.notify_all();
    stop.may_go_on_.wait(false);
    mprotect(stop.memory_, kSize, PROT_READ | PROT_WRITE);
  }

  static inline std::atomic<Stop *> current_{nullptr};
  void *const memory_;
  struct sigaction before_ = {};
  std::atomic<bool> is_reached_{false}, may_go_on_{false};
};

// Makes the primary context of device 0 current, and creates two streams in it.
CUcontext begin(Driver &on, CUstream &first, CUstream &second) {
  CUcontext context = nullptr;
  on.cuInit(0);
  on.cuDevicePrimaryCtxRetain(&context, 0);
  on.cuCtxSetCurrent(context);
  EXPECT_EQ(on.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(on.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  return context;
}

// One thread copies to the device and is blocked in the copy. The test runs in another thread.
class LongCopy : public ::testing::Test {
 protected:
  LongCopy() {
    context = begin(on, stream, other);
    EXPECT_EQ(on.cuMemAllocHost(&host, kSize), CUDA_SUCCESS);
    EXPECT_EQ(on.cuMemAlloc(&device, kSize), CUDA_SUCCESS);
    std::memset(host, 1, kSize);
    stop.emplace(host);
    copier = std::thread([this] {
      on.cuCtxSetCurrent(context);
      EXPECT_EQ(on.cuMemcpyHtoDAsync(device, host, kSize, stream), CUDA_SUCCESS);
    });
    stop->wait_until_reached();
  }

  void go_on() {
    stop->go_on();
    copier.join();
  }

  std::vector<unsigned char> bytes() {
    std::vector<unsigned char> all(kSize);
    EXPECT_EQ(on.cuMemcpyDtoH(all.data(), device, kSize), CUDA_SUCCESS);
    return all;
  }

  Machine machine{{.devices = "small"}};
  Driver &on = machine.driver();
  CUcontext context = nullptr;
  CUstream stream = nullptr, other = nullptr;
  void *host = nullptr;
  CUdeviceptr device = 0;
  std::optional<Stop> stop;
  std::thread copier;
};

TEST_F(LongCopy, Calls_and_copies_of_other_threads_continue_meanwhile) {
  CUevent event = nullptr;
  CUdeviceptr mine = 0;
  std::vector<unsigned char> from(kSize, 3), to(kSize);
  EXPECT_EQ(on.cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemAlloc(&mine, kSize), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemcpyHtoD(mine, from.data(), kSize), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemcpyDtoH(to.data(), mine, kSize), CUDA_SUCCESS);
  EXPECT_EQ(to, from);
  EXPECT_EQ(on.cuEventRecord(event, other), CUDA_SUCCESS);
  EXPECT_EQ(on.cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(on.cuStreamQuery(stream), CUDA_ERROR_NOT_READY) << "the copy is under way";
  EXPECT_EQ(machine.unfinished(), 1u);
  go_on();
  EXPECT_EQ(on.cuStreamQuery(stream), CUDA_SUCCESS);
  EXPECT_EQ(bytes(), std::vector<unsigned char>(kSize, 1));
}

TEST_F(LongCopy, Work_that_another_thread_submits_behind_it_runs_behind_it) {
  CUevent event = nullptr;
  EXPECT_EQ(on.cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemsetD8Async(device, 7, kSize / 2, stream), CUDA_SUCCESS);
  EXPECT_EQ(on.cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(on.cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemsetD8Async(device, 9, kSize / 4, other), CUDA_SUCCESS);
  EXPECT_EQ(on.cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(on.cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  go_on();
  EXPECT_EQ(machine.unfinished(), 0u) << "the thread that copied runs what it held up";
  std::vector<unsigned char> wanted(kSize, 1);
  std::memset(wanted.data(), 7, kSize / 2);
  std::memset(wanted.data(), 9, kSize / 4);
  EXPECT_EQ(bytes(), wanted);
}

TEST_F(LongCopy, Another_threads_wait_ends_with_it) {
  std::atomic<bool> is_over{false};
  std::thread waiter([&] {
    on.cuCtxSetCurrent(context);
    EXPECT_EQ(on.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_TRUE(is_over);
  });
  is_over = true;
  go_on();
  waiter.join();
}

TEST_F(LongCopy, Memory_that_it_reads_is_freed_only_when_it_is_over) {
  std::atomic<bool> is_freeing{false};
  std::thread freer([&] {
    on.cuCtxSetCurrent(context);
    is_freeing = true;
    is_freeing.notify_all();
    EXPECT_EQ(on.cuMemFreeHost(host), CUDA_SUCCESS);
  });
  is_freeing.wait(false);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(on.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  go_on();
  freer.join();
  EXPECT_EQ(bytes(), std::vector<unsigned char>(kSize, 1));
}

TEST_F(LongCopy, Memory_that_is_exported_meanwhile_keeps_all_bytes) {
  CUdeviceptr neighbour = 0;  // in the same block of device memory
  EXPECT_EQ(on.cuMemAlloc(&neighbour, 512), CUDA_SUCCESS);
  CUipcMemHandle handle;
  std::thread exporter([&] {
    on.cuCtxSetCurrent(context);
    EXPECT_EQ(on.cuIpcGetMemHandle(&handle, neighbour), CUDA_SUCCESS);
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(on.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  go_on();
  exporter.join();
  EXPECT_EQ(bytes(), std::vector<unsigned char>(kSize, 1));
}

// Only work behind the copy in its stream can end the wait, and that work is not yet among the runnable
// operations.
TEST(ALongCopy, Is_no_deadlock_for_a_wait_for_the_work_behind_it) {
  Machine machine({.devices = "small", .schedule = Schedule::background});
  Driver &on = machine.driver();
  constexpr std::size_t size = 64 << 20;
  CUstream copying = nullptr, waiting = nullptr;
  CUdeviceptr from = 0, to = 0, word = 0;
  begin(on, copying, waiting);
  EXPECT_EQ(on.cuMemAlloc(&from, size), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemAlloc(&to, size), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemAlloc(&word, 4), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemsetD32(word, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(on.cuStreamWaitValue32(waiting, word, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(on.cuMemcpyDtoDAsync(to, from, size, copying), CUDA_SUCCESS);
  EXPECT_EQ(on.cuStreamWriteValue32(copying, word, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(on.cuStreamSynchronize(waiting), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cushim::sim

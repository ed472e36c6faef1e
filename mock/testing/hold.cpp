// SPDX-License-Identifier: Apache-2.0
#include <cushim/driver.hpp>
#include <cushim/testing/answer.hpp>
#include <cushim/testing/hold.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>

namespace cushim::testing {

struct Hold::Latch {
  void open() {
    if (word != nullptr) std::atomic_ref(*word).store(1);
    const std::lock_guard lock(mutex);
    is_open = true;
    opened.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    opened.wait(lock, [this] { return is_open; });
  }

  std::uint32_t *word = nullptr;  // the memory value that the stream waits for, if it uses memory operations
  std::mutex mutex;
  std::condition_variable opened;
  bool is_open = false;
};

namespace {

void require(CUresult code, const char *routine) {
  if (code != CUDA_SUCCESS) throw std::runtime_error(std::string("hold: ") + routine + ": " + name_of(code));
}

bool can_wait_for_memory() {
  CUdevice device = 0;
  int can = 0;
  return driver().cuCtxGetDevice(&device) == CUDA_SUCCESS &&
         driver().cuDeviceGetAttribute(&can, static_cast<CUdevice_attribute>(122), device) == CUDA_SUCCESS &&
         can != 0;
}

}  // namespace

void Hold::release() noexcept {
  if (latch_ != nullptr) latch_->open();
}

Hold hold(CUstream stream) {
  auto latch = std::make_shared<Hold::Latch>();
  if (can_wait_for_memory()) {
    void *word = nullptr;
    CUdeviceptr address = 0;
    require(driver().cuMemHostAlloc(&word, sizeof *latch->word, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    latch->word = static_cast<std::uint32_t *>(word);
    *latch->word = 0;
    require(driver().cuMemHostGetDevicePointer(&address, word, 0), "cuMemHostGetDevicePointer");
    require(driver().cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_EQ), "cuStreamWaitValue32");
    return Hold(std::move(latch));
  }
  // The function holds a reference to the latch: it may end after the Hold is destroyed.
  auto kept = std::make_unique<std::shared_ptr<Hold::Latch>>(latch);
  const auto wait = [](void *data) {
    const std::unique_ptr<std::shared_ptr<Hold::Latch>> own(
        static_cast<std::shared_ptr<Hold::Latch> *>(data));
    (*own)->wait();
  };
  require(driver().cuLaunchHostFunc(stream, wait, kept.get()), "cuLaunchHostFunc");
  kept.release();
  return Hold(std::move(latch));
}

}  // namespace cushim::testing

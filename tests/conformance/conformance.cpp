// SPDX-License-Identifier: Apache-2.0
#include "conformance.hpp"

#include <sys/mman.h>

#include <chrono>
#include <map>
#include <stdexcept>

namespace conformance {

std::string key_of(std::string text) {
  for (const std::string words : {"driver().", "cushim::", "exact::", "(driver())", "t."}) {
    for (auto place = text.find(words); place != text.npos; place = text.find(words, place)) {
      const bool starts = place == 0 || !(std::isalnum(text[place - 1]) || text[place - 1] == '_');
      if (starts)
        text.erase(place, words.size());
      else
        place += words.size();
    }
  }
  return text;
}

void expect_answer(const char *file, int line, const std::string &text, CUresult actual, CUresult expected) {
  const std::string key = key_of(text);
  if (answer(key, actual) != expected)
    ADD_FAILURE_AT(file, line) << key << "\n  answered " << cushim::testing::name_of(actual)
                               << "\n  expected " << cushim::testing::name_of(expected);
}

void need(const char *file, int line, const char *text, CUresult code) {
  if (code == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + text + " answered " +
                           cushim::testing::name_of(code));
}

void make_context(CUdevice device) {
  CUcontext made = nullptr;
  NEED(driver().cuInit(0));
  NEED(driver().cuDevicePrimaryCtxRetain(&made, device));
  NEED(driver().cuCtxSetCurrent(made));
}

CUcontext primary_context(CUdevice device) {
  static std::map<CUdevice, CUcontext> retained;
  const auto [at, is_first] = retained.try_emplace(device, nullptr);
  if (is_first) driver().cuDevicePrimaryCtxRetain(&at->second, device);
  return at->second;
}

void Initialized::SetUp() {
  const CUresult code = driver().cuInit(0);
  if (code != CUDA_SUCCESS) FAIL() << "cuInit answered " << cushim::testing::name_of(code);
  driver().cuCtxSetCurrent(nullptr);
}

void OnDevice::SetUp() {
  ASSERT_NO_FATAL_FAILURE(Initialized::SetUp());
  CUSHIM_NEEDS(gpus(1));
  context = primary_context(0);
  ASSERT_NE(context, nullptr) << "the primary context could not be retained";
  ASSERT_EQ(driver().cuCtxSetCurrent(context), CUDA_SUCCESS);
}

void OnDevice::TearDown() {
  driver().cuCtxSetCurrent(context);
  if (event_out != nullptr) driver().cuEventDestroy(event_out);
  if (stream_out != nullptr) driver().cuStreamDestroy(stream_out);
  if (pointer != 0) driver().cuMemFree(pointer);
  if (host != nullptr) driver().cuMemFreeHost(host);
  for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
  driver().cuCtxSetCurrent(nullptr);
}

CUstream OnDevice::stream(unsigned flags) {
  CUstream made = nullptr;
  NEED(driver().cuStreamCreate(&made, flags));
  undo_.push_back([made] { driver().cuStreamDestroy(made); });
  return made;
}

CUevent OnDevice::event(unsigned flags) {
  CUevent made = nullptr;
  NEED(driver().cuEventCreate(&made, flags));
  undo_.push_back([made] { driver().cuEventDestroy(made); });
  return made;
}

CUdeviceptr OnDevice::own_memory(std::size_t bytes) {
  CUdeviceptr made = 0;
  NEED(driver().cuMemAlloc(&made, bytes));
  return made;
}

OnDevice::HeldEvent OnDevice::held_event() {
  const CUstream work = stream();
  const CUevent mark = event();
  return {work, mark, hold_and_record(work, mark)};
}

CUdeviceptr OnDevice::memory(std::size_t bytes) {
  const CUdeviceptr made = own_memory(bytes);
  undo_.push_back([made] { driver().cuMemFree(made); });
  return made;
}

CUdeviceptr OnDevice::managed(std::size_t bytes) {
  CUdeviceptr made = 0;
  NEED(driver().cuMemAllocManaged(&made, bytes, CU_MEM_ATTACH_GLOBAL));
  undo_.push_back([made] { driver().cuMemFree(made); });
  return made;
}

void *OnDevice::pinned(std::size_t bytes) {
  void *made = nullptr;
  NEED(driver().cuMemHostAlloc(&made, bytes, 0));
  undo_.push_back([made] { driver().cuMemFreeHost(made); });
  return made;
}

void *OnDevice::registered(std::size_t bytes) {
  void *made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  undo_.push_back([made, bytes] { munmap(made, bytes); });
  NEED(driver().cuMemHostRegister(made, bytes, 0));
  undo_.push_back([made] { driver().cuMemHostUnregister(made); });
  return made;
}

CUcontext OnDevice::other_context() {
  if (other_ != nullptr) return other_;
  CUcontext popped = nullptr;
  NEED(driver().cuCtxCreate_v2(&other_, 0, device));
  NEED(driver().cuCtxPopCurrent(&popped));
  undo_.push_back([this] {
    driver().cuCtxDestroy(other_);
    driver().cuCtxSetCurrent(context);
  });
  return other_;
}

Hold hold_and_record(CUstream work, CUevent mark) {
  Hold held = hold(work);
  NEED(driver().cuEventRecord(mark, work));
  return held;
}

LimitedHold::LimitedHold(CUstream stream)
    : held_(hold(stream)), limit_([this] {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(1), [this] { return is_released_; });
        held_.release();
      }) {}

void LimitedHold::release() {
  {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    held_.release();
  }
  changed_.notify_one();
}

LimitedHold::~LimitedHold() {
  release();
  limit_.join();
}

}  // namespace conformance

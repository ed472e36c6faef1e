// SPDX-License-Identifier: Apache-2.0
#include "gpu_times.hpp"

#include <cushim/mock/signature.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include <cushim/detail/entry_traits.hpp>
#include "by_slot.hpp"
#include "process.hpp"
#include "ticks.hpp"

namespace cushim::trace {
namespace {

using mock::EntryTraits;

// The kinds of calls that matter here.
struct CallKind {
  EntryTraits::Queue queue = EntryTraits::Queue::none;  // none: its work is not measured
  std::size_t word = 0;                                 // of the stream
  bool is_per_thread = false;
  bool waits = false, polls = false;
  bool begins_capture = false, ends_capture = false, destroys_stream = false, ends_context = false;
};

// Work that takes no time of the device, or that only waits.
bool is_measured(std::string_view base) {
  constexpr std::string_view kOthers[] = {"cuEventRecord",       "cuEventRecordWithFlags",
                                          "cuStreamWaitEvent",   "cuStreamWaitValue32",
                                          "cuStreamWaitValue64", "cuWaitExternalSemaphoresAsync"};
  return std::ranges::find(kOthers, base) == std::end(kOthers);
}

CallKind call_kind(int slot) {
  const EntryTraits &traits = mock::traits_of(slot);
  const std::string_view base = traits.base;
  const Row &row = row_of(slot);
  CallKind kind{
      .is_per_thread = cushim_entry(slot)->thread[0] != '\0',
      .waits = traits.wait == EntryTraits::Wait::synchronizes || traits.wait == EntryTraits::Wait::may_block,
      .polls = traits.wait == EntryTraits::Wait::polls,
      .begins_capture = base.starts_with("cuStreamBeginCapture"),
      .ends_capture = base.starts_with("cuStreamEndCapture"),
      .destroys_stream = base == "cuStreamDestroy",
      .ends_context =
          base == "cuCtxDestroy" || base == "cuDevicePrimaryCtxRelease" || base == "cuDevicePrimaryCtxReset"};
  if (row.parameters.empty() || !is_measured(base)) return kind;
  // Calls with the stream in a structure are not measured, except cuLaunchKernelEx.
  if (traits.queue == EntryTraits::Queue::described && base != "cuLaunchKernelEx") return kind;
  kind.queue = traits.queue;
  if (traits.queue == EntryTraits::Queue::stream || traits.queue == EntryTraits::Queue::described)
    kind.word = row.parameters[mock::position(traits.stream, row.parameters.size())].word;
  return kind;
}

// Returns the stream in which the call enqueues work; false if the call has none.
bool find_stream(const CallKind &kind, std::span<const std::uint64_t> words, CUstream &stream) {
  stream = nullptr;
  if (kind.queue == EntryTraits::Queue::stream) {
    stream = reinterpret_cast<CUstream>(words[kind.word]);
  } else if (kind.queue == EntryTraits::Queue::described) {
    CUlaunchConfig config;
    if (copy_if_there(&config, words[kind.word], sizeof config) != sizeof config) return false;
    stream = config.hStream;
  }
  if (stream == nullptr && kind.is_per_thread) stream = CU_STREAM_PER_THREAD;
  return true;
}

template <Entry entry>
mock::Signature<entry> *own(Driver &driver) {
  return reinterpret_cast<mock::Signature<entry> *>(cushim_own_function(&driver, static_cast<int>(entry)));
}

// Calls that would end the capture of another thread are allowed while this exists.
template <class Exchange>
class Relaxed {
 public:
  explicit Relaxed(Exchange *exchange) : exchange_(exchange) {
    if (exchange_ != nullptr && exchange_(&mode_) != CUDA_SUCCESS) exchange_ = nullptr;
  }
  ~Relaxed() {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  Relaxed(const Relaxed &) = delete;
  Relaxed &operator=(const Relaxed &) = delete;

 private:
  Exchange *exchange_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Also without a wait, times are read after this number of calls.
constexpr std::size_t kReadAfter = 256;
// After this time another event becomes the reference of the clock, because elapsed times are floating-point
// numbers of 24 bits.
constexpr std::int64_t kRenewed = 500'000'000;

}  // namespace

struct GpuTimes::Functions {
  explicit Functions(Driver &driver)
      : current(own<Entry::cuCtxGetCurrent>(driver)),
        create(own<Entry::cuEventCreate>(driver)),
        record(own<Entry::cuEventRecord>(driver)),
        query(own<Entry::cuEventQuery>(driver)),
        elapsed(own<Entry::cuEventElapsedTime>(driver)),
        destroy(own<Entry::cuEventDestroy>(driver)),
        is_capturing(own<Entry::cuStreamIsCapturing>(driver)),
        exchange(own<Entry::cuThreadExchangeStreamCaptureMode>(driver)) {}
  bool are_there() const {
    return current != nullptr && create != nullptr && record != nullptr && query != nullptr &&
           elapsed != nullptr && destroy != nullptr && is_capturing != nullptr && exchange != nullptr;
  }

  mock::Signature<Entry::cuCtxGetCurrent> *current;
  mock::Signature<Entry::cuEventCreate> *create;
  mock::Signature<Entry::cuEventRecord> *record;
  mock::Signature<Entry::cuEventQuery> *query;
  mock::Signature<Entry::cuEventElapsedTime> *elapsed;
  mock::Signature<Entry::cuEventDestroy> *destroy;
  mock::Signature<Entry::cuStreamIsCapturing> *is_capturing;
  mock::Signature<Entry::cuThreadExchangeStreamCaptureMode> *exchange;
};

thread_local GpuTimes::Work GpuTimes::started_;

GpuTimes::GpuTimes(Driver &driver, Recorder &recorder)
    : recorder_(recorder), driver_(std::make_unique<const Functions>(driver)) {
  value_by_slot<call_kind>(0);  // makes the table now instead of in the first call
}
GpuTimes::~GpuTimes() = default;

std::uint64_t GpuTimes::begin(int slot, std::span<const std::uint64_t> words) {
  const CallKind &kind = value_by_slot<call_kind>(slot);
  started_ = {};
  const bool is_active = driver_->are_there() && !is_forked_child.load(std::memory_order_relaxed);
  if (is_active && kind.ends_context) destroy_all();
  if (is_active && kind.queue != EntryTraits::Queue::none && !is_any_captured()) {
    CUstream stream = nullptr;
    if (find_stream(kind, words, stream)) start(stream);
  }
  return recorder_.begin(slot, words);
}

void GpuTimes::end(std::uint64_t begin, int slot, std::span<const std::uint64_t> words, CUresult result) {
  recorder_.end(begin, slot, words, result);
  const CallKind &kind = value_by_slot<call_kind>(slot);
  if (kind.begins_capture || kind.ends_capture || kind.destroys_stream) follow_capture(slot, words, result);
  Work work = std::exchange(started_, {});
  if (work.begin != nullptr) {
    work.call = begin;
    const bool is_measured = begin != 0 && result == CUDA_SUCCESS && !is_any_captured() &&
                             driver_->record(work.end, work.stream) == CUDA_SUCCESS;
    const std::lock_guard lock(mutex_);
    if (is_measured) {
      work_.push_back(work);
      unread_.store(work_.size(), std::memory_order_relaxed);
    } else {
      put_back(work);
    }
  }
  const std::size_t unread = unread_.load(std::memory_order_relaxed);
  const bool may_have_ended = kind.waits || (kind.polls && result == CUDA_SUCCESS) ||
                              (work.begin != nullptr && unread % kReadAfter == 0);
  if (unread != 0 && may_have_ended && !is_any_captured()) read();
}

void GpuTimes::follow_capture(int slot, std::span<const std::uint64_t> words, CUresult result) {
  const CallKind &kind = value_by_slot<call_kind>(slot);
  const std::lock_guard lock(mutex_);
  if (kind.begins_capture) {
    if (result == CUDA_SUCCESS) captured_.insert(words[0]);
  } else if (result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
    captured_.erase(words[0]);
  }
  captures_.store(captured_.size(), std::memory_order_relaxed);
}

void GpuTimes::start(CUstream stream) {
  const std::uint64_t asked = ticks();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUcontext context = nullptr;
  if (driver_->is_capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE ||
      driver_->current(&context) != CUDA_SUCCESS || context == nullptr)
    return;
  Work work{.context = context, .stream = stream, .asked = asked};
  {
    const std::lock_guard lock(mutex_);
    work.begin = take_event(context);
    work.end = work.begin != nullptr ? take_event(context) : nullptr;
    if (work.end == nullptr) {
      if (work.begin != nullptr) free_[context].push_back(work.begin);
      return;
    }
  }
  if (driver_->record(work.begin, stream) == CUDA_SUCCESS) {
    started_ = work;
    return;
  }
  const std::lock_guard lock(mutex_);
  put_back(work);
}

CUevent GpuTimes::take_event(CUcontext context) {
  std::vector<CUevent> &events = free_[context];
  CUevent event = nullptr;
  if (events.empty()) {
    const Relaxed relaxed(driver_->exchange);
    return driver_->create(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS ? event : nullptr;
  }
  event = events.back();
  events.pop_back();
  return event;
}

void GpuTimes::put_back(const Work &work) {
  std::vector<CUevent> &events = free_[work.context];
  events.push_back(work.begin);
  events.push_back(work.end);
}

void GpuTimes::read() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const Relaxed relaxed(driver_->exchange);
  // Work of one stream ends in its order.
  std::set<std::pair<CUcontext, CUstream>> unfinished;
  std::deque<Work> left;
  for (const Work &work : work_)
    if (unfinished.contains({work.context, work.stream}) || !read(work)) {
      unfinished.emplace(work.context, work.stream);
      left.push_back(work);
    }
  work_ = std::move(left);
  unread_.store(work_.size(), std::memory_order_relaxed);
}

bool GpuTimes::read(const Work &work) {
  const CUresult result = driver_->query(work.end);
  if (result == CUDA_ERROR_NOT_READY) return false;
  const auto nanoseconds = [&](CUevent from, CUevent to, std::int64_t &time) {
    float milliseconds = 0;
    if (driver_->elapsed(&milliseconds, from, to) != CUDA_SUCCESS) return false;
    time = std::llround(static_cast<double>(milliseconds) * 1e6);
    return true;
  };
  Clock &clock = clocks_[work.context];
  std::int64_t since = 0, duration = 0;
  const bool is_first = clock.event == nullptr;
  if (result != CUDA_SUCCESS || !nanoseconds(work.begin, work.end, duration) ||
      (!is_first && !nanoseconds(clock.event, work.begin, since))) {
    put_back(work);
    return true;
  }
  if (is_first) clock.number = ++last_clock_;
  const std::int64_t begin = clock.time + since;
  recorder_.gpu_time(work.call, clock.number, work.asked, begin, begin + std::max<std::int64_t>(duration, 0));
  free_[work.context].push_back(work.end);
  if (is_first || since > kRenewed) {
    if (!is_first) free_[work.context].push_back(clock.event);
    clock.event = work.begin;
    clock.time = begin;
  } else {
    free_[work.context].push_back(work.begin);
  }
  return true;
}

void GpuTimes::destroy_all() {
  if (!is_any_captured()) read();
  const std::lock_guard lock(mutex_);
  const Relaxed relaxed(driver_->exchange);
  for (const auto &[context, events] : free_)
    for (CUevent event : events) driver_->destroy(event);
  for (const auto &[context, clock] : clocks_)
    if (clock.event != nullptr) driver_->destroy(clock.event);
  for (const Work &work : work_) driver_->destroy(work.begin), driver_->destroy(work.end);
  free_.clear();
  clocks_.clear();
  work_.clear();
  unread_.store(0, std::memory_order_relaxed);
}

}  // namespace cushim::trace

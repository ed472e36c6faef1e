// SPDX-License-Identifier: Apache-2.0
#include "hazards/follower.hpp"

#include <deque>

#include "core/of_thread.hpp"
#include "hazards/host_function.hpp"

namespace cushim::check {
namespace {

// For each call that this thread is inside of: what the host knows when the call succeeds. Clocks are kept
// for reuse.
struct ToLearn {
  struct Call {
    VectorClock clock;
    bool is_known = false;  // the host knew it before the call
  };
  std::deque<Call> calls;
  std::size_t depth = 0;

  Call &push() {
    if (depth == calls.size()) calls.emplace_back();
    calls[depth].clock.clear();
    return calls[depth++];
  }
  const Call &pop() { return calls[--depth]; }
};

// The watches of the calls that this thread is inside of, innermost last.
using LaunchWatches = std::deque<mock::LaunchWatch>;

}  // namespace

void Follower::before(WatchedCall &call) {
  const Effect &effect = *effect_of(call.slot);
  if (effect.enqueues_kernels && watches_launches()) of_thread<LaunchWatches>().emplace_back(true);
  if (effect.before == nullptr) return;
  ToLearn::Call &learns = of_thread<ToLearn>().push();
  const std::lock_guard lock(mutex);
  CallView view(model, kernels, graphs, call);
  effect.before(view, learns.clock);
  learns.is_known = effect.only_waits && model.host_knows(learns.clock);
  if (!learns.is_known) wait_begins(call);
}

void Follower::after(WatchedCall &call, CUresult result) {
  const Effect &effect = *effect_of(call.slot);
  std::vector<mock::EnqueuedKernel> enqueued;
  if (effect.enqueues_kernels && watches_launches()) {
    LaunchWatches &watches = of_thread<LaunchWatches>();
    enqueued = std::move(watches.back().kernels);
    watches.pop_back();
  }
  const bool is_effective = result == CUDA_SUCCESS || effect.is_for_any_result;
  if (result == CUDA_ERROR_INVALID_VALUE && is_checked_if_rejected(call.slot)) {
    const std::lock_guard lock(mutex);
    CallView view(model, kernels, graphs, call, true);
    return effect.after(view);
  }
  if (!is_effective && effect.before == nullptr) return;
  const ToLearn::Call *const learns = effect.before != nullptr ? &of_thread<ToLearn>().pop() : nullptr;
  if (learns != nullptr && learns->is_known) return;
  const std::lock_guard lock(mutex);
  if (learns != nullptr) {
    wait_ends(result);
    if (result == CUDA_SUCCESS) model.host_learns(learns->clock);
  }
  if (!is_effective || effect.after == nullptr) return;
  CallView view(model, kernels, graphs, call);
  view.enqueued = enqueued;
  effect.after(view);
  if (model.is_capturing() && model.reports()) note_captured(view);
  graphs.review();
  model_changed();
}

// Notes the call as that which added the last node of its stream, if the stream captures.
void Follower::note_captured(CallView &call) {
  const mock::EntryTraits &traits = call.traits();
  CUstream stream = nullptr;
  if (traits.queue == mock::EntryTraits::Queue::stream)
    stream = call.handle<CUstream>(mock::position(traits.stream, call.count()));
  else if (call.has_launch_configuration())
    stream = call.pointed<CUlaunchConfig>(0)->hStream;
  const StreamRef named = call.stream(stream);
  if (named.is_legacy()) return;
  const Access made = call.access();
  graphs.captured(driver, {static_cast<int>(made.entry), made.call_stack},
                  named.is_threads_own() ? CU_STREAM_PER_THREAD : stream);
}

void Follower::follow() {
  hooks_ = watch(driver, *this, [](int slot) { return effect_of(slot) != nullptr; });
  wrap_host_functions(driver, hooks_, [weak = weak_from_this()](int slot, CUstream handle) -> HostFunction {
    const auto self = weak.lock();
    if (self == nullptr) return {};
    const Access access{.epoch = {}, .call_stack = CallStack::of_call(), .entry = static_cast<Entry>(slot)};
    const std::lock_guard lock(self->mutex);
    const std::uint64_t number = self->model.host_function(stream_ref(self->driver, slot, handle), access);
    self->model_changed();
    return {.begin =
                [weak, number] {
                  const auto still = weak.lock();
                  if (still == nullptr) return;
                  {
                    const std::lock_guard again(still->mutex);
                    still->model.host_function_begun(number);
                  }
                  still->host_function_begins();
                },
            .end =
                [weak, number](bool has_run) {
                  const auto still = weak.lock();
                  if (still == nullptr) return;
                  if (has_run) still->host_function_ends();
                  const std::lock_guard again(still->mutex);
                  if (has_run)
                    still->model.host_function_ended(number);
                  else
                    still->model.host_function_refused(number);
                }};
  });
}

}  // namespace cushim::check

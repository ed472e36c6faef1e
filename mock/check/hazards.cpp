// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/hazards.hpp>

#include <mutex>

#include "effects.hpp"
#include "host_function.hpp"

namespace cushim::check {

struct Hazards::State final : Watcher, std::enable_shared_from_this<State> {
  explicit State(Driver &driver) : driver(driver) {}

  std::optional<CUresult> before(WatchedCall &call) override {
    const Effect &effect = *effect_of(call.slot);
    if (effect.before == nullptr) return std::nullopt;
    const std::lock_guard lock(mutex);
    Doing doing(model, driver, call);
    Clock learns;
    effect.before(doing, learns);
    to_learn().push_back(std::move(learns));
    return std::nullopt;
  }

  void after(WatchedCall &call, CUresult result) override {
    const Effect &effect = *effect_of(call.slot);
    std::optional<Clock> learns;
    if (effect.before != nullptr) {
      learns = std::move(to_learn().back());
      to_learn().pop_back();
    }
    if (result != CUDA_SUCCESS && !effect.is_for_any_result) return;
    const std::lock_guard lock(mutex);
    if (learns) model.host_learns(*learns);
    if (effect.after == nullptr) return;
    Doing doing(model, driver, call);
    effect.after(doing);
  }

  // Of the calls that this thread is inside of.
  static std::vector<Clock> &to_learn() {
    thread_local std::vector<Clock> clocks;
    return clocks;
  }

  Driver &driver;
  Findings findings;
  std::mutex mutex;  // over what follows
  HazardModel model{[this](Finding finding) { findings.add(std::move(finding)); }};
  std::vector<hook::Hook> hooks;  // last: ends first
};

Hazards::Hazards(Driver &driver) : state_(std::make_shared<State>(driver)) {
  state_->hooks = watch(driver, *state_, [](int slot) { return effect_of(slot) != nullptr; });
  // The functions may end after the checker.
  wrap_host_functions(
      driver, state_->hooks, [weak = state_->weak_from_this()](int slot, CUstream handle) -> HostFunction {
        const auto state = weak.lock();
        if (state == nullptr) return {};
        const std::lock_guard lock(state->mutex);
        const std::uint64_t number = state->model.host_function(stream_ref(state->driver, slot, handle));
        return {.end = [weak, number](bool has_run) {
          const auto still = weak.lock();
          if (still == nullptr) return;
          const std::lock_guard again(still->mutex);
          if (has_run)
            still->model.host_function_ended(number);
          else
            still->model.host_function_refused(number);
        }};
      });
}

Hazards::~Hazards() { state_->hooks.clear(); }

std::vector<Finding> Hazards::findings() const { return state_->findings.all(); }

std::vector<Finding> Hazards::finish() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->model.finish();
  }
  return findings();
}

}  // namespace cushim::check

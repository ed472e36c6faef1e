// SPDX-License-Identifier: Apache-2.0
#include <cushim/faults/faults.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <cushim/error.hpp>
#include <cushim/mock/around.hpp>

#include <cushim/detail/entry_traits.hpp>

namespace cushim::mock {
namespace {

// Returns a number in [0, 1) that depends only on the seed and the call's number.
double drawn(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t bits = seed * 0x9e3779b97f4a7c15 + number;
  for (int round = 0; round < 2; ++round) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    bits ^= bits >> 31;
  }
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

bool matches(const CallFault &fault, std::uint64_t number) {
  if (const auto *const random = std::get_if<RandomCalls>(&fault.when))
    return drawn(random->seed, number) < random->probability;
  const auto &counted = std::get<CountedCalls>(fault.when);
  return counted.first <= number && number <= counted.last;
}

}  // namespace

class Faults::Injector final : public hook::Around {
 public:
  Injector(Driver &driver, const FaultRules &rules, FaultyMachine *machine)
      : driver_(driver), machine_(machine) {
    bool is_about_all = false, is_about_waiting = false;
    for (const FaultRule &rule : rules) {
      if (machine == nullptr && rule.needs_machine())
        throw std::invalid_argument("the rule " + rule.text + " works only on the simulated driver");
      if (const auto *const fault = std::get_if<CallFault>(&rule.what)) {
        Calls &calls = calls_.emplace_back(rule.text, *fault);
        for (const int slot : fault->slots) by_slot_[static_cast<std::size_t>(slot)].push_back(&calls);
        is_about_waiting |= fault->is_late;
        // The simulated driver itself tracks the fault of a context.
        is_about_all |= fault->is_sticky && machine == nullptr;
      } else if (const auto *const loss = std::get_if<DeviceLoss>(&rule.what)) {
        losses_.emplace_back(rule.text, *loss);
        is_about_all = true;
      }
    }
    for (int slot = 0; slot < cushim_entry_count(); ++slot)
      if (is_about_all || !by_slot_[static_cast<std::size_t>(slot)].empty() ||
          (is_about_waiting && traits_of(slot).returns_pending_errors))
        hooks_.push_back(hook::around(driver, slot, *this));
  }

  std::optional<CUresult> before(int slot) override {
    pending_late_ = {};
    const std::uint64_t number = ++count_;
    if (!losses_.empty()) lose_devices(slot, number);
    if (has_late_ && traits_of(slot).returns_pending_errors)
      if (const auto answer = late_result(slot)) return answer;
    if (has_lost_ && !traits_of(slot).works_after_fault)
      if (const CUresult fault = fault_of(current()); fault != CUDA_SUCCESS) return fault;
    return inject(slot);
  }

  CUresult after(int slot, CUresult result) override {
    if (const PendingLateFault pending = std::exchange(pending_late_, {});
        result == CUDA_SUCCESS && pending.by == this && pending.slot == slot)
      inject_late(pending);
    if (result != CUDA_SUCCESS) return result;
    if (has_lost_) revive(slot);
    if (losses_.empty() || !lose_devices(slot, 0) || !traits_of(slot).returns_pending_errors) return result;
    return machine_->fault_of(current());  // the device may have been lost while the call waited for it
  }

  std::vector<InjectedFault> injected() const {
    const std::lock_guard lock(mutex_);
    return injected_;
  }

  // Takes no lock but its own: the caller may hold the machine's.
  void record_limit(const std::string &rule, const char *call) {
    const auto call_stack = check::CallStack::of_call();
    const std::lock_guard lock(mutex_);
    const auto before = static_cast<std::uint64_t>(std::ranges::count(injected_, rule, &InjectedFault::rule));
    injected_.push_back({rule, call, before + 1, CUDA_ERROR_OUT_OF_MEMORY, false, call_stack, call});
  }

 private:
  struct Calls {
    Calls(std::string text, CallFault fault) : text(std::move(text)), fault(std::move(fault)) {}
    const std::string text;
    const CallFault fault;
    std::atomic<std::uint64_t> count{0};
  };
  struct Loss {
    Loss(std::string text, DeviceLoss loss) : text(std::move(text)), loss(loss) {}
    const std::string text;
    const DeviceLoss loss;
    std::atomic<bool> is_done{false};
  };
  // A late failure that no call has returned yet.
  struct Late {
    CUcontext context;
    std::size_t index;  // in injected_
    CUresult result;
    bool is_sticky;
  };
  // The late failure of the call in progress.
  struct PendingLateFault {
    const Injector *by = nullptr;
    const Calls *calls = nullptr;
    int slot = 0;
    std::uint64_t number = 0;
  };
  struct Lost {
    CUresult result;
    CUdevice device;
  };

  static const char *symbol(int slot) { return cushim_entry(slot)->symbol; }

  std::optional<CUresult> inject(int slot) {
    std::optional<CUresult> answer;
    bool sticks = false;
    for (Calls *const calls : by_slot_[static_cast<std::size_t>(slot)]) {
      const std::uint64_t number = ++calls->count;
      if (answer || !matches(calls->fault, number)) continue;
      if (calls->fault.is_late) {
        pending_late_ = {this, calls, slot, number};
        continue;
      }
      answer = calls->fault.result;
      sticks = calls->fault.is_sticky;
      const auto call_stack = check::CallStack::of_call();
      const std::lock_guard lock(mutex_);
      injected_.push_back({calls->text, symbol(slot), number, *answer, false, call_stack, symbol(slot)});
    }
    if (sticks) lose(current(), *answer);
    return answer;
  }

  void inject_late(const PendingLateFault &pending) {
    const CUcontext context = current();
    const auto call_stack = check::CallStack::of_call();
    const std::lock_guard lock(mutex_);
    const CallFault &fault = pending.calls->fault;
    late_.push_back({context, injected_.size(), fault.result, fault.is_sticky});
    injected_.push_back(
        {pending.calls->text, symbol(pending.slot), pending.number, fault.result, true, call_stack, ""});
    has_late_ = true;
  }

  // Returns the late failure for a call that synchronizes, if one is pending in its context.
  std::optional<CUresult> late_result(int slot) {
    const CUcontext context = current();
    std::optional<Late> late;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(late_, context, &Late::context);
      if (found == late_.end()) return std::nullopt;
      late = *found;
      late_.erase(found);
      has_late_ = !late_.empty();
      injected_[late->index].returned_by = symbol(slot);
    }
    if (late->is_sticky) lose(context, late->result);
    return late->result;
  }

  // Loses the devices that are due. Returns whether there were any.
  bool lose_devices(int slot, std::uint64_t number) {
    bool any = false;
    for (Loss &one : losses_) {
      if (one.is_done) continue;
      const auto *const call = std::get_if<std::uint64_t>(&one.loss.at);
      const bool is_due = call != nullptr
                              ? number >= *call
                              : machine_->now() >= std::get<std::chrono::nanoseconds>(one.loss.at);
      if (!is_due || one.is_done.exchange(true)) continue;
      machine_->lose_device(one.loss.device, one.loss.result);
      any = true;
      const auto call_stack = check::CallStack::of_call();
      const std::lock_guard lock(mutex_);
      injected_.push_back({one.text, symbol(slot), count_, one.loss.result, false, call_stack, ""});
    }
    return any;
  }

  CUcontext current() {
    CUcontext context = nullptr;
    driver_.cuCtxGetCurrent(&context);
    return context;
  }

  // ---- Lost contexts ----

  void lose(CUcontext context, CUresult result) {
    if (context == nullptr) return;
    if (machine_ != nullptr) {
      machine_->fault(context, result);
      return;
    }
    Lost lost{result, -1};
    driver_.cuCtxGetDevice(&lost.device);
    const std::lock_guard lock(mutex_);
    lost_.insert_or_assign(context, lost);
    has_lost_ = true;
  }

  CUresult fault_of(CUcontext context) const {
    const std::lock_guard lock(mutex_);
    const auto found = lost_.find(context);
    return found != lost_.end() ? found->second.result : CUDA_SUCCESS;
  }

  // Forgets lost contexts after a call that may have reused a handle or ended a primary context.
  void revive(int slot) {
    const EntryTraits &traits = traits_of(slot);
    if (traits.lifetime == EntryTraits::Lifetime::creates && traits.object == Object::context) {
      const CUcontext made = current();
      const std::lock_guard lock(mutex_);
      lost_.erase(made);
    } else if (traits.ends_lifetime() && traits.object == Object::primary_context) {
      std::map<CUcontext, Lost> lost;
      {
        const std::lock_guard lock(mutex_);
        lost = lost_;
      }
      for (const auto &[context, one] : lost) {
        unsigned flags = 0;
        int is_active = 1;
        driver_.cuDevicePrimaryCtxGetState(one.device, &flags, &is_active);
        if (is_active != 0) continue;
        const std::lock_guard lock(mutex_);
        lost_.erase(context);
      }
    }
    const std::lock_guard lock(mutex_);
    has_lost_ = !lost_.empty();
  }

  static thread_local PendingLateFault pending_late_;

  Driver &driver_;
  FaultyMachine *const machine_;
  std::deque<Calls> calls_;
  std::deque<Loss> losses_;
  std::array<std::vector<Calls *>, CUSHIM_TABLE_CAPACITY> by_slot_;
  std::atomic<std::uint64_t> count_{0};  // of all calls that pass through
  std::atomic<bool> has_late_{false}, has_lost_{false};

  mutable std::mutex mutex_;  // guards the members below; not held during calls of the driver or the machine
  std::vector<InjectedFault> injected_;
  std::vector<Late> late_;
  std::map<CUcontext, Lost> lost_;

  std::vector<hook::Hook> hooks_;  // last member: removed before what they use
};

thread_local Faults::Injector::PendingLateFault Faults::Injector::pending_late_;

std::string InjectedFault::to_text() const {
  std::string text = call + ", call " + std::to_string(number) + ": " + std::string(name_of(result));
  if (is_late) text += returned_by.empty() ? ", not returned yet" : ", returned by " + returned_by;
  return text + " (" + rule + ")";
}

Faults::Faults(Driver &driver, const FaultRules &rules)
    : injector_(std::make_unique<Injector>(driver, rules, nullptr)) {}
Faults::Faults(Driver &driver, const FaultRules &rules, FaultyMachine &machine)
    : injector_(std::make_unique<Injector>(driver, rules, &machine)) {}
Faults::~Faults() = default;

std::vector<InjectedFault> Faults::injected() const { return injector_->injected(); }

void Faults::record_limit(const std::string &rule, const char *call) { injector_->record_limit(rule, call); }

}  // namespace cushim::mock

// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/kernel_checks.hpp>
#include <cushim/mock/mutex.hpp>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>

#include <cushim/detail/launch_watch.hpp>

#include "core/object_registry.hpp"
#include "core/of_thread.hpp"
#include "hazards/entry_point_effects.hpp"

namespace cushim::check {
namespace {

static_assert(static_cast<int>(KernelCheck::barriers) == static_cast<int>(mock::KernelCheck::barriers));

constexpr std::string_view kNames[mock::kKernelChecks] = {"memory", "races", "init", "barriers"};

// The watches of the calls that this thread is inside of, innermost last.
using LaunchWatches = std::deque<mock::LaunchWatch>;

bool enqueues_kernels(int slot) {
  const Effect *const effect = effect_of(slot);
  return effect != nullptr && effect->enqueues_kernels;
}

const char *advice_on(std::string_view rule) {
  if (rule == "out-of-bounds") return "compare the index with the size of the memory before the access";
  if (rule == "use-after-free") return "free the memory after the last kernel that uses it";
  if (rule == "misaligned") return "access the address with a type of smaller alignment, or align it";
  if (rule == "uninitialized-read") return "write the memory before the read: a memset, a copy or a kernel";
  if (rule == "exited-threads") return "let all threads of the block reach the barrier before they exit";
  if (rule == "different-instructions") return "move the barrier out of the branch";
  if (rule == "never-completes") return "let all threads that a barrier waits for reach this barrier";
  if (rule == "not-in-mask" || rule == "different-masks")
    return "pass the same mask in all lanes that meet, and name exactly these lanes";
  return "order the accesses: __syncthreads() in a block, __syncwarp() in a warp, atomic operations and "
         "__threadfence() between blocks";
}

class KernelChecksState final : public CheckerState,
                                public Watcher,
                                private ObjectRegistry::DestroyValidator {
 public:
  KernelChecksState(Driver &driver, KernelCheck which)
      : check(static_cast<mock::KernelCheck>(which)),
        enabled_(check),
        objects_(ObjectRegistry::of(driver)),
        hooks_(watch(driver, *this, enqueues_kernels)) {
    objects_->add(*this);
  }
  ~KernelChecksState() override { objects_->remove(*this); }

  void before(WatchedCall &) override { of_thread<LaunchWatches>().emplace_back(false); }

  void after(WatchedCall &call, CUresult result) override {
    LaunchWatches &watches = of_thread<LaunchWatches>();
    const std::vector<mock::EnqueuedKernel> kernels = std::move(watches.back().kernels);
    watches.pop_back();
    if (result != CUDA_SUCCESS) return;
    const std::lock_guard lock(mutex_);
    while (!launches_.empty() && take(launches_.front())) launches_.pop_front();
    ++calls_;
    kernels_ += kernels.size();
    for (const mock::EnqueuedKernel &kernel : kernels) {
      if (kernel.defects == nullptr) {
        warn("kernel " + kernel.name + " is");
        continue;
      }
      launches_.push_back({kernel.defects, CallStack::of_call(), cushim_entry(call.slot)->symbol});
    }
  }

  std::vector<Finding> all() override {
    const std::lock_guard lock(mutex_);
    std::erase_if(launches_, [this](const Launched &launch) { return take(launch); });
    return findings.all();
  }

  void finish() override {
    const std::lock_guard lock(mutex_);
    if (calls_ != 0 && kernels_ == 0) warn("kernels are");
  }

  const mock::KernelCheck check;

 private:
  // Refuses no call: while a validator is there, the registry knows freed memory.
  void before_destroy(WatchedCall &, const LifetimeEffect &, const TrackedObject *) override {}

  struct Launched {
    std::shared_ptr<mock::KernelDefects> defects;
    CallStack call_stack;
    const char *symbol;
  };

  void warn(const std::string &kernels) {
    if (std::exchange(has_warned_, true)) return;
    std::fprintf(stderr, "cushim[check]: --check %s: %s not checked, because no PTX is executed\n",
                 std::string(kNames[static_cast<std::size_t>(check)]).c_str(), kernels.c_str());
  }

  // Takes the defects of a kernel. Returns false if it has not ended.
  bool take(const Launched &launch) {
    if (!launch.defects->is_finished()) return false;
    for (mock::KernelDefect &defect : launch.defects->all()) add(std::move(defect), launch);
    return true;
  }

  void add(mock::KernelDefect &&defect, const Launched &launch) {
    if (defect.check != check) return;
    Finding finding{.checker = std::string(kNames[static_cast<std::size_t>(check)]),
                    .rule = std::move(defect.rule),
                    .what = std::move(defect.what),
                    .calls = {},
                    .advice = {},
                    .count = defect.count,
                    .bytes = defect.bytes};
    finding.advice = advice_on(finding.rule);
    for (auto &[role, text] : defect.acts) finding.calls.push_back({role, text, {}});
    finding.calls.push_back({"launched by", launch.symbol, launch.call_stack});
    add_calls_of_memory(defect, finding);
    findings.add(std::move(finding));
  }

  // Adds the calls that allocated and freed the memory of a defect. Adds none if other memory is at its
  // address now, or if the memory is older than the check.
  void add_calls_of_memory(const mock::KernelDefect &defect, Finding &finding) const {
    if (defect.allocation == 0) return;
    const std::lock_guard lock(objects_->mutex);
    const TrackedObject *const memory = objects_->find_memory(defect.allocation);
    if (memory == nullptr || memory->value != defect.allocation || memory->bytes != defect.allocation_bytes)
      return;
    finding.calls.push_back({"allocated by", cushim_entry(memory->made_by)->symbol, memory->made_at});
    if (!memory->is_alive())
      finding.calls.push_back({"freed by", cushim_entry(memory->ended_by)->symbol, memory->ended_at});
  }

  mock::EnabledKernelCheck enabled_;
  const std::shared_ptr<ObjectRegistry> objects_;
  mock::Mutex mutex_;
  std::deque<Launched> launches_;        // that have not ended when their defects were last taken
  std::size_t calls_ = 0, kernels_ = 0;  // that succeeded; that the driver told of
  bool has_warned_ = false;
  std::vector<hook::Hook> hooks_;  // last: removed first
};

}  // namespace

KernelChecks::KernelChecks(Driver &driver, KernelCheck check)
    : StatefulChecker(kNames[static_cast<std::size_t>(check)],
                      std::make_shared<KernelChecksState>(driver, check)) {}

}  // namespace cushim::check

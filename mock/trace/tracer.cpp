// SPDX-License-Identifier: Apache-2.0
#include <cushim/trace/tracer.hpp>

#include <utility>
#include <vector>

#include "gpu_times.hpp"
#include "observer.hpp"
#include "recorder.hpp"

namespace cushim::trace {
namespace {

std::function<std::int64_t()> nanoseconds_of(std::function<std::chrono::nanoseconds()> time) {
  if (!time) return {};
  return [time = std::move(time)] { return static_cast<std::int64_t>(time().count()); };
}

}  // namespace

class Tracer::State {
 public:
  State(Driver &driver, const std::string &file, TracerOptions options)
      : recorder_(file, driver.name(), nanoseconds_of(std::move(options.virtual_time)),
                  std::move(options.call_stack)),
        observe_operations_(std::move(options.observe)),
        gpu_times_(options.gpu_times ? std::make_unique<GpuTimes>(driver, recorder_) : nullptr),
        hooks_(
            observe(driver, gpu_times_ != nullptr ? static_cast<CallObserver &>(*gpu_times_) : recorder_)) {
    if (observe_operations_) observe_operations_(&recorder_);
  }
  ~State() {
    if (observe_operations_) observe_operations_(nullptr);
  }
  void note(std::string_view text) { recorder_.note(text); }
  void name(std::string_view noun, std::uint64_t object, std::string_view text) {
    recorder_.name(noun, object, text);
  }
  void note_time() noexcept { recorder_.note_time(); }

 private:
  Recorder recorder_;
  const std::function<void(mock::OperationObserver *)> observe_operations_;
  const std::unique_ptr<GpuTimes> gpu_times_;
  std::vector<hook::Hook> hooks_;  // last member: removed before what they use
};

Tracer::Tracer(Driver &driver, const std::string &file, TracerOptions options)
    : state_(std::make_unique<State>(driver, file, std::move(options))) {}
Tracer::~Tracer() = default;
void Tracer::note(std::string_view text) { state_->note(text); }
void Tracer::name(std::string_view noun, std::uint64_t object, std::string_view text) {
  state_->name(noun, object, text);
}
void Tracer::note_time() noexcept { state_->note_time(); }

}  // namespace cushim::trace

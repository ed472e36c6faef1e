// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <fmt/format.h>

#include <random>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace arguments {
namespace {

const std::vector<Call> &all_calls() {
  static const Calls calls = [] {
    Calls to;
    for (const auto add : {add_device_calls,
                           add_context_calls,
                           add_green_context_calls,
                           add_module_calls,
                           add_library_calls,
                           add_function_calls,
                           add_memory_calls,
                           add_pointer_calls,
                           add_managed_calls,
                           add_virtual_memory_calls,
                           add_pool_calls,
                           add_ipc_calls,
                           add_copy_calls,
                           add_memset_calls,
                           add_array_calls,
                           add_texture_calls,
                           add_stream_calls,
                           add_capture_calls,
                           add_event_calls,
                           add_memop_calls,
                           add_launch_calls,
                           add_graph_calls,
                           add_node_calls,
                           add_node_parameter_calls,
                           add_executable_graph_calls,
                           add_external_calls})
      add(to);
    return to;
  }();
  return calls.all();
}

// Adds cases of a call in a situation.
class CasesOfCall {
 public:
  CasesOfCall(const Call &call, const NamedSituation &in, std::vector<Case> &to)
      : call_(call), in_(in), to_(to) {}

  void add(std::vector<ChangedArgument> changes) {
    std::string name = fmt::format("{} {}", in_.name, call_.name);
    for (const ChangedArgument &one : changes) name += " " + one.change->name;
    if (changes.empty()) name += " unchanged";
    to_.push_back({std::move(name), &call_, in_.situation, std::move(changes)});
  }
  void add_each_change() {
    for (std::size_t i = 0; i < call_.arguments.size(); ++i)
      for (const Change &change : call_.arguments[i].changes) add({{i, &change}});
  }
  void add_changes_of_stream() {
    for (std::size_t i = 0; i < call_.arguments.size(); ++i)
      if (call_.arguments[i].is_stream)
        for (const Change &change : call_.arguments[i].changes) add({{i, &change}});
  }
  // Adds cases with a change in each of two arguments, or in two fields of a structure. They show which
  // argument is checked first.
  void add_pairs() {
    std::mt19937 random;
    for (std::size_t i = 0; i < call_.arguments.size(); ++i)
      for (std::size_t j = i; j < call_.arguments.size(); ++j) {
        if (call_.arguments[i].is_grid && call_.arguments[j].is_grid) continue;  // they would take long
        const Changes &first = call_.arguments[i].changes, &second = call_.arguments[j].changes;
        if (first.empty() || second.empty() || (i == j && !call_.arguments[i].is_structure)) continue;
        std::set<std::pair<const Change *, const Change *>> chosen;
        for (std::size_t k = 0; k < kPairs; ++k) {
          const Change &one = first[random() % first.size()], &other = second[random() % second.size()];
          if (i == j && !are_two_fields(one, other)) continue;
          if (chosen.emplace(&one, &other).second) add({{i, &one}, {j, &other}});
        }
      }
  }

 private:
  static bool are_two_fields(const Change &one, const Change &other) {
    const auto is_field = [](const Change &change) { return change.field().find('.') != std::string::npos; };
    return is_field(one) && is_field(other) && &one < &other && one.field() != other.field();
  }

  static constexpr std::size_t kPairs = 6;  // at most, for two arguments

  const Call &call_;
  const NamedSituation &in_;
  std::vector<Case> &to_;
};

void add_cases(const Call &call, const NamedSituation &in, std::vector<Case> &to) {
  const Situation situation = in.situation;
  CasesOfCall cases(call, in, to);
  if (situation == Situation::plain || situation == Situation::no_context) {
    if (call.needs_current_context && situation == Situation::no_context) return;
    cases.add({});
    cases.add_each_change();
    if (situation == Situation::plain) cases.add_pairs();
  } else if (!call.needs_new_context && !call.is_of_attribute) {
    cases.add({});
    // Cases with a fault take long: the next case needs another process.
    if (situation != Situation::after_fault) cases.add_changes_of_stream();
  }
}

}  // namespace

const std::vector<Case> &all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> to;
    for (const NamedSituation &situation : all_situations())
      for (const Call &call : all_calls()) add_cases(call, situation, to);
    std::set<std::string_view> names;
    for (const Case &one : to)
      if (!names.insert(one.name).second) throw std::logic_error("two cases have the name " + one.name);
    return to;
  }();
  return cases;
}

Runner::Runner(const std::string &name) : chosen_(name), driver_(chosen_.driver()) {
  if (const CUresult result = driver_.cuInit(0); result != CUDA_SUCCESS)
    throw std::runtime_error(fmt::format("cuInit returned {}", static_cast<int>(result)));
  if (driver_.cuDevicePrimaryCtxRetain(&primary_, 0) != CUDA_SUCCESS)
    throw std::runtime_error("the device has no primary context");
}

// Makes the context the only one of this thread.
void Runner::set_only_context(CUcontext context) {
  CUcontext popped = nullptr;
  while (driver_.cuCtxPopCurrent(&popped) == CUDA_SUCCESS) continue;
  driver_.cuCtxSetCurrent(context);
}

CUresult Runner::state_of_context() {
  const CUresult state = driver_.cuCtxSynchronize();
  // These are about a capture in progress.
  const bool stays = state != CUDA_SUCCESS &&
                     (state < CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || state > CUDA_ERROR_CAPTURED_EVENT);
  if (stays) is_usable_ = false;
  return state;
}

std::string Runner::answer(const Case &one) {
  CUcontext context = primary_;
  if (one.call->needs_new_context) driver_.cuCtxCreate(&context, nullptr, 0, 0);
  set_only_context(context);
  std::string text;
  Objects objects(&driver_, context);
  CallMaker maker(driver_, objects, context);
  try {
    const Result result =
        one.call->run(driver_, objects, one.changed,
                      [&](const std::function<CUresult()> &call) { return maker.make(one.situation, call); });
    set_only_context(context);
    if (result.code == CUDA_SUCCESS) {
      if (one.call->is_destroying) objects.forget(result.first);
      objects.keep_results();
    }
    const CUresult state = state_of_context();
    text = std::to_string(result.code);
    if (state != CUDA_SUCCESS && one.situation != Situation::after_fault)
      text += fmt::format(" then={}", static_cast<int>(state));
    text += maker.seen() + result.numbers;
  } catch (const NotMade &error) {
    text = error.what();
  }
  if (!is_usable_) {
    objects.abandon();
    return text;
  }
  objects.destroy();
  state_of_context();
  if (one.call->needs_new_context) driver_.cuCtxDestroy(context);
  return text;
}

}  // namespace arguments

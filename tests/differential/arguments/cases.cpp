// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <string_view>

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

}  // namespace

const std::vector<Case> &all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> to;
    for (const Situation situation : {Situation::plain, Situation::no_context})
      for (const Call &call : all_calls()) {
        if (call.needs_current_context && situation == Situation::no_context) continue;
        const std::string start =
            fmt::format("{} {} ", situation == Situation::plain ? "plain" : "no_context", call.name);
        to.push_back({start + "unchanged", &call, situation, {}});
        for (std::size_t i = 0; i < call.arguments.size(); ++i)
          for (const Change &change : call.arguments[i].changes)
            to.push_back({start + change.name, &call, situation, ChangedArgument{i, &change}});
      }
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

std::string Runner::changed_context(Situation situation, CUcontext context) {
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  if (current == (situation == Situation::plain ? context : nullptr)) return "";
  if (current == nullptr) return " current=none";
  return current == context ? " current=context" : " current=other";
}

std::string Runner::answer(const Case &one) {
  CUcontext context = primary_;
  if (one.call->needs_new_context) driver_.cuCtxCreate(&context, nullptr, 0, 0);
  set_only_context(context);
  std::string text;
  Objects objects(&driver_, context);
  try {
    const Result result =
        one.call->run(driver_, objects, one.changed ? &*one.changed : nullptr, [this, &one] {
          if (one.situation == Situation::no_context) driver_.cuCtxSetCurrent(nullptr);
        });
    const std::string changed = changed_context(one.situation, context);
    set_only_context(context);
    if (result.code == CUDA_SUCCESS) {
      if (one.call->is_destroying) objects.forget(result.first);
      objects.keep_results();
    }
    const CUresult state = state_of_context();
    text = std::to_string(result.code);
    if (state != CUDA_SUCCESS) text += fmt::format(" then={}", static_cast<int>(state));
    text += changed + result.numbers;
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

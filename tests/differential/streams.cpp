// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "walk.hpp"

namespace differential {
namespace {

void create(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.s.size()));
  if (w.s[k].handle != nullptr || w.s[k].ended_while_held) return;
  const unsigned flags = w.dice.one_of({0U, 1U, 1U, 0U, 2U});
  const Argument stream{&w.s[k].handle, fmt::format("&s[{}]", k)};
  CUresult code{};
  if (w.dice.once_in(2)) {
    const int priority = static_cast<int>(w.dice.below(12)) - 8;
    code = CALL(w, cuStreamCreateWithPriority, stream, number(flags), integer(priority));
  } else {
    code = CALL(w, cuStreamCreate, stream, number(flags));
  }
  if (code != CUDA_SUCCESS) w.s[k].handle = nullptr;
}

void destroy(Walk &w) {
  if (w.dice.once_in(8)) {
    const auto none = w.dice.one_of<Argument<CUstream>>({{nullptr, "nullptr"},
                                                         {CU_STREAM_LEGACY, "CU_STREAM_LEGACY"},
                                                         {CU_STREAM_PER_THREAD, "CU_STREAM_PER_THREAD"}});
    CALL(w, cuStreamDestroy, none);
    return;
  }
  const unsigned k = w.dice.below(static_cast<unsigned>(w.s.size()));
  if (w.s[k].handle == nullptr) return;
  if (CALL(w, cuStreamDestroy, Argument{w.s[k].handle, fmt::format("s[{}]", k)}) != CUDA_SUCCESS) return;
  w.s[k] = {nullptr, w.something_is_held()};
  w.did(fmt::format("s[{}] = nullptr", k));
}

void query(Walk &w) {
  w.settle();
  CALL(w, cuStreamQuery, w.a_stream());
}

void synchronize(Walk &w) { CALL(w, cuStreamSynchronize, w.a_stream()); }

// Uses an INTERPROCESS event only in streams of the event's own context: in others the real driver (580.159)
// crashes.
void wait_event(Walk &w) {
  const auto event = w.an_event();
  const auto found = std::ranges::find_if(
      w.e, [&](const Event &one) { return one.handle == event.value && one.is_interprocess; });
  // The recorded programs of other subjects do not contain such waits.
  if (found != w.e.end() && w.subject != Subject::processes) return;
  const auto flags = number(w.dice.one_of({0U, 0U, 0U, 0U, 1U, 2U}));
  const auto stream = w.a_stream();
  if (found != w.e.end() && w.owner_of(stream.value) != found->owner) return;
  w.settle_for_the_other();
  CALL(w, cuStreamWaitEvent, stream, event, flags);
}

void flags(Walk &w) {
  w.call_for_number<unsigned>("flags", [&](auto flags) { CALL(w, cuStreamGetFlags, w.a_stream(), flags); });
}

void priority(Walk &w) {
  w.call_for_number<int>("priority",
                         [&](auto priority) { CALL(w, cuStreamGetPriority, w.a_stream(), priority); });
}

void context(Walk &w) {
  Result<CUcontext> context("context");
  // The first ABI, which has this name in all releases.
  w.call(
      "cuStreamGetCtx", "cuStreamGetCtx",
      [](CUstream stream, CUcontext *of) { return driver().cuStreamGetCtx(stream, of); }, w.a_stream(),
      context.argument());
  w.also_name(context);
}

void id(Walk &w) {
  Result<unsigned long long> id("id");
  CALL(w, cuStreamGetId, w.a_stream(), id.argument());
}

void is_capturing(Walk &w) {
  w.call_for_number<CUstreamCaptureStatus>(
      "status", [&](auto status) { CALL(w, cuStreamIsCapturing, w.a_stream(), status); });
}

void attribute(Walk &w) {
  Result<CUstreamAttrValue> value("value");
  const int which = static_cast<int>(w.dice.below(8));
  const CUresult code = CALL(
      w, cuStreamGetAttribute, w.a_stream(),
      Argument{static_cast<CUstreamAttrID>(which), fmt::format("static_cast<CUstreamAttrID>({})", which)},
      value.argument());
  int first = 0;
  std::memcpy(&first, &value.value, sizeof first);
  if (code == CUDA_SUCCESS) w.also(std::to_string(first));
}

// Does not write to the default streams: they outlive the walk and would keep the attributes.
void copy_attributes(Walk &w) {
  const auto to = w.a_live_stream_or_null();
  if (to.value == nullptr) return;
  CALL(w, cuStreamCopyAttributes, to, w.a_stream());
}

void count(void *counter) { ++*static_cast<std::atomic<unsigned> *>(counter); }

void host_function(Walk &w) {
  const bool has_function = !w.dice.once_in(20);
  const Argument function{has_function ? CUhostFn{count} : CUhostFn{}, "count",
                          has_function ? "" : "const CUhostFn count{}"};
  CALL(w, cuLaunchHostFunc, w.a_stream(), function,
       Argument{static_cast<void *>(&w.host_functions), "&host_functions"});
}

void callback(CUstream, CUresult, void *counter) { count(counter); }

void add_callback(Walk &w) {
  const auto flags = number(w.dice.once_in(8) ? 1U : 0U);
  CALL(w, cuStreamAddCallback, w.a_stream(), Argument{CUstreamCallback{callback}, "callback"},
       Argument{static_cast<void *>(&w.host_functions), "&host_functions"}, flags);
}

void release(Walk &w) {
  if (w.something_is_held()) w.release();
}

void hold(Walk &w) {
  if (w.held == 8) return;
  const CUdeviceptr word = w.shared.words_on_device + 4 * w.held;
  if (CALL(w, cuStreamWaitValue32, w.a_stream(), Argument{word, fmt::format("words + {}", 4 * w.held)},
           number(1), number(CU_STREAM_WAIT_VALUE_GEQ)) == CUDA_SUCCESS)
    ++w.held;
}

}  // namespace

Choices stream_choices() {
  return Choices({
      {10, create},
      {3, destroy},
      {10, query},
      waiting(3, synchronize),
      {8, wait_event},
      {1, flags},
      {2, priority},
      {2, context},
      {1, id},
      {1, is_capturing},
      {1, attribute},
      {1, copy_attributes},
      {4, hold},
      {5, release},
      {2, host_function},
      {1, add_callback},
  });
}

}  // namespace differential

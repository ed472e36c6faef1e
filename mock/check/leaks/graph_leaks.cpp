// SPDX-License-Identifier: Apache-2.0
#include "leaks/graph_leaks.hpp"

#include <cushim/exact.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

namespace cushim::check {
namespace {

// The effect of a call on captures and user objects.
enum class Role {
  none,
  begins,
  ends,
  waits,
  destroys_stream,
  destroys_context,
  makes,
  retains,
  releases,
  moves
};

Role role_of(std::string_view base) {
  constexpr std::pair<std::string_view, Role> kRoles[] = {{"cuStreamBeginCapture", Role::begins},
                                                          {"cuStreamBeginCaptureToGraph", Role::begins},
                                                          {"cuStreamBeginRecaptureToGraph", Role::begins},
                                                          {"cuStreamEndCapture", Role::ends},
                                                          {"cuStreamWaitEvent", Role::waits},
                                                          {"cuStreamDestroy", Role::destroys_stream},
                                                          {"cuCtxDestroy", Role::destroys_context},
                                                          {"cuUserObjectCreate", Role::makes},
                                                          {"cuUserObjectRetain", Role::retains},
                                                          {"cuUserObjectRelease", Role::releases},
                                                          {"cuGraphRetainUserObject", Role::moves}};
  const auto *const found = std::ranges::find(kRoles, base, &std::pair<std::string_view, Role>::first);
  return found != std::end(kRoles) ? found->second : Role::none;
}

Role role_of(int slot) {
  static const std::vector<Role> &roles = *new std::vector<Role>([] {
    std::vector<Role> all;
    for (int each = 0; each < cushim_entry_count(); ++each) all.push_back(role_of(cushim_entry(each)->base));
    return all;
  }());
  return roles[static_cast<std::size_t>(slot)];
}

Finding::Call call_of(const char *role, const WatchedCall &call) {
  return {role, cushim_entry(call.slot)->symbol, CallStack::of_call()};
}

bool is_per_thread(std::uint64_t stream) {
  return stream == reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD);
}

CUstream handle_of(std::uint64_t stream) { return reinterpret_cast<CUstream>(stream); }

std::string text_of(std::uint64_t stream) { return mock::handle_text("stream", handle_of(stream)); }

}  // namespace

GraphLeaks::GraphLeaks(Driver &driver, std::function<void(Finding)> report)
    : driver_(driver), report_(std::move(report)) {
  hooks_ = watch(driver, *this, [](int slot) { return role_of(slot) != Role::none; });
}

namespace {

std::pair<std::uint64_t, std::uint64_t> key_of(const WatchedCall &call) {
  const std::uint64_t stream = stream_of(call);
  return {stream, is_per_thread(stream) ? std::hash<std::thread::id>()(std::this_thread::get_id()) : 0};
}

}  // namespace

void GraphLeaks::begin_capture(const WatchedCall &call) {
  const auto key = key_of(call);
  Capture capture{.begun = call_of("begun by", call)};
  CUstreamCaptureStatus status{};
  exact::cuStreamGetCaptureInfo_v11030(driver_)(handle_of(key.first), &status, &capture.id, nullptr, nullptr,
                                                nullptr);
  if (is_per_thread(key.first))
    driver_.cuCtxGetCurrent(&capture.context);
  else
    exact::cuStreamGetCtx_v9020(driver_)(handle_of(key.first), &capture.context);
  const std::lock_guard lock(mutex_);
  captures_[key] = std::move(capture);
  has_captures_ = true;
}

void GraphLeaks::end_capture(const WatchedCall &call, CUresult result) {
  const std::lock_guard lock(mutex_);
  const auto found = captures_.find(key_of(call));
  if (found == captures_.end()) return;
  const Capture capture = std::move(found->second);
  captures_.erase(found);
  has_captures_ = !captures_.empty();
  if (result != CUDA_ERROR_STREAM_CAPTURE_UNJOINED) return;
  Finding finding{
      .checker = "leaks",
      .rule = "capture-not-joined",
      .what = "the capture of " + text_of(stream_of(call)) +
              " ended before it had joined the work of other streams; the driver has discarded the graph",
      .calls = {capture.begun},
      .advice =
          "record an event on each stream that has joined the capture, and let the first stream wait "
          "for it before cuStreamEndCapture"};
  for (const Finding::Call &joined : capture.joined) finding.calls.push_back(joined);
  finding.calls.push_back(call_of("ended by", call));
  report_(std::move(finding));
}

// Notes a wait by which another stream has joined a capture.
void GraphLeaks::join_capture(const WatchedCall &call) {
  {
    const std::lock_guard lock(mutex_);
    if (captures_.contains(key_of(call))) return;
  }
  const std::uint64_t stream = stream_of(call);
  if (stream == reinterpret_cast<std::uintptr_t>(CU_STREAM_LEGACY)) return;
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  if (exact::cuStreamGetCaptureInfo_v11030(driver_)(handle_of(stream), &status, &id, nullptr, nullptr,
                                                    nullptr) != CUDA_SUCCESS ||
      status == CU_STREAM_CAPTURE_STATUS_NONE)
    return;
  Finding::Call wait = call_of("joined by", call);
  wait.text += " in " + text_of(stream);
  const std::lock_guard lock(mutex_);
  for (auto &[key, capture] : captures_) {
    const bool is_known = std::ranges::any_of(
        capture.joined, [&](const Finding::Call &joined) { return joined.text == wait.text; });
    if (capture.id == id && !is_known) capture.joined.push_back(wait);
  }
}

void GraphLeaks::report_not_ended(std::uint64_t stream, const Capture &capture, const WatchedCall *by) {
  Finding finding{.checker = "leaks",
                  .rule = "capture-not-ended",
                  .what = "the capture of " + text_of(stream) + " was not ended" +
                          (by != nullptr ? " before the stream was destroyed" : ""),
                  .calls = {capture.begun},
                  .advice = "call cuStreamEndCapture once for each " + capture.begun.text};
  if (by != nullptr) finding.calls.push_back(call_of("destroyed by", *by));
  report_(std::move(finding));
}

void GraphLeaks::end_captures_of(CUcontext context, const WatchedCall &by) {
  std::erase_if(captures_, [&](const auto &capture) {
    if (capture.second.context != context) return false;
    report_not_ended(capture.first.first, capture.second, &by);
    return true;
  });
}

void GraphLeaks::count_references(const WatchedCall &call) {
  const Role role = role_of(call.slot);
  const auto number = [&](std::size_t index) { return call.arguments[index].bits & 0xffffffff; };
  const std::lock_guard lock(mutex_);
  if (role == Role::makes) {
    user_objects_[call.arguments[0].written()] = {number(3), call_of("created by", call)};
    return;
  }
  if (role == Role::retains) {
    const auto [object, is_new] = user_objects_.try_emplace(call.arguments[0].bits);
    if (is_new) object->second.made = call_of("retained by", call);
    object->second.references += number(1);
    return;
  }
  const bool is_of_graph = role == Role::moves;
  if (is_of_graph && (number(3) & CU_GRAPH_USER_OBJECT_MOVE) == 0) return;
  const auto object = user_objects_.find(call.arguments[is_of_graph ? 1 : 0].bits);
  if (object == user_objects_.end()) return;
  const std::uint64_t released = number(is_of_graph ? 2 : 1);
  if (object->second.references > released)
    object->second.references -= released;
  else
    user_objects_.erase(object);
}

void GraphLeaks::before(WatchedCall &call) {
  if (!has_captures_) return;
  const Role role = role_of(call.slot);
  if (role != Role::destroys_stream && role != Role::destroys_context) return;
  const std::lock_guard lock(mutex_);
  if (role == Role::destroys_context)
    return end_captures_of(reinterpret_cast<CUcontext>(call.arguments[0].bits), call);
  const auto found = captures_.find({call.arguments[0].bits, 0});
  if (found == captures_.end()) return;
  report_not_ended(found->first.first, found->second, &call);
  captures_.erase(found);
}

void GraphLeaks::after(WatchedCall &call, CUresult result) {
  const Role role = role_of(call.slot);
  if (role == Role::waits) {
    if (has_captures_ && result == CUDA_SUCCESS) join_capture(call);
  } else if (role == Role::ends) {
    end_capture(call, result);
  } else if (result == CUDA_SUCCESS) {
    if (role == Role::begins) begin_capture(call);
    if (role >= Role::makes) count_references(call);
  }
}

void GraphLeaks::finish() {
  const std::lock_guard lock(mutex_);
  for (const auto &[stream, capture] : std::exchange(captures_, {}))
    report_not_ended(stream.first, capture, nullptr);
  for (const auto &[handle, object] : std::exchange(user_objects_, {}))
    report_({.checker = "leaks",
             .rule = "never-released",
             .what = mock::handle_text("user object", reinterpret_cast<const void *>(handle)) +
                     " was not released: the program holds " + std::to_string(object.references) +
                     (object.references == 1 ? " reference" : " references"),
             .calls = {object.made},
             .advice = "release it with cuUserObjectRelease, or give the references to a graph with "
                       "CU_GRAPH_USER_OBJECT_MOVE"});
}

}  // namespace cushim::check

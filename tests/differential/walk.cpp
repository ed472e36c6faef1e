// SPDX-License-Identifier: Apache-2.0
#include "walk.hpp"
#include "choices.hpp"
#include "graph_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

namespace differential {

namespace {

void need(CUresult code, const char *what) {
  if (code != CUDA_SUCCESS) throw std::runtime_error(fmt::format("{}: {}", what, static_cast<int>(code)));
}
#define NEED(call) need(driver().call, #call)

Choices joined(std::initializer_list<Choices (*)()> parts) {
  Choices all;
  for (const auto part : parts) std::ranges::copy(part(), std::back_inserter(all));
  return all;
}

// The choices about streams, memory and contexts without a subject of their own.
Choices work_choices() {
  return joined(
      {context_choices, stream_choices, event_choices, memory_choices, copy_choices, memop_choices});
}
// The choices of all walks about one kind of memory.
Choices common_memory_choices() {
  return joined({plain_choices, context_choices, memory_choices, copy_choices});
}

// The order of the choices is part of the recordings.
Choices choices_of(Subject subject) {
  switch (subject) {
    case Subject::work:
      return work_choices();
    case Subject::contexts:
      return joined({work_choices, life_choices});
    case Subject::kinds:
      return joined({work_choices, kind_choices});
    case Subject::processes:
      return joined({work_choices, ipc_choices});
    case Subject::blocks:
      return joined({work_choices, ipc_choices, block_choices});
    case Subject::mappings:
    case Subject::mapped:
      return joined({mapping_choices, mapped_memory_choices, common_memory_choices});
    case Subject::pools:
      return joined({pool_choices, pool_memory_choices, common_memory_choices});
    case Subject::arrays:
      return joined({array_choices, array_copy_choices, common_memory_choices});
    case Subject::managed:
      return joined({managed_choices, pointer_choices, common_memory_choices});
    case Subject::usage:
      return joined({usage_choices, plain_choices});
    case Subject::kernels:
      return joined({graph_stream_choices, module_choices, launch_choices, launch_choices, function_choices,
                     library_choices});
    case Subject::captures:
      return joined({graph_stream_choices, launch_choices, capture_choices, captured_work_choices,
                     new_graph_choices, executable_choices, graph_node_choices});
    case Subject::graphs:
      return joined({graph_stream_choices, launch_choices, graph_choices, graph_node_choices,
                     graph_node_choices, node_parameter_choices, executable_choices, executable_choices,
                     graph_memory_choices});
  }
  return {};
}

}  // namespace

std::uint64_t Dice::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::function<std::size_t()> time_to_settle(std::uint64_t microseconds) {
  return [microseconds]() -> std::size_t {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < until) continue;
    return 1;
  };
}

Walk::Walk(std::uint64_t seed, Subject about, const SharedObjects &b, unsigned number, OtherProcess *other)
    : shared(b),
      subject(about),
      process(number),
      seed_(seed),
      other_(other),
      choices_(choices_of(about)),
      weights_(std::accumulate(choices_.begin(), choices_.end(), 0U,
                               [](unsigned sum, const Choice &choice) { return sum + choice.weight; })),
      stack_{b.c[0]} {
  shared.begin();
  if (is_about_graphs(subject)) graphs = std::make_unique<GraphObjects>();
}

Walk::~Walk() {
  if (graphs != nullptr) {
    shared.begin();
    if (!graphs->end(s, shared)) return;  // an error of the context, which no call mends
  }
  // An object that the other process has open must not be destroyed.
  if (other_ != nullptr && process == 0) {
    try {
      release();
      other_->close();
      close();
    } catch (const std::runtime_error &) {
      return;  // the other process is gone, and work that waits for it may never complete
    }
  }
  release_here();
  if (!primary_is_active) {
    CUcontext again = nullptr;
    driver().cuDevicePrimaryCtxRetain(&again, shared.device);
  }
  shared.begin();
  more.reset();
  for (const Stream &stream : s)
    if (stream.handle != nullptr) driver().cuStreamDestroy(stream.handle);
  for (const Event &event : e)
    if (event.handle != nullptr) driver().cuEventDestroy(event.handle);
  for (const Buffer &buffer : b)
    if (buffer.address != 0) driver().cuMemFree(buffer.address);
  for (unsigned k = 0; k < p.size(); ++k)
    if (p[k] != nullptr) is_registered(k) ? driver().cuMemHostUnregister(p[k]) : driver().cuMemFreeHost(p[k]);
  for (CUcontext context : m)
    if (context != nullptr) driver().cuCtxDestroy(context);
}

std::vector<Step> Walk::run(const Kind &kind, const std::function<bool(unsigned)> &wanted) {
  const auto calls = [this] {
    return std::ranges::count_if(steps_, [](const Step &step) { return !step.symbol.empty(); });
  };
  if (graphs != nullptr) begin_objects(*this);
  for (unsigned i = 0; i < kind.choices && calls() < kind.calls; ++i) {
    if (wanted && !wanted(i)) continue;
    if (other_ != nullptr && Dice(~(seed_ * 1'000'003 + i)).once_in(2))
      other_->choose(i);
    else
      choose(i);
  }
  return take_steps();
}

void Walk::choose(unsigned number) {
  dice = Dice(seed_ * 1'000'003 + number);
  // Without a current context most calls return the same code.
  if (dice.once_in(3) && current() == nullptr &&
      CALL(*this, cuCtxSetCurrent, Argument{shared.c[0], "c[0]"}) == CUDA_SUCCESS)
    has_set(shared.c[0]);
  unsigned rest = dice.below(weights_);
  const Choice *choice = choices_.data();
  while (rest >= choice->weight) rest -= (choice++)->weight;
  if (choice->may_wait && something_is_held()) return;
  choice->make(*this);
  give_to_current();
}

void Walk::note(const char *name, const char *symbol, const std::vector<std::string> &arguments,
                const std::vector<std::string> &declarations) {
  steps_.push_back({.symbol = symbol,
                    .call = fmt::format("{}({})", name, fmt::join(arguments, ", ")),
                    .answer = "",
                    .before = std::exchange(before_, {}),
                    .declarations = declarations,
                    .process = process});
  std::erase(steps_.back().declarations, "");
  if (shared.watcher) {
    Step step = steps_.back();
    step.answer = steps_.size() > 1 ? steps_[steps_.size() - 2].answer : "";
    shared.watcher(step);
  }
  if (shared.is_traced) fmt::print(stderr, "  {}: {};\n", process, steps_.back().call);
}

void Walk::also_code(CUresult code) {
  steps_.back().answer = std::to_string(static_cast<int>(code));
  if (shared.is_traced) fmt::print(stderr, "    {}\n", steps_.back().answer);
}

void Walk::also(const std::string &text, const std::string &expression, const std::string &value) {
  steps_.back().answer += " " + text;
  if (!expression.empty()) did(fmt::format("EXPECT_EQ({}, {})", expression, value));
}

Argument<CUstream> Walk::a_stream() {
  const unsigned which = dice.below(20);
  if (which == 0) return {nullptr, "nullptr"};
  if (which == 1) return {CU_STREAM_LEGACY, "CU_STREAM_LEGACY"};
  if (which == 2) return {CU_STREAM_PER_THREAD, "CU_STREAM_PER_THREAD"};
  return a_live_stream_or_null();
}

Argument<CUstream> Walk::a_live_stream_or_null() { return a_living(dice, s, "s"); }

Argument<CUevent> Walk::an_event() {
  if (dice.once_in(30)) return {nullptr, "nullptr"};
  return a_living(dice, e, "e");
}

Argument<CUcontext> Walk::a_context() {
  const unsigned which = dice.below(subject == Subject::contexts ? 12 : 8);
  if (which == 0) return {nullptr, "nullptr"};
  if (const unsigned k = which % 3; which >= 8 && m[k] != nullptr) return {m[k], fmt::format("m[{}]", k)};
  return {shared.c[which % 2], fmt::format("c[{}]", which % 2)};
}

unsigned Walk::a_buffer() {
  const unsigned first = dice.below(buffers);
  for (unsigned i = 0; i < buffers; ++i)
    if (b[(first + i) % buffers].address != 0) return (first + i) % buffers;
  return buffers;
}

Argument<CUdeviceptr> Walk::address_in(unsigned buffer, std::size_t offset) {
  if (offset == 0) return {b[buffer].address, fmt::format("b[{}]", buffer)};
  return {b[buffer].address + offset, fmt::format("b[{}] + {}", buffer, offset)};
}

bool Walk::is_registered(unsigned k) const { return p[k] == shared.pages(k); }

bool Walk::stream_of(unsigned buffer, Argument<CUstream> &stream) {
  // Memory that both processes can access is used only while no other work is in progress.
  if (b[buffer].exported_to || b[buffer].opened_from) return false;
  if (buffer >= s.size()) {
    stream = {nullptr, "nullptr"};
    // Each context has its own null stream. (The recorded programs of other subjects do not check this.)
    return subject != Subject::kinds || b[buffer].owner == nullptr || b[buffer].owner == current();
  }
  stream = {s[buffer].handle, fmt::format("s[{}]", buffer)};
  return s[buffer].handle != nullptr;
}

CUcontext Walk::owner_of(CUstream stream) const {
  const auto found = std::ranges::find(s, stream, &Stream::handle);
  return stream == nullptr || found == s.end() ? current() : found->owner;
}

void Walk::has_set(CUcontext context) {
  if (!stack_.empty()) stack_.pop_back();
  if (context != nullptr) stack_.push_back(context);
}

bool Walk::is_covered(CUcontext context) const {
  return !stack_.empty() && std::find(stack_.begin(), stack_.end() - 1, context) != stack_.end() - 1;
}

void Walk::give_to_current() {
  const auto give = [&](const auto &handle, CUcontext &owner) {
    if (handle == std::remove_cvref_t<decltype(handle)>{})
      owner = nullptr;
    else if (owner == nullptr)
      owner = current();
  };
  for (Stream &stream : s) give(stream.handle, stream.owner);
  for (Event &event : e) give(event.handle, event.owner);
  for (Buffer &buffer : b) give(buffer.address, buffer.owner);
  for (unsigned k = 0; k < p.size(); ++k) give(p[k], owners_of_pinned_[k]);
}

void Walk::forget_what_went_with(CUcontext context) {
  const auto forget = [&](auto &slot, CUcontext owner, const char *name, unsigned k, const char *nothing) {
    if (owner != context) return;
    slot = {};
    did(fmt::format("{}[{}] = {}", name, k, nothing));
  };
  for (unsigned k = 0; k < s.size(); ++k) forget(s[k], s[k].owner, "s", k, "nullptr");
  for (unsigned k = 0; k < e.size(); ++k) forget(e[k], e[k].owner, "e", k, "nullptr");
  for (unsigned k = 0; k < b.size(); ++k) forget(b[k], b[k].owner, "b", k, "0");
  for (unsigned k = 0; k < p.size(); ++k)
    forget(p[k], std::exchange(owners_of_pinned_[k], nullptr), "p", k, "{}");
}

std::string Walk::name_of(CUcontext context) const { return shared.name_of(context, m); }
std::string Walk::name_of(CUdeviceptr address) const {
  const std::string name = more->name_of(address);
  return name.empty() ? differential::name_of(address, b, p) : name;
}

void Walk::settle() {
  does("settle()");
  const auto settle = [this] { return shared.settle() + (other_ != nullptr ? other_->settle() : 0); };
  std::size_t left = settle();
  if (other_ == nullptr) return;
  // Work of one process may be what the other one waited for, so both settle repeatedly.
  for (std::size_t before = left + 1; left != 0 && left != before;) before = std::exchange(left, settle());
}

void Walk::finish() {
  does("finish()");
  shared.finish(active_contexts());
}

void Walk::release() {
  if (other_ != nullptr) {
    // Each process may hold work that the other waits for.
    shared.let_go(held);
    call("let_go", "", [] { return CUDA_SUCCESS; });
    other_->release();
  }
  release_here();
}

// After release_here() the held work and the number of host functions are known.
void Walk::release_here() {
  shared.release(std::exchange(held, 0), active_contexts());
  for (Stream &stream : s) stream.ended_while_held = false;
  call("release", "", [] { return CUDA_SUCCESS; });
  const std::string ran = std::to_string(host_functions.load());
  also(ran, "host_functions", ran + "U");
}

void Walk::close() {
  for (const Opened &kept : more->opened) {
    if (kept.address == 0) continue;
    CUcontext popped = nullptr;
    NEED(cuCtxPushCurrent(kept.owner));
    driver().cuIpcCloseMemHandle(kept.address);
    NEED(cuCtxPopCurrent(&popped));
  }
  more->opened = {};
  for (Event &event : e)
    if (event.opened_from && driver().cuEventDestroy(event.handle) == CUDA_SUCCESS) has_ended(event);
  for (Buffer &buffer : b) {
    if (!buffer.opened_from) continue;
    CUcontext popped = nullptr;
    NEED(cuCtxPushCurrent(buffer.owner));
    if (driver().cuIpcCloseMemHandle(buffer.address) == CUDA_SUCCESS) has_ended(buffer);
    NEED(cuCtxPopCurrent(&popped));
  }
}

}  // namespace differential

// SPDX-License-Identifier: Apache-2.0
#include "walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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

std::vector<Choice> choices_of(Subject subject) {
  std::vector<Choice> all;
  for (const auto &some : {context_choices(), stream_choices(), event_choices(), memory_choices(),
                           copy_choices(), memop_choices()})
    all.insert(all.end(), some.begin(), some.end());
  if (subject == Subject::contexts) std::ranges::copy(life_choices(), std::back_inserter(all));
  if (subject == Subject::kinds) std::ranges::copy(kind_choices(), std::back_inserter(all));
  if (subject == Subject::processes) std::ranges::copy(ipc_choices(), std::back_inserter(all));
  return all;
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

Bench::Bench(std::function<std::size_t()> so_it_settles) : settle(std::move(so_it_settles)) {
  NEED(cuInit(0));
  NEED(cuDeviceGet(&device, 0));
  NEED(cuDeviceGetDefaultMemPool(&pool, device));
  NEED(cuDevicePrimaryCtxRetain(&c[0], device));
  NEED(cuCtxCreate_v2(&c[1], 0, device));
  CUcontext home = nullptr;
  NEED(cuCtxCreate_v2(&home, 0, device));
  void *host = nullptr;
  NEED(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  NEED(cuMemHostGetDevicePointer(&words_on_device, host, 0));
  words = static_cast<std::uint32_t *>(host);
}

void Bench::begin() const {
  CUcontext popped = nullptr;
  while (driver().cuCtxPopCurrent(&popped) == CUDA_SUCCESS) continue;
  NEED(cuCtxPushCurrent(c[0]));
}

Walk::Walk(std::uint64_t seed, Subject about, const Bench &b, unsigned number, OtherProcess *other)
    : bench(b),
      subject(about),
      process(number),
      seed_(seed),
      other_(other),
      choices_(choices_of(about)),
      weights_(std::accumulate(choices_.begin(), choices_.end(), 0U,
                               [](unsigned sum, const Choice &choice) { return sum + choice.weight; })),
      stack_{b.c[0]} {
  bench.begin();
}

Walk::~Walk() {
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
    driver().cuDevicePrimaryCtxRetain(&again, bench.device);
  }
  bench.begin();
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
      CALL(*this, cuCtxSetCurrent, Argument{bench.c[0], "c[0]"}) == CUDA_SUCCESS)
    has_set(bench.c[0]);
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
  if (bench.is_traced) fmt::print(stderr, "  {}: {};\n", process, steps_.back().call);
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

Argument<CUstream> Walk::a_live_stream_or_null() {
  const unsigned first = dice.below(static_cast<unsigned>(s.size()));
  for (unsigned i = 0; i < s.size(); ++i) {
    const unsigned k = (first + i) % static_cast<unsigned>(s.size());
    if (s[k].handle != nullptr) return {s[k].handle, fmt::format("s[{}]", k)};
  }
  return {nullptr, "nullptr"};
}

Argument<CUevent> Walk::an_event() {
  if (dice.once_in(30)) return {nullptr, "nullptr"};
  const unsigned first = dice.below(static_cast<unsigned>(e.size()));
  for (unsigned i = 0; i < e.size(); ++i) {
    const unsigned k = (first + i) % static_cast<unsigned>(e.size());
    if (e[k].handle != nullptr) return {e[k].handle, fmt::format("e[{}]", k)};
  }
  return {nullptr, "nullptr"};
}

Argument<CUcontext> Walk::a_context() {
  const unsigned which = dice.below(subject == Subject::contexts ? 12 : 8);
  if (which == 0) return {nullptr, "nullptr"};
  if (const unsigned k = which % 3; which >= 8 && m[k] != nullptr) return {m[k], fmt::format("m[{}]", k)};
  return {bench.c[which % 2], fmt::format("c[{}]", which % 2)};
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

bool Walk::is_registered(unsigned k) const { return p[k] == bench.pages(k); }

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

std::vector<CUcontext> Bench::active(bool primary_is_active, std::span<const CUcontext> made) const {
  std::vector<CUcontext> active{c[1]};
  if (primary_is_active) active.push_back(c[0]);
  std::ranges::copy_if(made, std::back_inserter(active), [](CUcontext one) { return one != nullptr; });
  return active;
}

std::vector<CUcontext> Walk::active_contexts() const { return bench.active(primary_is_active, m); }
std::string Walk::name_of(CUcontext context) const { return bench.name_of(context, m); }
std::string Walk::name_of(CUdeviceptr address) const { return differential::name_of(address, b, p); }

void Walk::settle() {
  does("settle()");
  const auto settle = [this] { return bench.settle() + (other_ != nullptr ? other_->settle() : 0); };
  std::size_t left = settle();
  if (other_ == nullptr) return;
  // Work of one process may be what the other one waited for, so both settle repeatedly.
  for (std::size_t before = left + 1; left != 0 && left != before;) before = std::exchange(left, settle());
}

void Walk::finish() {
  does("finish()");
  bench.finish(active_contexts());
}

void Walk::release() {
  if (other_ != nullptr) {
    // Each process may hold work that the other waits for.
    bench.let_go(held);
    call("let_go", "", [] { return CUDA_SUCCESS; });
    other_->release();
  }
  release_here();
}

// After release_here() the held work and the number of host functions are known.
void Walk::release_here() {
  bench.release(std::exchange(held, 0), active_contexts());
  for (Stream &stream : s) stream.ended_while_held = false;
  call("release", "", [] { return CUDA_SUCCESS; });
  const std::string ran = std::to_string(host_functions.load());
  also(ran, "host_functions", ran + "U");
}

void Walk::close() {
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

unsigned char *Bench::pages(unsigned k) const {
  alignas(4096) static std::array<std::array<unsigned char, buffer_bytes>, 3> all;
  return all[k].data();
}

void Bench::finish(std::span<const CUcontext> contexts) const {
  CUcontext popped = nullptr;
  for (CUcontext context : contexts) {
    NEED(cuCtxPushCurrent(context));
    NEED(cuCtxSynchronize());
    NEED(cuCtxPopCurrent(&popped));
  }
}

void Bench::let_go(unsigned held) const {
  for (unsigned i = 0; i < held; ++i) std::atomic_ref(words[i]).store(1);
}

void Bench::release(unsigned held, std::span<const CUcontext> contexts) const {
  let_go(held);
  finish(contexts);
  for (unsigned i = 0; i < held; ++i) words[i] = 0;
}

void Bench::fill(unsigned number, const Buffer &buffer, std::span<const CUcontext> contexts) const {
  finish(contexts);
  NEED(cuMemsetD8(buffer.address, static_cast<unsigned char>(number), buffer.bytes));
  finish(contexts);
}

std::string Bench::name_of(CUcontext context, std::span<const CUcontext> made) const {
  if (context == nullptr) return "null";
  for (unsigned i = 0; i < c.size(); ++i)
    if (c[i] == context) return fmt::format("c[{}]", i);
  for (unsigned i = 0; i < made.size(); ++i)
    if (made[i] == context) return fmt::format("m[{}]", i);
  return "another";
}

}  // namespace differential

// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/call_stack.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <cushim/detail/inside_call.hpp>

#include "core/python.hpp"

namespace cushim::check {

constexpr std::size_t kFramesOfProgram = 16;
constexpr std::size_t kFrames = 40;  // including those of cushim; a multiple of four

struct CallStack::Stack {
  std::vector<void *> frames;
  python::Stack python{};
  bool operator<(const Stack &other) const noexcept {
    return std::tie(frames, python.functions, python.is_exact) <
           std::tie(other.frames, other.python.functions, other.python.is_exact);
  }
};

namespace {

// The result of the unwinder, innermost first: return addresses, and the stack cell that holds each of
// them.
struct Walk {
  std::array<void *, kFrames> frames;
  std::array<void *const *, kFrames> cells;
  std::size_t count = 0;
  std::size_t first_of_program = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context *context, void *data) {
  auto &walk = *static_cast<Walk *>(data);
  if (walk.count == kFrames || walk.count - walk.first_of_program == kFramesOfProgram + 4)
    return _URC_END_OF_STACK;
  const _Unwind_Word here = _Unwind_GetIP(context);
  if (here == 0) return _URC_END_OF_STACK;
  walk.frames[walk.count] = reinterpret_cast<void *>(here);
  walk.cells[walk.count] = reinterpret_cast<void *const *>(_Unwind_GetCFA(context)) - 1;
  ++walk.count;
  // The program's frames begin after the innermost entry function of cushim (one call may be made inside
  // another).
  const bool is_at_way_in = walk.first_of_program == 0 || walk.first_of_program + 1 == walk.count;
  if (is_at_way_in && mock::is_entry_function(reinterpret_cast<void *>(_Unwind_GetRegionStart(context))))
    walk.first_of_program = walk.count;
  return _URC_NO_REASON;
}

// A cached stack walk of this thread. The stack frame of a function has the same size each time it makes
// the same call. So if the innermost return address and its cell are unchanged, the next return address is
// in the same cell as before; and so on outwards.
struct Memo {
  struct Return {
    void *const *cell = nullptr;
    void *frame = nullptr;
  };
  void *const *cell = nullptr;
  void *frame = nullptr;
  CallStack call_stack;
  std::size_t count = 0;  // a multiple of four, padded with the last: four are compared at a time
  std::array<Return, kFrames> returns{};
};

__attribute__((no_sanitize("address", "thread"))) bool is_still_so(const Memo &memo, void *const *cell,
                                                                   void *frame) {
  if (memo.cell != cell || memo.frame != frame) return false;
  const Memo::Return *const end = memo.returns.data() + memo.count;
  for (const Memo::Return *four = memo.returns.data(); four != end; four += 4)
    if (*four[0].cell != four[0].frame || *four[1].cell != four[1].frame || *four[2].cell != four[2].frame ||
        *four[3].cell != four[3].frame)
      return false;
  return true;
}

// The cached walks of a thread, in small sets, so that two calls of a loop that map to one set do not evict
// each other.
struct Memos {
  std::array<Memo, 4> memos;
  std::size_t oldest = 0;
};

Memos &memos_of(void *const *cell, void *frame) {
  constexpr std::size_t kSets = 8;
  static constinit thread_local std::array<Memos, kSets> sets{};
  const auto mixed = reinterpret_cast<std::uintptr_t>(cell) / 16 ^ reinterpret_cast<std::uintptr_t>(frame);
  return sets[(mixed ^ mixed >> 7) % kSets];
}

std::string name_of(const Dl_info &info) {
  if (info.dli_sname == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
  return status == 0 ? plain.get() : info.dli_sname;
}

}  // namespace

// All call stacks that were ever seen. Never freed, since CallStack objects point to them.
struct Stacks {
  static CallStack keep(CallStack::Stack stack) {
    static auto &mutex = *new std::mutex;
    static auto &all = *new std::set<CallStack::Stack>;
    const std::lock_guard lock(mutex);
    CallStack kept;
    kept.stack_ = &*all.insert(std::move(stack)).first;
    return kept;
  }

  // Adds the Python functions that the thread is inside of: they change while the return addresses stay the
  // same.
  static CallStack with_python(CallStack stack) {
    if (!python::is_there()) return stack;
    python::Stack python = python::stack(kFramesOfProgram);
    if (python.functions.empty() && python.is_exact) return stack;
    return keep({stack.stack_->frames, std::move(python)});
  }

  // Walks the stack outwards from the function whose return address is in `cell`. Caches the walk if
  // possible.
  static CallStack walk(Memo &memo, void *const *cell, void *frame) {
    python::look();
    Walk walk;
    _Unwind_Backtrace(&visit, &walk);
    std::size_t inner = 0;
    while (inner < walk.count && walk.cells[inner] < cell) ++inner;
    const std::size_t first = std::max(walk.first_of_program, inner);
    const std::size_t last = std::min(walk.count, first + kFramesOfProgram);
    const CallStack stack =
        keep({std::vector<void *>(walk.frames.data() + first, walk.frames.data() + last)});
    bool can_be_kept = true;  // false if return addresses are elsewhere: other architectures, signal handlers
    memo.count = 0;
    for (std::size_t i = inner; i < last; ++i) {
      can_be_kept = can_be_kept && *walk.cells[i] == walk.frames[i];
      memo.returns[memo.count++] = {walk.cells[i], walk.frames[i]};
    }
    for (; memo.count % 4 != 0; ++memo.count) memo.returns[memo.count] = memo.returns[memo.count - 1];
    memo.cell = can_be_kept ? cell : nullptr;
    memo.frame = frame;
    memo.call_stack = stack;
    return stack;
  }
};

CallStack CallStack::of_call() {
  void *const *const cell = static_cast<void *const *>(__builtin_frame_address(0)) + 1;
  void *const frame = __builtin_return_address(0);
  Memos &set = memos_of(cell, frame);
  for (const Memo &memo : set.memos)
    if (is_still_so(memo, cell, frame)) return Stacks::with_python(memo.call_stack);
  return Stacks::with_python(Stacks::walk(set.memos[set.oldest++ % set.memos.size()], cell, frame));
}

bool CallStack::is_exact() const noexcept { return stack_ == nullptr || stack_->python.is_exact; }

std::span<void *const> CallStack::frames() const noexcept {
  if (stack_ == nullptr) return {};
  return stack_->frames;
}

std::string CallStack::to_text() const {
  std::string text;
  int number = 0;
  const auto add = [&](const std::string &line) {
    text += "    #" + std::to_string(number++) + " " + line + "\n";
  };
  if (stack_ != nullptr) {
    for (const std::string &function : stack_->python.functions) add(function);
    if (!stack_->python.is_exact) add("(Python: this interpreter does not provide line numbers)");
  }
  for (void *const frame : frames()) {
    // The call instruction precedes the return address, which may already belong to the next function.
    const auto call = reinterpret_cast<std::uintptr_t>(frame) - 1;
    Dl_info info{};
    char offset_text[32];
    std::string name, file = "?";
    std::uintptr_t offset = call;
    if (dladdr(reinterpret_cast<void *>(call), &info) != 0 && info.dli_fname != nullptr) {
      name = name_of(info);
      file = info.dli_fname;
      file.erase(0, file.rfind('/') + 1);
      offset = call - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    }
    std::snprintf(offset_text, sizeof offset_text, "+0x%lx)", static_cast<unsigned long>(offset));
    add((name.empty() ? "" : name + " ") + "(" + file + offset_text);
  }
  return text;
}

}  // namespace cushim::check

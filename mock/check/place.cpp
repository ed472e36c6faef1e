// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/place.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>
#include <receive.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace cushim::check {

constexpr std::size_t kFramesOfProgram = 16;
constexpr std::size_t kFrames = 40;  // with those of cushim; a multiple of four

struct Place::Stack {
  std::vector<void *> frames;
  bool operator<(const Stack &other) const noexcept { return frames < other.frames; }
};

namespace {

// What the unwinder finds, innermost first: return addresses, and where on the stack each of them lies.
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
  // The program's own begin after the way in; where a call was made inside another, that is the inner one.
  const bool is_at_way_in = walk.first_of_program == 0 || walk.first_of_program + 1 == walk.count;
  if (is_at_way_in && mock::is_way_in(reinterpret_cast<void *>(_Unwind_GetRegionStart(context))))
    walk.first_of_program = walk.count;
  return _URC_NO_REASON;
}

// A walk that this thread has made. The size of a function's part of the stack is the same each time it makes
// the same call, so where the innermost return address and its cell are as they were, the next lies where it
// lay; and so on outwards.
struct Memo {
  struct Return {
    void *const *cell = nullptr;
    void *frame = nullptr;
  };
  void *const *cell = nullptr;
  void *frame = nullptr;
  Place place;
  std::size_t count = 0;  // a multiple of four, filled up with the last: four are compared at a time
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

// The walks of a thread, in sets of a few: two calls of a loop that fall into one set do not drive each other
// out.
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

// All stacks that there were. Never freed: places point to them.
struct Stacks {
  static Place keep(std::vector<void *> frames) {
    static auto &mutex = *new std::mutex;
    static auto &all = *new std::set<Place::Stack>;
    const std::lock_guard lock(mutex);
    Place place;
    place.stack_ = &*all.insert({std::move(frames)}).first;
    return place;
  }

  // The walk from the function whose return address lies in this cell outwards; kept in the memo if it can
  // be.
  static Place walk(Memo &memo, void *const *cell, void *frame) {
    Walk walk;
    _Unwind_Backtrace(&visit, &walk);
    std::size_t inner = 0;
    while (inner < walk.count && walk.cells[inner] < cell) ++inner;
    const std::size_t first = std::max(walk.first_of_program, inner);
    const std::size_t last = std::min(walk.count, first + kFramesOfProgram);
    const Place place = keep(std::vector<void *>(walk.frames.data() + first, walk.frames.data() + last));
    bool can_be_kept =
        true;  // not where return addresses lie elsewhere: other processors, handlers of signals
    memo.count = 0;
    for (std::size_t i = inner; i < last; ++i) {
      can_be_kept = can_be_kept && *walk.cells[i] == walk.frames[i];
      memo.returns[memo.count++] = {walk.cells[i], walk.frames[i]};
    }
    for (; memo.count % 4 != 0; ++memo.count) memo.returns[memo.count] = memo.returns[memo.count - 1];
    memo.cell = can_be_kept ? cell : nullptr;
    memo.frame = frame;
    memo.place = place;
    return place;
  }
};

Place Place::of_call() {
  void *const *const cell = static_cast<void *const *>(__builtin_frame_address(0)) + 1;
  void *const frame = __builtin_return_address(0);
  Memos &set = memos_of(cell, frame);
  for (const Memo &memo : set.memos)
    if (is_still_so(memo, cell, frame)) return memo.place;
  return Stacks::walk(set.memos[set.oldest++ % set.memos.size()], cell, frame);
}

std::span<void *const> Place::frames() const noexcept {
  if (stack_ == nullptr) return {};
  return stack_->frames;
}

std::string Place::in_words() const {
  std::string words;
  int number = 0;
  for (void *const frame : frames()) {
    // The call lies before the address to return to, which may belong to the next function already.
    const auto call = reinterpret_cast<std::uintptr_t>(frame) - 1;
    Dl_info info{};
    char text[32];
    std::string name, file = "?";
    std::uintptr_t offset = call;
    if (dladdr(reinterpret_cast<void *>(call), &info) != 0 && info.dli_fname != nullptr) {
      name = name_of(info);
      file = info.dli_fname;
      file.erase(0, file.rfind('/') + 1);
      offset = call - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    }
    std::snprintf(text, sizeof text, "+0x%lx)", static_cast<unsigned long>(offset));
    words += "    #" + std::to_string(number++) + " " + (name.empty() ? "" : name + " ") + "(" + file + text +
             "\n";
  }
  return words;
}

}  // namespace cushim::check

// SPDX-License-Identifier: Apache-2.0
// The frames, and what a call inside one does.
#pragma once

#include <cushim/mock/frame.hpp>

#include <unordered_map>

namespace cushim {
inline namespace v1 {
namespace mock {

struct Pool {
  std::mutex mutex;  // over taking and retiring
  unsigned long retirements = 0;
  std::unordered_map<Driver *, Frame *> over;
  Frame frames[Frame::kCount];
};

// Never destroyed: calls may come from other libraries' destructors.
Pool &pool();

// While it lives, a call is inside the frame; false if the frame was not taken.
class Frame::Inside {
 public:
  explicit Inside(Frame &frame) : frame_(frame) {
    ++here();
    frame_.inside_.fetch_add(1);
    taken_ = frame_.taken_.load();
  }
  ~Inside() {
    --here();
    if (frame_.inside_.fetch_sub(1) == 1 && !frame_.taken_.load()) frame_.inside_.notify_all();
  }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
  explicit operator bool() const { return taken_; }

  // How many calls of this thread are inside.
  static int here(const Frame &frame) { return counts_[frame.number()]; }

 private:
  int &here() { return counts_[frame_.number()]; }

  static inline thread_local int counts_[kCount];
  Frame &frame_;
  bool taken_;
};

inline int Frame::number() const noexcept { return static_cast<int>(this - pool().frames); }

}  // namespace mock
}  // namespace v1
}  // namespace cushim

// SPDX-License-Identifier: Apache-2.0
// The frames.
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

// The same for calls, without a look whether it is there: the functions that they come in by are given out by
// frames.
extern constinit Pool *made_pool;

inline int Frame::number() const noexcept { return static_cast<int>(this - pool().frames); }

}  // namespace mock
}  // namespace v1
}  // namespace cushim

// SPDX-License-Identifier: Apache-2.0
#include "check/vector_clock.hpp"

namespace cushim::ptx::execute {
namespace {

// A clock with more entries is replaced by its latest time: all accesses of the grid up to that time count as
// ordered before its owner. Races may then be missed, but joins of thousands of blocks stay cheap.
constexpr std::size_t most_entries = 4096;

}  // namespace

void VectorClock::join(const VectorClock &other) {
  std::vector<Entry> both;
  both.reserve(entries_.size() + other.entries_.size());
  auto a = entries_.begin();
  auto b = other.entries_.begin();
  while (a != entries_.end() || b != other.entries_.end()) {
    if (b == other.entries_.end() || (a != entries_.end() && a->first < b->first)) {
      both.push_back(*a++);
    } else if (a == entries_.end() || b->first < a->first) {
      both.push_back(*b++);
    } else {
      both.push_back({a->first, std::max(a->second, b->second)});
      ++a;
      ++b;
    }
  }
  entries_ = std::move(both);
  if (entries_.size() <= most_entries) return;
  Time latest = 0;
  for (const Entry &one : entries_) latest = std::max(latest, one.second);
  entries_.assign(1, {grid, latest});
}

SharedClock joined(const SharedClock &a, const SharedClock &b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  if (a->contains(*b)) return a;
  if (b->contains(*a)) return b;
  auto both = std::make_shared<VectorClock>(*a);
  both->join(*b);
  return both;
}

}  // namespace cushim::ptx::execute

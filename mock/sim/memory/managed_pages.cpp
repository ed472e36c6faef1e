// SPDX-License-Identifier: Apache-2.0
#include "memory/managed_pages.hpp"

#include <iterator>

namespace cushim::sim {

ManagedPages::Runs::iterator ManagedPages::split(std::size_t page) {
  const auto next = runs_.upper_bound(page);
  const auto run = std::prev(next);
  return run->first == page ? run : runs_.emplace_hint(next, page, run->second);
}

void ManagedPages::merge(Runs::iterator begin, Runs::iterator end) {
  auto run = begin == runs_.begin() ? begin : std::prev(begin);
  const auto last = end == runs_.end() ? end : std::next(end);
  while (std::next(run) != last) {
    const auto next = std::next(run);
    if (next->second == run->second)
      runs_.erase(next);
    else
      run = next;
  }
}

PageState ManagedPages::common(std::size_t offset, std::size_t size) const {
  auto run = std::prev(runs_.upper_bound(offset / kPage));
  PageState state = run->second;
  for (++run; run != runs_.end() && run->first * kPage < offset + size; ++run) {
    const PageState &other = run->second;
    state.is_read_mostly = state.is_read_mostly && other.is_read_mostly;
    if (state.preferred != other.preferred) state.preferred = {};
    if (state.prefetched != other.prefetched) state.prefetched = {};
    std::erase_if(state.accessed_by, [&](int device) { return !other.accessed_by.contains(device); });
  }
  return state;
}

}  // namespace cushim::sim

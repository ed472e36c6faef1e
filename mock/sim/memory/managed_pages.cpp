// SPDX-License-Identifier: Apache-2.0
#include "memory/managed_pages.hpp"

#include <iterator>

namespace cushim::sim {

ManagedPages::Runs::iterator ManagedPages::split(std::size_t page) {
  const auto next = runs_.upper_bound(page);
  const auto run = std::prev(next);
  return run->first == page ? run : runs_.emplace_hint(next, page, run->second);
}

ManagedPages::Runs::iterator ManagedPages::set(std::size_t begin, std::size_t end, PageState state) {
  if (end != pages_) split(end);
  auto run = split(begin);
  run->second = std::move(state);
  if (const auto next = std::next(run); next != runs_.end() && next->second == run->second) runs_.erase(next);
  if (run == runs_.begin() || std::prev(run)->second != run->second) return run;
  return std::prev(runs_.erase(run));
}

PageState ManagedPages::common(std::size_t offset, std::size_t size) const {
  const std::size_t begin = offset / kPage, end = rounded_up(offset + size, kPage) / kPage;
  PageState state;
  for (std::size_t page = begin; page < end;) {
    const auto run = std::prev(runs_.upper_bound(page));
    const PageState &other = run->second;
    if (page == begin) state = other;
    state.is_read_mostly = state.is_read_mostly && other.is_read_mostly;
    if (state.preferred != other.preferred) state.preferred = {};
    if (state.prefetched != other.prefetched) state.prefetched = {};
    std::erase_if(state.accessed_by, [&](int device) { return !other.accessed_by.contains(device); });
    page += end_of(run) - run->first;
  }
  return state;
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
#include <cushim/detail/launch_watch.hpp>

#include <algorithm>

namespace cushim::mock {

constinit thread_local LaunchWatch *LaunchWatch::innermost_ = nullptr;

namespace {

constexpr std::uint64_t kPage = KernelRecord::kGranule * 128;

}  // namespace

std::bitset<KernelRecord::kGranules> KernelRecord::Page::of(Kind kind) const {
  if (kind == Kind::any) return read | written;
  return kind == Kind::read ? read : written;
}

void KernelRecord::add(std::uint64_t begin, std::uint64_t end, bool is_write) {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t granule = begin / kGranule; granule * kGranule < end; ++granule) {
    Page &page = pages_[granule / kGranules];
    (is_write ? page.written : page.read).set(granule % kGranules);
  }
}

void KernelRecord::finish() {
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
}

bool KernelRecord::is_finished() const {
  const std::lock_guard lock(mutex_);
  return is_finished_;
}

std::bitset<KernelRecord::kGranules> KernelRecord::granules(std::uint64_t page, Kind kind) const {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(page);
  return found != pages_.end() ? found->second.of(kind) : std::bitset<kGranules>();
}

std::vector<std::uint64_t> KernelRecord::pages(std::uint64_t begin, std::uint64_t end) const {
  std::vector<std::uint64_t> found;
  const std::lock_guard lock(mutex_);
  for (const auto &[page, granules] : pages_)
    if (page * kPage < end && begin < (page + 1) * kPage) found.push_back(page);
  std::ranges::sort(found);
  return found;
}

std::optional<KernelRecord::Range> KernelRecord::find(std::uint64_t begin, std::uint64_t end,
                                                      Kind kind) const {
  return find(begin, end, kind, *this, kind);
}

std::optional<KernelRecord::Range> KernelRecord::find(std::uint64_t begin, std::uint64_t end, Kind kind,
                                                      const KernelRecord &other, Kind kind_of_other) const {
  for (const std::uint64_t page : pages(begin, end)) {
    const auto both = granules(page, kind) & other.granules(page, kind_of_other);
    for (std::size_t i = 0; both.any() && i < kGranules; ++i) {
      const std::uint64_t from = page * kPage + i * kGranule;
      if (both[i] && from < end && begin < from + kGranule) return Range{from, from + kGranule};
    }
  }
  return std::nullopt;
}

}  // namespace cushim::mock

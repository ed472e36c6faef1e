// SPDX-License-Identifier: Apache-2.0
// The state of managed pages, compared with a list of one state for each page.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "memory/managed_pages.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kPages = 12, kBytes = kPages * ManagedPages::kPage;
using Model = std::array<PageState, kPages>;

PageState common(const Model &model, std::size_t first, std::size_t last) {
  PageState state = model[first];
  for (std::size_t page = first; page <= last; ++page) {
    state.is_read_mostly &= model[page].is_read_mostly;
    if (model[page].preferred != model[first].preferred) state.preferred = {};
    std::erase_if(state.accessed_by, [&](int device) { return !model[page].accessed_by.contains(device); });
  }
  return state;
}

TEST(ManagedPages, Are_as_if_each_page_had_its_own_state) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  ManagedPages pages;
  Model model{};
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t offset = below(kBytes), size = 1 + below(kBytes - offset);
    const std::size_t first = offset / ManagedPages::kPage, last = (offset + size - 1) / ManagedPages::kPage;
    if (below(3) == 0) {
      ASSERT_EQ(pages.common(offset, size), common(model, first, last)) << "step " << step;
      continue;
    }
    const int device = static_cast<int>(below(3));
    const std::size_t kind = below(4);
    const auto change = [&](PageState &page) {
      if (kind == 0) page.is_read_mostly = device == 0;
      if (kind == 1) page.preferred = {CU_MEM_LOCATION_TYPE_DEVICE, device};
      if (kind == 2) page.accessed_by.insert(device);
      if (kind == 3) page.accessed_by.erase(device);
    };
    pages.change(offset, size, change);
    for (std::size_t page = first; page <= last; ++page) change(model[page]);
  }
}

}  // namespace
}  // namespace cushim::sim

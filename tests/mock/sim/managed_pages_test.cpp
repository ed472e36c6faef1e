// SPDX-License-Identifier: Apache-2.0
// The state of managed pages, compared with a list of one state for each page and with states on a GPU, and
// the places of allocations.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "memory/managed_blocks.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kPage = ManagedPages::kPage;
constexpr std::size_t kPages = 12, kBytes = kPages * kPage;

// One state for each page; steps over pages as documented for ManagedPages.
struct Model {
  std::array<PageState, kPages> states{};

  // Calls visit(first, last) for the parts of the runs that a range steps to.
  template <class Visit>
  void for_each_run(std::size_t begin, std::size_t end, Visit visit) {
    for (std::size_t page = begin; page < end;) {
      std::size_t first = 0, last = 0;
      const auto find_run = [&] {
        for (first = page; first != 0 && states[first - 1] == states[page];) --first;
        for (last = page; last + 1 < kPages && states[last + 1] == states[page];) ++last;
      };
      find_run();
      visit(std::max(first, begin), std::min(last + 1, end));
      find_run();
      page += last + 1 - first;
    }
  }
};

TEST(ManagedPages, Are_as_if_each_page_had_its_own_state_and_steps_had_the_length_of_runs) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  ManagedPages pages(kBytes);
  Model model;
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t offset = below(kBytes), size = 1 + below(kBytes - offset);
    const std::size_t begin = offset / kPage, end = (offset + size - 1) / kPage + 1;
    if (below(3) == 0) {
      PageState common = model.states[begin];
      model.for_each_run(begin, end, [&](std::size_t first, std::size_t) {
        const PageState &other = model.states[first];
        common.is_read_mostly &= other.is_read_mostly;
        if (other.preferred != common.preferred) common.preferred = {};
        std::erase_if(common.accessed_by, [&](int device) { return !other.accessed_by.contains(device); });
      });
      ASSERT_EQ(pages.common(offset, size), common) << "step " << step;
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
    model.for_each_run(begin, end, [&](std::size_t first, std::size_t last) {
      for (std::size_t page = first; page < last; ++page) change(model.states[page]);
    });
  }
}

// ---- States on a GPU ----

PageLocation location_of(int type) {
  const bool is_device = type == CU_MEM_LOCATION_TYPE_DEVICE, is_host = type == 2;
  return {type, is_device ? 0 : CU_DEVICE_CPU, is_host ? CU_DEVICE_CPU : 0};
}

void advise(PageState &page, int advice, const PageLocation &at) {
  if (advice <= 2) page.is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
  if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) page.preferred = at;
  if (advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION) page.preferred = {};
  if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY) page.accessed_by.insert(at.device);
  if (advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY) page.accessed_by.erase(at.device);
}

void make(ManagedPages &pages, const std::string &call) {
  std::istringstream text(call);
  std::string name;
  std::size_t first = 0, count = 0;
  int advice = 0, type = 0;
  text >> name >> first >> count;
  if (name == "advise") text >> advice;
  if (name != "free") text >> type;
  ASSERT_TRUE(text) << call;
  pages.change(first * kPage, count * kPage, [&](PageState &page) {
    if (name == "free") page = {};
    if (name == "prefetch") page.prefetched = location_of(type);
    if (name == "advise") advise(page, advice, location_of(type));
  });
}

std::string text_of(const PageState &page) {
  std::ostringstream text;
  const auto add = [&](const PageLocation &at) { text << at.device << ',' << at.type << ',' << at.id; };
  text << page.is_read_mostly << '/';
  add(page.preferred);
  text << '/'
       << (page.accessed_by.contains(0) ? 0
           : page.accessed_by.empty()   ? -2
                                        : -1)
       << ',' << (page.accessed_by.size() == 2 ? -1 : -2) << '/';
  add(page.prefetched);
  return text.str();
}

TEST(ManagedPages, Have_the_states_that_a_GPU_told_after_the_same_calls) {
  std::ifstream file(MANAGED_PAGES);
  int programs = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    ++programs;
    ManagedPages pages(2 << 20);
    std::istringstream calls(line.substr(0, line.find(" = "))), states(line.substr(line.find(" = ") + 3));
    for (std::string call; std::getline(calls, call, ';');) make(pages, call);
    for (std::string state; std::getline(states, state, ';');) {
      std::size_t page = 0;
      std::string expected;
      std::istringstream(state) >> page >> expected;
      EXPECT_EQ(text_of(pages.common(page * kPage, kPage)), expected) << "page " << page << " after " << line;
    }
  }
  EXPECT_EQ(programs, 150);
}

// ---- Places ----

// Stands for a context: places need only its address.
struct SomeContext {
  alignas(16) std::array<std::byte, 16> bytes{};
  const Context &operator*() const { return *reinterpret_cast<const Context *>(&bytes); }
};
constexpr std::size_t kMiB = std::size_t{1} << 20;

// The addresses that an H100 (driver 580.159) gave to allocations of these sizes, in this order, as block and
// offset.
TEST(ManagedBlocks, Have_the_places_that_a_GPU_gave) {
  struct Measured {
    std::size_t size;
    int block;
    std::size_t offset;
  };
  const std::vector<Measured> all = {
      {512, 0, 0x0},          {512, 0, 0x200},        {100, 0, 0x400},    {100, 0, 0x600},
      {5000, 0, 0x800},       {5000, 0, 0x1c00},      {4096, 0, 0x3000},  {4096, 0, 0x4000},
      {65536, 0, 0x5000},     {65536, 0, 0x15000},    {kMiB, 0, 0x25000}, {kMiB, 1, 0},
      {kMiB + 1, 2, 0},       {kMiB + 1, 3, 0},       {1572864, 4, 0},    {1572864, 5, 0},
      {2 * kMiB - 512, 6, 0}, {2 * kMiB - 512, 7, 0}, {100, 6, 0x1ffe00}, {100, 7, 0x1ffe00},
      {4096, 4, 0x180000},    {4096, 4, 0x181000}};
  SomeContext context;
  ManagedBlocks blocks;
  std::vector<ManagedPlace> places;
  std::vector<ManagedPages *> seen;
  const auto expect = [&](const ManagedPlace &place, const Measured &measured) {
    if (measured.block == static_cast<int>(seen.size())) seen.push_back(place.pages.get());
    EXPECT_EQ(place.pages.get(), seen[static_cast<std::size_t>(measured.block)]) << measured.size;
    EXPECT_EQ(place.offset, measured.offset) << measured.size;
  };
  for (const Measured &each : all) expect(places.emplace_back(blocks.place(*context, each.size)), each);
  for (const std::size_t freed : {4, 5, 1}) places[freed] = {};
  for (const Measured &each :
       {Measured{4096, 0, 0x800}, {512, 0, 0x200}, {5000, 0, 0x1800}, {1024, 0, 0x2c00}})
    expect(places.emplace_back(blocks.place(*context, each.size)), each);
}

TEST(ManagedBlocks, Are_of_one_context) {
  SomeContext one, other;
  ManagedBlocks blocks;
  const ManagedPlace first = blocks.place(*one, 4096), second = blocks.place(*other, 4096);
  EXPECT_NE(first.pages, second.pages);
  EXPECT_EQ(second.offset, 0u);
  EXPECT_EQ(blocks.place(*one, 4096).offset, 4096u);
}

TEST(ManagedBlocks, Of_two_mebibytes_are_of_one_allocation) {
  SomeContext context;
  ManagedBlocks blocks;
  const ManagedPlace small = blocks.place(*context, 512), large = blocks.place(*context, 2 * kMiB - 511);
  EXPECT_EQ(large.offset, 0u);
  EXPECT_EQ(blocks.place(*context, 512).pages.get(), small.pages.get());
}

}  // namespace
}  // namespace cushim::sim

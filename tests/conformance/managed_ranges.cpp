// SPDX-License-Identifier: Apache-2.0
// Advice, prefetches and attributes of ranges of managed memory: the locations and ranges that they accept,
// and the pages that they apply to.
#include <cushim/default_stream.hpp>
#include <cushim/exact.hpp>

#include <array>

#include "managed.hpp"

namespace conformance {
namespace {

class ManagedRanges : public WithManagedMemory {};

// ---- Locations ----

struct NamedAdvice {
  const char *name;
  CUmem_advise advice;
  std::vector<int> codes;  // by location
};
const NamedAdvice advices[] = {
    {"to_read_mostly", CU_MEM_ADVISE_SET_READ_MOSTLY, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}},
    {"not_to_read_mostly", CU_MEM_ADVISE_UNSET_READ_MOSTLY, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}},
    {"to_prefer", CU_MEM_ADVISE_SET_PREFERRED_LOCATION, {0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1}},
    {"to_prefer_none", CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}},
    {"of_access", CU_MEM_ADVISE_SET_ACCESSED_BY, {0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1}},
    {"of_no_access", CU_MEM_ADVISE_UNSET_ACCESSED_BY, {0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1}},
};

bool is_host_node(const CUmemLocation &at) {
  return at.type == CU_MEM_LOCATION_TYPE_HOST_NUMA || at.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// Returns a location of a device or the host as the attributes return it.
Place place_of(const CUmemLocation &at) {
  return at.type == CU_MEM_LOCATION_TYPE_HOST ? kOnHost : place_of_prefetch(at);
}

RangeState advised(CUmem_advise advice, const Place &at) {
  RangeState state;
  state.is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
  if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) state.preferred = at;
  if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY) state.accessed_by = {at.device};
  return state;
}

[[maybe_unused]] const bool advice_added = [] {
  for (const NamedAdvice &each : advices)
    for (std::size_t i = 0; i < locations().size(); ++i) {
      const CUmem_advise advice = each.advice;
      const CUmemLocation at = locations()[i].location;
      const CUresult expected = code(each.codes[i]);
      ADD_TEST(ManagedRanges, std::string("Advice_") + each.name + "_at_" + locations()[i].name,
               [=](OnDevice &t) {
                 const CUdeviceptr to = t.managed();
                 EXPECT_ANSWER(driver().cuMemAdvise_v2(to, kPage, advice, at), expected);
                 const bool has_effect = expected == CUDA_SUCCESS && !is_host_node(at);
                 EXPECT_VALUE(state_of(to, kPage),
                              text_of(has_effect ? advised(advice, place_of(at)) : RangeState{}));
               });
    }
  return true;
}();

// The first ABI takes device numbers; -1 is the host, -2 is no device.
constexpr int numbers[] = {0, 99, -1, -2};
[[maybe_unused]] const bool first_advice_added = [] {
  static constexpr int codes[][4] = {{0, 0, 0, 0}, {0, 0, 0, 0},     {0, 101, 0, 101},
                                     {0, 0, 0, 0}, {0, 101, 0, 101}, {0, 101, 0, 101}};
  for (std::size_t row = 0; row < std::size(advices); ++row)
    for (std::size_t i = 0; i < std::size(numbers); ++i) {
      const CUmem_advise advice = advices[row].advice;
      const int number = numbers[i];
      const CUresult expected = code(codes[row][i]);
      ADD_TEST(ManagedRanges, std::string("Advice_") + advices[row].name + "_by_number_" + std::to_string(i),
               [=](OnDevice &t) {
                 const CUdeviceptr to = t.managed();
                 EXPECT_ANSWER(cushim::exact::cuMemAdvise_v8000(driver())(to, kPage, advice, number),
                               expected);
                 const Place at = number == 0 ? kOnDevice : kOnHost;
                 EXPECT_VALUE(state_of(to, kPage),
                              text_of(expected == CUDA_SUCCESS ? advised(advice, at) : RangeState{}));
               });
    }
  return true;
}();

[[maybe_unused]] const bool prefetches_added = [] {
  static constexpr int codes[] = {0, 101, 101, 0, 0, 0, 1, 1, 0, 1, 1};
  for (std::size_t i = 0; i < locations().size(); ++i) {
    const CUmemLocation at = locations()[i].location;
    const CUresult expected = code(codes[i]);
    ADD_TEST(ManagedRanges, std::string("Are_brought_to_") + locations()[i].name, [=](OnDevice &t) {
      const CUdeviceptr to = t.managed();
      EXPECT_ANSWER(driver().cuMemPrefetchAsync_v2(to, kPage, at, 0, t.stream()), expected);
      RangeState after;
      if (expected == CUDA_SUCCESS) after.prefetched = place_of(at);
      EXPECT_VALUE(state_of(to, kPage), text_of(after));
    });
  }
  static constexpr int first_codes[] = {0, 101, 0, 101};
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    const int number = numbers[i];
    const CUresult expected = code(first_codes[i]);
    ADD_TEST(ManagedRanges, "Are_brought_by_number_" + std::to_string(i), [=](OnDevice &t) {
      const CUdeviceptr to = t.managed();
      EXPECT_ANSWER(CUSHIM_EXACT_PTSZ(cuMemPrefetchAsync_v8000)(driver())(to, kPage, number, t.stream()),
                    expected);
      RangeState after;
      if (expected == CUDA_SUCCESS) after.prefetched = number == 0 ? kOnDevice : kOnHost;
      EXPECT_VALUE(state_of(to, kPage), text_of(after));
    });
  }
  return true;
}();

// ---- The pages that a call applies to ----

constexpr std::size_t kPages = 4;

struct Part {
  const char *name;
  std::size_t offset, bytes;
  std::array<bool, kPages> pages;  // to which it applies
};
const Part parts[] = {
    {"all_pages", 0, kPages *kPage, {true, true, true, true}},
    {"the_first_page", 0, kPage, {true, false, false, false}},
    {"the_third_page", 2 * kPage, kPage, {false, false, true, false}},
    {"one_byte_of_the_second_page", kPage + 100, 1, {false, true, false, false}},
    {"bytes_of_two_pages", kPage - 4, 8, {true, true, false, false}},
    {"the_last_byte", kPages *kPage - 1, 1, {false, false, false, true}},
};

struct PartCall {
  const char *name;
  CUresult (*call)(OnDevice &test, CUdeviceptr address, std::size_t bytes);
  RangeState after;
};
const CUmemLocation on_device = location(CU_MEM_LOCATION_TYPE_DEVICE, 0);
const PartCall part_calls[] = {
    {"read_mostly",
     [](OnDevice &, CUdeviceptr address, std::size_t bytes) {
       return driver().cuMemAdvise_v2(address, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device);
     },
     {true, {}, {}, {}}},
    {"preferred",
     [](OnDevice &, CUdeviceptr address, std::size_t bytes) {
       return driver().cuMemAdvise_v2(address, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device);
     },
     {false, kOnDevice, {}, {}}},
    {"accessed",
     [](OnDevice &, CUdeviceptr address, std::size_t bytes) {
       return driver().cuMemAdvise_v2(address, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, on_device);
     },
     {false, {}, {0}, {}}},
    {"brought",
     [](OnDevice &t, CUdeviceptr address, std::size_t bytes) {
       return driver().cuMemPrefetchAsync_v2(address, bytes, on_device, 0, t.stream());
     },
     {false, {}, {}, kOnDevice}},
};

[[maybe_unused]] const bool parts_added = [] {
  for (const PartCall &each : part_calls)
    for (const Part &part : parts)
      ADD_TEST(ManagedRanges, std::string("Of_which_") + part.name + "_are_" + each.name, [=](OnDevice &t) {
        const CUdeviceptr to = t.managed(kPages * kPage);
        EXPECT_ANSWER(each.call(t, to + part.offset, part.bytes), CUDA_SUCCESS);
        bool is_everywhere = true;
        for (std::size_t page = 0; page < kPages; ++page) {
          EXPECT_VALUE(state_of(to + page * kPage, kPage),
                       text_of(part.pages[page] ? each.after : RangeState{}));
          is_everywhere &= part.pages[page];
        }
        EXPECT_VALUE(state_of(to, kPages * kPage), text_of(is_everywhere ? each.after : RangeState{}));
      });
  return true;
}();

TEST_F(ManagedRanges, With_two_preferred_locations_have_none_together) {
  const CUdeviceptr to = managed(2 * kPage);
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device));
  NEED(driver().cuMemAdvise_v2(to + kPage, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                               location(CU_MEM_LOCATION_TYPE_HOST, 0)));
  EXPECT_VALUE(state_of(to, kPage), text_of({false, kOnDevice, {}, {}}));
  EXPECT_VALUE(state_of(to + kPage, kPage), text_of({false, kOnHost, {}, {}}));
  EXPECT_VALUE(state_of(to, 2 * kPage), text_of({}));
}

TEST_F(ManagedRanges, Lose_their_advice_page_by_page) {
  const CUdeviceptr to = managed(2 * kPage);
  NEED(driver().cuMemAdvise_v2(to, 2 * kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_UNSET_READ_MOSTLY, on_device));
  EXPECT_VALUE(state_of(to, kPage), text_of({}));
  EXPECT_VALUE(state_of(to + kPage, kPage), text_of({true, {}, {}, {}}));
}

TEST_F(ManagedRanges, Are_accessed_by_host_and_device) {
  const CUdeviceptr to = managed();
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_SET_ACCESSED_BY,
                               location(CU_MEM_LOCATION_TYPE_HOST, 0)));
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_SET_ACCESSED_BY, on_device));
  EXPECT_VALUE(state_of(to, kPage), text_of({false, {}, {0, CU_DEVICE_CPU}, {}}));
}

TEST_F(ManagedRanges, Keep_their_advice_after_advice_for_a_host_node) {
  const CUdeviceptr to = managed();
  const CUmemLocation on_node = location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device));
  const std::string before = state_of(to, kPage);
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_UNSET_READ_MOSTLY, on_node));
  EXPECT_VALUE(state_of(to, kPage), before);
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_node));
  EXPECT_VALUE(state_of(to, kPage), before);
  NEED(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, on_node));
  EXPECT_VALUE(state_of(to, kPage), before);
}

// ---- Advice in error ----

STATEMENT(ManagedRanges, Of_no_bytes_are_not_advised,
          driver().cuMemAdvise_v2(managed(), 0, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_null_are_not_advised,
          driver().cuMemAdvise_v2(0, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_pinned_memory_are_not_advised,
          driver().cuMemAdvise_v2(address_of(pinned()), kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_pageable_memory_are_not_advised,
          driver().cuMemAdvise_v2(memory_of(*this, Kind::pageable), kPage, CU_MEM_ADVISE_SET_READ_MOSTLY,
                                  on_device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Beyond_the_end_are_not_advised,
          driver().cuMemAdvise_v2(managed(), 1 << 24, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Advice_in_error_of_a_device_in_error,
          driver().cuMemAdvise_v2(managed(), kPage, static_cast<CUmem_advise>(9),
                                  location(CU_MEM_LOCATION_TYPE_DEVICE, 99)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_device_memory_with_a_device_in_error,
          driver().cuMemAdvise_v2(memory(), kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                  location(CU_MEM_LOCATION_TYPE_DEVICE, 99)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_no_bytes_with_a_device_in_error,
          driver().cuMemAdvise_v2(managed(), 0, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                  location(CU_MEM_LOCATION_TYPE_DEVICE, 99)),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(ManagedRanges, Are_not_advised_without_a_context) {
  const CUdeviceptr to = managed();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemAdvise_v2(to, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAdvise_v2(to, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemAdvise_v2(to, kPage, static_cast<CUmem_advise>(9), on_device),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(cushim::exact::cuMemAdvise_v8000(driver())(to, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
                CUDA_ERROR_INVALID_CONTEXT);
}

// ---- Prefetches in error ----

const CUmemLocation no_device = location(CU_MEM_LOCATION_TYPE_DEVICE, 99);
STATEMENT(ManagedRanges, Beyond_the_end_are_not_brought,
          driver().cuMemPrefetchAsync_v2(managed(), 1 << 24, on_device, 0, stream()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_pageable_memory_are_not_brought,
          driver().cuMemPrefetchAsync_v2(memory_of(*this, Kind::pageable), kPage, on_device, 0, stream()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_no_bytes_are_not_brought_to_a_device_in_error,
          driver().cuMemPrefetchAsync_v2(managed(), 0, no_device, 0, stream()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Of_device_memory_are_not_brought_to_a_device_in_error,
          driver().cuMemPrefetchAsync_v2(memory(), kPage, no_device, 0, stream()), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(ManagedRanges, Are_not_brought_with_flags_to_a_device_in_error,
          driver().cuMemPrefetchAsync_v2(managed(), kPage, no_device, 1, stream()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(ManagedRanges, Are_brought_in_the_null_stream,
          driver().cuMemPrefetchAsync_v2(managed(), kPage, on_device, 0, nullptr), CUDA_SUCCESS)
STATEMENT(ManagedRanges, Are_brought_in_the_per_thread_stream,
          driver().cuMemPrefetchAsync_v2(managed(), kPage, on_device, 0, per_thread()), CUDA_SUCCESS)
TEST_F(ManagedRanges, Are_not_brought_in_the_null_stream_without_a_context) {
  const CUdeviceptr to = managed();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemPrefetchAsync_v2(to, kPage, on_device, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuMemPrefetchAsync_v2(to, kPage, on_device, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuMemPrefetchAsync_v2(to, 0, on_device, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(ManagedRanges, Are_brought_in_an_own_stream_without_a_context) {
  const CUdeviceptr to = managed();
  const CUstream work = stream();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemPrefetchAsync_v2(to, kPage, on_device, 0, work), CUDA_SUCCESS);
}
TEST_F(ManagedRanges, Keep_their_bytes_when_brought) {
  const CUdeviceptr to = managed();
  const auto bytes = pattern(kPage);
  put(Kind::managed, to, bytes);
  EXPECT_ANSWER(driver().cuMemPrefetchAsync_v2(to, kPage, on_device, 0, stream()), CUDA_SUCCESS);
  EXPECT_VALUE(take(Kind::managed, to, kPage) == bytes, true);
}
TEST_F(ManagedRanges, Brought_in_a_held_stream_say_so_at_once) {
  const CUdeviceptr to = managed();
  const CUstream work = stream();
  const LimitedHold held(work);
  EXPECT_ANSWER(driver().cuMemPrefetchAsync_v2(to, kPage, on_device, 0, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  EXPECT_VALUE(state_of(to, kPage), text_of({false, {}, {}, kOnDevice}));
}

// ---- Runs of pages with the same state, and pages that allocations share ----

// Each statement runs in a process of its own, in which no other memory shares the pages.
class ManagedRuns : public WithManagedMemory {
 public:
  void bring(CUdeviceptr to, std::size_t bytes, const CUmemLocation &at) {
    NEED(driver().cuMemPrefetchAsync_v2(to, bytes, at, 0, stream()));
    NEED(driver().cuCtxSynchronize());
  }
  static CUdeviceptr allocated(std::size_t bytes) {
    CUdeviceptr to = 0;
    NEED(driver().cuMemAllocManaged(&to, bytes, CU_MEM_ATTACH_GLOBAL));
    return to;
  }
};
const CUmemLocation on_host = location(CU_MEM_LOCATION_TYPE_HOST, 0);

TEST_F(ManagedRuns, Are_stepped_over_by_their_length_to_read_a_range) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr to = managed(4 * kPage);
  bring(to, 2 * kPage, on_device);
  EXPECT_VALUE(state_of(to + kPage, 2 * kPage), text_of({false, {}, {}, kOnDevice}));
  EXPECT_VALUE(state_of(to, 3 * kPage), text_of({}));
  EXPECT_VALUE(state_of(to + kPage, 3 * kPage), text_of({}));
}
TEST_F(ManagedRuns, Are_stepped_over_by_their_length_to_change_a_range) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr to = managed(4 * kPage);
  bring(to + 2 * kPage, kPage, on_host);
  bring(to, 4 * kPage, on_device);  // the third page then belongs to a run of three, and the fourth is left
  EXPECT_VALUE(state_of(to, 3 * kPage), text_of({false, {}, {}, kOnDevice}));
  EXPECT_VALUE(state_of(to + 3 * kPage, kPage), text_of({}));
}
TEST_F(ManagedRuns, Of_pages_that_are_already_so_are_stepped_over) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr to = managed(4 * kPage);
  NEED(driver().cuMemAdvise_v2(to + 2 * kPage, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
  NEED(driver().cuMemAdvise_v2(to + kPage, 2 * kPage, CU_MEM_ADVISE_UNSET_READ_MOSTLY, on_device));
  EXPECT_VALUE(state_of(to + 2 * kPage, kPage), text_of({true, {}, {}, {}}));
}
TEST_F(ManagedRuns, Contain_pages_of_two_allocations) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr first = managed(5000), second = managed(kPage);
  NEED(driver().cuMemAdvise_v2(first + kPage, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
  EXPECT_VALUE(state_of(second, 1), text_of({true, {}, {}, {}}));
  EXPECT_VALUE(state_of(second + kPage - 1, 1), text_of({}));
}
TEST_F(ManagedRuns, Contain_no_pages_of_two_contexts) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr first = managed(5000);
  NEED(driver().cuCtxPushCurrent(other_context()));
  const CUdeviceptr second = allocated(kPage);
  bring(first, 5000, on_host);
  EXPECT_VALUE(state_of(second, kPage), text_of({}));
  NEED(driver().cuMemFree(second));
  NEED(driver().cuCtxPopCurrent(&context_out));
}
TEST_F(ManagedRuns, Get_the_state_of_new_memory_with_a_free) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr first = allocated(5000), second = managed(2 * kPage);
  bring(first, 5000, on_device);
  EXPECT_VALUE(state_of(second, 1), text_of({false, {}, {}, kOnDevice}));
  NEED(driver().cuMemFree(first));
  EXPECT_VALUE(state_of(second, 1), text_of({}));
}
TEST_F(ManagedRuns, Are_stepped_over_by_a_free) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr before = managed(4 * kPage), first = allocated(5000), second = managed(2 * kPage);
  bring(second, 2 * kPage, on_device);
  NEED(driver().cuMemFree(first));
  EXPECT_VALUE(state_of(second, 1), text_of({false, {}, {}, kOnDevice}));
  EXPECT_VALUE(state_of(before, 4 * kPage), text_of({}));
}

}  // namespace
}  // namespace conformance

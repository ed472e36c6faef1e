// SPDX-License-Identifier: Apache-2.0
// Batches of prefetches and discards of managed memory. Each case runs with each of the three calls.
#include <functional>

#include "managed.hpp"

#if CUDA_VERSION >= 13000

namespace conformance {
namespace {

enum Call { prefetch, discard, both };
constexpr const char *call_names[] = {"cuMemPrefetchBatchAsync", "cuMemDiscardBatchAsync",
                                      "cuMemDiscardAndPrefetchBatchAsync"};

// The arguments of a batch; a discard has no locations. By default two pages that go to the device.
class ManagedBatches : public WithManagedMemory {
 public:
  std::vector<CUdeviceptr> addresses;
  std::vector<std::size_t> sizes = {kPage, kPage};
  std::size_t count = 2;
  std::vector<CUmemLocation> to = {location(CU_MEM_LOCATION_TYPE_DEVICE, 0)};
  std::vector<std::size_t> indices = {0};
  std::size_t location_count = 1;
  unsigned long long batch_flags = 0;
  CUstream work = nullptr;
  CUdeviceptr pages = 0;  // three of them

  void prepare() {
    pages = managed(3 * kPage);
    addresses = {pages, pages + kPage};
    work = stream();
  }
  void set_locations(std::vector<CUmemLocation> locations, std::vector<std::size_t> first) {
    assign(to, std::move(locations), location_count);
    indices = std::move(first);
  }
  void set_ranges(std::vector<CUdeviceptr> begins, std::vector<std::size_t> bytes) {
    assign(addresses, std::move(begins), count);
    sizes = std::move(bytes);
  }
  CUresult make(Call call) {
    if (call == discard)
      return driver().cuMemDiscardBatchAsync(addresses.data(), sizes.data(), count, batch_flags, work);
    const auto with_locations = [&](const auto &function) {
      return function(addresses.data(), sizes.data(), count, to.data(), indices.data(), location_count,
                      batch_flags, work);
    };
    if (call == prefetch) return with_locations(driver().cuMemPrefetchBatchAsync);
    return with_locations(driver().cuMemDiscardAndPrefetchBatchAsync);
  }
};

const CUmemLocation device_0 = location(CU_MEM_LOCATION_TYPE_DEVICE, 0);
const CUmemLocation the_host = location(CU_MEM_LOCATION_TYPE_HOST, 0);
const CUmemLocation device_99 = location(CU_MEM_LOCATION_TYPE_DEVICE, 99);

struct BatchCase {
  const char *name;
  std::function<void(ManagedBatches &)> change;
  std::array<int, 3> codes;  // by call
  // The first and the second page, after the calls that prefetch; also after an error.
  std::array<Place, 2> prefetched{};
};
constexpr std::array kBothOnDevice = {kOnDevice, kOnDevice};
constexpr std::array kFirstOnDevice = {kOnDevice, kNowhere};
constexpr Place kOnHost0{CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST, 0};

const BatchCase cases[] = {
    {"of_two_pages", [](ManagedBatches &) {}, {0, 0, 0}, kBothOnDevice},
    {"of_one_page", [](ManagedBatches &t) { t.set_ranges({t.pages}, {kPage}); }, {0, 0, 0}, kFirstOnDevice},
    {"to_two_locations",
     [](ManagedBatches &t) {
       t.set_locations({device_0, the_host}, {0, 1});
     },
     {0, 0, 0},
     {kOnDevice, kOnHost0}},
    {"of_nothing", [](ManagedBatches &t) { t.count = 0; }, {1, 1, 1}},
    {"of_nothing_to_nowhere", [](ManagedBatches &t) { t.count = t.location_count = 0; }, {1, 1, 1}},
    {"to_nowhere", [](ManagedBatches &t) { t.location_count = 0; }, {1, 0, 1}},
    {"to_more_locations_than_ranges",
     [](ManagedBatches &t) {
       t.set_locations({device_0, device_0, device_0}, {0, 1, 2});
     },
     {1, 0, 1}},
    {"with_a_first_index_of_1", [](ManagedBatches &t) { t.indices = {1}; }, {1, 0, 1}},
    {"with_an_index_twice",
     [](ManagedBatches &t) {
       t.set_locations({device_0, device_0}, {0, 0});
     },
     {0, 0, 0},
     kBothOnDevice},
    {"with_an_index_twice_of_two_locations",
     [](ManagedBatches &t) {
       t.set_locations({device_0, the_host}, {0, 0});
     },
     {0, 0, 0},
     kBothOnDevice},
    {"with_an_index_beyond_the_end",
     [](ManagedBatches &t) {
       t.set_locations({device_0, device_0}, {0, 2});
     },
     {1, 0, 1}},
    {"with_falling_indices",
     [](ManagedBatches &t) {
       t.set_ranges({t.pages, t.pages + kPage, t.pages + 2 * kPage}, {kPage, kPage, kPage});
       t.set_locations({device_0, device_0, device_0}, {0, 2, 1});
     },
     {0, 0, 0},
     kBothOnDevice},
    {"with_falling_indices_of_three_locations",
     [](ManagedBatches &t) {
       t.set_ranges({t.pages, t.pages + kPage, t.pages + 2 * kPage}, {kPage, kPage, kPage});
       t.set_locations({device_0, the_host, location(CU_MEM_LOCATION_TYPE_HOST, 5)}, {0, 2, 1});
     },
     {0, 0, 0},
     kBothOnDevice},
    {"with_flags_of_1", [](ManagedBatches &t) { t.batch_flags = 1; }, {1, 1, 1}},
    {"with_all_flags", [](ManagedBatches &t) { t.batch_flags = ~0ull; }, {1, 1, 1}},
    {"with_a_first_size_of_0", [](ManagedBatches &t) { t.sizes[0] = 0; }, {1, 1, 1}},
    {"with_a_second_size_of_0", [](ManagedBatches &t) { t.sizes[1] = 0; }, {1, 1, 1}, kFirstOnDevice},
    {"with_a_first_address_of_null", [](ManagedBatches &t) { t.addresses[0] = 0; }, {1, 1, 1}},
    {"with_a_second_address_of_null",
     [](ManagedBatches &t) { t.addresses[1] = 0; },
     {1, 1, 1},
     kFirstOnDevice},
    {"of_device_memory", [](ManagedBatches &t) { t.addresses[1] = t.memory(); }, {1, 1, 1}, kFirstOnDevice},
    {"of_pinned_memory",
     [](ManagedBatches &t) { t.addresses[1] = address_of(t.pinned()); },
     {1, 1, 1},
     kFirstOnDevice},
    {"of_registered_memory",
     [](ManagedBatches &t) { t.addresses[1] = address_of(t.registered()); },
     {1, 1, 1},
     kFirstOnDevice},
    {"of_pageable_memory",
     [](ManagedBatches &t) { t.addresses[1] = memory_of(t, Kind::pageable); },
     {1, 1, 1},
     kFirstOnDevice},
    {"beyond_the_end", [](ManagedBatches &t) { t.sizes[1] = 1 << 24; }, {1, 1, 1}, kFirstOnDevice},
    {"of_a_part_of_a_page",
     [](ManagedBatches &t) { t.set_ranges({t.pages + 100}, {200}); },
     {0, 0, 0},
     kFirstOnDevice},
    {"of_a_page_and_a_byte",
     [](ManagedBatches &t) { t.set_ranges({t.pages}, {kPage + 1}); },
     {0, 0, 0},
     kBothOnDevice},
    {"of_one_page_twice", [](ManagedBatches &t) { t.addresses[1] = t.pages; }, {0, 0, 0}, kFirstOnDevice},
    {"of_a_freed_page",
     [](ManagedBatches &t) {
       CUdeviceptr freed = 0;
       NEED(driver().cuMemAllocManaged(&freed, kPage, CU_MEM_ATTACH_GLOBAL));
       NEED(driver().cuMemFree(freed));
       t.addresses[1] = freed;
     },
     {1, 1, 1},
     kFirstOnDevice},
    {"in_the_null_stream", [](ManagedBatches &t) { t.work = nullptr; }, {1, 1, 1}},
    {"in_the_legacy_stream", [](ManagedBatches &t) { t.work = legacy(); }, {1, 1, 1}},
    {"in_the_per_thread_stream", [](ManagedBatches &t) { t.work = per_thread(); }, {0, 0, 0}, kBothOnDevice},
    {"in_a_blocking_stream",
     [](ManagedBatches &t) { t.work = t.stream(CU_STREAM_DEFAULT); },
     {0, 0, 0},
     kBothOnDevice},
    {"in_a_stream_of_another_context",
     [](ManagedBatches &t) { t.work = t.in_other_context([&] { return t.stream(); }); },
     {0, 0, 0},
     kBothOnDevice},
    {"of_nothing_in_the_null_stream", [](ManagedBatches &t) { t.count = 0, t.work = nullptr; }, {1, 1, 1}},
    {"to_a_device_in_error_in_the_second_place",
     [](ManagedBatches &t) {
       t.set_locations({device_0, device_99}, {0, 1});
     },
     {1, 0, 1}},
    {"to_a_device_in_error_with_flags",
     [](ManagedBatches &t) { t.to = {device_99}, t.batch_flags = 1; },
     {1, 1, 1}},
    {"of_device_memory_to_a_device_in_error",
     [](ManagedBatches &t) { t.addresses[0] = t.memory(), t.to = {device_99}; },
     {1, 1, 1}},
    {"of_no_bytes_to_a_device_in_error",
     [](ManagedBatches &t) { t.sizes[0] = 0, t.to = {device_99}; },
     {1, 1, 1}},
    {"of_null_to_a_device_in_error",
     [](ManagedBatches &t) { t.addresses[0] = 0, t.to = {device_99}; },
     {1, 1, 1}},
};

// Makes the call, and expects its code and the last prefetches of the first two pages.
void expect(ManagedBatches &t, Call call, CUresult code, const std::array<Place, 2> &prefetched) {
  expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call), code);
  NEED(driver().cuCtxSynchronize());
  for (std::size_t page = 0; page < prefetched.size(); ++page) {
    EXPECT_VALUE(state_of(t.pages + page * kPage, kPage),
                 text_of({false, {}, {}, call != discard ? prefetched[page] : kNowhere}));
  }
}

[[maybe_unused]] const bool cases_added = [] {
  for (const BatchCase &each : cases)
    for (const Call call : {prefetch, discard, both})
      ADD_TEST(ManagedBatches, std::string(call_names[call]) + "_" + each.name, [=](ManagedBatches &t) {
        t.prepare();
        each.change(t);
        expect(t, call, code(each.codes[static_cast<std::size_t>(call)]), each.prefetched);
      });
  return true;
}();

[[maybe_unused]] const bool locations_added = [] {
  static constexpr int codes[] = {0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1};
  for (std::size_t i = 0; i < locations().size(); ++i)
    for (const Call call : {prefetch, both})
      ADD_TEST(ManagedBatches, std::string(call_names[call]) + "_to_" + locations()[i].name,
               [=](ManagedBatches &t) {
                 t.prepare();
                 t.to = {locations()[i].location};
                 const Place at = codes[i] == 0 ? place_of_prefetch(locations()[i].location) : kNowhere;
                 expect(t, call, code(codes[i]), {at, at});
               });
  return true;
}();

// ---- Null arrays ----

struct NullCase {
  const char *name;
  bool addresses, sizes, locations, indices;
};
constexpr NullCase null_cases[] = {{"addresses", true, false, false, false},
                                   {"sizes", false, true, false, false},
                                   {"locations", false, false, true, false},
                                   {"indices", false, false, false, true}};
[[maybe_unused]] const bool nulls_added = [] {
  for (const NullCase &each : null_cases)
    for (const Call call : {prefetch, discard, both}) {
      if (call == discard && (each.locations || each.indices)) continue;
      ADD_TEST(ManagedBatches, std::string(call_names[call]) + "_without_" + each.name,
               [=](ManagedBatches &t) {
                 CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
                 t.prepare();
                 if (each.addresses) t.addresses.clear(), t.addresses.shrink_to_fit();
                 if (each.sizes) t.sizes.clear(), t.sizes.shrink_to_fit();
                 if (each.locations) t.to.clear(), t.to.shrink_to_fit();
                 if (each.indices) t.indices.clear(), t.indices.shrink_to_fit();
                 expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call),
                               CUDA_ERROR_INVALID_VALUE);
               });
    }
  return true;
}();

// ---- Contexts, order and bytes ----

[[maybe_unused]] const bool others_added = [] {
  for (const Call call : {prefetch, discard, both}) {
    const std::string name = call_names[call];
    ADD_TEST(ManagedBatches, name + "_without_a_context", [=](ManagedBatches &t) {
      t.prepare();
      NEED(driver().cuCtxSetCurrent(nullptr));
      expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call), CUDA_SUCCESS);
      t.work = nullptr;
      expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(ManagedBatches, name + "_in_a_held_stream_returns", [=](ManagedBatches &t) {
      t.prepare();
      const LimitedHold held(t.work);
      expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call), CUDA_SUCCESS);
      EXPECT_ANSWER(driver().cuStreamQuery(t.work), CUDA_ERROR_NOT_READY);
      EXPECT_VALUE(state_of(t.pages, kPage),
                   text_of({false, {}, {}, call != discard ? kOnDevice : kNowhere}));
    });
    ADD_TEST(ManagedBatches, name + "_keeps_advice", [=](ManagedBatches &t) {
      t.prepare();
      NEED(driver().cuMemAdvise_v2(t.pages, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, device_0));
      NEED(driver().cuMemAdvise_v2(t.pages, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, the_host));
      NEED(driver().cuMemAdvise_v2(t.pages, kPage, CU_MEM_ADVISE_SET_ACCESSED_BY, device_0));
      expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call), CUDA_SUCCESS);
      NEED(driver().cuCtxSynchronize());
      EXPECT_VALUE(state_of(t.pages, kPage),
                   text_of({true, kOnHost, {0}, call != discard ? kOnDevice : kNowhere}));
    });
    ADD_TEST(ManagedBatches, name + "_after_a_prefetch", [=](ManagedBatches &t) {
      t.prepare();
      t.to = {the_host};
      NEED(driver().cuMemPrefetchAsync_v2(t.pages, kPage, device_0, 0, t.work));
      expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call), CUDA_SUCCESS);
      NEED(driver().cuCtxSynchronize());
      EXPECT_VALUE(state_of(t.pages, kPage),
                   text_of({false, {}, {}, call != discard ? kOnHost0 : kOnDevice}));
    });
    ADD_TEST(ManagedBatches, name + "_before_a_write", [=](ManagedBatches &t) {
      t.prepare();
      expect_answer(__FILE__, __LINE__, std::string(call_names[call]) + "(...)", t.make(call), CUDA_SUCCESS);
      NEED(driver().cuMemsetD8Async(t.pages, 5, 2 * kPage, t.work));
      EXPECT_VALUE(take(Kind::managed, t.pages, 2 * kPage) == std::vector<unsigned char>(2 * kPage, 5), true);
    });
  }
  return true;
}();

TEST_F(ManagedBatches, Of_prefetches_keep_the_bytes) {
  prepare();
  const auto bytes = pattern(2 * kPage);
  put(Kind::managed, pages, bytes);
  expect_answer(__FILE__, __LINE__, "cuMemPrefetchBatchAsync(...)", make(prefetch), CUDA_SUCCESS);
  EXPECT_VALUE(take(Kind::managed, pages, 2 * kPage) == bytes, true);
}
TEST_F(ManagedBatches, Of_discards_keep_the_bytes_beside_them) {
  prepare();
  const auto bytes = pattern(3 * kPage);
  put(Kind::managed, pages, bytes);
  set_ranges({pages + kPage}, {kPage});
  expect_answer(__FILE__, __LINE__, "cuMemDiscardBatchAsync(...)", make(discard), CUDA_SUCCESS);
  const auto after = take(Kind::managed, pages, 3 * kPage);
  EXPECT_VALUE(std::equal(after.begin(), after.begin() + kPage, bytes.begin()), true);
  EXPECT_VALUE(std::equal(after.begin() + 2 * kPage, after.end(), bytes.begin() + 2 * kPage), true);
}
TEST_F(ManagedBatches, Of_discards_of_a_part_of_a_page_keep_the_rest) {
  prepare();
  const auto bytes = pattern(kPage);
  put(Kind::managed, pages, bytes);
  set_ranges({pages + 100}, {200});
  const CUresult code = make(discard);
  RECORD_VALUE(static_cast<int>(code));
  const auto after = take(Kind::managed, pages, kPage);
  EXPECT_VALUE(std::equal(after.begin(), after.begin() + 100, bytes.begin()), true);
  EXPECT_VALUE(std::equal(after.begin() + 300, after.end(), bytes.begin() + 300), true);
}

}  // namespace
}  // namespace conformance

#endif

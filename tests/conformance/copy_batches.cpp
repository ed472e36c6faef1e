// SPDX-License-Identifier: Apache-2.0
// Batches of copies between addresses. Each case runs with both ABIs.
#include <cushim/default_stream.hpp>
#include <cushim/exact.hpp>

#include <functional>

#include "copy_batches.hpp"
#include "managed.hpp"

#if CUDA_VERSION >= 13000

namespace conformance {
namespace {

constexpr const char *call_names[] = {"cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"};

constexpr std::size_t kBytes = 256;

CUmemcpyAttributes attributes(int order, unsigned flags = 0) {
  CUmemcpyAttributes made{};
  made.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(order);
  made.flags = flags;
  return made;
}
constexpr int kStreamOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;

// The arguments of a batch; by default two copies of 256 bytes from pinned to device memory.
class CopyBatches : public OnDevice {
 public:
  std::vector<CUdeviceptr> targets, sources;
  std::vector<std::size_t> sizes = {kBytes, kBytes};
  std::size_t count = 2;
  std::vector<CUmemcpyAttributes> with = {attributes(kStreamOrder)};
  std::vector<std::size_t> indices = {0};
  std::size_t attribute_count = 1;
  std::size_t fail_index = kUntouched;
  std::size_t *fail_place = &fail_index;
  CUstream work = nullptr;
  Kind target_kind = Kind::device;
  CUdeviceptr target = 0, source = 0;

  void prepare(Kind to = Kind::device, Kind from = Kind::pinned) {
    target_kind = to;
    target = memory_of(*this, to);
    source = memory_of(*this, from);
    put(to, target, std::vector<unsigned char>(2 * kBytes, 0));
    put(from, source, pattern(2 * kBytes));
    targets = {target, target + kBytes};
    sources = {source, source + kBytes};
    work = stream();
  }
  void set_attributes(std::vector<CUmemcpyAttributes> all, std::vector<std::size_t> first) {
    assign(with, std::move(all), attribute_count);
    indices = std::move(first);
  }
  CUresult make(Abi abi) {
    if (abi == first_abi)
      return CUSHIM_EXACT_PTSZ(cuMemcpyBatchAsync_v12080)(driver())(
          targets.data(), sources.data(), sizes.data(), count, with.data(), indices.data(), attribute_count,
          fail_place, work);
    return CUSHIM_EXACT_PTSZ(cuMemcpyBatchAsync_v13000)(driver())(targets.data(), sources.data(),
                                                                  sizes.data(), count, with.data(),
                                                                  indices.data(), attribute_count, work);
  }
  void expect(Abi abi, CUresult code) {
    expect_answer(__FILE__, __LINE__, std::string(call_names[abi]) + "(...)", make(abi), code);
  }
  // Returns which of the two copies were made: "none", "first", "second" or "both".
  std::string copied() {
    if (work != nullptr) NEED(driver().cuStreamSynchronize(work));  // may be of another context
    const auto bytes = take(target_kind, target, 2 * kBytes), expected = pattern(2 * kBytes);
    const bool first = std::equal(bytes.begin(), bytes.begin() + kBytes, expected.begin());
    const bool second = std::equal(bytes.begin() + kBytes, bytes.end(), expected.begin() + kBytes);
    return first && second ? "both" : first ? "first" : second ? "second" : "none";
  }
};

struct CopyCase {
  const char *name;
  std::function<void(CopyBatches &)> change;
  int code;
  const char *copied;
  std::size_t fail_index = kNotOne;  // of the first ABI
  bool may_fault = false;            // runs in its own process: an error that is not found ends the context
};

const CopyCase cases[] = {
    {"of_two_copies", [](CopyBatches &) {}, 0, "both"},
    {"of_one_copy", [](CopyBatches &t) { t.count = 1; }, 0, "first"},
    {"with_two_attributes",
     [](CopyBatches &t) {
       t.set_attributes({attributes(kStreamOrder), attributes(3)}, {0, 1});
     },
     0, "both"},
    {"of_nothing", [](CopyBatches &t) { t.count = 0; }, 1, "none"},
    {"of_nothing_at_all", [](CopyBatches &t) { t.count = t.attribute_count = 0; }, 1, "none"},
    {"without_attributes", [](CopyBatches &t) { t.attribute_count = 0; }, 1, "none"},
    {"with_more_attributes_than_copies",
     [](CopyBatches &t) {
       t.set_attributes({attributes(1), attributes(1), attributes(1)}, {0, 1, 2});
     },
     1, "none"},
    {"with_a_first_index_of_1", [](CopyBatches &t) { t.indices = {1}; }, 1, "none"},
    {"with_an_index_twice",
     [](CopyBatches &t) {
       t.set_attributes({attributes(1), attributes(1)}, {0, 0});
     },
     1, "none"},
    {"with_an_index_beyond_the_end",
     [](CopyBatches &t) {
       t.set_attributes({attributes(1), attributes(1)}, {0, 2});
     },
     1, "none"},
    {"with_an_access_order_of_0", [](CopyBatches &t) { t.with = {attributes(0)}; }, 1, "none"},
    {"during_the_call", [](CopyBatches &t) { t.with = {attributes(2)}; }, 0, "both"},
    {"in_any_order", [](CopyBatches &t) { t.with = {attributes(3)}; }, 0, "both"},
    {"with_an_access_order_of_4", [](CopyBatches &t) { t.with = {attributes(4)}; }, 1, "none"},
    {"with_the_largest_access_order",
     [](CopyBatches &t) { t.with = {attributes(CU_MEMCPY_SRC_ACCESS_ORDER_MAX)}; }, 1, "none"},
    {"with_a_second_access_order_in_error",
     [](CopyBatches &t) {
       t.set_attributes({attributes(1), attributes(0)}, {0, 1});
     },
     1, "none"},
    {"that_prefer_overlap", [](CopyBatches &t) { t.with = {attributes(1, 1)}; }, 0, "both"},
    {"with_flags_of_2", [](CopyBatches &t) { t.with = {attributes(1, 2)}; }, 1, "none"},
    {"with_all_flags", [](CopyBatches &t) { t.with = {attributes(1, ~0u)}; }, 1, "none"},
    {"with_hints_of_locations",
     [](CopyBatches &t) {
       t.with[0].srcLocHint = location(CU_MEM_LOCATION_TYPE_HOST, 0);
       t.with[0].dstLocHint = location(CU_MEM_LOCATION_TYPE_DEVICE, 0);
     },
     0, "both"},
    {"with_a_hint_of_no_device",
     [](CopyBatches &t) { t.with[0].dstLocHint = location(CU_MEM_LOCATION_TYPE_DEVICE, 99); }, 1, "none"},
    {"with_a_hint_of_an_unknown_type", [](CopyBatches &t) { t.with[0].srcLocHint = location(9, 0); }, 1,
     "none"},
    {"with_a_first_size_of_0", [](CopyBatches &t) { t.sizes[0] = 0; }, 1, "none", 0},
    {"with_a_second_size_of_0", [](CopyBatches &t) { t.sizes[1] = 0; }, 1, "first", 1},
    {"with_a_first_target_of_null", [](CopyBatches &t) { t.targets[0] = 0; }, 1, "none", 0, true},
    {"with_a_second_target_of_null", [](CopyBatches &t) { t.targets[1] = 0; }, 1, "first", 1, true},
    {"with_a_first_source_of_null", [](CopyBatches &t) { t.sources[0] = 0; }, 1, "none", 0, true},
    {"with_a_second_source_of_null", [](CopyBatches &t) { t.sources[1] = 0; }, 1, "first", 1, true},
    {"with_a_target_that_ends_too_early", [](CopyBatches &t) { t.targets[1] = t.memory(128); }, 1, "first", 1,
     true},
    {"with_a_target_that_ends_far_too_early",
     [](CopyBatches &t) { t.targets[1] = t.memory(128), t.sizes[1] = 1 << 26; }, 1, "first", 1, true},
    {"with_a_source_that_ends_too_early", [](CopyBatches &t) { t.sources[1] = t.memory(128); }, 1, "first", 1,
     true},
    {"of_one_range_to_itself", [](CopyBatches &t) { t.targets[1] = t.sources[1]; }, 0, "first"},
    {"in_the_null_stream", [](CopyBatches &t) { t.work = nullptr; }, 1, "none", kUntouched},
    {"in_the_legacy_stream", [](CopyBatches &t) { t.work = legacy(); }, 1, "none"},
    {"in_the_per_thread_stream", [](CopyBatches &t) { t.work = per_thread(); }, 0, "both"},
    {"in_a_blocking_stream", [](CopyBatches &t) { t.work = t.stream(CU_STREAM_DEFAULT); }, 0, "both"},
    {"in_a_stream_of_another_context",
     [](CopyBatches &t) { t.work = t.in_other_context([&] { return t.stream(); }); }, 0, "both"},
    {"from_memory_of_another_context",
     [](CopyBatches &t) {
       t.sources[1] = t.in_other_context([&] { return t.memory(); });
       put(Kind::device, t.sources[1], std::vector<unsigned char>(kBytes, 1));
     },
     0, "first"},
    {"of_nothing_in_the_null_stream", [](CopyBatches &t) { t.count = 0, t.work = nullptr; }, 1, "none",
     kUntouched},
    {"with_an_access_order_of_0_and_a_target_of_null",
     [](CopyBatches &t) { t.with = {attributes(0)}, t.targets[1] = 0; }, 1, "none", kNotOne, true},
    {"without_a_place_for_the_index", [](CopyBatches &t) { t.fail_place = nullptr; }, 0, "both", kUntouched},
    {"without_a_place_for_the_index_of_an_error",
     [](CopyBatches &t) { t.fail_place = nullptr, t.targets[1] = 0; }, 1, "first", kUntouched, true},
};

[[maybe_unused]] const bool cases_added = [] {
  add_cases<CopyBatches>("CopyBatches", cases,
                         [](CopyBatches &t, const CopyCase &each) { EXPECT_VALUE(t.copied(), each.copied); });
  return true;
}();

// ---- Every two kinds of memory, in each order of access ----

[[maybe_unused]] const bool kinds_added = [] {
  for (const Kind to : kinds)
    for (const Kind from : kinds)
      for (const int order : {1, 2, 3})
        ADD_TEST(CopyBatches,
                 std::string("from_") + name_of(from) + "_to_" + name_of(to) + "_in_order_" +
                     std::to_string(order),
                 [=](CopyBatches &t) {
                   t.prepare(to, from);
                   t.with = {attributes(order)};
                   t.expect(second_abi, CUDA_SUCCESS);
                   EXPECT_VALUE(t.copied(), "both");
                 });
  return true;
}();

// ---- Hints for managed memory ----

[[maybe_unused]] const bool hints_added = [] {
  for (const NamedLocation &each : locations())
    ADD_TEST(CopyBatches, std::string("of_managed_memory_with_the_hint_") + each.name, [=](CopyBatches &t) {
      t.prepare(Kind::managed, Kind::managed);
      t.with[0].srcLocHint = t.with[0].dstLocHint = each.location;
      const auto [type, id] = each.location;
      const bool is_known = type == CU_MEM_LOCATION_TYPE_DEVICE ? id == 0 : type <= 4;
      t.expect(second_abi, is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
      EXPECT_VALUE(t.copied(), is_known ? "both" : "none");
      EXPECT_VALUE(state_of(t.target, kPage), text_of({}));
    });
  return true;
}();

// ---- Null arrays ----

struct NullCase {
  const char *name;
  std::function<void(CopyBatches &)> change;
};
template <class T>
void make_null(std::vector<T> &array) {
  array = std::vector<T>();
}
const NullCase null_cases[] = {
    {"targets", [](CopyBatches &t) { make_null(t.targets); }},
    {"sources", [](CopyBatches &t) { make_null(t.sources); }},
    {"sizes", [](CopyBatches &t) { make_null(t.sizes); }},
    {"the_array_of_attributes", [](CopyBatches &t) { make_null(t.with); }},
    {"indices", [](CopyBatches &t) { make_null(t.indices); }},
};
[[maybe_unused]] const bool nulls_added = [] {
  for (const NullCase &each : null_cases)
    for (const Abi abi : abis)
      ADD_TEST(CopyBatches, std::string("without_") + each.name + "_" + abi_names[abi], [=](CopyBatches &t) {
        CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
        t.prepare();
        each.change(t);
        t.expect(abi, CUDA_ERROR_INVALID_VALUE);
        EXPECT_VALUE(t.fail_index, index_after(abi, kNotOne));
      });
  return true;
}();

// ---- Contexts and order ----

[[maybe_unused]] const bool without_context_added = [] {
  for (const Abi abi : abis)
    ADD_TEST(CopyBatches, std::string("Are_not_made_in_an_own_stream_without_a_context_") + abi_names[abi],
             [=](CopyBatches &t) {
               t.prepare();
               NEED(driver().cuCtxSetCurrent(nullptr));
               const CUresult answered = t.make(abi);
               NEED(driver().cuCtxSetCurrent(t.context));
               expect_answer(__FILE__, __LINE__, "cuMemcpyBatchAsync(...)", answered,
                             CUDA_ERROR_INVALID_VALUE);
               EXPECT_VALUE(t.fail_index, index_after(abi, kNotOne));
             });
  return true;
}();
TEST_F(CopyBatches, Are_not_made_in_the_null_stream_without_a_context) {
  prepare();
  work = nullptr;
  NEED(driver().cuCtxSetCurrent(nullptr));
  const CUresult answered = make(second_abi);
  NEED(driver().cuCtxSetCurrent(context));
  expect_answer(__FILE__, __LINE__, "cuMemcpyBatchAsync_v2(...)", answered, CUDA_ERROR_INVALID_VALUE);
}
TEST_F(CopyBatches, Wait_for_earlier_work_of_the_stream) {
  prepare(Kind::pinned, Kind::device);
  const CUdeviceptr late = memory();
  LimitedHold held(work);
  NEED(driver().cuMemsetD8Async(source, 9, 2 * kBytes, work));
  expect(second_abi, CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  NEED(driver().cuMemcpyDtoDAsync(late, source, kBytes, work));
  EXPECT_VALUE(static_cast<int>(*reinterpret_cast<volatile unsigned char *>(target)), 0);
  held.release();
  EXPECT_VALUE(take(Kind::pinned, target, 2 * kBytes) == std::vector<unsigned char>(2 * kBytes, 9), true);
  EXPECT_VALUE(take(Kind::device, late, kBytes) == std::vector<unsigned char>(kBytes, 9), true);
}

// Makes a batch in a held stream, then changes its source and releases the stream. `waits`: the call waits
// for the copies, and so for the end of the hold.
void copy_from_changed_source(CopyBatches &t, Kind from, int order, bool waits, int arrived,
                              Kind to = Kind::device) {
  t.prepare(to, from);
  t.with = {attributes(order)};
  LimitedHold held(t.work);
  t.expect(second_abi, CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(t.work), waits ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
  *reinterpret_cast<volatile unsigned char *>(t.source) = 200;
  held.release();
  NEED(driver().cuStreamSynchronize(t.work));
  EXPECT_VALUE(static_cast<int>(take(to, t.target, kBytes)[0]), arrived);
}
const struct {
  const char *name;
  Kind from;
  int order;
  bool waits;  // the call returns after the copy
  int arrived;
  Kind to = Kind::device;
} changed_sources[] = {
    {"In_stream_order_read_pinned_memory_when_the_stream_comes_to_them", Kind::pinned, 1, false, 200},
    {"In_stream_order_read_pageable_memory_during_the_call", Kind::pageable, 1, true, 1},
    {"During_the_call_read_pageable_memory_then", Kind::pageable, 2, false, 1},
    {"During_the_call_read_pinned_memory_then", Kind::pinned, 2, true, 1},
    {"In_any_order_read_pageable_memory", Kind::pageable, 3, false, 1},
    {"In_any_order_read_pinned_memory", Kind::pinned, 3, false, 200},
    {"During_the_call_read_managed_memory_then", Kind::managed, 2, true, 1},
    {"In_stream_order_read_pageable_memory_for_pinned_memory_when_the_stream_comes_to_them", Kind::pageable,
     1, false, 200, Kind::pinned},
    {"During_the_call_read_pageable_memory_for_pinned_memory_then", Kind::pageable, 2, false, 1,
     Kind::pinned},
};
[[maybe_unused]] const bool changed_sources_added = [] {
  for (const auto &each : changed_sources)
    ADD_TEST(CopyBatches, each.name, [=](CopyBatches &t) {
      copy_from_changed_source(t, each.from, each.order, each.waits, each.arrived, each.to);
    });
  return true;
}();
TEST_F(CopyBatches, During_the_call_read_device_memory_then) {
  prepare(Kind::device, Kind::device);
  with = {attributes(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)};
  const LimitedHold held(work);
  NEED(driver().cuMemsetD8Async(source, 9, 2 * kBytes, work));
  expect(second_abi, CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(take(Kind::device, target, kBytes)[0]), 9);
}

}  // namespace
}  // namespace conformance

#endif

// SPDX-License-Identifier: Apache-2.0
// One-dimensional copies from, to and between arrays.
#include <cushim/exact.hpp>

#include <array>

#include "array_memory.hpp"

namespace conformance {
namespace {

constexpr std::size_t kBytes = 256;  // of a row

class ArrayCopies : public WithArrays {
 public:
  // Make arrays filled with a pattern: a row of bytes, a row of 4-byte words, a plane of 4 rows.
  CUarray filled(const CUDA_ARRAY3D_DESCRIPTOR &wanted, unsigned start = 1) {
    const CUarray made = array(wanted);
    const std::size_t rows = wanted.Height == 0 ? 1 : wanted.Height;
    put(made, kBytes, rows, 1, pattern(kBytes * rows, start));
    return made;
  }
  CUarray bytes(unsigned start = 1) { return filled(shape(kBytes), start); }
  CUarray words(unsigned start = 1) { return filled(shape(kBytes / 4, 0, 0, CU_AD_FORMAT_FLOAT), start); }
  CUarray plane(unsigned start = 1) { return filled(shape(kBytes, 4), start); }
};

struct Arguments {
  CUarray array = nullptr;
  std::size_t offset = 0;
  CUdeviceptr address = 0;  // the other end: memory, or an array (second)
  CUarray second = nullptr;
  std::size_t second_offset = 0;
  std::size_t bytes = kBytes;
  CUstream work = nullptr;
};

struct ArrayCall {
  const char *name;
  bool to_array;
  Kind kind;  // of the other end
  bool to_second;
  CUresult (*call)(const Arguments &with);
};

void *host_of(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

const ArrayCall array_calls[] = {
    {"cuMemcpyHtoA", true, Kind::pageable, false,
     [](const Arguments &with) {
       return driver().cuMemcpyHtoA(with.array, with.offset, host_of(with.address), with.bytes);
     }},
    {"cuMemcpyHtoAAsync", true, Kind::pinned, false,
     [](const Arguments &with) {
       return driver().cuMemcpyHtoAAsync(with.array, with.offset, host_of(with.address), with.bytes,
                                         with.work);
     }},
    {"cuMemcpyAtoH", false, Kind::pageable, false,
     [](const Arguments &with) {
       return driver().cuMemcpyAtoH(host_of(with.address), with.array, with.offset, with.bytes);
     }},
    {"cuMemcpyAtoHAsync", false, Kind::pinned, false,
     [](const Arguments &with) {
       return driver().cuMemcpyAtoHAsync(host_of(with.address), with.array, with.offset, with.bytes,
                                         with.work);
     }},
    {"cuMemcpyDtoA", true, Kind::device, false,
     [](const Arguments &with) {
       return driver().cuMemcpyDtoA(with.array, with.offset, with.address, with.bytes);
     }},
    {"cuMemcpyAtoD", false, Kind::device, false,
     [](const Arguments &with) {
       return driver().cuMemcpyAtoD(with.address, with.array, with.offset, with.bytes);
     }},
    {"cuMemcpyAtoA", false, Kind::device, true,
     [](const Arguments &with) {
       return driver().cuMemcpyAtoA(with.second, with.second_offset, with.array, with.offset, with.bytes);
     }},
};
constexpr std::size_t kCalls = std::size(array_calls);

struct ArrayUse {
  const char *name;
  CUarray (*make)(ArrayCopies &t, unsigned start);
  void (*change)(ArrayCopies &t, Arguments &with);
  std::array<int, kCalls> codes;
  bool may_crash = false;
};

CUarray bytes(ArrayCopies &t, unsigned start) { return t.bytes(start); }
CUarray words(ArrayCopies &t, unsigned start) { return t.words(start); }
CUarray plane(ArrayCopies &t, unsigned start) { return t.plane(start); }

const ArrayUse array_uses[] = {
    {"of_all", bytes, [](ArrayCopies &, Arguments &) {}, {0, 0, 0, 0, 0, 0, 0}},
    {"of_a_part",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.offset = with.second_offset = 10, with.bytes = 33; },
     {0, 0, 0, 0, 0, 0, 0}},
    {"of_words", words, [](ArrayCopies &, Arguments &) {}, {0, 0, 0, 0, 0, 0, 0}},
    {"of_some_words",
     words,
     [](ArrayCopies &, Arguments &with) { with.offset = with.second_offset = 8, with.bytes = 12; },
     {0, 0, 0, 0, 0, 0, 0}},
    {"within_a_word",
     words,
     [](ArrayCopies &, Arguments &with) { with.offset = 2, with.bytes = 8; },
     {0, 0, 0, 0, 0, 0, 0}},
    {"to_within_a_word",
     words,
     [](ArrayCopies &, Arguments &with) { with.second_offset = 2, with.bytes = 8; },
     {-1, -1, -1, -1, -1, -1, 0}},
    {"of_half_a_word", words, [](ArrayCopies &, Arguments &with) { with.bytes = 6; }, {0, 0, 0, 0, 0, 0, 0}},
    {"of_a_plane", plane, [](ArrayCopies &, Arguments &) {}, {0, 0, 0, 0, 0, 0, 0}},
    {"of_more_than_a_row",
     plane,
     [](ArrayCopies &, Arguments &with) { with.bytes = kBytes + 8; },
     {1, 1, 1, 1, 1, 1, 1}},
    {"of_two_rows",
     plane,
     [](ArrayCopies &, Arguments &with) { with.bytes = 2 * kBytes; },
     {1, 1, 1, 1, 1, 1, 1}},
    {"of_the_second_row",
     plane,
     [](ArrayCopies &, Arguments &with) { with.offset = kBytes; },
     {1, 1, 1, 1, 1, 1, 1}},
    {"of_nothing", bytes, [](ArrayCopies &, Arguments &with) { with.bytes = 0; }, {0, 0, 0, 0, 0, 0, 0}},
    {"of_nothing_at_the_end",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.offset = with.second_offset = kBytes, with.bytes = 0; },
     {0, 0, 0, 0, 0, 0, 0}},
    {"of_nothing_beyond",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.offset = 10 * kBytes, with.bytes = 0; },
     {0, 0, 0, 0, 0, 0, 0}},
    {"of_nothing_and_null_memory",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.bytes = 0, with.address = 0, with.second = nullptr; },
     {0, 0, 0, 0, 0, 0, 0}},
    {"of_nothing_and_a_null_array",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.bytes = 0, with.array = nullptr; },
     {0, 0, 0, 0, 0, 0, 0}},
    {"over_the_end", bytes, [](ArrayCopies &, Arguments &with) { with.offset = 1; }, {1, 1, 1, 1, 1, 1, 1}},
    {"to_over_the_end",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.second_offset = 1; },
     {-1, -1, -1, -1, -1, -1, 1}},
    {"beyond_the_end",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.offset = kBytes, with.bytes = 1; },
     {1, 1, 1, 1, 1, 1, 1}},
    {"far_beyond_the_end",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.offset = ~std::size_t{0}, with.bytes = 2; },
     {1, 1, 1, 1, 1, 1, 1}},
    {"of_a_null_array",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.array = nullptr; },
     {1, 1, 1, 1, 1, 1, 1}},
    {"to_a_null_array",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.second = nullptr; },
     {-1, -1, -1, -1, -1, -1, 1}},
    {"of_null_memory",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.address = 0; },
     {1, 1, 1, 1, 1, 1, -1},
     true},
    {"of_null_memory_over_the_end",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.address = 0, with.offset = 1; },
     {1, 1, 1, 1, 1, 1, -1},
     true},
    {"without_a_context",
     bytes,
     [](ArrayCopies &, Arguments &) { NEED(driver().cuCtxSetCurrent(nullptr)); },
     {201, 0, 201, 0, 201, 201, 201}},
    {"of_nothing_without_a_context",
     bytes,
     [](ArrayCopies &, Arguments &with) {
       with.bytes = 0;
       NEED(driver().cuCtxSetCurrent(nullptr));
     },
     {201, 0, 201, 0, 201, 201, 201}},
    {"of_a_null_array_without_a_context",
     bytes,
     [](ArrayCopies &, Arguments &with) {
       with.array = nullptr;
       NEED(driver().cuCtxSetCurrent(nullptr));
     },
     {201, 1, 201, 1, 201, 201, 201}},
    {"in_another_context",
     bytes,
     [](ArrayCopies &t, Arguments &) { NEED(driver().cuCtxSetCurrent(t.other_context())); },
     {0, 0, 0, 0, 0, 0, 0}},
    {"in_the_null_stream",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.work = nullptr; },
     {-1, 0, -1, 0, -1, -1, -1}},
    {"in_the_legacy_stream",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.work = legacy(); },
     {-1, 0, -1, 0, -1, -1, -1}},
    {"in_the_per_thread_stream",
     bytes,
     [](ArrayCopies &, Arguments &with) { with.work = per_thread(); },
     {-1, 0, -1, 0, -1, -1, -1}},
    {"in_a_stream_of_another_context",
     bytes,
     [](ArrayCopies &t, Arguments &with) { with.work = t.in_other_context([&t] { return t.stream(); }); },
     {-1, 0, -1, 0, -1, -1, -1}},
};

// Returns the bytes of the copy's target.
std::vector<unsigned char> written(const ArrayCall &call, const Arguments &with, std::size_t rows) {
  if (call.to_array) return take(with.array, kBytes, rows, 1);
  if (call.to_second) return take(with.second, kBytes, rows, 1);
  return take(call.kind, with.address, 4 * kBytes);
}

const bool uses = [] {
  for_each_code(array_uses, array_calls, [](const ArrayUse &use, const ArrayCall &call, CUresult expected) {
    ADD_TEST(ArrayCopies, std::string(call.name) + "_" + use.name, [=](ArrayCopies &t) {
      if (use.may_crash) CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      Arguments with;
      with.array = use.make(t, 1);
      if (call.to_second) {
        with.second = use.make(t, 100);
      } else {
        with.address = memory_of(t, call.kind, 4 * kBytes);
        put(call.kind, with.address, pattern(4 * kBytes, 100));
      }
      with.work = t.stream();
      const std::size_t rows = use.make == plane ? 4 : 1;
      const Arguments good = with;
      const auto before = written(call, good, rows);
      use.change(t, with);
      expect_answer(__FILE__, __LINE__, std::string(call.name) + "(...)", call.call(with), expected);
      driver().cuCtxSynchronize();
      NEED(driver().cuCtxSetCurrent(t.context));
      NEED(driver().cuStreamSynchronize(with.work));
      auto after = before;
      if (expected == CUDA_SUCCESS) {
        const auto source = pattern(4 * kBytes, call.to_array ? 100 : 1);
        for (std::size_t i = 0; i < with.bytes; ++i) {
          if (call.to_array)
            after.at(with.offset + i) = source.at(i);
          else
            after.at((call.to_second ? with.second_offset : 0) + i) = source.at(with.offset + i);
        }
      }
      EXPECT_VALUE(written(call, good, rows) == after, true);
    });
  });
  return true;
}();

// ---- Other kinds of memory than the call's name says ----

const bool other_kinds = [] {
  for (const ArrayCall &call : array_calls)
    for (const Kind kind : kinds) {
      if (call.to_second) continue;
      const std::string name = call.name;
      const bool by_device = name.find('D') != name.npos;
      // The host may be able to read device memory that is passed as host memory.
      const bool may_crash = !by_device && kind == Kind::device;
      const CUresult expected = by_device && kind == Kind::pageable ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
      ADD_TEST(ArrayCopies, name + "_with_" + name_of(kind) + "_memory", [=](ArrayCopies &t) {
        if (may_crash) CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
        Arguments with;
        with.array = t.bytes();
        with.address = memory_of(t, kind, kBytes);
        with.work = t.stream();
        put(kind, with.address, pattern(kBytes, 100));
        expect_answer(__FILE__, __LINE__, name + "(...)", call.call(with), expected);
        const auto wanted = pattern(kBytes, (expected == CUDA_SUCCESS) == call.to_array ? 100 : 1);
        NEED(driver().cuCtxSynchronize());
        if (call.to_array)
          EXPECT_VALUE(take(with.array, kBytes, 1, 1) == wanted, true);
        else
          EXPECT_VALUE(take(kind, with.address, kBytes) == wanted, true);
      });
    }
  return true;
}();

// ---- Order ----

TEST_F(ArrayCopies, In_a_held_stream_wait) {
  unsigned char *const to = pinned_one(*this);
  const CUarray from = bytes(7);
  expect_copy_waits(*this, to, [&](CUstream work) {
    EXPECT_ANSWER(driver().cuMemcpyAtoHAsync(to, from, 0, kBytes, work), CUDA_SUCCESS);
  });
  EXPECT_VALUE(static_cast<int>(to[0]), 7);
}
TEST_F(ArrayCopies, Of_pinned_memory_are_read_when_the_stream_comes_to_them) {
  unsigned char *const from = pinned_one(*this);
  const CUarray to = bytes();
  change_source_after(*this, from, [&](CUstream work) {
    EXPECT_ANSWER(driver().cuMemcpyHtoAAsync(to, 0, from, kBytes, work), CUDA_SUCCESS);
  });
  EXPECT_VALUE(static_cast<int>(take(to, kBytes, 1, 1)[0]), 2);
}
TEST_F(ArrayCopies, Of_small_pageable_memory_in_a_held_stream_return_at_once) {
  auto from = pattern(kBytes, 1);
  const CUarray to = bytes(100);
  change_source_after(*this, from.data(), [&](CUstream work) {
    EXPECT_ANSWER(driver().cuMemcpyHtoAAsync(to, 0, from.data(), kBytes, work), CUDA_SUCCESS);
  });
  EXPECT_VALUE(static_cast<int>(take(to, kBytes, 1, 1)[0]), 1);
}

// ---- The first ABI ----

TEST_F(ArrayCopies, Of_the_first_ABI) {
  const CUarray one = bytes(1), other = bytes(50);
  auto host = pattern(kBytes, 9);
  void *const kept = pinned();
  EXPECT_ANSWER(cushim::exact::cuMemcpyHtoA_v2000(driver())(one, 0, host.data(), kBytes),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpyAtoH_v2000(driver())(host.data(), one, 0, kBytes),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpyAtoA_v2000(driver())(other, 0, one, 0, kBytes),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpyHtoAAsync_v2000(driver())(one, 0, kept, kBytes, stream()),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpyAtoHAsync_v2000(driver())(kept, one, 0, kBytes, stream()),
                CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpyDtoA_v2000(driver())(one, 0, 256, kBytes), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpyAtoD_v2000(driver())(256, one, 0, kBytes), CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSynchronize());
}

}  // namespace
}  // namespace conformance

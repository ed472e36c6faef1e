// SPDX-License-Identifier: Apache-2.0
// Memsets.
#include <cushim/copy.hpp>
#include <cushim/memory.hpp>

#include <algorithm>

#include "memory_kinds.hpp"

namespace conformance {
namespace {

class Sets : public OnDevice {};

// A memset of elements, or of rows of elements.
struct SetCall {
  const char *name;
  std::size_t element;
  bool rows;
  CUresult (*call)(CUstream stream, CUdeviceptr at, std::size_t pitch, std::size_t width, std::size_t height);
};
#define ARGUMENTS                                                                                          \
  [[maybe_unused]] CUstream stream, CUdeviceptr at, [[maybe_unused]] std::size_t pitch, std::size_t width, \
      [[maybe_unused]] std::size_t height
const SetCall set_calls[] = {
    {"cuMemsetD8", 1, false, [](ARGUMENTS) { return driver().cuMemsetD8(at, 0x51, width); }},
    {"cuMemsetD16", 2, false, [](ARGUMENTS) { return driver().cuMemsetD16(at, 0x5152, width); }},
    {"cuMemsetD32", 4, false, [](ARGUMENTS) { return driver().cuMemsetD32(at, 0x51525354, width); }},
    {"cuMemsetD8Async", 1, false,
     [](ARGUMENTS) { return driver().cuMemsetD8Async(at, 0x51, width, stream); }},
    {"cuMemsetD16Async", 2, false,
     [](ARGUMENTS) { return driver().cuMemsetD16Async(at, 0x5152, width, stream); }},
    {"cuMemsetD32Async", 4, false,
     [](ARGUMENTS) { return driver().cuMemsetD32Async(at, 0x51525354, width, stream); }},
    {"cuMemsetD2D8", 1, true,
     [](ARGUMENTS) { return driver().cuMemsetD2D8(at, pitch, 0x51, width, height); }},
    {"cuMemsetD2D16", 2, true,
     [](ARGUMENTS) { return driver().cuMemsetD2D16(at, pitch, 0x5152, width, height); }},
    {"cuMemsetD2D32", 4, true,
     [](ARGUMENTS) { return driver().cuMemsetD2D32(at, pitch, 0x51525354, width, height); }},
    {"cuMemsetD2D8Async", 1, true,
     [](ARGUMENTS) { return driver().cuMemsetD2D8Async(at, pitch, 0x51, width, height, stream); }},
    {"cuMemsetD2D16Async", 2, true,
     [](ARGUMENTS) { return driver().cuMemsetD2D16Async(at, pitch, 0x5152, width, height, stream); }},
    {"cuMemsetD2D32Async", 4, true,
     [](ARGUMENTS) { return driver().cuMemsetD2D32Async(at, pitch, 0x51525354, width, height, stream); }},
};
#undef ARGUMENTS

struct SetUse {
  const char *name;
  Kind kind;
  bool null;
  std::size_t offset, pitch, width, height;
  bool no_context;
};
const SetUse set_uses[] = {
    {"sets_device_memory", Kind::device, false, 0, 256, 16, 4, false},
    {"sets_managed_memory", Kind::managed, false, 0, 256, 16, 4, false},
    {"sets_pinned_memory", Kind::pinned, false, 0, 256, 16, 4, false},
    {"sets_registered_memory", Kind::registered, false, 0, 256, 16, 4, false},
    {"is_asked_of_pageable_memory", Kind::pageable, false, 0, 256, 16, 4, false},
    {"is_asked_of_null", Kind::device, true, 0, 256, 16, 4, false},
    {"sets_nothing", Kind::device, false, 0, 256, 0, 4, false},
    {"sets_nothing_at_null", Kind::device, true, 0, 256, 0, 4, false},
    {"sets_no_rows", Kind::device, false, 0, 256, 16, 0, false},
    {"is_asked_of_an_address_odd_by_1", Kind::device, false, 1, 256, 16, 4, false},
    {"is_asked_of_an_address_odd_by_2", Kind::device, false, 2, 256, 16, 4, false},
    {"is_asked_with_a_pitch_odd_by_1", Kind::device, false, 0, 257, 16, 4, false},
    {"is_asked_with_a_pitch_odd_by_2", Kind::device, false, 0, 258, 16, 4, false},
    {"is_asked_with_a_pitch_below_the_width", Kind::device, false, 0, 8, 16, 4, false},
    {"is_asked_with_no_pitch", Kind::device, false, 0, 0, 16, 4, false},
    {"is_asked_for_one_row_with_no_pitch", Kind::device, false, 0, 0, 16, 1, false},
    {"is_asked_without_a_context", Kind::device, false, 0, 256, 16, 4, true},
    {"is_asked_of_null_without_a_context", Kind::device, true, 0, 256, 16, 4, true},
};
// The answers to the uses while a context is current. Those of the calls with a stream are the same.
struct SetCodes {
  std::size_t element;
  bool rows;
  std::vector<int> codes;
};
const SetCodes answers_of_sets[] = {
    {1, false, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {2, false, {0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
    {4, false, {0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0}},
    {1, true, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0}},
    {2, true, {0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0}},
    {4, true, {0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0}},
};
CUresult code_of(const SetCall &call, const SetUse &use, std::size_t index) {
  if (use.no_context && std::string(call.name).find("Async") == std::string::npos)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (use.no_context) return use.null ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  const auto *const of_call = std::find_if(
      std::begin(answers_of_sets), std::end(answers_of_sets),
      [&](const SetCodes &each) { return each.element == call.element && each.rows == call.rows; });
  return code(of_call->codes.at(index));
}

const bool sets = [] {
  for (std::size_t c = 0; c < std::size(set_calls); ++c)
    for (std::size_t u = 0; u < std::size(set_uses); ++u) {
      const SetCall call = set_calls[c];
      const SetUse use = set_uses[u];
      if (!call.rows && std::string(use.name).find("pitch") != std::string::npos) continue;
      if (!call.rows && std::string(use.name).find("rows") != std::string::npos) continue;
      const CUresult expected = code_of(call, use, u);
      ADD_TEST(Sets, std::string(call.name) + "_" + use.name, [=](OnDevice &test) {
        const CUdeviceptr at = use.null ? 0 : memory_of(test, use.kind);
        const CUstream work = test.stream();
        const std::vector<unsigned char> before(4096, 9);
        if (!use.null) put(use.kind, at, before);
        if (use.no_context) NEED(driver().cuCtxSetCurrent(nullptr));
        expect_answer(__FILE__, __LINE__, std::string(call.name) + "(at, ...)",
                      call.call(work, at + use.offset, use.pitch, use.width, use.height), expected);
        if (use.null) return;
        NEED(driver().cuCtxSetCurrent(test.context));
        auto after = before;
        static constexpr unsigned char bytes[4][4] = {{0x51}, {0x52, 0x51}, {}, {0x54, 0x53, 0x52, 0x51}};
        if (expected == CUDA_SUCCESS)
          for (std::size_t row = 0; row < (call.rows ? use.height : 1); ++row)
            for (std::size_t i = 0; i < use.width * call.element; ++i)
              after[use.offset + row * use.pitch + i] = bytes[call.element - 1][i % call.element];
        EXPECT_VALUE(take(use.kind, at, 4096) == after, true);
      });
    }
  return true;
}();

TEST_F(Sets, In_a_held_stream_wait) {
  const CUstream work = stream();
  const CUdeviceptr at = managed();
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemsetD8Async(at, 1, 16, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}
STATEMENT(Sets, In_the_null_stream_are_made, driver().cuMemsetD8Async(memory(), 1, 16, nullptr), CUDA_SUCCESS)
STATEMENT(Sets, In_the_legacy_stream_are_made, driver().cuMemsetD8Async(memory(), 1, 16, legacy()),
          CUDA_SUCCESS)
STATEMENT(Sets, In_the_per_thread_stream_are_made, driver().cuMemsetD8Async(memory(), 1, 16, per_thread()),
          CUDA_SUCCESS)
STATEMENT(Sets, In_a_stream_of_another_context,
          driver().cuMemsetD8Async(memory(), 1, 16, in_other_context([this] { return stream(); })),
          CUDA_SUCCESS)

template <class T>
bool fill_works() {
  auto buffer = cushim::DeviceBuffer<T>::create(5);
  cushim::fill(buffer, T(3));
  std::vector<T> back(5);
  cushim::copy(back, buffer);
  return back == std::vector<T>(5, T(3));
}
TEST_F(Sets, By_wrappers_set_bytes) { EXPECT_VALUE(fill_works<unsigned char>(), true); }
TEST_F(Sets, By_wrappers_set_words_of_two_bytes) { EXPECT_VALUE(fill_works<short>(), true); }
TEST_F(Sets, By_wrappers_set_words_of_four_bytes) { EXPECT_VALUE(fill_works<float>(), true); }

}  // namespace
}  // namespace conformance

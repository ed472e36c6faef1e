// SPDX-License-Identifier: Apache-2.0
// Batches of 3D copies. Each case runs with both ABIs.
#include <cushim/default_stream.hpp>
#include <cushim/exact.hpp>

#include <functional>

#include "array_memory.hpp"
#include "copy_batches.hpp"

#if CUDA_VERSION >= 13000

namespace conformance {
namespace {

constexpr const char *call_names[] = {"cuMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync_v2"};

// The extent of all copies, in elements; the pitch and the height of linear memory.
constexpr std::size_t kWidth = 16, kRows = 4, kSlices = 2, kPitch = 32, kHeight = 8;
constexpr std::size_t kCopied = kWidth * kRows * kSlices;

CUmemcpy3DOperand linear(CUdeviceptr address, std::size_t row = 0, std::size_t height = 0) {
  CUmemcpy3DOperand made{};
  made.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  made.op.ptr.ptr = address;
  made.op.ptr.rowLength = row;
  made.op.ptr.layerHeight = height;
  return made;
}
CUmemcpy3DOperand in_array(CUarray array, std::size_t x = 0, std::size_t y = 0, std::size_t z = 0) {
  CUmemcpy3DOperand made{};
  made.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  made.op.array.array = array;
  made.op.array.offset = {x, y, z};
  return made;
}

// The arguments of a batch; by default two copies from pinned to device memory, both tightly packed.
class CopyBatches3D : public WithArrays {
 public:
  std::vector<CUDA_MEMCPY3D_BATCH_OP> copies;
  std::size_t count = 2;
  unsigned long long batch_flags = 0;
  std::size_t fail_index = kUntouched;
  std::size_t *fail_place = &fail_index;
  CUstream work = nullptr;
  CUdeviceptr target = 0, source = 0;

  void prepare(Kind to = Kind::device, Kind from = Kind::pinned) {
    target = memory_of(*this, to);
    source = memory_of(*this, from);
    put(to, target, std::vector<unsigned char>(4096, 0));
    auto bytes = pattern(4096);
    for (unsigned char &byte : bytes) byte |= 1;
    put(from, source, bytes);
    work = stream();
    for (std::size_t i = 0; i < 2; ++i) {
      CUDA_MEMCPY3D_BATCH_OP copy{};
      copy.src = linear(source + i * kCopied);
      copy.dst = linear(target + i * kCopied);
      copy.extent = {kWidth, kRows, kSlices};
      copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
      copies.push_back(copy);
    }
  }
  CUDA_MEMCPY3D_BATCH_OP &one() { return copies[0]; }
  CUDA_MEMCPY3D_BATCH_OP &other() { return copies[1]; }
  CUarray bytes() { return array(shape(kWidth, kRows, kSlices)); }
  CUarray words() { return array(shape(kWidth, kRows, kSlices, CU_AD_FORMAT_UNSIGNED_INT32)); }

  CUresult make(Abi abi) {
    if (abi == first_abi)
      return CUSHIM_EXACT_PTSZ(cuMemcpy3DBatchAsync_v12080)(driver())(count, copies.data(), fail_place,
                                                                      batch_flags, work);
    return CUSHIM_EXACT_PTSZ(cuMemcpy3DBatchAsync_v13000)(driver())(count, copies.data(), batch_flags, work);
  }
  void expect(Abi abi, CUresult code) {
    expect_answer(__FILE__, __LINE__, std::string(call_names[abi]) + "(...)", make(abi), code);
  }
  // Returns the number of bytes of the target that are not 0. No copied byte is 0.
  int changed(Kind kind) {
    int count = 0;
    for (const unsigned char byte : take(kind, target, 4096)) count += byte != 0;
    return count;
  }
};

constexpr int kBoth = 2 * kCopied, kOne = kCopied;

struct CopyCase {
  const char *name;
  std::function<void(CopyBatches3D &)> change;
  int code;
  int changed;                       // bytes of the target
  std::size_t fail_index = kNotOne;  // of the first ABI
  bool may_fault = false;            // runs in its own process: an error that is not found ends the context
};

const CopyCase cases[] = {
    {"of_two_copies", [](CopyBatches3D &) {}, 0, kBoth},
    {"of_one_copy", [](CopyBatches3D &t) { t.count = 1; }, 0, kOne},
    {"of_nothing", [](CopyBatches3D &t) { t.count = 0; }, 1, 0},
    {"with_flags_of_1", [](CopyBatches3D &t) { t.batch_flags = 1; }, 1, 0},
    {"with_all_flags", [](CopyBatches3D &t) { t.batch_flags = ~0ull; }, 1, 0},
    {"without_a_width", [](CopyBatches3D &t) { t.other().extent.width = 0; }, 1, 0, 1},
    {"without_a_height", [](CopyBatches3D &t) { t.other().extent.height = 0; }, 1, 0, 1},
    {"without_a_depth", [](CopyBatches3D &t) { t.other().extent.depth = 0; }, 1, 0, 1},
    {"of_rows_apart",
     [](CopyBatches3D &t) {
       t.count = 1;
       t.one().dst = linear(t.target, kPitch, kHeight);
     },
     0, kOne},
    {"of_rows_that_are_too_short", [](CopyBatches3D &t) { t.other().dst.op.ptr.rowLength = kWidth - 1; }, 1,
     0, 1},
    {"of_layers_that_are_too_low", [](CopyBatches3D &t) { t.other().src.op.ptr.layerHeight = kRows - 1; }, 1,
     0, 1},
    {"with_an_operand_of_no_type",
     [](CopyBatches3D &t) { t.other().dst.type = static_cast<CUmemcpy3DOperandType>(0); }, 1, 0, 1},
    {"with_an_operand_of_type_3",
     [](CopyBatches3D &t) { t.one().src.type = static_cast<CUmemcpy3DOperandType>(3); }, 1, 0, 0},
    {"with_an_access_order_of_0",
     [](CopyBatches3D &t) { t.other().srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID; }, 1, 0, 1},
    {"during_the_call",
     [](CopyBatches3D &t) { t.one().srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL; }, 0, kBoth},
    {"in_any_order", [](CopyBatches3D &t) { t.one().srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY; }, 0,
     kBoth},
    {"with_an_access_order_of_4",
     [](CopyBatches3D &t) { t.one().srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(4); }, 1, 0, 0},
    {"that_prefer_overlap", [](CopyBatches3D &t) { t.one().flags = 1; }, 0, kBoth},
    {"with_copy_flags_of_2", [](CopyBatches3D &t) { t.one().flags = 2; }, 1, 0, 0},
    {"with_all_copy_flags", [](CopyBatches3D &t) { t.other().flags = ~0u; }, 1, 0, 1},
    {"with_a_hint_of_no_device",
     [](CopyBatches3D &t) {
       t.one().dst.op.ptr.locHint = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
     },
     0, kBoth},
    {"with_a_first_target_of_null", [](CopyBatches3D &t) { t.one().dst = linear(0); }, 1, 0, kNotOne, true},
    {"with_a_second_source_of_null", [](CopyBatches3D &t) { t.other().src = linear(0); }, 1, kOne, kNotOne,
     true},
    {"beyond_the_end_of_the_target", [](CopyBatches3D &t) { t.other().dst = linear(t.memory(100)); }, 1, kOne,
     kNotOne, true},
    {"far_beyond_the_end_of_the_target", [](CopyBatches3D &t) { t.other().dst.op.ptr.layerHeight = 1 << 24; },
     1, kOne, kNotOne, true},
    {"in_the_null_stream", [](CopyBatches3D &t) { t.work = nullptr; }, 1, 0, kUntouched},
    {"in_the_legacy_stream", [](CopyBatches3D &t) { t.work = legacy(); }, 1, 0},
    {"in_the_per_thread_stream", [](CopyBatches3D &t) { t.work = per_thread(); }, 0, kBoth},
    {"of_nothing_in_the_null_stream", [](CopyBatches3D &t) { t.count = 0, t.work = nullptr; }, 1, 0,
     kUntouched},
    {"with_flags_in_the_null_stream", [](CopyBatches3D &t) { t.batch_flags = 1, t.work = nullptr; }, 1, 0,
     kUntouched},
    {"from_an_array",
     [](CopyBatches3D &t) {
       const CUarray from = t.bytes();
       put(from, kWidth, kRows, kSlices, std::vector<unsigned char>(kCopied, 1));
       t.count = 1;
       t.one().src = in_array(from);
     },
     0, kOne},
    {"from_an_array_of_words",
     [](CopyBatches3D &t) {
       const CUarray from = t.words();
       put(from, 4 * kWidth, kRows, kSlices, std::vector<unsigned char>(4 * kCopied, 1));
       t.count = 1;
       t.one().src = in_array(from);
     },
     0, 4 * kOne},
    {"from_an_array_of_words_to_short_rows",
     [](CopyBatches3D &t) {
       t.one().src = in_array(t.words());
       t.one().dst.op.ptr.rowLength = kWidth - 1;
     },
     1, 0, 0},
    {"beyond_the_width_of_an_array", [](CopyBatches3D &t) { t.other().src = in_array(t.bytes(), 1); }, 1,
     kOne},
    {"beyond_the_height_of_an_array", [](CopyBatches3D &t) { t.other().src = in_array(t.bytes(), 0, 1); }, 1,
     kOne},
    {"beyond_the_depth_of_an_array", [](CopyBatches3D &t) { t.other().dst = in_array(t.bytes(), 0, 0, 1); },
     1, kOne},
    {"of_a_null_array", [](CopyBatches3D &t) { t.other().dst = in_array(nullptr); }, 1, 0, 1, true},
    {"between_arrays_of_different_elements",
     [](CopyBatches3D &t) {
       t.other().src = in_array(t.bytes());
       t.other().dst = in_array(t.words());
     },
     1, 0, 1},
};

[[maybe_unused]] const bool cases_added = [] {
  add_cases<CopyBatches3D>("CopyBatches3D", cases, [](CopyBatches3D &t, const CopyCase &each) {
    EXPECT_VALUE(t.changed(Kind::device), each.changed);
  });
  for (const Abi abi : abis)
    ADD_TEST(CopyBatches3D, std::string("without_an_array_of_copies_") + abi_names[abi],
             [=](CopyBatches3D &t) {
               CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
               t.prepare();
               t.copies = std::vector<CUDA_MEMCPY3D_BATCH_OP>();
               t.expect(abi, CUDA_ERROR_INVALID_VALUE);
               EXPECT_VALUE(t.fail_index, index_after(abi, kNotOne));
             });
  return true;
}();

[[maybe_unused]] const bool kinds_added = [] {
  for (const Kind to : kinds)
    for (const Kind from : kinds)
      ADD_TEST(CopyBatches3D, std::string("from_") + name_of(from) + "_to_" + name_of(to),
               [=](CopyBatches3D &t) {
                 t.prepare(to, from);
                 t.expect(second_abi, CUDA_SUCCESS);
                 EXPECT_VALUE(t.changed(to), kBoth);
               });
  return true;
}();

TEST_F(CopyBatches3D, Between_arrays_bring_the_elements) {
  prepare();
  const CUarray from = words(), to = words();
  const auto bytes = pattern(4 * kCopied);
  put(from, 4 * kWidth, kRows, kSlices, bytes);
  put(to, 4 * kWidth, kRows, kSlices, std::vector<unsigned char>(4 * kCopied, 0));
  one().src = in_array(from, 1, 1, 0);
  one().dst = in_array(to, 2, 0, 1);
  one().extent = {3, 2, 1};
  count = 1;
  expect(second_abi, CUDA_SUCCESS);
  NEED(driver().cuStreamSynchronize(work));
  const auto arrived = take(to, 4 * kWidth, kRows, kSlices);
  const std::size_t row = 4 * kWidth;
  EXPECT_VALUE(
      std::equal(bytes.begin() + row + 4, bytes.begin() + row + 16, arrived.begin() + kRows * row + 8), true);
  EXPECT_VALUE(std::equal(bytes.begin() + 2 * row + 4, bytes.begin() + 2 * row + 16,
                          arrived.begin() + (kRows + 1) * row + 8),
               true);
}
TEST_F(CopyBatches3D, Wait_for_earlier_work_of_the_stream) {
  prepare(Kind::pinned, Kind::device);
  LimitedHold held(work);
  NEED(driver().cuMemsetD8Async(source, 9, 2 * kCopied, work));
  expect(second_abi, CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  const auto arrived = take(Kind::pinned, target, 2 * kCopied);
  EXPECT_VALUE(arrived == std::vector<unsigned char>(2 * kCopied, 9), true);
}
TEST_F(CopyBatches3D, Are_not_made_in_an_own_stream_without_a_context) {
  prepare();
  NEED(driver().cuCtxSetCurrent(nullptr));
  const CUresult answered = make(second_abi);
  NEED(driver().cuCtxSetCurrent(context));
  expect_answer(__FILE__, __LINE__, "cuMemcpy3DBatchAsync_v2(...)", answered, CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

#endif

// SPDX-License-Identifier: Apache-2.0
// Tests stream memory operations: both generations of calls, batches, and the texts of errors.
#include <gmock/gmock.h>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const DevicePtr<std::uint32_t> kWord32(0x1000);
const DevicePtr<std::uint64_t> kWord64(0x1008);

TEST(MemOp, Waits_and_writes_are_one_call_of_the_second_generation) {
  Recording recording;
  const StreamRef stream(kRaw);
  stream.wait_value(kWord32, geq(5));
  stream.wait_value(kWord32, equal(6u));
  stream.wait_value(kWord64, any_bit(7));
  stream.wait_value(kWord64, nor(8ull));
  stream.write_value(kWord32, 9);
  stream.write_value(kWord64, 10);
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuStreamWaitValue32_v2(0x50, 0x1000, 5, 0)", "cuStreamWaitValue32_v2(0x50, 0x1000, 6, 1)",
                  "cuStreamWaitValue64_v2(0x50, 0x1008, 7, 2)", "cuStreamWaitValue64_v2(0x50, 0x1008, 8, 3)",
                  "cuStreamWriteValue32_v2(0x50, 0x1000, 9, 0)",
                  "cuStreamWriteValue64_v2(0x50, 0x1008, 10, 0)"));
}

TEST(MemOp, A_wait_can_flush_remote_writes) {
  Recording recording;
  StreamRef(kRaw).wait_value(kWord32, geq(5), RemoteWrites::flush);
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamWaitValue32_v2(0x50, 0x1000, 5, 1073741824)"));
}

TEST(MemOp, Negative_values_keep_their_meaning_in_words_of_any_width) {
  Recording recording;
  StreamRef(kRaw).wait_value(kWord32, geq(-1));
  StreamRef(kRaw).wait_value(kWord64, geq(-1));
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamWaitValue32_v2(0x50, 0x1000, 4294967295, 0)",
                          "cuStreamWaitValue64_v2(0x50, 0x1008, 18446744073709551615, 0)"));
}

TEST(MemOp, The_first_generation_is_reachable_with_its_write_without_barrier) {
  Recording recording;
  const StreamRef stream(kRaw);
  memop_v1::wait_value(stream, kWord32, geq(5));
  memop_v1::wait_value(stream, kWord64, geq(5));
  memop_v1::write_value(stream, kWord32, 1, memop_v1::WriteFlags::no_memory_barrier);
  memop_v1::write_value(stream, kWord64, 2);
  memop_v1::MemOpBatch().write_value_without_barrier(Word(kWord32), 3).submit(stream);
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuStreamWaitValue32(0x50, 0x1000, 5, 0)", "cuStreamWaitValue64(0x50, 0x1008, 5, 0)",
                  "cuStreamWriteValue32(0x50, 0x1000, 1, 1)", "cuStreamWriteValue64(0x50, 0x1008, 2, 0)",
                  "cuStreamBatchMemOp(0x50, 1, &, 0)"));
}

TEST(MemOp, Words_may_be_signed_and_values_narrower) {
  Recording recording;
  const StreamRef stream(kRaw);
  stream.wait_value(DevicePtr<int>(0x1000), geq(5));
  stream.write_value(DevicePtr<int>(0x1000), short{-1});
  stream.write_value(DevicePtr<long long>(0x1008), -1);
  static_assert(std::is_same_v<decltype(Word(DevicePtr<long long>())), Word<std::uint64_t>>);
  static_assert(!std::is_convertible_v<DevicePtr<float>, Word<std::uint32_t>> &&
                !std::is_convertible_v<DevicePtr<const int>, Word<std::uint32_t>>);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamWaitValue32_v2(0x50, 0x1000, 5, 0)",
                          "cuStreamWriteValue32_v2(0x50, 0x1000, 4294967295, 0)",
                          "cuStreamWriteValue64_v2(0x50, 0x1008, 18446744073709551615, 0)"));
}

TEST(MemOp, An_error_of_a_refused_word_has_the_routine_and_the_reason) {
  Recording recording;
  for (Entry entry : {Entry::cuStreamWaitValue32_v11070, Entry::cuStreamWaitValue64_v11070,
                      Entry::cuStreamWriteValue32_v11070, Entry::cuStreamWriteValue64_v11070})
    recording.answer(entry, CUDA_ERROR_INVALID_VALUE);
  const StreamRef stream(kRaw);
  EXPECT_THAT(error_of([&] { stream.wait_value(DevicePtr<std::uint32_t>(), geq(1)); }).what(),
              AllOf(StartsWith("cuStreamWaitValue32: "), HasSubstr("stream 0x50, address 0x0"),
                    HasSubstr("address is null")));
  EXPECT_THAT(error_of([&] { stream.write_value(Word<std::uint32_t>(0), 1); }).what(),
              AllOf(StartsWith("cuStreamWriteValue32: "), HasSubstr("address is null")));
  EXPECT_THAT(error_of([&] { stream.write_value(DevicePtr<std::uint32_t>(0x1002), 1); }).what(),
              HasSubstr("address is not a multiple of 4"));
  EXPECT_THAT(error_of([&] { stream.write_value(Word<std::uint64_t>(0x1004), 1); }).what(),
              AllOf(StartsWith("cuStreamWriteValue64: "), HasSubstr("address is not a multiple of 8")));
  EXPECT_EQ(recording.calls().size(), 4u);
  EXPECT_THAT(error_of([&] { stream.write_value(kWord32, 1); }).what(),
              HasSubstr("address is neither device memory nor page-locked memory"));
  recording.on<Entry::cuPointerGetAttributes_v7000>(
      [](unsigned, CUpointer_attribute *, void **values, CUdeviceptr) {
        *static_cast<unsigned *>(values[0]) = CU_MEMORYTYPE_UNIFIED;
        *static_cast<bool *>(values[1]) = true;
        return CUDA_SUCCESS;
      });
  EXPECT_THAT(error_of([&] { stream.wait_value(kWord32, geq(1)); }).what(), HasSubstr("managed memory"));
}

TEST(MemOp, An_error_of_a_batch_has_the_index_and_the_reason) {
  Recording recording;
  recording.answer(Entry::cuStreamBatchMemOp_v11070, CUDA_ERROR_INVALID_VALUE);
  recording.on<Entry::cuPointerGetAttributes_v7000>(
      [](unsigned, CUpointer_attribute *, void **values, CUdeviceptr address) {
        *static_cast<unsigned *>(values[0]) = address == 0x3000 ? 0 : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
      });
  const StreamRef stream(kRaw);
  const auto error_of_batch = [&](MemOpBatch batch) {
    return std::string(error_of([&] { batch.submit(stream); }).what());
  };
  EXPECT_THAT(
      error_of_batch(
          MemOpBatch().write_value(kWord32, 1).barrier().write_value(DevicePtr<std::uint64_t>(0x1004), 1)),
      AllOf(StartsWith("cuStreamBatchMemOp: CUDA_ERROR_INVALID_VALUE"),
            HasSubstr("stream 0x50, operations 3, operation 2, address 0x1004, address is not a "
                      "multiple of 8")));
  EXPECT_THAT(error_of_batch(MemOpBatch().wait_value(kWord32, geq(1)).wait_value(DevicePtr<int>(), geq(1))),
              HasSubstr("operation 1, address 0x0, address is null"));
  EXPECT_THAT(
      error_of_batch(MemOpBatch().write_value(kWord32, 1).write_value(Word<std::uint32_t>(0x3000), 1)),
      HasSubstr("operation 1, address 0x3000, address is neither"));
  EXPECT_THAT(error_of_batch(MemOpBatch().write_value(kWord32, 1)), HasSubstr("operations 1 ("));
  recording.answer(Entry::cuStreamBatchMemOp_v11070, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(error_of_batch(MemOpBatch().write_value(kWord32, 1).flush_remote_writes()),
              HasSubstr("operation 1, the device may not be able to flush remote writes"));
  EXPECT_THAT(error_of_batch(MemOpBatch().write_value(kWord32, 1).wait_value(kWord32, nor(1))),
              HasSubstr("operation 1, address 0x1000, the device may not have the condition nor"));
}

TEST(MemOp, An_error_of_a_split_batch_counts_from_its_beginning) {
  Recording recording;
  int calls = 0;
  recording.on<Entry::cuStreamBatchMemOp_v11070>(
      [&](CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned) {
        return ++calls == 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
      });
  MemOpBatch batch;
  for (int i = 0; i < 256; ++i) batch.write_value(Word<std::uint32_t>(i == 255 ? 0 : 0x1000), i);
  EXPECT_THAT(error_of([&] { batch.submit_split(StreamRef(kRaw)); }).what(),
              HasSubstr("operations 1, operation 255, address 0x0, address is null"));
}

TEST(MemOp, The_error_names_the_operation_that_a_device_may_lack) {
  Recording recording;
  recording.answer(Entry::cuStreamWaitValue32_v11070, CUDA_ERROR_NOT_SUPPORTED);
  const StreamRef stream(kRaw);
  EXPECT_THAT(error_of([&] { stream.wait_value(kWord32, geq(1), RemoteWrites::flush); }).what(),
              HasSubstr("the device may not be able to flush remote writes"));
  EXPECT_THAT(error_of([&] { stream.wait_value(kWord32, nor(1)); }).what(),
              HasSubstr("the device may not have the condition nor"));
}

TEST(MemOp, A_batch_is_one_call_with_its_operations_in_order) {
  Recording recording;
  std::vector<CUstreamBatchMemOpParams> seen;
  recording.on<Entry::cuStreamBatchMemOp_v11070>(
      [&](CUstream, unsigned count, CUstreamBatchMemOpParams *operations, unsigned) {
        seen.assign(operations, operations + count);
        return CUDA_SUCCESS;
      });
  MemOpBatch batch;
  batch.wait_value(kWord32, geq(5), RemoteWrites::flush)
      .write_value(kWord64, 6)
      .barrier(BarrierScope::device)
      .flush_remote_writes()
      .wait_value(kWord64, equal(7ull))
      .write_value(kWord32, 8);
  EXPECT_EQ(batch.size(), 6u);
  batch.submit(StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamBatchMemOp_v2(0x50, 6, &, 0)"));
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[0].operation, CU_STREAM_MEM_OP_WAIT_VALUE_32);
  EXPECT_EQ(seen[0].waitValue.address, 0x1000u);
  EXPECT_EQ(seen[0].waitValue.value, 5u);
  EXPECT_EQ(seen[0].waitValue.flags, 1u << 30);
  EXPECT_EQ(seen[1].operation, CU_STREAM_MEM_OP_WRITE_VALUE_64);
  EXPECT_EQ(seen[1].writeValue.value64, 6u);
  EXPECT_EQ(seen[2].operation, CU_STREAM_MEM_OP_BARRIER);
  EXPECT_EQ(seen[2].memoryBarrier.flags, static_cast<unsigned>(CU_STREAM_MEMORY_BARRIER_TYPE_GPU));
  EXPECT_EQ(seen[3].operation, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES);
  EXPECT_EQ(seen[3].flushRemoteWrites.flags, 0u);
  EXPECT_EQ(seen[4].operation, CU_STREAM_MEM_OP_WAIT_VALUE_64);
  EXPECT_EQ(seen[4].waitValue.value64, 7u);
  EXPECT_EQ(seen[4].waitValue.flags, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_EQ(seen[5].operation, CU_STREAM_MEM_OP_WRITE_VALUE_32);
  EXPECT_EQ(seen[5].writeValue.value, 8u);
}

TEST(MemOp, A_batch_may_be_submitted_again_and_cleared) {
  Recording recording;
  MemOpBatch batch;
  batch.write_value(kWord32, 1);
  batch.submit(StreamRef(kRaw));
  batch.submit(StreamRef(kRaw));
  batch.clear();
  batch.submit(StreamRef(kRaw));
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamBatchMemOp_v2(0x50, 1, &, 0)", "cuStreamBatchMemOp_v2(0x50, 1, &, 0)"));
}

MemOpBatch batch_of(std::size_t count) {
  MemOpBatch batch;
  for (std::size_t i = 0; i < count; ++i) batch.write_value(kWord32, static_cast<std::uint32_t>(i));
  return batch;
}

TEST(MemOp, A_batch_at_the_limit_is_one_call_and_one_over_it_is_refused) {
  Recording recording;
  batch_of(255).submit(StreamRef(kRaw));
  EXPECT_THAT(recording.calls(), ElementsAre("cuStreamBatchMemOp_v2(0x50, 255, &, 0)"));
  MemOpBatch batch = batch_of(256);
  const Error error = error_of([&] { batch.submit(StreamRef(kRaw)); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("operations 256, the driver takes 255 in one batch"));
  EXPECT_THAT(recording.calls(), IsEmpty());
  EXPECT_EQ(batch.size(), 256u);
}

TEST(MemOp, A_batch_is_split_only_when_asked_to_and_in_order) {
  Recording recording;
  std::vector<std::uint32_t> values;
  recording.on<Entry::cuStreamBatchMemOp_v11070>(
      [&](CUstream, unsigned count, CUstreamBatchMemOpParams *operations, unsigned) {
        for (unsigned i = 0; i < count; ++i) values.push_back(operations[i].writeValue.value);
        return CUDA_SUCCESS;
      });
  batch_of(600).submit_split(StreamRef(kRaw));
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuStreamBatchMemOp_v2(0x50, 255, &, 0)", "cuStreamBatchMemOp_v2(0x50, 255, &, 0)",
                          "cuStreamBatchMemOp_v2(0x50, 90, &, 0)"));
  ASSERT_EQ(values.size(), 600u);
  for (std::uint32_t i = 0; i < 600; ++i) EXPECT_EQ(values[i], i);
}

TEST(MemOp, Support_is_asked_of_the_device_for_each_generation) {
  Recording recording;
  recording.on<Entry::cuDeviceGetAttribute_v2000>([](int *value, CUdevice_attribute which, CUdevice) {
    *value = which == 122 || which == 94 ? 1 : 0;
    return CUDA_SUCCESS;
  });
  const MemOpSupport second = mem_op_support(Device::from_handle(0));
  EXPECT_TRUE(second.any && second.bits_64 && !second.nor && !second.flush);
  const MemOpSupport first = mem_op_support<MemOpAbi::v1>(Device::from_handle(0));
  EXPECT_TRUE(!first.any && !first.bits_64 && first.nor && !first.flush);
  EXPECT_EQ(recording.calls().size(), 3u + 4u);
}

TEST(MemOp, A_driver_without_the_second_generation_is_named_as_the_reason) {
  Driver &old =
      Driver::from_functions("old", 11060, [](void *, const char *) -> void (*)() { return nullptr; });
  const Error error = error_of([&] { default_stream(old).wait_value(kWord32, geq(1)); });
  EXPECT_EQ(error.result(), CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  EXPECT_THAT(error.what(), HasSubstr("cuStreamWaitValue32"));
}

}  // namespace
}  // namespace cushim::test

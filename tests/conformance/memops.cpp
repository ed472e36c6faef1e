// SPDX-License-Identifier: Apache-2.0
// Stream memory operations. No test leaves an unsatisfied wait in a stream.
#include <atomic>
#include <cushim/memop.hpp>

#include "memory_kinds.hpp"
#include "support/structures.hpp"

namespace conformance {
namespace {

class MemOps : public OnDevice {
 protected:
  void SetUp() override {
    CUSHIM_NEEDS(mem_ops);
    OnDevice::SetUp();
  }
};

struct MemOp {
  const char *name;
  bool waits, wide;
  CUresult (*call)(CUstream stream, CUdeviceptr at, unsigned flags);
};
template <auto entry_of, unsigned value>
CUresult call(CUstream stream, CUdeviceptr at, unsigned flags) {
  return entry_of(driver())(stream, at, value, flags);
}
// The waits are for at least 0, which every small number satisfies.
const MemOp kinds_of_mem_op[] = {
    {"cuStreamWaitValue32", true, false, call<CUSHIM_EXACT_PTSZ(cuStreamWaitValue32_v8000), 0>},
    {"cuStreamWaitValue32_v2", true, false, call<CUSHIM_EXACT_PTSZ(cuStreamWaitValue32_v11070), 0>},
    {"cuStreamWaitValue64", true, true, call<CUSHIM_EXACT_PTSZ(cuStreamWaitValue64_v9000), 0>},
    {"cuStreamWaitValue64_v2", true, true, call<CUSHIM_EXACT_PTSZ(cuStreamWaitValue64_v11070), 0>},
    {"cuStreamWriteValue32", false, false, call<CUSHIM_EXACT_PTSZ(cuStreamWriteValue32_v8000), 77>},
    {"cuStreamWriteValue32_v2", false, false, call<CUSHIM_EXACT_PTSZ(cuStreamWriteValue32_v11070), 77>},
    {"cuStreamWriteValue64", false, true, call<CUSHIM_EXACT_PTSZ(cuStreamWriteValue64_v9000), 77>},
    {"cuStreamWriteValue64_v2", false, true, call<CUSHIM_EXACT_PTSZ(cuStreamWriteValue64_v11070), 77>},
};

enum class Stream { own, null, legacy, per_thread, other_context };
struct Use {
  const char *name;
  Kind kind;
  bool null;
  unsigned offset, flags;
  Stream stream;
  bool no_context;
};
const Use uses[] = {
    {"on_device_memory", Kind::device, false, 0, 0, Stream::own, false},
    {"on_managed_memory", Kind::managed, false, 0, 0, Stream::own, false},
    {"on_pinned_memory", Kind::pinned, false, 0, 0, Stream::own, false},
    {"on_registered_memory", Kind::registered, false, 0, 0, Stream::own, false},
    {"on_pageable_memory", Kind::pageable, false, 0, 0, Stream::own, false},
    {"on_null", Kind::device, true, 0, 0, Stream::own, false},
    {"on_an_address_odd_by_1", Kind::device, false, 1, 0, Stream::own, false},
    {"on_an_address_odd_by_2", Kind::device, false, 2, 0, Stream::own, false},
    {"on_an_address_odd_by_4", Kind::device, false, 4, 0, Stream::own, false},
    {"on_an_interior_address", Kind::device, false, 64, 0, Stream::own, false},
    {"on_the_last_word", Kind::pinned, false, 4088, 0, Stream::own, false},
    {"with_flag_1", Kind::device, false, 0, 1, Stream::own, false},
    {"with_flag_4", Kind::device, false, 0, 4, Stream::own, false},
    {"with_flag_8", Kind::device, false, 0, 8, Stream::own, false},
    {"with_flag_16", Kind::device, false, 0, 16, Stream::own, false},
    {"with_the_highest_bit_but_one", Kind::device, false, 0, 1u << 30, Stream::own, false},
    {"with_the_highest_bit", Kind::device, false, 0, 1u << 31, Stream::own, false},
    {"with_all_flags", Kind::device, false, 0, ~0u, Stream::own, false},
    {"with_all_flags_on_null", Kind::device, true, 0, ~0u, Stream::own, false},
    {"in_the_null_stream", Kind::device, false, 0, 0, Stream::null, false},
    {"in_the_legacy_stream", Kind::device, false, 0, 0, Stream::legacy, false},
    {"in_the_per_thread_stream", Kind::device, false, 0, 0, Stream::per_thread, false},
    {"in_a_stream_of_another_context", Kind::device, false, 0, 0, Stream::other_context, false},
    {"without_a_context", Kind::device, false, 0, 0, Stream::own, true},
    {"without_a_context_in_the_null_stream", Kind::device, false, 0, 0, Stream::null, true},
};
const std::vector<Row> answers_of_mem_ops = {
    {"cuStreamWaitValue32_v2",
     {0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 801, 1, 1, 1, 0, 0, 0, 0, 0, 201}},
    {"cuStreamWaitValue64_v2",
     {0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 801, 1, 1, 1, 0, 0, 0, 0, 0, 201}},
    {"cuStreamWriteValue32_v2",
     {0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 201}},
    {"cuStreamWriteValue64_v2",
     {0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 201}},
};
// The first ABI is not supported.
CUresult code_of(const MemOp &op, const Use &use, std::size_t index) {
  for (const Row &row : answers_of_mem_ops)
    if (std::string(op.name) == row.name) return code(row.codes.at(index));
  return use.no_context && use.stream == Stream::null ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_SUPPORTED;
}

const char *what_happens(CUresult answer) {
  if (answer == CUDA_SUCCESS) return "_is_made_";
  return answer == CUDA_ERROR_NOT_SUPPORTED ? "_is_not_supported_" : "_is_refused_";
}

const bool each = [] {
  for (const MemOp &op : kinds_of_mem_op)
    for (std::size_t u = 0; u < std::size(uses); ++u) {
      const Use use = uses[u];
      const CUresult expected = code_of(op, use, u);
      // Flag 1 is equality, which the zero in memory satisfies. Flag 2 (AND with no bits) is never
      // satisfied.
      ADD_TEST(MemOps, std::string(op.name) + what_happens(expected) + use.name, [=](OnDevice &test) {
        const CUdeviceptr at = use.null ? 0 : memory_of(test, use.kind);
        const std::vector<unsigned char> zeros(4096);
        if (!use.null) put(use.kind, at, zeros);
        CUstream work = nullptr;
        switch (use.stream) {
          case Stream::own:
            work = test.stream();
            break;
          case Stream::null:
            break;
          case Stream::legacy:
            work = legacy();
            break;
          case Stream::per_thread:
            work = per_thread();
            break;
          case Stream::other_context:
            work = test.in_other_context([&] { return test.stream(); });
            break;
        }
        if (use.no_context) NEED(driver().cuCtxSetCurrent(nullptr));
        expect_answer(__FILE__, __LINE__, std::string(op.name) + "(stream, address, value, flags)",
                      op.call(work, at + use.offset, use.flags), expected);
        NEED(driver().cuCtxSetCurrent(test.context));
        if (use.null || expected != CUDA_SUCCESS) return;
        NEED(driver().cuStreamSynchronize(work));
        auto after = zeros;
        // Without a context the write returns success but has no effect.
        if (!op.waits && !use.no_context) after[use.offset] = 77;
        EXPECT_VALUE(take(use.kind, at, 4096) == after, true);
      });
    }
  return true;
}();

// ---- Conditions of waits ----

struct Condition {
  const char *name;
  unsigned flags;
  unsigned before, value, after;  // `before` does not satisfy the condition, `after` does
};
const Condition conditions[] = {
    {"at_least_goes_on_at_the_value", CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 5},
    {"at_least_goes_on_above_the_value", CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 6},
    {"at_least_is_a_signed_distance", CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0u, 3, 4},
    {"at_least_goes_on_beyond_the_turn_of_the_counter", CU_STREAM_WAIT_VALUE_GEQ, 0xffffff00u, 0xfffffff0u,
     2},
    {"equal_goes_on_at_the_value", CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5},
    {"any_bit_goes_on_with_one_of_them", CU_STREAM_WAIT_VALUE_AND, 8, 5, 12},
    {"nor_goes_on_with_a_bit_that_is_in_neither", CU_STREAM_WAIT_VALUE_NOR, 0x0fffffffu, 0xf0000000u,
     0x0ffffffeu},
};
const bool waits = [] {
  for (const Condition &condition : conditions) {
    ADD_TEST(MemOps, std::string("A_wait_for_") + condition.name, [condition](OnDevice &test) {
      auto *const word = static_cast<volatile unsigned *>(test.pinned());
      *word = condition.before;
      const CUstream work = test.stream();
      EXPECT_ANSWER(driver().cuStreamWaitValue32_v2(work, address_of(const_cast<unsigned *>(word)),
                                                    condition.value, condition.flags),
                    CUDA_SUCCESS);
      EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
      std::atomic_ref(const_cast<unsigned &>(*word)).store(condition.after);
      EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
    });
    if (condition.before >= 0xf0000000u || condition.flags == CU_STREAM_WAIT_VALUE_NOR) continue;
    ADD_TEST(MemOps, std::string("A_wide_wait_for_") + condition.name, [condition](OnDevice &test) {
      auto *const word = static_cast<volatile unsigned long long *>(test.pinned());
      *word = condition.before;
      const CUstream work = test.stream();
      EXPECT_ANSWER(driver().cuStreamWaitValue64_v2(work, address_of(const_cast<unsigned long long *>(word)),
                                                    condition.value, condition.flags),
                    CUDA_SUCCESS);
      EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
      std::atomic_ref(const_cast<unsigned long long &>(*word)).store(condition.after);
      EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
    });
  }
  return true;
}();

TEST_F(MemOps, A_write_of_one_stream_lets_another_go_on) {
  const CUstream writing = stream(), waiting = stream();
  auto *const word = static_cast<unsigned *>(pinned());
  *word = 0;
  NEED(driver().cuStreamWaitValue32_v2(waiting, address_of(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_ANSWER(driver().cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(writing, address_of(word), 1, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(waiting), CUDA_SUCCESS);
}

TEST_F(MemOps, A_write_behind_held_work_waits) {
  const CUstream work = stream();
  auto *const word = static_cast<volatile unsigned *>(pinned());
  *word = 3;
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuStreamWriteValue32_v2(work, address_of(const_cast<unsigned *>(word)), 9, 0),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  EXPECT_VALUE(unsigned{*word}, 3u);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(unsigned{*word}, 9u);
}

TEST_F(MemOps, A_wait_with_flush_is_refused_before_its_address_is_looked_at) {
  const auto flush = CU_STREAM_WAIT_VALUE_EQ | CU_STREAM_WAIT_VALUE_FLUSH;
  EXPECT_ANSWER(driver().cuStreamWaitValue32_v2(stream(), 0, 1, flush), CUDA_ERROR_NOT_SUPPORTED);
}

// ---- Batches ----

class MemOpBatches : public MemOps {
 public:
  static CUstreamBatchMemOpParams write(CUdeviceptr at, unsigned value, unsigned flags = 0) {
    return cushim::test::write_of_word(at, value, flags);
  }
  static CUstreamBatchMemOpParams wait(CUdeviceptr at, unsigned value, unsigned flags) {
    return cushim::test::wait_for_word(at, value, flags);
  }
  static CUstreamBatchMemOpParams other(unsigned operation, unsigned flags = 0) {
    CUstreamBatchMemOpParams made{};
    made.operation = static_cast<CUstreamBatchMemOpType>(operation);
    made.memoryBarrier.flags = flags;
    return made;
  }
  CUresult first(std::vector<CUstreamBatchMemOpParams> ops, unsigned flags = 0) {
    return CUSHIM_EXACT_PTSZ(cuStreamBatchMemOp_v8000)(driver())(stream(), static_cast<unsigned>(ops.size()),
                                                                 ops.data(), flags);
  }
  CUresult second(std::vector<CUstreamBatchMemOpParams> ops, unsigned flags = 0) {
    return driver().cuStreamBatchMemOp_v2(stream(), static_cast<unsigned>(ops.size()), ops.data(), flags);
  }
  std::vector<CUstreamBatchMemOpParams> many(std::size_t count) {
    return std::vector<CUstreamBatchMemOpParams>(count, write(memory(), 1));
  }
};
#define BOTH(name, ops, code_of_first, code_of_second)                       \
  STATEMENT(MemOpBatches, name##_by_the_first_ABI, first ops, code_of_first) \
  STATEMENT(MemOpBatches, name##_by_the_second_ABI, second ops, code_of_second)

// This driver does not support the first ABI.
BOTH(A_write, ({write(memory(), 1)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS)
BOTH(A_wait_that_is_met, ({wait(address_of(pinned()), 0, 0)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS)
BOTH(A_write_without_barrier, ({write(memory(), 1, 1)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(A_write_with_flag_2, ({write(memory(), 1, 2)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(A_write_to_null, ({write(0, 1)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(A_write_to_an_odd_address, ({write(memory() + 2, 1)}), CUDA_ERROR_NOT_SUPPORTED,
     CUDA_ERROR_INVALID_VALUE)
BOTH(A_wait_with_flag_8, ({wait(memory(), 0, 8)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(A_barrier_of_the_system, ({other(CU_STREAM_MEM_OP_BARRIER, 0)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS)
BOTH(A_barrier_of_the_device, ({other(CU_STREAM_MEM_OP_BARRIER, 1)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS)
BOTH(A_barrier_with_flag_2, ({other(CU_STREAM_MEM_OP_BARRIER, 2)}), CUDA_ERROR_NOT_SUPPORTED,
     CUDA_ERROR_INVALID_VALUE)
BOTH(A_flush, ({other(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)}), CUDA_ERROR_NOT_SUPPORTED,
     CUDA_ERROR_NOT_SUPPORTED)
BOTH(Operation_0, ({other(0)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(Operation_99, ({other(99)}), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(Flags_of_the_batch, ({write(memory(), 1)}, 1), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(No_operations, ({}), CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS)
BOTH(No_operations_with_flags, ({}, 1), CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE)
BOTH(Many_operations_up_to_255, (many(255)), CUDA_ERROR_NOT_SUPPORTED, CUDA_SUCCESS)
BOTH(Many_operations_of_256, (many(256)), CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE)

TEST_F(MemOpBatches, With_a_bad_operation_do_nothing) {
  auto *const word = static_cast<unsigned *>(pinned());
  *word = 5;
  EXPECT_ANSWER(second({write(address_of(word), 6), write(0, 1)}), CUDA_ERROR_INVALID_VALUE);
  NEED(driver().cuCtxSynchronize());
  EXPECT_VALUE(*word, 5u);
}
TEST_F(MemOpBatches, Are_done_in_order) {
  auto *const words = static_cast<unsigned *>(pinned());
  words[0] = words[1] = 0;
  EXPECT_ANSWER(second({write(address_of(words), 6), wait(address_of(words), 6, CU_STREAM_WAIT_VALUE_EQ),
                        write(address_of(words + 1), 7)}),
                CUDA_SUCCESS);
  NEED(driver().cuCtxSynchronize());
  EXPECT_VALUE(words[1], 7u);
}
TEST_F(MemOpBatches, By_wrappers_are_done_in_order) {
  auto *const words = static_cast<unsigned *>(pinned());
  words[0] = words[1] = 0;
  auto work = cushim::Stream::create();
  const cushim::Word<std::uint32_t> one(address_of(words)), other_word(address_of(words + 1));
  cushim::MemOpBatch()
      .write_value(one, 6)
      .wait_value(one, cushim::geq(6u))
      .barrier()
      .write_value(other_word, 7)
      .submit(work);
  work.synchronize();
  EXPECT_VALUE(words[0], 6u);
  EXPECT_VALUE(words[1], 7u);
}

// ---- Words that end beyond the memory ----

TEST_F(MemOps, A_word_that_ends_beyond_the_memory_is_written_and_waited_for) {
  const CUstream work = stream();
  const CUdeviceptr at = memory(6) + 4;
  const CUresult written = driver().cuStreamWriteValue32_v2(work, at, 77, 0);
  EXPECT_ANSWER(written, CUDA_SUCCESS);
  if (written == CUDA_SUCCESS)
    EXPECT_ANSWER(driver().cuStreamWaitValue32_v2(work, at, 77, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
}
STATEMENT(MemOps, A_wide_word_that_ends_beyond_the_memory_is_written,
          driver().cuStreamWriteValue64_v2(stream(), memory(12) + 8, 77, 0), CUDA_SUCCESS)

}  // namespace
}  // namespace conformance

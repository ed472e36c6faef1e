// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: a stream waits for a word in memory or writes one, without the host.
//
//   stream.wait_value(flag, geq(5));           continues when the word has reached 5
//   stream.write_value(flag, 6);
//   MemOpBatch().write_value(a, 1).barrier().write_value(b, 1).submit(stream);
//
// The driver has two generations of these calls. Streams and MemOpBatch use the second (driver 11.7 and
// newer); namespace memop_v1 has the first. Only the first has writes without a memory barrier before them.
// Only the second has the barrier as an operation of a batch. The first needs a device attribute for each
// operation, the second only for 64-bit operations, nor() and flushes.
#pragma once

#include <cushim/detail/memop_errors.hpp>
#include <cushim/stream.hpp>
#include <cushim/word.hpp>

#include <span>
#include <vector>

namespace cushim {
inline namespace v1 {

// The two generations of the driver's calls.
enum class MemOpAbi { v1, v2 };

// The stream memory operations that a device supports.
struct MemOpSupport {
  bool any;      // operations of 32 bits
  bool bits_64;  // operations of 64 bits
  bool nor;      // the condition nor()
  bool flush;    // RemoteWrites::flush and the flush operation
};

// Returns the operations that a device supports. Driver calls: cuDeviceGetAttribute three times; for the
// first generation four times.
template <MemOpAbi abi = MemOpAbi::v2>
MemOpSupport mem_op_support(Device device, Where where = Where::current()) {
  const bool flush = device.attribute(attribute::can_flush_remote_writes, where);
  if constexpr (abi == MemOpAbi::v2)
    return {true, device.attribute(attribute::can_use_64_bit_stream_mem_ops, where),
            device.attribute(attribute::can_use_stream_wait_value_nor, where), flush};
  else
    return {device.attribute(attribute::can_use_stream_mem_ops_v1, where),
            device.attribute(attribute::can_use_64_bit_stream_mem_ops_v1, where),
            device.attribute(attribute::can_use_stream_wait_value_nor_v1, where), flush};
}

// The observers of a barrier: the whole system, or the device.
enum class BarrierScope : unsigned {
  system = CU_STREAM_MEMORY_BARRIER_TYPE_SYS,
  device = CU_STREAM_MEMORY_BARRIER_TYPE_GPU,
};

namespace detail {

constexpr unsigned wait_flags(CUstreamWaitValue_flags comparison, RemoteWrites writes) noexcept {
  return static_cast<unsigned>(comparison) |
         (writes == RemoteWrites::flush ? static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH) : 0u);
}

inline namespace CUSHIM_DEFAULT_STREAM {

[[noreturn, gnu::cold, gnu::noinline]] inline void fail_word(CUresult result, const char *routine,
                                                             Where where, StreamRef stream,
                                                             CUdeviceptr address, std::size_t size,
                                                             unsigned flags) {
  const Suspect suspect{address, size, flags};
  fail(result, routine, where, stream, Address{"address", address}, Argument{"flags", flags},
       Remark{suspect.remark(result, stream.driver())});
}

// Makes one of the driver's calls cuStreamWaitValue, whose entry `exact` returns.
template <class Exact, class T>
void wait_for_word(Exact exact, const char *routine, const StreamRef &stream, Word<T> word,
                   ValueCondition<T> condition, RemoteWrites writes, Where where) {
  const unsigned flags = wait_flags(condition.comparison(), writes);
  const CUresult result = exact(stream.driver())(stream.handle(), word.address(), condition.value(), flags);
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail_word(result, routine, where, stream, word.address(), sizeof(T), flags);
}
// The same for cuStreamWriteValue.
template <class Exact, class T>
void write_word(Exact exact, const char *routine, const StreamRef &stream, Word<T> word,
                std::type_identity_t<T> value, unsigned flags, Where where) {
  const CUresult result = exact(stream.driver())(stream.handle(), word.address(), value, flags);
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail_word(result, routine, where, stream, word.address(), sizeof(T), flags);
}

// Throws an Error that names the first operation which explains the result, and the reason. first is the
// index of the part's first operation.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_batch(
    CUresult result, const char *routine, Where where, StreamRef stream, std::size_t first,
    std::span<const CUstreamBatchMemOpParams> part) {
  const Argument count{"operations", static_cast<long long>(part.size())};
  for (std::size_t i = 0; i < part.size(); ++i) {
    const Suspect suspect = suspect_of(part[i]);
    const char *const remark = suspect.remark(result, stream.driver());
    if (remark == nullptr) continue;
    const Argument index{"operation", static_cast<long long>(first + i)};
    if (suspect.size == 0) fail(result, routine, where, stream, count, index, Remark{remark});
    fail(result, routine, where, stream, count, index, Address{"address", suspect.address}, Remark{remark});
  }
  fail(result, routine, where, stream, count);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

template <class Self>
void StreamCalls<Self>::wait_value(Word<std::uint32_t> word, ValueCondition<std::uint32_t> condition,
                                   RemoteWrites writes, Where where) const {
  detail::wait_for_word(CUSHIM_EXACT_PTSZ(cuStreamWaitValue32_v11070), "cuStreamWaitValue32",
                        this->self().ref(), word, condition, writes, where);
}

template <class Self>
void StreamCalls<Self>::wait_value(Word<std::uint64_t> word, ValueCondition<std::uint64_t> condition,
                                   RemoteWrites writes, Where where) const {
  detail::wait_for_word(CUSHIM_EXACT_PTSZ(cuStreamWaitValue64_v11070), "cuStreamWaitValue64",
                        this->self().ref(), word, condition, writes, where);
}

template <class Self>
void StreamCalls<Self>::write_value(Word<std::uint32_t> word, WordValue<std::uint32_t> value,
                                    Where where) const {
  detail::write_word(CUSHIM_EXACT_PTSZ(cuStreamWriteValue32_v11070), "cuStreamWriteValue32",
                     this->self().ref(), word, value.value(), 0, where);
}

template <class Self>
void StreamCalls<Self>::write_value(Word<std::uint64_t> word, WordValue<std::uint64_t> value,
                                    Where where) const {
  detail::write_word(CUSHIM_EXACT_PTSZ(cuStreamWriteValue64_v11070), "cuStreamWriteValue64",
                     this->self().ref(), word, value.value(), 0, where);
}

// Operations that a stream runs in order, submitted in one call: the driver accepts either all or none.
template <MemOpAbi abi>
class BasicMemOpBatch {
 public:
  // The maximum number of operations in one driver call.
  static constexpr std::size_t limit = 255;

  // Adds a wait until the word meets the condition. No driver call.
  BasicMemOpBatch &wait_value(Word<std::uint32_t> word, ValueCondition<std::uint32_t> condition,
                              RemoteWrites writes = RemoteWrites::leave) {
    return add_wait(word, condition, writes);
  }
  BasicMemOpBatch &wait_value(Word<std::uint64_t> word, ValueCondition<std::uint64_t> condition,
                              RemoteWrites writes = RemoteWrites::leave) {
    return add_wait(word, condition, writes);
  }

  // Adds a write of the word, after a memory barrier: earlier writes are visible before it. No driver call.
  BasicMemOpBatch &write_value(Word<std::uint32_t> word, WordValue<std::uint32_t> value) {
    return add_write(word, value);
  }
  BasicMemOpBatch &write_value(Word<std::uint64_t> word, WordValue<std::uint64_t> value) {
    return add_write(word, value);
  }

  // Adds a write without a memory barrier: earlier writes may become visible after it. First generation only.
  template <class T>
  BasicMemOpBatch &write_value_without_barrier(
      Word<T> word, std::type_identity_t<WordValue<T>> value) requires(abi == MemOpAbi::v1) {
    write_value(word, value);
    operations_.back().writeValue.flags = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    return *this;
  }

  // Adds a barrier: memory operations before it are visible before those after it. Second generation only.
  BasicMemOpBatch &barrier(BarrierScope scope = BarrierScope::system) requires(abi == MemOpAbi::v2) {
    add(CU_STREAM_MEM_OP_BARRIER).memoryBarrier.flags = static_cast<unsigned>(scope);
    return *this;
  }

  // Adds a flush: remote writes that reached the device before it are visible after it.
  BasicMemOpBatch &flush_remote_writes() {
    add(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES);
    return *this;
  }

  std::size_t size() const noexcept { return operations_.size(); }
  // Returns the operations as the driver takes them.
  std::span<const CUstreamBatchMemOpParams> operations() const noexcept { return operations_; }
  // Removes all operations.
  void clear() noexcept { operations_.clear(); }

  // Submits all operations. The batch keeps them and may be submitted again. Makes no call for an empty
  // batch. Throws INVALID_VALUE, without a driver call, for more than 255 operations. An error names the
  // first operation that explains it by its index, from 0, and the reason. Driver calls:
  // cuStreamBatchMemOp_v2 (first generation: cuStreamBatchMemOp); after INVALID_VALUE, to find the reason,
  // cuPointerGetAttributes.
  void submit(const StreamRef &stream, Where where = Where::current()) {
    if (size() > limit)
      detail::fail(CUDA_ERROR_INVALID_VALUE, routine, where, stream,
                   detail::Argument{"operations", static_cast<long long>(size())},
                   detail::Remark{"the driver takes 255 in one batch; submit_split() submits several"});
    submit_part(stream, 0, operations_, where);
  }

  // Submits all operations in the smallest number of batches. If one fails, those before it are in the
  // stream. Driver calls: as submit(), once for every 255 operations.
  void submit_split(const StreamRef &stream, Where where = Where::current()) {
    const std::span<CUstreamBatchMemOpParams> all(operations_);
    for (std::size_t first = 0; first < all.size(); first += limit)
      submit_part(stream, first, all.subspan(first, std::min(limit, all.size() - first)), where);
  }

 private:
  static constexpr const char *routine = "cuStreamBatchMemOp";

  CUstreamBatchMemOpParams &add(CUstreamBatchMemOpType type) {
    CUstreamBatchMemOpParams &operation = operations_.emplace_back();
    operation.operation = type;
    return operation;
  }

  // Sets the value of operation.waitValue or operation.writeValue.
  template <class Operation, class T>
  static void set_word(Operation &operation, Word<T> word, std::type_identity_t<T> value) {
    operation.address = word.address();
    if constexpr (sizeof(T) == 8)
      operation.value64 = value;
    else
      operation.value = value;
  }
  template <class T>
  BasicMemOpBatch &add_wait(Word<T> word, ValueCondition<T> condition, RemoteWrites writes) {
    auto &wait =
        add(sizeof(T) == 8 ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32).waitValue;
    set_word(wait, word, condition.value());
    wait.flags = detail::wait_flags(condition.comparison(), writes);
    return *this;
  }
  template <class T>
  BasicMemOpBatch &add_write(Word<T> word, WordValue<T> value) {
    const auto type = sizeof(T) == 8 ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    set_word(add(type).writeValue, word, value.value());
    return *this;
  }

  static void submit_part(const StreamRef &stream, std::size_t first,
                          std::span<CUstreamBatchMemOpParams> part, Where where) {
    if (part.empty()) return;  // the driver rejects a null array, or faults on it
    const unsigned count = static_cast<unsigned>(part.size());
    const auto &entry = [&]() -> const auto & {
      if constexpr (abi == MemOpAbi::v1)
        return CUSHIM_EXACT_PTSZ(cuStreamBatchMemOp_v8000)(stream.driver());
      else
        return CUSHIM_EXACT_PTSZ(cuStreamBatchMemOp_v11070)(stream.driver());
    }
    ();
    const CUresult result = entry(stream.handle(), count, part.data(), 0);
    if (result != CUDA_SUCCESS) [[unlikely]]
      detail::fail_batch(result, routine, where, stream, first, part);
  }

  std::vector<CUstreamBatchMemOpParams> operations_;
};

// A batch of stream memory operations of the second generation.
using MemOpBatch = BasicMemOpBatch<MemOpAbi::v2>;

// The first generation of the driver's calls.
namespace memop_v1 {

// A batch of stream memory operations of the first generation.
using MemOpBatch = BasicMemOpBatch<MemOpAbi::v1>;

// How a stream writes a word.
enum class WriteFlags : unsigned {
  none = CU_STREAM_WRITE_VALUE_DEFAULT,
  no_memory_barrier = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER,  // earlier writes may become visible after it
};
constexpr bool is_flags(WriteFlags) { return true; }

// As wait_value() of a stream, with the first ABI. Driver calls: cuStreamWaitValue32 or 64.
inline void wait_value(const StreamRef &stream, Word<std::uint32_t> word,
                       ValueCondition<std::uint32_t> condition, RemoteWrites writes = RemoteWrites::leave,
                       Where where = Where::current()) {
  detail::wait_for_word(CUSHIM_EXACT_PTSZ(cuStreamWaitValue32_v8000), "cuStreamWaitValue32", stream, word,
                        condition, writes, where);
}
inline void wait_value(const StreamRef &stream, Word<std::uint64_t> word,
                       ValueCondition<std::uint64_t> condition, RemoteWrites writes = RemoteWrites::leave,
                       Where where = Where::current()) {
  detail::wait_for_word(CUSHIM_EXACT_PTSZ(cuStreamWaitValue64_v9000), "cuStreamWaitValue64", stream, word,
                        condition, writes, where);
}

// As write_value() of a stream, with the first ABI. Driver calls: cuStreamWriteValue32 or 64.
inline void write_value(const StreamRef &stream, Word<std::uint32_t> word, WordValue<std::uint32_t> value,
                        WriteFlags flags = WriteFlags::none, Where where = Where::current()) {
  detail::write_word(CUSHIM_EXACT_PTSZ(cuStreamWriteValue32_v8000), "cuStreamWriteValue32", stream, word,
                     value.value(), detail::number(flags), where);
}
inline void write_value(const StreamRef &stream, Word<std::uint64_t> word, WordValue<std::uint64_t> value,
                        WriteFlags flags = WriteFlags::none, Where where = Where::current()) {
  detail::write_word(CUSHIM_EXACT_PTSZ(cuStreamWriteValue64_v9000), "cuStreamWriteValue64", stream, word,
                     value.value(), detail::number(flags), where);
}

}  // namespace memop_v1
}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim

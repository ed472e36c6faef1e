// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: a stream waits for a word in memory, or writes one, without the host.
//
//   stream.wait_value(flag, geq(5));           goes on when the word has reached 5
//   stream.write_value(flag, 6);
//   MemOpBatch().write_value(a, 1).barrier().write_value(b, 1).submit(stream);
//
// The driver has these calls in two generations. The second (driver 11.7 and newer) is what streams
// and MemOpBatch use. The first is in namespace memop_v1. They differ in this: only the first has
// writes without a memory barrier before them, only the second has the barrier as an operation of a
// batch; and the first asks the device for everything, the second only for the conveniences.
#pragma once

#include <cushim/device_ptr.hpp>
#include <cushim/stream.hpp>

#include <concepts>
#include <span>
#include <vector>

namespace cushim {
inline namespace v1 {

// A word of 32 or 64 bits that streams wait on and write: device memory, or pinned host memory.
// Neither null nor misaligned, which the driver would refuse.
template <class T>
class Word {
  static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>,
                "streams wait for words of 32 or 64 bits: std::uint32_t or std::uint64_t");

 public:
  explicit Word(CUdeviceptr address, Where where = Where::current()) : address_(address) {
    if (address == 0 || address % sizeof(T) != 0) [[unlikely]]
      refuse(address, where);
  }
  Word(DevicePtr<T> pointer, Where where = Where::current()) : Word(pointer.address(), where) {}

  CUdeviceptr address() const noexcept { return address_; }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(CUdeviceptr address, Where where) {
    detail::fail(CUDA_ERROR_INVALID_VALUE, sizeof(T) == 4 ? "cuStreamWaitValue32" : "cuStreamWaitValue64",
                 where, detail::Address{"address", address},
                 detail::Remark{address == 0     ? "address is null"
                                : sizeof(T) == 4 ? "address is not a multiple of 4"
                                                 : "address is not a multiple of 8"});
  }

  CUdeviceptr address_;
};

// What a word is compared with. A condition fits a word that is at least as wide as its value.
template <class T>
class ValueCondition {
 public:
  constexpr ValueCondition(T value, CUstreamWaitValue_flags comparison) noexcept
      : value_(value), comparison_(comparison) {}
  template <std::integral U>
  requires(sizeof(U) <= sizeof(T)) constexpr ValueCondition(const ValueCondition<U> &narrower) noexcept
      : value_(static_cast<T>(narrower.value())), comparison_(narrower.comparison()) {}

  constexpr T value() const noexcept { return value_; }
  constexpr CUstreamWaitValue_flags comparison() const noexcept { return comparison_; }

 private:
  T value_;
  CUstreamWaitValue_flags comparison_;
};

// word >= value, as signed distance: counters may wrap around.
template <std::integral T>
constexpr ValueCondition<T> geq(T value) noexcept {
  return {value, CU_STREAM_WAIT_VALUE_GEQ};
}
// word == value
template <std::integral T>
constexpr ValueCondition<T> equal(T value) noexcept {
  return {value, CU_STREAM_WAIT_VALUE_EQ};
}
// (word & bits) != 0
template <std::integral T>
constexpr ValueCondition<T> any_bit(T bits) noexcept {
  return {bits, CU_STREAM_WAIT_VALUE_AND};
}
// ~(word | bits) != 0; not on every device, see mem_op_support()
template <std::integral T>
constexpr ValueCondition<T> nor(T bits) noexcept {
  return {bits, CU_STREAM_WAIT_VALUE_NOR};
}

enum class BarrierScope : unsigned {
  system = CU_STREAM_MEMORY_BARRIER_TYPE_SYS,
  device = CU_STREAM_MEMORY_BARRIER_TYPE_GPU,
};

// The two generations of the driver's calls.
enum class MemOpAbi { v1, v2 };

// What a device can do with stream memory operations.
struct MemOpSupport {
  bool any;      // operations of 32 bits
  bool bits_64;  // operations of 64 bits
  bool nor;      // the condition nor()
  bool flush;    // RemoteWrites::flush and the flush operation
};

// Driver calls: cuDeviceGetAttribute three times; for the first generation four.
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

namespace detail {

constexpr unsigned wait_flags(CUstreamWaitValue_flags comparison, RemoteWrites writes) noexcept {
  return static_cast<unsigned>(comparison) |
         (writes == RemoteWrites::flush ? static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH) : 0u);
}

// What may be missing where a device refuses a wait.
inline const char *wait_remark(CUresult result, unsigned flags) {
  if (result != CUDA_ERROR_NOT_SUPPORTED) return nullptr;
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return "the device may not be able to flush remote writes";
  if (flags == CU_STREAM_WAIT_VALUE_NOR) return "the device may not have the condition nor";
  return nullptr;
}

inline namespace CUSHIM_DEFAULT_STREAM {

[[noreturn, gnu::cold, gnu::noinline]] inline void fail_wait(CUresult result, const char *routine,
                                                             Where where, const StreamRef &stream,
                                                             CUdeviceptr address, unsigned flags) {
  fail(result, routine, where, stream, Address{"address", address}, Argument{"flags", flags},
       Remark{wait_remark(result, flags)});
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace detail

inline namespace CUSHIM_DEFAULT_STREAM {

inline void StreamRef::wait_value(Word<std::uint32_t> word, ValueCondition<std::uint32_t> condition,
                                  RemoteWrites writes, Where where) const {
  const unsigned flags = detail::wait_flags(condition.comparison(), writes);
  const CUresult result = CUSHIM_EXACT_PTSZ(cuStreamWaitValue32_v11070)(driver())(handle(), word.address(),
                                                                                  condition.value(), flags);
  if (result != CUDA_SUCCESS) [[unlikely]]
    detail::fail_wait(result, "cuStreamWaitValue32", where, *this, word.address(), flags);
}

inline void StreamRef::wait_value(Word<std::uint64_t> word, ValueCondition<std::uint64_t> condition,
                                  RemoteWrites writes, Where where) const {
  const unsigned flags = detail::wait_flags(condition.comparison(), writes);
  const CUresult result = CUSHIM_EXACT_PTSZ(cuStreamWaitValue64_v11070)(driver())(handle(), word.address(),
                                                                                  condition.value(), flags);
  if (result != CUDA_SUCCESS) [[unlikely]]
    detail::fail_wait(result, "cuStreamWaitValue64", where, *this, word.address(), flags);
}

inline void StreamRef::write_value(Word<std::uint32_t> word, std::uint32_t value, Where where) const {
  detail::check(CUSHIM_EXACT_PTSZ(cuStreamWriteValue32_v11070)(driver())(handle(), word.address(), value, 0),
                "cuStreamWriteValue32", where, *this, detail::Address{"address", word.address()});
}

inline void StreamRef::write_value(Word<std::uint64_t> word, std::uint64_t value, Where where) const {
  detail::check(CUSHIM_EXACT_PTSZ(cuStreamWriteValue64_v11070)(driver())(handle(), word.address(), value, 0),
                "cuStreamWriteValue64", where, *this, detail::Address{"address", word.address()});
}

// Operations that a stream does in order, submitted in one call: either all of them are accepted or
// none.
template <MemOpAbi abi>
class BasicMemOpBatch {
 public:
  // Operations that the driver takes in one call.
  static constexpr std::size_t limit = 255;

  BasicMemOpBatch &wait_value(Word<std::uint32_t> word, ValueCondition<std::uint32_t> condition,
                              RemoteWrites writes = RemoteWrites::leave) {
    CUstreamBatchMemOpParams &operation = add(CU_STREAM_MEM_OP_WAIT_VALUE_32);
    operation.waitValue.address = word.address();
    operation.waitValue.value = condition.value();
    operation.waitValue.flags = detail::wait_flags(condition.comparison(), writes);
    return *this;
  }
  BasicMemOpBatch &wait_value(Word<std::uint64_t> word, ValueCondition<std::uint64_t> condition,
                              RemoteWrites writes = RemoteWrites::leave) {
    CUstreamBatchMemOpParams &operation = add(CU_STREAM_MEM_OP_WAIT_VALUE_64);
    operation.waitValue.address = word.address();
    operation.waitValue.value64 = condition.value();
    operation.waitValue.flags = detail::wait_flags(condition.comparison(), writes);
    return *this;
  }

  BasicMemOpBatch &write_value(Word<std::uint32_t> word, std::uint32_t value) {
    CUstreamBatchMemOpParams &operation = add(CU_STREAM_MEM_OP_WRITE_VALUE_32);
    operation.writeValue.address = word.address();
    operation.writeValue.value = value;
    return *this;
  }
  BasicMemOpBatch &write_value(Word<std::uint64_t> word, std::uint64_t value) {
    CUstreamBatchMemOpParams &operation = add(CU_STREAM_MEM_OP_WRITE_VALUE_64);
    operation.writeValue.address = word.address();
    operation.writeValue.value64 = value;
    return *this;
  }

  // A write that earlier writes need not be visible before. First generation only.
  template <class T>
  BasicMemOpBatch &write_value_without_barrier(Word<T> word,
                                               std::type_identity_t<T> value) requires(abi == MemOpAbi::v1) {
    write_value(word, value);
    operations_.back().writeValue.flags = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    return *this;
  }

  // Memory operations before it are visible before those after it. Second generation only.
  BasicMemOpBatch &barrier(BarrierScope scope = BarrierScope::system) requires(abi == MemOpAbi::v2) {
    add(CU_STREAM_MEM_OP_BARRIER).memoryBarrier.flags = static_cast<unsigned>(scope);
    return *this;
  }

  // Remote writes that reached the device before it are visible after it.
  BasicMemOpBatch &flush_remote_writes() {
    add(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES);
    return *this;
  }

  std::size_t size() const noexcept { return operations_.size(); }
  void clear() noexcept { operations_.clear(); }

  // Submits all operations, and keeps them: a batch may be submitted again. More than the limit are
  // refused; an empty batch makes no call. Driver calls: cuStreamBatchMemOp_v2 (first generation:
  // cuStreamBatchMemOp).
  void submit(const StreamRef &stream, Where where = Where::current()) {
    if (size() > limit)
      detail::fail(CUDA_ERROR_INVALID_VALUE, routine, where, stream,
                   detail::Argument{"operations", static_cast<long long>(size())},
                   detail::Remark{"the driver takes 255 in one batch; submit_split() submits several"});
    submit_part(stream, operations_, where);
  }

  // Submits all operations in as few batches as the limit allows; if one fails, those before it are
  // in the stream. Driver calls: as submit(), once for every 255 operations.
  void submit_split(const StreamRef &stream, Where where = Where::current()) {
    const std::span<CUstreamBatchMemOpParams> all(operations_);
    for (std::size_t first = 0; first < all.size(); first += limit)
      submit_part(stream, all.subspan(first, std::min(limit, all.size() - first)), where);
  }

 private:
  static constexpr const char *routine = "cuStreamBatchMemOp";

  CUstreamBatchMemOpParams &add(CUstreamBatchMemOpType type) {
    CUstreamBatchMemOpParams &operation = operations_.emplace_back();
    operation.operation = type;
    return operation;
  }

  static void submit_part(const StreamRef &stream, std::span<CUstreamBatchMemOpParams> part, Where where) {
    if (part.empty()) return;  // the driver refuses, or trips over, a null array
    const unsigned count = static_cast<unsigned>(part.size());
    const auto &entry = [&]() -> const auto & {
      if constexpr (abi == MemOpAbi::v1)
        return CUSHIM_EXACT_PTSZ(cuStreamBatchMemOp_v8000)(stream.driver());
      else
        return CUSHIM_EXACT_PTSZ(cuStreamBatchMemOp_v11070)(stream.driver());
    }
    ();
    detail::check(entry(stream.handle(), count, part.data(), 0), routine, where, stream,
                  detail::Argument{"operations", count});
  }

  std::vector<CUstreamBatchMemOpParams> operations_;
};

using MemOpBatch = BasicMemOpBatch<MemOpAbi::v2>;

// The first generation of the driver's calls.
namespace memop_v1 {

using MemOpBatch = BasicMemOpBatch<MemOpAbi::v1>;

enum class WriteFlags : unsigned {
  none = CU_STREAM_WRITE_VALUE_DEFAULT,
  no_memory_barrier =
      CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER,  // earlier writes need not be visible before it
};
constexpr bool is_flags(WriteFlags) { return true; }

// Driver calls: cuStreamWaitValue32 or 64, the first ABI.
inline void wait_value(const StreamRef &stream, Word<std::uint32_t> word,
                       ValueCondition<std::uint32_t> condition, RemoteWrites writes = RemoteWrites::leave,
                       Where where = Where::current()) {
  const unsigned flags = detail::wait_flags(condition.comparison(), writes);
  const CUresult result = CUSHIM_EXACT_PTSZ(cuStreamWaitValue32_v8000)(stream.driver())(
      stream.handle(), word.address(), condition.value(), flags);
  if (result != CUDA_SUCCESS) [[unlikely]]
    detail::fail_wait(result, "cuStreamWaitValue32", where, stream, word.address(), flags);
}
inline void wait_value(const StreamRef &stream, Word<std::uint64_t> word,
                       ValueCondition<std::uint64_t> condition, RemoteWrites writes = RemoteWrites::leave,
                       Where where = Where::current()) {
  const unsigned flags = detail::wait_flags(condition.comparison(), writes);
  const CUresult result = CUSHIM_EXACT_PTSZ(cuStreamWaitValue64_v9000)(stream.driver())(
      stream.handle(), word.address(), condition.value(), flags);
  if (result != CUDA_SUCCESS) [[unlikely]]
    detail::fail_wait(result, "cuStreamWaitValue64", where, stream, word.address(), flags);
}

// Driver calls: cuStreamWriteValue32 or 64, the first ABI.
inline void write_value(const StreamRef &stream, Word<std::uint32_t> word, std::uint32_t value,
                        WriteFlags flags = WriteFlags::none, Where where = Where::current()) {
  detail::check(CUSHIM_EXACT_PTSZ(cuStreamWriteValue32_v8000)(stream.driver())(
                    stream.handle(), word.address(), value, detail::number(flags)),
                "cuStreamWriteValue32", where, stream, detail::Address{"address", word.address()},
                detail::Argument{"flags", detail::number(flags)});
}
inline void write_value(const StreamRef &stream, Word<std::uint64_t> word, std::uint64_t value,
                        WriteFlags flags = WriteFlags::none, Where where = Where::current()) {
  detail::check(CUSHIM_EXACT_PTSZ(cuStreamWriteValue64_v9000)(stream.driver())(
                    stream.handle(), word.address(), value, detail::number(flags)),
                "cuStreamWriteValue64", where, stream, detail::Address{"address", word.address()},
                detail::Argument{"flags", detail::number(flags)});
}

}  // namespace memop_v1
}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim

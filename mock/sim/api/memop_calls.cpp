// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: a stream waits for a value in memory, or writes one.
#include <atomic>
#include <cstring>
#include <sstream>
#include <vector>

#include "api/batch.hpp"
#include "api/service.hpp"
#include "commands/captured.hpp"
#include "commands/submit.hpp"
#include "copy/copy_endpoint.hpp"

namespace cushim::sim {
namespace {

// Returns the word that an operation accesses: device, pinned or registered memory, aligned to its size.
template <class Word>
Word *word_at(Call &call, const Context &context, CUdeviceptr address) {
  require(address % sizeof(Word) == 0);
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind != MemoryKind::managed && allocation->is_usable());
  if (allocation->is_multicast()) refuse_multicast(call);
  // A word of device memory may extend beyond the end of the allocation: it is in the same granule of 512
  // bytes. Measured on an H200, driver 580.159.
  const bool is_in_granule = allocation->kind == MemoryKind::device;
  require(is_in_granule || sizeof(Word) <= allocation->end() - address);
  require(allocation->pool == nullptr);  // measured, driver 580
  require(reaches(context, *allocation));
  return reinterpret_cast<Word *>(call.system.memory.bytes(address, sizeof(Word)));
}

// Holds while a word in memory compares to a value as the flags of the call require.
template <class Word>
class WordCondition final : public Condition {
 public:
  WordCondition(ChangedBy changed_by, CUdeviceptr address, Word *word, Word value, unsigned flags) noexcept
      : Condition(changed_by), address_(address), word_(word), value_(value), comparison_(flags & 3) {}

  bool holds() const override {
    const Word found = std::atomic_ref(*word_).load(std::memory_order_acquire);
    switch (comparison_) {
      case CU_STREAM_WAIT_VALUE_GEQ:
        return static_cast<std::make_signed_t<Word>>(static_cast<Word>(found - value_)) >= 0;
      case CU_STREAM_WAIT_VALUE_EQ:
        return found == value_;
      case CU_STREAM_WAIT_VALUE_AND:
        return (found & value_) != 0;
      default:
        return static_cast<Word>(~(found | value_)) != 0;
    }
  }

  std::string to_text() const override {
    constexpr const char *kComparisons[] = {"be at least", "be", "have a bit of", "lack a bit of"};
    std::ostringstream text;
    text << "the word of " << 8 * sizeof(Word) << " bits at 0x" << std::hex << address_ << std::dec << " to "
         << kComparisons[comparison_] << " " << value_ << "; it is "
         << std::atomic_ref(*word_).load(std::memory_order_relaxed);
    return text.str();
  }

 private:
  const CUdeviceptr address_;
  Word *const word_;
  const Word value_;
  const unsigned comparison_;
};

void require_flushes(const Context &context) {
  require(context.device->attribute(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES) != 0,
          CUDA_ERROR_NOT_SUPPORTED);
}

void check_wait_flags(const Context &context, unsigned flags) {
  require((flags & ~(3u | CU_STREAM_WAIT_VALUE_FLUSH)) == 0);
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) require_flushes(context);
}

template <class Word>
Operation wait_operation(Call &call, const Context &context, CUdeviceptr address, unsigned flags,
                         Word value) {
  check_wait_flags(context, flags);
  Word *const word = word_at<Word>(call, context, address);
  const Allocation &allocation = *call.system.memory.find(address);
  const bool is_of_others = allocation.imported != nullptr ||
                            (allocation.mapping != nullptr && allocation.mapping->physical->is_exportable());
  const bool is_own = allocation.kind == MemoryKind::device && !is_of_others;
  return {
      .cost = call.costs(context).memory_operation,
      .condition = std::make_unique<WordCondition<Word>>(
          is_own ? Condition::ChangedBy::engine : Condition::ChangedBy::anyone, address, word, value, flags)};
}

template <class Word>
Operation write_operation(Call &call, const Context &context, CUdeviceptr address, unsigned flags,
                          Word value) {
  Word *const word = word_at<Word>(call, context, address);
  require(flags == CU_STREAM_WRITE_VALUE_DEFAULT);
  return {.cost = call.costs(context).memory_operation,
          .run = [word, value](Move &) { std::atomic_ref(*word).store(value, std::memory_order_release); }};
}

Operation operation_of(Call &call, const Context &context, const CUstreamBatchMemOpParams &entry) {
  const auto &wait = entry.waitValue;
  const auto &write = entry.writeValue;
  switch (entry.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait_operation(call, context, wait.address, wait.flags, wait.value);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait_operation(call, context, wait.address, wait.flags, wait.value64);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write_operation(call, context, write.address, write.flags, write.value);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write_operation(call, context, write.address, write.flags, write.value64);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      require_flushes(context);
      return {};
    case CU_STREAM_MEM_OP_BARRIER:
      require(entry.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
      return {};
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace

void check_captured(const Context &context, const CUstreamBatchMemOpParams &operation) {
  switch (operation.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return check_wait_flags(context, operation.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return require(operation.writeValue.flags == CU_STREAM_WRITE_VALUE_DEFAULT);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return require_flushes(context);
    case CU_STREAM_MEM_OP_BARRIER:
      return require(operation.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

PreparedCommand prepare(Call &call, Context &context, const CUstreamBatchMemOpParams &command) {
  const CUdeviceptr address = command.waitValue.address;
  return {operation_of(call, context, command), {{{address, call.system.memory.find(address), 1}}}};
}

namespace {

template <class Word, CUstreamBatchMemOpType operation>
CUresult submit_one(Call &call, CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  Stream &stream = call.stream(handle);
  CUstreamBatchMemOpParams command;
  command.waitValue = {operation, address, {}, flags, 0};
  command.waitValue.value64 = value;  // the members of a write are in the same places
  submit(call, stream, command);
  return CUDA_SUCCESS;
}

CUresult batch(Call &call, CUstream handle, unsigned count, CUstreamBatchMemOpParams *entries,
               unsigned flags) {
  Stream &stream = call.stream(handle);
  require(count <= kMostInBatch && flags == 0);
  require(count == 0 || entries != nullptr);  // the real driver crashes
  // All entries are checked before the first is added: an invalid entry fails the whole batch.
  if (stream.capture != nullptr)
    return capture_command(call, stream, BatchMemOp{{entries, entries + count}}), CUDA_SUCCESS;
  std::vector<PreparedCommand> commands;
  for (unsigned i = 0; i < count; ++i) commands.push_back(prepare(call, *stream.context, entries[i]));
  submit(call, stream, std::move(commands));
  if (count == 0) call.enqueue(stream, {});  // an empty batch is ordered in the stream, too
  return CUDA_SUCCESS;
}

// ---- The first ABI: disabled unless a module parameter of the driver enables it. Measured, driver 580 ----

template <class Word>
CUresult first_abi(Call &call, CUstream handle, CUdeviceptr, Word, unsigned) {
  call.stream(handle);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult first_abi_batch(Call &call, CUstream handle, unsigned count, CUstreamBatchMemOpParams *, unsigned) {
  call.stream(handle);
  require(count <= kMostInBatch);
  return CUDA_ERROR_NOT_SUPPORTED;
}

using U32 = cuuint32_t;
using U64 = cuuint64_t;

}  // namespace

constinit const Entries entries_of_memory_operations = {
    entry<"cuStreamWaitValue32_v8000", first_abi<U32>>,
    entry<"cuStreamWaitValue64_v9000", first_abi<U64>>,
    entry<"cuStreamWriteValue32_v8000", first_abi<U32>>,
    entry<"cuStreamWriteValue64_v9000", first_abi<U64>>,
    entry<"cuStreamBatchMemOp_v8000", first_abi_batch>,
    entry<"cuStreamWaitValue32_v11070", submit_one<U32, CU_STREAM_MEM_OP_WAIT_VALUE_32>>,
    entry<"cuStreamWaitValue64_v11070", submit_one<U64, CU_STREAM_MEM_OP_WAIT_VALUE_64>>,
    entry<"cuStreamWriteValue32_v11070", submit_one<U32, CU_STREAM_MEM_OP_WRITE_VALUE_32>>,
    entry<"cuStreamWriteValue64_v11070", submit_one<U64, CU_STREAM_MEM_OP_WRITE_VALUE_64>>,
    entry<"cuStreamBatchMemOp_v11070", batch>,
};

}  // namespace cushim::sim

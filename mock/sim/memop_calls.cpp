// SPDX-License-Identifier: Apache-2.0
// Stream memory operations: a stream waits until a word of memory has a value, or writes one.
#include <atomic>
#include <cstring>
#include <sstream>
#include <vector>

#include "place.hpp"
#include "service.hpp"

namespace cushim::sim {
namespace {

constexpr unsigned kMostInBatch = 255;  // measured, driver 580

// The word that the operation is about: device, pinned or registered memory, aligned to its size.
template <class Word>
Word *word_at(Call &call, const Context &context, CUdeviceptr address) {
  require(address % sizeof(Word) == 0);
  const Allocation *const allocation = call.system.memory.find(address);
  require(allocation != nullptr && allocation->kind != MemoryKind::managed && !allocation->is_freed);
  require(address + sizeof(Word) <= allocation->end());
  require(allocation->pool == nullptr);  // measured, driver 580
  require(reaches(context, *allocation));
  return reinterpret_cast<Word *>(call.system.memory.bytes(address, sizeof(Word)));
}

template <class Word>
bool is_satisfied(Word *word, Word value, unsigned flags) {
  const Word found = std::atomic_ref(*word).load(std::memory_order_acquire);
  switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<Word>>(static_cast<Word>(found - value)) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & value) != 0;
    default:
      return static_cast<Word>(~(found | value)) != 0;
  }
}

template <class Word>
std::string in_words(CUdeviceptr address, Word *word, Word value, unsigned flags) {
  constexpr const char *kConditions[] = {"be at least", "be", "have a bit of", "lack a bit of"};
  std::ostringstream text;
  text << "the word of " << 8 * sizeof(Word) << " bits at 0x" << std::hex << address << std::dec << " to "
       << kConditions[flags & 3] << " " << value << "; it is "
       << std::atomic_ref(*word).load(std::memory_order_relaxed);
  return text.str();
}

template <class Word>
Operation wait_operation(Call &call, const Context &context, CUdeviceptr address, Word value,
                         unsigned flags) {
  require((flags & ~(3u | CU_STREAM_WAIT_VALUE_FLUSH)) == 0);
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0)
    require(context.device->attribute(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES) != 0,
            CUDA_ERROR_NOT_SUPPORTED);
  Word *const word = word_at<Word>(call, context, address);
  const Allocation &allocation = *call.system.memory.find(address);
  return {.cost = call.costs(context).memory_operation,
          .is_ready = [word, value, flags] { return is_satisfied(word, value, flags); },
          .waits_for = [=] { return in_words(address, word, value, flags); },
          .is_engines = allocation.kind == MemoryKind::device && allocation.imported == nullptr};
}

template <class Word>
Operation write_operation(Call &call, const Context &context, CUdeviceptr address, Word value,
                          unsigned flags) {
  Word *const word = word_at<Word>(call, context, address);
  require(flags == CU_STREAM_WRITE_VALUE_DEFAULT);
  return {.cost = call.costs(context).memory_operation,
          .run = [word, value](Move &) { std::atomic_ref(*word).store(value, std::memory_order_release); }};
}

void put(Call &call, Stream &stream, CUdeviceptr address, Operation operation) {
  const Work work = call.add(stream, std::move(operation));
  if (Allocation *const allocation = call.system.memory.find(address)) allocation->add_user(work);
  call.start(work);
}

template <class Word>
CUresult wait_value(Call &call, CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  Stream &stream = call.stream(handle);
  put(call, stream, address, wait_operation(call, *stream.context, address, value, flags));
  return CUDA_SUCCESS;
}

template <class Word>
CUresult write_value(Call &call, CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  Stream &stream = call.stream(handle);
  put(call, stream, address, write_operation(call, *stream.context, address, value, flags));
  return CUDA_SUCCESS;
}

Operation operation_of(Call &call, const Context &context, const CUstreamBatchMemOpParams &entry) {
  switch (entry.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait_operation<cuuint32_t>(call, context, entry.waitValue.address, entry.waitValue.value,
                                        entry.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait_operation<cuuint64_t>(call, context, entry.waitValue.address, entry.waitValue.value64,
                                        entry.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write_operation<cuuint32_t>(call, context, entry.writeValue.address, entry.writeValue.value,
                                         entry.writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write_operation<cuuint64_t>(call, context, entry.writeValue.address, entry.writeValue.value64,
                                         entry.writeValue.flags);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      require(context.device->attribute(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES) != 0,
              CUDA_ERROR_NOT_SUPPORTED);
      return {};
    case CU_STREAM_MEM_OP_BARRIER:
      require(entry.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
      return {};
    default:
      refuse(CUDA_ERROR_INVALID_VALUE);
  }
}

CUresult batch(Call &call, CUstream handle, unsigned count, CUstreamBatchMemOpParams *entries,
               unsigned flags) {
  Stream &stream = call.stream(handle);
  require(count <= kMostInBatch && flags == 0);
  require(count == 0 || entries != nullptr);  // the real driver crashes
  // All are checked before any is put into the stream: a bad one spoils the batch.
  std::vector<Operation> operations;
  for (unsigned i = 0; i < count; ++i) operations.push_back(operation_of(call, *stream.context, entries[i]));
  for (unsigned i = 0; i < count; ++i)
    put(call, call.stream(handle), entries[i].waitValue.address, std::move(operations[i]));
  if (count == 0) call.enqueue(stream, {});  // an empty one has its place in the stream
  return CUDA_SUCCESS;
}

// ---- The first ABI: off unless a module option of the driver turns it on. Measured, driver 580 ----

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

void serve_memory_operations(Service &service) {
  service.serve<Entry::cuStreamWaitValue32_v8000, first_abi<U32>>();
  service.serve<Entry::cuStreamWaitValue32_v8000_ptsz, first_abi<U32>>();
  service.serve<Entry::cuStreamWaitValue32_v11070, wait_value<U32>>();
  service.serve<Entry::cuStreamWaitValue32_v11070_ptsz, wait_value<U32>>();
  service.serve<Entry::cuStreamWaitValue64_v9000, first_abi<U64>>();
  service.serve<Entry::cuStreamWaitValue64_v9000_ptsz, first_abi<U64>>();
  service.serve<Entry::cuStreamWaitValue64_v11070, wait_value<U64>>();
  service.serve<Entry::cuStreamWaitValue64_v11070_ptsz, wait_value<U64>>();
  service.serve<Entry::cuStreamWriteValue32_v8000, first_abi<U32>>();
  service.serve<Entry::cuStreamWriteValue32_v8000_ptsz, first_abi<U32>>();
  service.serve<Entry::cuStreamWriteValue32_v11070, write_value<U32>>();
  service.serve<Entry::cuStreamWriteValue32_v11070_ptsz, write_value<U32>>();
  service.serve<Entry::cuStreamWriteValue64_v9000, first_abi<U64>>();
  service.serve<Entry::cuStreamWriteValue64_v9000_ptsz, first_abi<U64>>();
  service.serve<Entry::cuStreamWriteValue64_v11070, write_value<U64>>();
  service.serve<Entry::cuStreamWriteValue64_v11070_ptsz, write_value<U64>>();
  service.serve<Entry::cuStreamBatchMemOp_v8000, first_abi_batch>();
  service.serve<Entry::cuStreamBatchMemOp_v8000_ptsz, first_abi_batch>();
  service.serve<Entry::cuStreamBatchMemOp_v11070, batch>();
  service.serve<Entry::cuStreamBatchMemOp_v11070_ptsz, batch>();
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// Batches of copies. If the memory of a copy is invalid, the copies before it are made. The real driver may
// make the copies of a batch in any order; here they are made one after the other.
#include <algorithm>

#include "api/batch.hpp"
#include "api/service.hpp"
#include "copy/copy3d.hpp"
#include "graphs/capturing.hpp"
#include "memory/location.hpp"

#if CUDA_VERSION >= 12080

namespace cushim::sim {
namespace {

constexpr std::size_t kNoCopy = SIZE_MAX;  // the index of an error that does not belong to one copy

// When a copy reads its source, and whether the call waits for the copy.
struct SourceAccess {
  SourceRead read;
  bool waits;
};

SourceAccess source_access(CUmemcpySrcAccessOrder order, const CopyEndpoint &to, const CopyEndpoint &from) {
  switch (order) {
    case CU_MEMCPY_SRC_ACCESS_ORDER_STREAM:
      return {SourceRead::in_stream, from.is_pageable() && to.is_device()};
    case CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL:
      if (from.is_pageable()) return {SourceRead::in_call, false};
      return {SourceRead::in_stream, true};
    default:
      return {source_read(to, from, Sync::returns), false};
  }
}

// Collects the copies of a batch, and submits them.
class CopyBatch {
 public:
  CopyBatch(Call &call, Stream &stream) : call_(call), stream_(stream) {}

  // Adds a copy with the operation that operation_of(read) returns.
  template <class OperationOf>
  void add(const CopyEndpoint &to, const CopyEndpoint &from, CUmemcpySrcAccessOrder order,
           OperationOf operation_of) {
    require_writable(call_.system.memory, to);
    const SourceAccess source = source_access(order, to, from);
    commands_.push_back({operation_of(source.read), {to, from}});
    waits_ |= source.waits || to.is_pageable();
  }
  // Calls add_copy(index) for each of `count` copies, which calls add(), and submits the copies. If it throws
  // CallError, the copies before that index are submitted.
  template <class AddCopy>
  void make(std::size_t count, AddCopy add_copy) {
    try {
      for (std::size_t index = 0; index < count; ++index) add_copy(index);
    } catch (const CallError &) {
      submit();
      throw;
    }
    submit();
  }

 private:
  void submit() {
    const Work last = sim::submit(call_, stream_, std::move(commands_));
    if (waits_) call_.wait(last);
  }

  Call &call_;
  Stream &stream_;
  std::vector<PreparedCommand> commands_;
  bool waits_ = false;
};

void check_order_and_flags(CUmemcpySrcAccessOrder order, unsigned flags) {
  require(order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
  require((flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE}) == 0);
}

// Returns the stream of a batch of copies, which also needs a current context.
Stream &stream_of_copies(Call &call, CUstream handle) {
  Stream &stream = stream_of_batch(call, handle);
  require(call.current() != nullptr);
  require(stream.capture == nullptr, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);  // the capture stays valid
  return stream;
}

// Returns make(index), which sets `index` to the number of the copy that causes an error. Writes the
// program's index (`place`) on success, too. Throws INVALID_VALUE for the null stream, and then writes
// nothing.
template <class Make>
CUresult with_index_of_error(Call &call, CUstream stream, std::size_t *place, Make make) {
  require(!is_null_stream(call, stream));
  refuse_in_host_function(call);
  call.require_valid_capture(stream);
  std::size_t unused = 0;
  std::size_t &index = place != nullptr ? *place : unused;
  index = kNoCopy;
  return make(index);
}

// ---- Between addresses ----

struct Copies {
  const CUdeviceptr *targets, *sources;
  const std::size_t *sizes;
  std::size_t count;
};

struct Attributes {
  const CUmemcpyAttributes *attributes;
  const std::size_t *first;  // attributes[i] applies to the copies from index first[i] on
  std::size_t count;
};

// Hints have no effect, but their type and their device must exist.
void check_hint(const Call &call, const CUmemLocation &hint) {
  require(hint.type >= kNoLocation && hint.type <= kCurrentHostNodeLocation);
  require(hint.type != CU_MEM_LOCATION_TYPE_DEVICE || call.has_device(hint.id));
}

void check(const Call &call, const CUmemcpyAttributes &attributes) {
  check_order_and_flags(attributes.srcAccessOrder, attributes.flags);
  check_hint(call, attributes.srcLocHint);
  check_hint(call, attributes.dstLocHint);
}

CUresult copy(Call &call, const Copies &copies, const Attributes &with, CUstream handle, std::size_t &index) {
  require(copies.targets != nullptr && copies.sources != nullptr && copies.sizes != nullptr);
  require(copies.count != 0 && with.attributes != nullptr);
  check_assignment(with.first, with.count, copies.count, IndexOrder::rising);
  for (std::size_t i = 0; i < with.count; ++i) check(call, with.attributes[i]);
  Stream &stream = stream_of_copies(call, handle);
  CopyBatch batch(call, stream);
  std::size_t entry = 0;
  batch.make(copies.count, [&](std::size_t i) {
    index = i;
    entry = entry_of(with.first, with.count, i, entry);
    const std::size_t size = copies.sizes[i];
    require(size != 0);
    const CopyEndpoint to = any_endpoint(call, copies.targets[i], size, Access::written);
    const CopyEndpoint from = any_endpoint(call, copies.sources[i], size);
    batch.add(to, from, with.attributes[entry].srcAccessOrder,
              [&](SourceRead read) { return copy_operation(call, *stream.context, to, from, size, read); });
  });
  index = kNoCopy;
  return CUDA_SUCCESS;
}

CUresult copy_with_index(Call &call, CUdeviceptr *targets, CUdeviceptr *sources, std::size_t *sizes,
                         std::size_t count, CUmemcpyAttributes *attributes, std::size_t *first,
                         std::size_t attribute_count, std::size_t *fail_index, CUstream stream) {
  return with_index_of_error(call, stream, fail_index, [&](std::size_t &index) {
    return copy(call, {targets, sources, sizes, count}, {attributes, first, attribute_count}, stream, index);
  });
}

CUresult copy_without_index(Call &call, CUdeviceptr *targets, CUdeviceptr *sources, std::size_t *sizes,
                            std::size_t count, CUmemcpyAttributes *attributes, std::size_t *first,
                            std::size_t attribute_count, CUstream stream) {
  return copy_with_index(call, targets, sources, sizes, count, attributes, first, attribute_count, nullptr,
                         stream);
}

// ---- In three dimensions ----

// Returns the size of an operand's elements; 0 for a pointer, which has none of its own.
std::size_t element_size(Call &call, const CUmemcpy3DOperand &operand) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) return 0;
  require(operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY);
  const Array &array = call.array(operand.op.array.array, CUDA_ERROR_INVALID_VALUE);
  return element_of(array.shape.Format, array.shape.NumChannels).bytes;
}

std::size_t common_element_size(Call &call, const CUDA_MEMCPY3D_BATCH_OP &copy) {
  const std::size_t from = element_size(call, copy.src), to = element_size(call, copy.dst);
  if (from != 0 && to != 0) require(from == to);
  return std::max({from, to, std::size_t{1}});
}

// A length of 0 stands for the extent of the copy.
void check_lengths(const CUmemcpy3DOperand &operand, const CUextent3D &extent) {
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return;
  const auto &memory = operand.op.ptr;
  require(memory.rowLength == 0 || memory.rowLength >= extent.width);
  require(memory.layerHeight == 0 || memory.layerHeight >= extent.height);
}

// Checks a copy except for its memory.
void check(Call &call, const CUDA_MEMCPY3D_BATCH_OP &copy) {
  check_order_and_flags(copy.srcAccessOrder, copy.flags);
  require(copy.extent.width != 0 && copy.extent.height != 0 && copy.extent.depth != 0);
  common_element_size(call, copy);
  check_lengths(copy.src, copy.extent);
  check_lengths(copy.dst, copy.extent);
}

// Returns elements in bytes.
std::size_t in_bytes(std::size_t elements, std::size_t element) {
  require(elements <= SIZE_MAX / element);
  return elements * element;
}

Copy3DEndpoint endpoint(Call &call, const CUmemcpy3DOperand &operand, std::size_t element,
                        const CopyExtent &box, Access access) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER)
    return linear_endpoint(call, Reach::any, operand.op.ptr.ptr, in_bytes(operand.op.ptr.rowLength, element),
                           operand.op.ptr.layerHeight, {}, box, access);
  const CUoffset3D &offset = operand.op.array.offset;
  return array_endpoint(call, operand.op.array.array, {in_bytes(offset.x, element), offset.y, offset.z}, box);
}

void add(Call &call, const Stream &stream, const CUDA_MEMCPY3D_BATCH_OP &copy, CopyBatch &batch) {
  const std::size_t element = common_element_size(call, copy);
  const CopyExtent box{in_bytes(copy.extent.width, element), copy.extent.height, copy.extent.depth};
  const Copy3DEndpoint from = endpoint(call, copy.src, element, box, Access::read),
                       to = endpoint(call, copy.dst, element, box, Access::written);
  batch.add(to.place, from.place, copy.srcAccessOrder,
            [&](SourceRead read) { return copy_3d_operation(call, *stream.context, to, from, box, read); });
}

CUresult copy_3d(Call &call, std::size_t count, const CUDA_MEMCPY3D_BATCH_OP *copies,
                 unsigned long long flags, CUstream handle, std::size_t &index) {
  require(count != 0 && copies != nullptr && flags == 0);
  Stream &stream = stream_of_copies(call, handle);
  for (index = 0; index < count; ++index) check(call, copies[index]);
  index = kNoCopy;  // also of a copy whose memory is invalid
  CopyBatch batch(call, stream);
  batch.make(count, [&](std::size_t i) { add(call, stream, copies[i], batch); });
  return CUDA_SUCCESS;
}

CUresult copy_3d_with_index(Call &call, std::size_t count, CUDA_MEMCPY3D_BATCH_OP *copies,
                            std::size_t *fail_index, unsigned long long flags, CUstream stream) {
  return with_index_of_error(call, stream, fail_index, [&](std::size_t &index) {
    return copy_3d(call, count, copies, flags, stream, index);
  });
}

CUresult copy_3d_without_index(Call &call, std::size_t count, CUDA_MEMCPY3D_BATCH_OP *copies,
                               unsigned long long flags, CUstream stream) {
  return copy_3d_with_index(call, count, copies, nullptr, flags, stream);
}

// ---- Single copies with attributes: documentation ----

Stream &stream_of_copy(Call &call, CUstream handle) {
  Stream &stream = call.stream_of_copy(handle);
  if (stream.capture != nullptr) refuse_in_capture(stream);
  return stream;
}

CUresult copy_one(Call &call, CUdeviceptr target, CUdeviceptr source, std::size_t size,
                  CUmemcpyAttributes *attributes, CUstream handle) {
  require(attributes != nullptr);
  check(call, *attributes);
  Stream &stream = stream_of_copy(call, handle);
  if (size == 0) return CUDA_SUCCESS;
  const CopyEndpoint to = any_endpoint(call, target, size, Access::written),
                     from = any_endpoint(call, source, size);
  CopyBatch batch(call, stream);
  batch.make(1, [&](std::size_t) {
    batch.add(to, from, attributes->srcAccessOrder,
              [&](SourceRead read) { return copy_operation(call, *stream.context, to, from, size, read); });
  });
  return CUDA_SUCCESS;
}

CUresult copy_one_3d(Call &call, CUDA_MEMCPY3D_BATCH_OP *copy, unsigned long long flags, CUstream handle) {
  require(copy != nullptr && flags == 0);
  Stream &stream = stream_of_copy(call, handle);
  check(call, *copy);
  CopyBatch batch(call, stream);
  batch.make(1, [&](std::size_t) { add(call, stream, *copy, batch); });
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_copy_batches = {
    entry<"cuMemcpyBatchAsync", copy_with_index>,      entry<"cuMemcpyBatchAsync", copy_without_index>,
    entry<"cuMemcpy3DBatchAsync", copy_3d_with_index>, entry<"cuMemcpy3DBatchAsync", copy_3d_without_index>,
    entry<"cuMemcpyWithAttributesAsync", copy_one>,    entry<"cuMemcpy3DWithAttributesAsync", copy_one_3d>,
};

}  // namespace cushim::sim

#endif

// SPDX-License-Identifier: Apache-2.0
// Batches of copies. All copies are checked before the first is added. The real driver may make the copies of
// a batch in any order; here they are made one after the other.
#include <algorithm>

#include "api/batch.hpp"
#include "api/service.hpp"
#include "copy/copy3d.hpp"

#if CUDA_VERSION >= 12080

namespace cushim::sim {
namespace {

constexpr std::size_t kNoCopy = SIZE_MAX;  // the index of an error that does not belong to one copy

// Collects the checked copies of a batch, and submits them.
class CopyBatch {
 public:
  CopyBatch(Call &call, Stream &stream) : call_(call), stream_(stream) {}

  void add(Operation &&operation, const CopyEndpoint &to, const CopyEndpoint &from) {
    operations_.push_back({std::move(operation), {to.allocation, from.allocation}});
    waits_ |= to.is_pageable();
  }
  void submit() {
    const Work last = sim::submit(call_, stream_, std::move(operations_));
    if (waits_) call_.wait(last);
  }

 private:
  Call &call_;
  Stream &stream_;
  std::vector<BatchOperation> operations_;
  bool waits_ = false;  // for a copy to pageable memory
};

void check_order_and_flags(CUmemcpySrcAccessOrder order, unsigned flags) {
  require(order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
  require((flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE}) == 0);
}

SourceRead source_read_of(CUmemcpySrcAccessOrder order, const CopyEndpoint &to, const CopyEndpoint &from) {
  return order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? SourceRead::in_call
                                                             : source_read(to, from, Sync::returns);
}

// Calls make(index) and returns its result; if it fails, writes the index that it has set by then.
template <class Make>
CUresult with_index_of_error(std::size_t *place, Make make) {
  std::size_t index = kNoCopy;
  try {
    return make(index);
  } catch (const CallError &) {
    if (place != nullptr) *place = index;
    throw;
  }
}

// ---- Between addresses ----

struct Copies {
  const CUdeviceptr *targets, *sources;
  const std::size_t *sizes;
  std::size_t count;
};

struct Attributes {
  const CUmemcpyAttributes *attributes;
  const std::size_t *first;  // the copy from which on each applies
  std::size_t count;
};

CUresult copy(Call &call, const Copies &copies, const Attributes &with, CUstream handle, std::size_t &index) {
  require(copies.targets != nullptr && copies.sources != nullptr && copies.sizes != nullptr);
  require(copies.count != 0 && with.attributes != nullptr);
  check_assignment(with.first, with.count, copies.count);
  Stream &stream = stream_of_batch(call, handle);
  CopyBatch batch(call, stream);
  std::size_t entry = 0;
  for (index = 0; index < copies.count; ++index) {
    entry = entry_of(with.first, with.count, index, entry);
    const CUmemcpyAttributes &attributes = with.attributes[entry];
    check_order_and_flags(attributes.srcAccessOrder, attributes.flags);
    const std::size_t size = copies.sizes[index];
    require(size != 0);
    const CopyEndpoint to = any_endpoint(call, copies.targets[index], size);
    const CopyEndpoint from = any_endpoint(call, copies.sources[index], size);
    const SourceRead read = source_read_of(attributes.srcAccessOrder, to, from);
    batch.add(copy_operation(call, *stream.context, to, from, size, read), to, from);
  }
  index = kNoCopy;
  batch.submit();
  return CUDA_SUCCESS;
}

CUresult copy_with_index(Call &call, CUdeviceptr *targets, CUdeviceptr *sources, std::size_t *sizes,
                         std::size_t count, CUmemcpyAttributes *attributes, std::size_t *first,
                         std::size_t attribute_count, std::size_t *fail_index, CUstream stream) {
  return with_index_of_error(fail_index, [&](std::size_t &index) {
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

// Returns elements in bytes.
std::size_t in_bytes(std::size_t elements, std::size_t element) {
  require(elements <= SIZE_MAX / element);
  return elements * element;
}

Copy3DEndpoint endpoint(Call &call, const CUmemcpy3DOperand &operand, std::size_t element,
                        const CopyExtent &box) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER)
    return linear_endpoint(call, Reach::any, operand.op.ptr.ptr, in_bytes(operand.op.ptr.rowLength, element),
                           operand.op.ptr.layerHeight, {}, box);
  const CUoffset3D &offset = operand.op.array.offset;
  return array_endpoint(call, operand.op.array.array, {in_bytes(offset.x, element), offset.y, offset.z}, box);
}

CUresult copy_3d(Call &call, std::size_t count, const CUDA_MEMCPY3D_BATCH_OP *copies,
                 unsigned long long flags, CUstream handle, std::size_t &index) {
  require(count != 0 && copies != nullptr && flags == 0);
  Stream &stream = stream_of_batch(call, handle);
  CopyBatch batch(call, stream);
  for (index = 0; index < count; ++index) {
    const CUDA_MEMCPY3D_BATCH_OP &copy = copies[index];
    check_order_and_flags(copy.srcAccessOrder, copy.flags);
    require(copy.extent.width != 0 && copy.extent.height != 0 && copy.extent.depth != 0);
    const std::size_t element = common_element_size(call, copy);
    const CopyExtent box{in_bytes(copy.extent.width, element), copy.extent.height, copy.extent.depth};
    const Copy3DEndpoint from = endpoint(call, copy.src, element, box),
                         to = endpoint(call, copy.dst, element, box);
    const SourceRead read = source_read_of(copy.srcAccessOrder, to.place, from.place);
    batch.add(copy_3d_operation(call, *stream.context, to, from, box, read), to.place, from.place);
  }
  index = kNoCopy;
  batch.submit();
  return CUDA_SUCCESS;
}

CUresult copy_3d_with_index(Call &call, std::size_t count, CUDA_MEMCPY3D_BATCH_OP *copies,
                            std::size_t *fail_index, unsigned long long flags, CUstream stream) {
  return with_index_of_error(
      fail_index, [&](std::size_t &index) { return copy_3d(call, count, copies, flags, stream, index); });
}

CUresult copy_3d_without_index(Call &call, std::size_t count, CUDA_MEMCPY3D_BATCH_OP *copies,
                               unsigned long long flags, CUstream stream) {
  return copy_3d_with_index(call, count, copies, nullptr, flags, stream);
}

}  // namespace

void serve_copy_batches(Service &service) {
  service.serve<"cuMemcpyBatchAsync", copy_with_index>();
  service.serve<"cuMemcpyBatchAsync", copy_without_index>();
  service.serve<"cuMemcpy3DBatchAsync", copy_3d_with_index>();
  service.serve<"cuMemcpy3DBatchAsync", copy_3d_without_index>();
}

}  // namespace cushim::sim

#else

namespace cushim::sim {
void serve_copy_batches(Service &) {}
}  // namespace cushim::sim

#endif

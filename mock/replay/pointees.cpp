// SPDX-License-Identifier: Apache-2.0
#include "pointees.hpp"

#include <cstddef>
#include <cstring>
#include <new>

#include "bits.hpp"
#include "process.hpp"

namespace cushim::replay {
namespace {

using Content = Pointee::Content;

template <class T>
bool is(const trace::Type &type) {
  return &type == &trace::type_of<T>();
}

template <class T>
T copied(const void *object) {
  T copy;
  std::memcpy(static_cast<void *>(&copy), object, sizeof copy);
  return copy;
}

void add(std::vector<Pointee> &all, Pointee pointee, const void *address) {
  pointee.address = pointee.rows.address = reinterpret_cast<std::uint64_t>(address);
  if (pointee.address != 0) all.push_back(pointee);
}

// Adds the elements of an array that a structure points to. Also of an empty one: the pointer may be any
// address.
template <class T>
void add_array(std::vector<Pointee> &all, std::size_t offset, const T *array, std::size_t count) {
  add(all, {.offset = offset, .size = count * sizeof *array, .type = &trace::type_of<T>()}, array);
}

template <class Copy>
HostRows rows_of(const Copy &copy, std::uint64_t x, std::uint64_t y, std::uint64_t pitch) {
  const std::uint64_t distance = pitch != 0 ? pitch : copy.WidthInBytes + x;
  return {.first = y * distance + x, .width = copy.WidthInBytes, .rows = copy.Height, .pitch = distance};
}

// Sets the members that only copies of three dimensions have.
template <class Copy>
HostRows with_slices(HostRows rows, const Copy &copy, std::uint64_t z, std::uint64_t height) {
  rows.slices = copy.Depth;
  rows.slice_pitch = rows.pitch * (height != 0 ? height : copy.Height);
  rows.first += z * rows.slice_pitch;
  return rows;
}

struct Pointed {
  std::size_t offset = 0;  // of the pointer in the structure
  const void *address = nullptr;
};

// Adds the rows at an end of a copy, if it is in host memory, or at an address of a device that may be that
// of memory of the host.
void add_rows(std::vector<Pointee> &all, CUmemorytype type, Content content, const HostRows &rows,
              Pointed host, Pointed device) {
  if (type == CU_MEMORYTYPE_HOST)
    add(all, {.content = content, .offset = host.offset, .rows = rows}, host.address);
  else if (type == CU_MEMORYTYPE_UNIFIED || (type == CU_MEMORYTYPE_DEVICE && content == Content::rows_read))
    add(all, {.content = content, .offset = device.offset, .rows = rows, .may_be_of_device = true},
        device.address);
}

std::vector<Pointee> pointees_of(const CUDA_MEMCPY2D &copy) {
  std::vector<Pointee> all;
  add_rows(all, copy.srcMemoryType, Content::rows_read,
           rows_of(copy, copy.srcXInBytes, copy.srcY, copy.srcPitch),
           {offsetof(CUDA_MEMCPY2D, srcHost), copy.srcHost},
           {offsetof(CUDA_MEMCPY2D, srcDevice), reinterpret_cast<const void *>(copy.srcDevice)});
  add_rows(all, copy.dstMemoryType, Content::rows_written,
           rows_of(copy, copy.dstXInBytes, copy.dstY, copy.dstPitch),
           {offsetof(CUDA_MEMCPY2D, dstHost), copy.dstHost},
           {offsetof(CUDA_MEMCPY2D, dstDevice), reinterpret_cast<const void *>(copy.dstDevice)});
  return all;
}

template <class Copy>
std::vector<Pointee> pointees_of_3d(const Copy &copy) {
  const HostRows source =
      with_slices(rows_of(copy, copy.srcXInBytes, copy.srcY, copy.srcPitch), copy, copy.srcZ, copy.srcHeight);
  const HostRows target =
      with_slices(rows_of(copy, copy.dstXInBytes, copy.dstY, copy.dstPitch), copy, copy.dstZ, copy.dstHeight);
  std::vector<Pointee> all;
  add_rows(all, copy.srcMemoryType, Content::rows_read, source, {offsetof(Copy, srcHost), copy.srcHost},
           {offsetof(Copy, srcDevice), reinterpret_cast<const void *>(copy.srcDevice)});
  add_rows(all, copy.dstMemoryType, Content::rows_written, target, {offsetof(Copy, dstHost), copy.dstHost},
           {offsetof(Copy, dstDevice), reinterpret_cast<const void *>(copy.dstDevice)});
  return all;
}

#if CUDA_VERSION >= 12080
// Between memory only: the rows of an array have elements of other sizes.
std::vector<Pointee> pointees_of(const CUDA_MEMCPY3D_BATCH_OP &copy) {
  std::vector<Pointee> all;
  if (copy.src.type != CU_MEMCPY_OPERAND_TYPE_POINTER || copy.dst.type != CU_MEMCPY_OPERAND_TYPE_POINTER)
    return all;
  for (const bool is_source : {true, false}) {
    const auto &memory = is_source ? copy.src.op.ptr : copy.dst.op.ptr;
    const std::uint64_t pitch = memory.rowLength != 0 ? memory.rowLength : copy.extent.width;
    add(all,
        {.content = is_source ? Content::rows_read : Content::rows_written,
         .offset = is_source ? offsetof(CUDA_MEMCPY3D_BATCH_OP, src.op.ptr.ptr)
                             : offsetof(CUDA_MEMCPY3D_BATCH_OP, dst.op.ptr.ptr),
         .rows = {.width = copy.extent.width,
                  .rows = copy.extent.height,
                  .slices = copy.extent.depth,
                  .pitch = pitch,
                  .slice_pitch = pitch * (memory.layerHeight != 0 ? memory.layerHeight : copy.extent.height)},
         .may_be_of_device = true},
        reinterpret_cast<const void *>(memory.ptr));
  }
  return all;
}
#endif

std::vector<Pointee> pointees_of(const CUDA_KERNEL_NODE_PARAMS_v1 &node, CUfunction kernel) {
  std::vector<Pointee> all;
  add(all,
      {.content = Content::kernel_parameters,
       .offset = offsetof(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams),
       .kernel = kernel},
      static_cast<const void *>(node.kernelParams));
  add(all, {.content = Content::launch_options, .offset = offsetof(CUDA_KERNEL_NODE_PARAMS_v1, extra)},
      static_cast<const void *>(node.extra));
  return all;
}

std::vector<Pointee> pointees_of(const CUlaunchConfig &config) {
  std::vector<Pointee> all;
  add_array(all, offsetof(CUlaunchConfig, attrs), config.attrs, config.numAttrs);
  return all;
}

std::vector<Pointee> pointees_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS &node) {
  std::vector<Pointee> all;
  add_array(all, offsetof(CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray), node.paramArray, node.count);
  return all;
}

// The nodes that signal external semaphores and those that wait for them.
template <class Node, class Parameters>
std::vector<Pointee> pointees_of_semaphores(const Node &node) {
  std::vector<Pointee> all;
  add_array(all, offsetof(Node, extSemArray), node.extSemArray, node.numExtSems);
  add_array(all, offsetof(Node, paramsArray), node.paramsArray, node.numExtSems);
  return all;
}
using SignalNode = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1;
using WaitNode = CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1;
std::vector<Pointee> pointees_of(const SignalNode &node) {
  return pointees_of_semaphores<SignalNode, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>(node);
}
std::vector<Pointee> pointees_of(const WaitNode &node) {
  return pointees_of_semaphores<WaitNode, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>(node);
}

#if CUDA_VERSION >= 12020
// The members of CUgraphNodeParams are read as the first versions of the structures, which have the same
// members at the same offsets.
std::vector<Pointee> pointees_of_any(const CUgraphNodeParams &node) {
  std::vector<Pointee> all;
  std::size_t offset = 0;
  const auto read = [&](const auto &member, std::vector<Pointee> found) {
    offset = static_cast<std::size_t>(reinterpret_cast<const char *>(&member) -
                                      reinterpret_cast<const char *>(&node));
    all = std::move(found);
  };
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      read(node.kernel,
           pointees_of(copied<CUDA_KERNEL_NODE_PARAMS_v1>(&node.kernel),
                       node.kernel.func != nullptr ? node.kernel.func
                                                   : reinterpret_cast<CUfunction>(node.kernel.kern)));
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      read(node.memcpy.copyParams, pointees_of_3d(node.memcpy.copyParams));
      break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      read(node.memOp, pointees_of(copied<CUDA_BATCH_MEM_OP_NODE_PARAMS>(&node.memOp)));
      break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      read(node.extSemSignal, pointees_of(copied<SignalNode>(&node.extSemSignal)));
      break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      read(node.extSemWait, pointees_of(copied<WaitNode>(&node.extSemWait)));
      break;
#if CUDA_VERSION >= 12030
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      add(all,
          {.content = Pointee::Content::handles_made,
           .offset = offsetof(CUgraphNodeParams, conditional.phGraph_out),
           .size = node.conditional.size * sizeof(CUgraph),
           .type = &trace::type_of<CUgraph>()},
          static_cast<const void *>(node.conditional.phGraph_out));
      break;
#endif
    default:
      break;
  }
  for (Pointee &pointee : all) pointee.offset += offset;
  return all;
}
#endif

}  // namespace

std::uint64_t HostRows::extent() const {
  if (width == 0 || rows == 0 || slices == 0) return 0;
  std::uint64_t to_slice = 0, to_row = 0, extent = 0;
  if (__builtin_mul_overflow(slices - 1, slice_pitch, &to_slice) ||
      __builtin_mul_overflow(rows - 1, pitch, &to_row) || __builtin_add_overflow(to_slice, to_row, &extent) ||
      __builtin_add_overflow(extent, first, &extent) || __builtin_add_overflow(extent, width, &extent))
    throw std::bad_alloc();
  return extent;
}

bool HostRows::are_there() const {
  const auto is_there = [](std::uint64_t address) {
    char byte = 0;
    return trace::copy_all_if_there(&byte, address, 1);
  };
  return for_each_row([&](std::uint64_t row) {
    for (std::uint64_t at = 0; at < width; at += 4096)
      if (!is_there(row + at)) return false;
    return width == 0 || is_there(row + width - 1);
  });
}

std::string HostRows::pack() const {
  std::string bytes;
  bytes.reserve(size());
  for_each_row([&](std::uint64_t row) {
    bytes.append(reinterpret_cast<const char *>(row), width);
    return true;
  });
  return bytes;
}

void HostRows::unpack(std::string_view bytes) const {
  for_each_row([&](std::uint64_t row) {
    const std::string_view one = bytes.substr(0, width);
    std::memcpy(reinterpret_cast<void *>(row), one.data(), one.size());
    bytes.remove_prefix(one.size());
    return true;
  });
}

std::vector<Pointee> pointees_of(const trace::Type &type, const void *object) {
  if (is<CUDA_MEMCPY2D>(type)) return pointees_of(copied<CUDA_MEMCPY2D>(object));
  if (is<CUDA_MEMCPY3D>(type)) return pointees_of_3d(copied<CUDA_MEMCPY3D>(object));
  if (is<CUDA_MEMCPY3D_PEER>(type)) return pointees_of_3d(copied<CUDA_MEMCPY3D_PEER>(object));
  if (is<CUlaunchConfig>(type)) return pointees_of(copied<CUlaunchConfig>(object));
  if (is<CUDA_BATCH_MEM_OP_NODE_PARAMS>(type))
    return pointees_of(copied<CUDA_BATCH_MEM_OP_NODE_PARAMS>(object));
  if (is<SignalNode>(type)) return pointees_of(copied<SignalNode>(object));
  if (is<WaitNode>(type)) return pointees_of(copied<WaitNode>(object));
#if CUDA_VERSION >= 12080
  if (is<CUDA_MEMCPY3D_BATCH_OP>(type)) return pointees_of(copied<CUDA_MEMCPY3D_BATCH_OP>(object));
#endif
#if CUDA_VERSION >= 12020
  if (is<CUgraphNodeParams>(type)) return pointees_of_any(copied<CUgraphNodeParams>(object));
#endif
  if (is<CUDA_KERNEL_NODE_PARAMS_v1>(type)) {
    const auto node = copied<CUDA_KERNEL_NODE_PARAMS_v1>(object);
    return pointees_of(node, node.func);
  }
#if CUDA_VERSION >= 12000
  // Begins with the members of the first version.
  if (is<CUDA_KERNEL_NODE_PARAMS_v2>(type)) {
    const auto node = copied<CUDA_KERNEL_NODE_PARAMS_v2>(object);
    return pointees_of(copied<CUDA_KERNEL_NODE_PARAMS_v1>(object),
                       node.func != nullptr ? node.func : reinterpret_cast<CUfunction>(node.kern));
  }
#endif
  return {};
}

bool has_pointees(const trace::Type &type) {
#if CUDA_VERSION >= 12000
  if (is<CUDA_KERNEL_NODE_PARAMS_v2>(type)) return true;
#endif
#if CUDA_VERSION >= 12020
  if (is<CUgraphNodeParams>(type)) return true;
#endif
#if CUDA_VERSION >= 12080
  if (is<CUDA_MEMCPY3D_BATCH_OP>(type)) return true;
#endif
  if (is<SignalNode>(type) || is<WaitNode>(type)) return true;
  return is<CUDA_MEMCPY2D>(type) || is<CUDA_MEMCPY3D>(type) || is<CUDA_MEMCPY3D_PEER>(type) ||
         is<CUlaunchConfig>(type) || is<CUDA_BATCH_MEM_OP_NODE_PARAMS>(type) ||
         is<CUDA_KERNEL_NODE_PARAMS_v1>(type);
}

}  // namespace cushim::replay

// SPDX-License-Identifier: Apache-2.0
// Memsets.
#include <cstring>

#include "api/service.hpp"
#include "commands/captured.hpp"
#include "commands/submit.hpp"

namespace cushim::sim {
namespace {

template <class Value>
void fill(std::byte *first, const CUDA_MEMSET_NODE_PARAMS &with) {
  const auto value = static_cast<Value>(with.value);
  for (std::size_t y = 0; y < with.height; ++y)
    for (std::size_t x = 0; x < with.width; ++x)
      std::memcpy(first + y * with.pitch + x * sizeof value, &value, sizeof value);
}

void fill(std::byte *first, const CUDA_MEMSET_NODE_PARAMS &with) {
  switch (with.elementSize) {
    case 1:
      return fill<unsigned char>(first, with);
    case 2:
      return fill<unsigned short>(first, with);
    default:
      return fill<unsigned>(first, with);
  }
}

void fill(Memory &memory, const CUDA_MEMSET_NODE_PARAMS &with, std::size_t extent) {
  const bool is_contiguous = with.height == 1 || with.pitch == with.width * with.elementSize;
  if (is_contiguous && with.value == 0) return memory.clear(with.dst, extent);
  fill(memory.bytes(with.dst, extent), with);
}

void fill_multicast(Memory &memory, const CUDA_MEMSET_NODE_PARAMS &with, std::size_t) {
  CUDA_MEMSET_NODE_PARAMS part = with;
  part.height = 1;
  for (std::size_t y = 0; y < with.height; ++y)
    for (const Multicast::Copy &copy :
         memory.multicast(with.dst + y * with.pitch, with.width * with.elementSize)) {
      part.width = copy.size / with.elementSize;
      fill(copy.bytes, part);
    }
}

bool may_set(const Context &context, const Allocation &allocation) {
  return allocation.is_multicast()
             ? allocation.mapping->access_of(context.device) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : reaches(context, allocation);
}

}  // namespace

void check_captured(const Context &, const Memset &command) {
  const CUDA_MEMSET_NODE_PARAMS &with = command.parameters;
  const std::size_t element = with.elementSize;
  require(with.dst % element == 0);
  require(with.width <= SIZE_MAX / element);
  const std::size_t row = with.width * element;
  if (with.height > 1) require(with.pitch >= row && with.pitch % element == 0);
  require(with.height == 1 || with.pitch <= (SIZE_MAX - row) / (with.height - 1));
}

PreparedCommand prepare(Call &call, Context &context, const Memset &command) {
  check_captured(context, command);
  const CUDA_MEMSET_NODE_PARAMS &with = command.parameters;
  const std::size_t row = with.width * with.elementSize;
  const std::size_t extent = (with.height - 1) * with.pitch + row;
  const CopyEndpoint place = device_endpoint(call, with.dst, extent, Access::written);
  const Allocation &allocation = *place.allocation;
  require(may_set(context, allocation));
  // A variable of a module is set in the module's context only. Measured, driver 580.
  require(!allocation.is_of_module || allocation.kind != MemoryKind::device ||
          allocation.context == &context);
  Memory &memory = call.system.memory;
  const Costs &costs = call.costs(context);
  require_writable(memory, place);
  const auto time = static_cast<Time>(static_cast<double>(row * with.height) / costs.set);
  const auto set = place.is_multicast() ? fill_multicast : static_cast<decltype(&fill_multicast)>(fill);
  return {{.cost = costs.copy_start + time,
           .resource = &context.device->processors,
           .run = [&memory, with, extent, set](Move &) { set(memory, with, extent); }},
          {place}};
}

namespace {

// Returns null for a memset of no bytes.
Work set(Call &call, Stream &stream, const CUDA_MEMSET_NODE_PARAMS &with) {
  if (with.width == 0 || with.height == 0) return nullptr;
  return submit(call, stream, Memset{with});
}

template <class Value>
CUDA_MEMSET_NODE_PARAMS rows(CUdeviceptr to, std::size_t pitch, Value value, std::size_t width,
                             std::size_t height) {
  return {to, pitch, value, sizeof value, width, height};
}

// Waits if the memory is the host's: after a call without a stream argument, the program may read it at once.
void wait_if_host(Call &call, CUdeviceptr to, const Work &work) {
  const Allocation *const allocation = call.system.memory.find(to);
  if (work != nullptr && allocation != nullptr && allocation->kind != MemoryKind::device) call.wait(work);
}

template <class Value>
CUresult set_1d(Call &call, CUdeviceptr to, Value value, std::size_t count) {
  wait_if_host(call, to, set(call, call.stream(nullptr), rows(to, 0, value, count, 1)));
  return CUDA_SUCCESS;
}

template <class Value>
CUresult set_1d_async(Call &call, CUdeviceptr to, Value value, std::size_t count, CUstream stream) {
  set(call, call.stream(stream), rows(to, 0, value, count, 1));
  return CUDA_SUCCESS;
}

template <class Value>
CUresult set_2d(Call &call, CUdeviceptr to, std::size_t pitch, Value value, std::size_t width,
                std::size_t height) {
  wait_if_host(call, to, set(call, call.stream(nullptr), rows(to, pitch, value, width, height)));
  return CUDA_SUCCESS;
}

template <class Value>
CUresult set_2d_async(Call &call, CUdeviceptr to, std::size_t pitch, Value value, std::size_t width,
                      std::size_t height, CUstream stream) {
  set(call, call.stream(stream), rows(to, pitch, value, width, height));
  return CUDA_SUCCESS;
}

using U8 = unsigned char;
using U16 = unsigned short;
using U32 = unsigned;

}  // namespace

constinit const Entries entries_of_memsets = {
    entries_with_result<kNeeds32BitAddresses, "cuMemsetD8_v2000", "cuMemsetD16_v2000", "cuMemsetD32_v2000",
                        "cuMemsetD2D8_v2000", "cuMemsetD2D16_v2000", "cuMemsetD2D32_v2000">,
    entry<"cuMemsetD8", set_1d<U8>>,
    entry<"cuMemsetD16", set_1d<U16>>,
    entry<"cuMemsetD32", set_1d<U32>>,
    entry<"cuMemsetD8Async", set_1d_async<U8>>,
    entry<"cuMemsetD16Async", set_1d_async<U16>>,
    entry<"cuMemsetD32Async", set_1d_async<U32>>,
    entry<"cuMemsetD2D8", set_2d<U8>>,
    entry<"cuMemsetD2D16", set_2d<U16>>,
    entry<"cuMemsetD2D32", set_2d<U32>>,
    entry<"cuMemsetD2D8Async", set_2d_async<U8>>,
    entry<"cuMemsetD2D16Async", set_2d_async<U16>>,
    entry<"cuMemsetD2D32Async", set_2d_async<U32>>,
};

}  // namespace cushim::sim

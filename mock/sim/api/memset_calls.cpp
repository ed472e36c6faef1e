// SPDX-License-Identifier: Apache-2.0
// Memsets.
#include <cstring>

#include "api/service.hpp"
#include "copy/copy_endpoint.hpp"

namespace cushim::sim {
namespace {

// Sets `height` rows of `width` values, `pitch` bytes apart.
template <class Value>
Work set(Call &call, Stream &stream, CUdeviceptr to, std::size_t pitch, Value value, std::size_t width,
         std::size_t height) {
  if (width == 0 || height == 0) return nullptr;
  require(to % sizeof value == 0);
  require(width <= SIZE_MAX / sizeof value);
  const std::size_t row = width * sizeof value;
  if (height > 1) require(pitch >= row && pitch % sizeof value == 0);
  require(height == 1 || pitch <= (SIZE_MAX - row) / (height - 1));
  const std::size_t extent = (height - 1) * pitch + row;
  const CopyEndpoint place = device_endpoint(call, to, extent);
  require(reaches(*stream.context, *place.allocation));
  Memory &memory = call.system.memory;
  const Costs &costs = call.costs(*stream.context);
  require_writable(memory, place);
  reserve_users(memory, place);
  Work work = call.add(
      stream, {.cost = costs.copy_start + static_cast<Time>(static_cast<double>(row * height) / costs.set),
               .resource = &stream.context->device->processors,
               .run = [&memory, to, pitch, value, width, height, extent](Move &) {
                 std::byte *const first = memory.bytes(to, extent);
                 for (std::size_t y = 0; y < height; ++y)
                   for (std::size_t x = 0; x < width; ++x)
                     std::memcpy(first + y * pitch + x * sizeof value, &value, sizeof value);
               }});
  add_users(memory, place, work);
  call.start(work);
  return work;
}

// Waits if the memory is the host's: after a call without a stream argument, the program may read it at once.
void wait_if_host(Call &call, CUdeviceptr to, const Work &work) {
  if (work != nullptr && !call.system.memory.is_of_device(to)) call.wait(work);
}

template <class Value>
CUresult set_1d(Call &call, CUdeviceptr to, Value value, std::size_t count) {
  wait_if_host(call, to, set(call, call.stream(nullptr), to, 0, value, count, 1));
  return CUDA_SUCCESS;
}

template <class Value>
CUresult set_1d_async(Call &call, CUdeviceptr to, Value value, std::size_t count, CUstream stream) {
  set(call, call.stream(stream), to, 0, value, count, 1);
  return CUDA_SUCCESS;
}

template <class Value>
CUresult set_2d(Call &call, CUdeviceptr to, std::size_t pitch, Value value, std::size_t width,
                std::size_t height) {
  wait_if_host(call, to, set(call, call.stream(nullptr), to, pitch, value, width, height));
  return CUDA_SUCCESS;
}

template <class Value>
CUresult set_2d_async(Call &call, CUdeviceptr to, std::size_t pitch, Value value, std::size_t width,
                      std::size_t height, CUstream stream) {
  set(call, call.stream(stream), to, pitch, value, width, height);
  return CUDA_SUCCESS;
}

using U8 = unsigned char;
using U16 = unsigned short;
using U32 = unsigned;

}  // namespace

void serve_memsets(Service &service) {
  service.serve<"cuMemsetD8", set_1d<U8>>();
  service.serve<"cuMemsetD16", set_1d<U16>>();
  service.serve<"cuMemsetD32", set_1d<U32>>();
  service.serve<"cuMemsetD8Async", set_1d_async<U8>>();
  service.serve<"cuMemsetD16Async", set_1d_async<U16>>();
  service.serve<"cuMemsetD32Async", set_1d_async<U32>>();
  service.serve<"cuMemsetD2D8", set_2d<U8>>();
  service.serve<"cuMemsetD2D16", set_2d<U16>>();
  service.serve<"cuMemsetD2D32", set_2d<U32>>();
  service.serve<"cuMemsetD2D8Async", set_2d_async<U8>>();
  service.serve<"cuMemsetD2D16Async", set_2d_async<U16>>();
  service.serve<"cuMemsetD2D32Async", set_2d_async<U32>>();
}

}  // namespace cushim::sim

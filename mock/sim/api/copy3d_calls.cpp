// SPDX-License-Identifier: Apache-2.0
// 2D and 3D copies.
#include "api/service.hpp"
#include "copy/copy3d.hpp"

namespace cushim::sim {
namespace {

// One end of a copy, as the parameter structs describe it.
struct Described {
  CUmemorytype type;
  const void *host;
  CUdeviceptr device;
  CUarray array;
  std::size_t pitch, height;
  Corner corner;
  std::size_t level = 0;
};

Copy3DEndpoint find(Call &call, const Described &end, const CopyExtent &box) {
  switch (end.type) {
    case CU_MEMORYTYPE_HOST:
      return linear_endpoint(call, Reach::any, reinterpret_cast<CUdeviceptr>(end.host), end.pitch, end.height,
                             end.corner, box);
    case CU_MEMORYTYPE_UNIFIED:
      return linear_endpoint(call, Reach::any, end.device, end.pitch, end.height, end.corner, box);
    case CU_MEMORYTYPE_DEVICE:
      return linear_endpoint(call, Reach::device, end.device, end.pitch, end.height, end.corner, box);
    case CU_MEMORYTYPE_ARRAY:
      require(end.level == 0);  // ignored for other memory types
      return array_endpoint(call, end.array, end.corner, box);
  }
  fail(CUDA_ERROR_INVALID_VALUE);
}

enum class Calls { synchronous, in_stream };

CUresult copy(Call &call, Stream &stream, const Described &to, const Described &from, const CopyExtent &box,
              Calls calls) {
  // An empty copy succeeds, even with other invalid arguments.
  if (box.width == 0 || box.rows == 0 || box.slices == 0) return CUDA_SUCCESS;
  const Copy3DEndpoint source = find(call, from, box), target = find(call, to, box);
  copy_3d(call, stream, target, source, box,
          calls == Calls::in_stream ? Sync::returns : host_waits(target.place, source.place));
  return CUDA_SUCCESS;
}

// ---- Two dimensions ----

CUresult copy_2d(Call &call, const CUDA_MEMCPY2D *copied, Stream &stream, Calls calls) {
  require(copied != nullptr);  // some of the real calls crash
  const CUDA_MEMCPY2D &with = *copied;
  return copy(call, stream,
              {with.dstMemoryType,
               with.dstHost,
               with.dstDevice,
               with.dstArray,
               with.dstPitch,
               0,
               {with.dstXInBytes, with.dstY, 0}},
              {with.srcMemoryType,
               with.srcHost,
               with.srcDevice,
               with.srcArray,
               with.srcPitch,
               0,
               {with.srcXInBytes, with.srcY, 0}},
              {with.WidthInBytes, with.Height, 1}, calls);
}

CUresult synchronous_2d(Call &call, const CUDA_MEMCPY2D *copied) {
  return copy_2d(call, copied, call.stream(nullptr), Calls::synchronous);
}

CUresult async_2d(Call &call, const CUDA_MEMCPY2D *copied, CUstream stream) {
  return copy_2d(call, copied, call.stream_of_copy(stream), Calls::in_stream);
}

// ---- Three dimensions; the addresses determine the location, not the contexts of the peer calls ----

template <class Copied>
CUresult copy_3d(Call &call, const Copied *copied, Stream &stream, Calls calls) {
  require(copied != nullptr);
  const Copied &with = *copied;
  return copy(call, stream,
              {with.dstMemoryType,
               with.dstHost,
               with.dstDevice,
               with.dstArray,
               with.dstPitch,
               with.dstHeight,
               {with.dstXInBytes, with.dstY, with.dstZ},
               with.dstLOD},
              {with.srcMemoryType,
               with.srcHost,
               with.srcDevice,
               with.srcArray,
               with.srcPitch,
               with.srcHeight,
               {with.srcXInBytes, with.srcY, with.srcZ},
               with.srcLOD},
              {with.WidthInBytes, with.Height, with.Depth}, calls);
}

template <class Copied>
CUresult synchronous_3d(Call &call, const Copied *copied) {
  return copy_3d(call, copied, call.stream(nullptr), Calls::synchronous);
}

template <class Copied>
CUresult async_3d(Call &call, const Copied *copied, CUstream stream) {
  return copy_3d(call, copied, call.stream_of_copy(stream), Calls::in_stream);
}

using Own = CUDA_MEMCPY3D;
using Peer3D = CUDA_MEMCPY3D_PEER;

}  // namespace

void serve_3d_copies(Service &service) {
  service.serve_result<"cuMemcpy2D_v2000", kNeeds32BitAddresses>();
  service.serve<"cuMemcpy2D", synchronous_2d>();
  service.serve_result<"cuMemcpy2DUnaligned_v2000", kNeeds32BitAddresses>();
  service.serve<"cuMemcpy2DUnaligned", synchronous_2d>();
  service.serve_result<"cuMemcpy2DAsync_v2000", kNeeds32BitAddresses>();
  service.serve<"cuMemcpy2DAsync", async_2d>();
  service.serve_result<"cuMemcpy3D_v2000", kNeeds32BitAddresses>();
  service.serve<"cuMemcpy3D", synchronous_3d<Own>>();
  service.serve_result<"cuMemcpy3DAsync_v2000", kNeeds32BitAddresses>();
  service.serve<"cuMemcpy3DAsync", async_3d<Own>>();
  service.serve<"cuMemcpy3DPeer", synchronous_3d<Peer3D>>();
  service.serve<"cuMemcpy3DPeerAsync", async_3d<Peer3D>>();
}

}  // namespace cushim::sim

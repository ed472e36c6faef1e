// SPDX-License-Identifier: Apache-2.0
// 2D and 3D copies.
#include "api/service.hpp"
#include "commands/submit.hpp"
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

Copy3DEndpoint find(Call &call, const Described &end, const CopyExtent &box, Access access) {
  switch (end.type) {
    case CU_MEMORYTYPE_HOST:
      return linear_endpoint(call, Reach::any, reinterpret_cast<CUdeviceptr>(end.host), end.pitch, end.height,
                             end.corner, box, access);
    case CU_MEMORYTYPE_UNIFIED:
      return linear_endpoint(call, Reach::any, end.device, end.pitch, end.height, end.corner, box, access);
    case CU_MEMORYTYPE_DEVICE:
      return linear_endpoint(call, Reach::device, end.device, end.pitch, end.height, end.corner, box, access);
    case CU_MEMORYTYPE_ARRAY:
      require(end.level == 0);  // ignored for other memory types
      return array_endpoint(call, end.array, end.corner, box);
  }
  fail(CUDA_ERROR_INVALID_VALUE);
}

Described source_of(const CUDA_MEMCPY3D &with) {
  return {with.srcMemoryType,
          with.srcHost,
          with.srcDevice,
          with.srcArray,
          with.srcPitch,
          with.srcHeight,
          {with.srcXInBytes, with.srcY, with.srcZ},
          with.srcLOD};
}

Described target_of(const CUDA_MEMCPY3D &with) {
  return {with.dstMemoryType,
          with.dstHost,
          with.dstDevice,
          with.dstArray,
          with.dstPitch,
          with.dstHeight,
          {with.dstXInBytes, with.dstY, with.dstZ},
          with.dstLOD};
}

CopyExtent extent_of(const CUDA_MEMCPY3D &with) { return {with.WidthInBytes, with.Height, with.Depth}; }

bool is_empty(const CopyExtent &box) { return box.width == 0 || box.rows == 0 || box.slices == 0; }

enum class Calls { synchronous, in_stream };

CUresult copy(Call &call, Stream &stream, const CUDA_MEMCPY3D &with, Calls calls) {
  const CopyExtent box = extent_of(with);
  if (is_empty(box)) return CUDA_SUCCESS;  // even with other invalid arguments
  if (stream.capture != nullptr) return capture_command(call, stream, Memcpy(with)), CUDA_SUCCESS;
  const Copy3DEndpoint source = find(call, source_of(with), box, Access::read),
                       target = find(call, target_of(with), box, Access::written);
  copy_3d(call, stream, target, source, box,
          calls == Calls::in_stream ? Sync::returns : host_waits(target.place, source.place));
  return CUDA_SUCCESS;
}

}  // namespace

PreparedCommand prepare(Call &call, Context &context, const Memcpy &command) {
  const CopyExtent box = extent_of(command.parameters());
  if (is_empty(box)) return {};
  const Copy3DEndpoint source = find(call, source_of(command.parameters()), box, Access::read),
                       target = find(call, target_of(command.parameters()), box, Access::written);
  require_writable(call.system.memory, target.place);
  const bool is_linear = box.rows == 1 && box.slices == 1;
  return {is_linear
              ? copy_operation(call, context, target.place, source.place, box.width, SourceRead::in_stream)
              : copy_3d_operation(call, context, target, source, box, SourceRead::in_stream),
          {target.place, source.place}};
}

namespace {

// ---- Two dimensions ----

// Returns the members that all structures of copies have.
template <class Copied>
CUDA_MEMCPY3D rows_of(const Copied &with) {
  CUDA_MEMCPY3D made{};
  made.srcXInBytes = with.srcXInBytes;
  made.srcY = with.srcY;
  made.srcMemoryType = with.srcMemoryType;
  made.srcHost = with.srcHost;
  made.srcDevice = with.srcDevice;
  made.srcArray = with.srcArray;
  made.srcPitch = with.srcPitch;
  made.dstXInBytes = with.dstXInBytes;
  made.dstY = with.dstY;
  made.dstMemoryType = with.dstMemoryType;
  made.dstHost = with.dstHost;
  made.dstDevice = with.dstDevice;
  made.dstArray = with.dstArray;
  made.dstPitch = with.dstPitch;
  made.WidthInBytes = with.WidthInBytes;
  made.Height = with.Height;
  return made;
}

CUDA_MEMCPY3D in_3d(const CUDA_MEMCPY2D &with) {
  CUDA_MEMCPY3D made = rows_of(with);
  made.Depth = 1;
  return made;
}

CUresult copy_2d(Call &call, const CUDA_MEMCPY2D *copied, Stream &stream, Calls calls) {
  require(copied != nullptr);  // some of the real calls crash
  return copy(call, stream, in_3d(*copied), calls);
}

CUresult synchronous_2d(Call &call, const CUDA_MEMCPY2D *copied) {
  return copy_2d(call, copied, call.stream(nullptr), Calls::synchronous);
}

CUresult async_2d(Call &call, const CUDA_MEMCPY2D *copied, CUstream stream) {
  return copy_2d(call, copied, call.stream_of_copy(stream), Calls::in_stream);
}

// ---- Three dimensions; the addresses determine the location, not the contexts of the peer calls ----

CUDA_MEMCPY3D in_3d(const CUDA_MEMCPY3D &with) { return with; }

CUDA_MEMCPY3D in_3d(const CUDA_MEMCPY3D_PEER &with) {
  CUDA_MEMCPY3D made = rows_of(with);
  made.srcZ = with.srcZ;
  made.srcLOD = with.srcLOD;
  made.srcHeight = with.srcHeight;
  made.dstZ = with.dstZ;
  made.dstLOD = with.dstLOD;
  made.dstHeight = with.dstHeight;
  made.Depth = with.Depth;
  return made;
}

template <class Copied>
CUresult copy_3d(Call &call, const Copied *copied, Stream &stream, Calls calls) {
  require(copied != nullptr);
  return copy(call, stream, in_3d(*copied), calls);
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

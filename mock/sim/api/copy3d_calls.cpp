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
  std::size_t x, y, z, level;
};

Copy3DEndpoint find(Call &call, const Described &end, const CopyExtent &box, Access access) {
  const Corner corner{end.x, end.y, end.z};
  switch (end.type) {
    case CU_MEMORYTYPE_HOST:
      return linear_endpoint(call, Reach::any, reinterpret_cast<CUdeviceptr>(end.host), end.pitch, end.height,
                             corner, box, access);
    case CU_MEMORYTYPE_UNIFIED:
      return linear_endpoint(call, Reach::any, end.device, end.pitch, end.height, corner, box, access);
    case CU_MEMORYTYPE_DEVICE:
      return linear_endpoint(call, Reach::device, end.device, end.pitch, end.height, corner, box, access);
    case CU_MEMORYTYPE_ARRAY:
      require(end.level == 0);  // ignored for other memory types
      return array_endpoint(call, end.array, corner, box);
  }
  fail(CUDA_ERROR_INVALID_VALUE);
}

// Looks up both ends, the source first.
struct Ends {
  Copy3DEndpoint source, target;
};
Ends find_ends(Call &call, const CUDA_MEMCPY3D &with, const CopyExtent &box) {
  const Described source{with.srcMemoryType, with.srcHost,     with.srcDevice, with.srcArray, with.srcPitch,
                         with.srcHeight,     with.srcXInBytes, with.srcY,      with.srcZ,     with.srcLOD};
  const Described target{with.dstMemoryType, with.dstHost,     with.dstDevice, with.dstArray, with.dstPitch,
                         with.dstHeight,     with.dstXInBytes, with.dstY,      with.dstZ,     with.dstLOD};
  return {find(call, source, box, Access::read), find(call, target, box, Access::written)};
}

CopyExtent extent_of(const CUDA_MEMCPY3D &with) { return {with.WidthInBytes, with.Height, with.Depth}; }

bool is_empty(const CopyExtent &box) { return box.width == 0 || box.rows == 0 || box.slices == 0; }

enum class Calls { synchronous, in_stream };

CUresult copy(Call &call, Stream &stream, const CUDA_MEMCPY3D &with, Calls calls) {
  const CopyExtent box = extent_of(with);
  if (is_empty(box)) return CUDA_SUCCESS;  // even with other invalid arguments
  if (stream.capture != nullptr) return capture_command(call, stream, Memcpy(with)), CUDA_SUCCESS;
  const auto [source, target] = find_ends(call, with, box);
  copy_3d(call, stream, target, source, box,
          calls == Calls::in_stream ? Sync::returns : host_waits(target.place, source.place));
  return CUDA_SUCCESS;
}

}  // namespace

PreparedCommand prepare(Call &call, Context &context, const Memcpy &command) {
  const CopyExtent box = extent_of(command.parameters());
  if (is_empty(box)) return {};
  const auto [source, target] = find_ends(call, command.parameters(), box);
  require_writable(call.system.memory, target.place);
  const bool is_linear = box.rows == 1 && box.slices == 1;
  return {is_linear
              ? copy_operation(call, context, target.place, source.place, box.width, SourceRead::in_stream)
              : copy_3d_operation(call, context, target, source, box, SourceRead::in_stream),
          {target.place, source.place}};
}

namespace {

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

CUDA_MEMCPY3D in_3d(const CUDA_MEMCPY3D &with) { return with; }

// The addresses determine the location, not the contexts.
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
CUresult copy(Call &call, const Copied *copied, Stream &stream, Calls calls) {
  require(copied != nullptr);  // some of the real calls crash
  return copy(call, stream, in_3d(*copied), calls);
}

template <class Copied>
CUresult synchronous(Call &call, const Copied *copied) {
  return copy(call, copied, call.stream(nullptr), Calls::synchronous);
}

template <class Copied>
CUresult async(Call &call, const Copied *copied, CUstream stream) {
  return copy(call, copied, call.stream_of_copy(stream), Calls::in_stream);
}

}  // namespace

constinit const Entries entries_of_3d_copies = {
    entries_with_result<kNeeds32BitAddresses, "cuMemcpy2D_v2000", "cuMemcpy2DUnaligned_v2000",
                        "cuMemcpy2DAsync_v2000", "cuMemcpy3D_v2000", "cuMemcpy3DAsync_v2000">,
    entry<"cuMemcpy2D", synchronous<CUDA_MEMCPY2D>>,
    entry<"cuMemcpy2DUnaligned", synchronous<CUDA_MEMCPY2D>>,
    entry<"cuMemcpy2DAsync", async<CUDA_MEMCPY2D>>,
    entry<"cuMemcpy3D", synchronous<CUDA_MEMCPY3D>>,
    entry<"cuMemcpy3DAsync", async<CUDA_MEMCPY3D>>,
    entry<"cuMemcpy3DPeer", synchronous<CUDA_MEMCPY3D_PEER>>,
    entry<"cuMemcpy3DPeerAsync", async<CUDA_MEMCPY3D_PEER>>,
};

}  // namespace cushim::sim

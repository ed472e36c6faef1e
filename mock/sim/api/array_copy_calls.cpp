// SPDX-License-Identifier: Apache-2.0
// 1D copies from, to and between arrays, within the first row.
#include "api/service.hpp"
#include "commands/submit.hpp"
#include "copy/copy3d.hpp"

namespace cushim::sim {
namespace {

CUdeviceptr address_of(const void *host) { return reinterpret_cast<CUdeviceptr>(host); }

// One end of a copy: an array, or linear memory with the given reach.
struct Side {
  CUarray array = nullptr;
  std::size_t offset = 0;
  bool is_array = false;
  Reach reach = Reach::any;
  CUdeviceptr address = 0;

  static Side of(CUarray array, std::size_t offset) { return {array, offset, true, Reach::any, 0}; }
  static Side host(const void *host) { return {nullptr, 0, false, Reach::any, address_of(host)}; }
  static Side device(CUdeviceptr address) { return {nullptr, 0, false, Reach::device, address}; }

  Copy3DEndpoint find(Call &call, const CopyExtent &box, Access access) const {
    if (is_array) return array_endpoint(call, array, {offset, 0, 0}, box);
    return linear_endpoint(call, reach, address, 0, 0, {}, box, access);
  }
};

Memcpy in_3d(const Side &to, const Side &from, std::size_t bytes) {
  const auto type_of = [](const Side &side) {
    if (side.is_array) return CU_MEMORYTYPE_ARRAY;
    return side.reach == Reach::device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
  };
  CUDA_MEMCPY3D with{};
  with.srcMemoryType = type_of(from);
  with.srcArray = from.array;
  with.srcXInBytes = from.offset;
  with.srcDevice = from.address;
  with.dstMemoryType = type_of(to);
  with.dstArray = to.array;
  with.dstXInBytes = to.offset;
  with.dstDevice = to.address;
  with.WidthInBytes = bytes;
  with.Height = with.Depth = 1;
  return Memcpy(with);
}

CUresult copy_in(Call &call, Stream &stream, const Side &to, const Side &from, std::size_t bytes,
                 bool waits) {
  if (bytes == 0) return CUDA_SUCCESS;
  const CopyExtent box{bytes, 1, 1};
  if (stream.capture != nullptr) return capture_command(call, stream, in_3d(to, from, bytes)), CUDA_SUCCESS;
  const Copy3DEndpoint target = to.find(call, box, Access::written),
                       source = from.find(call, box, Access::read);
  copy_3d(call, stream, target, source, box, waits ? host_waits(target.place, source.place) : Sync::returns);
  return CUDA_SUCCESS;
}

CUresult copy(Call &call, const Side &to, const Side &from, std::size_t bytes) {
  return copy_in(call, call.stream(nullptr), to, from, bytes, true);
}

CUresult copy_async(Call &call, const Side &to, const Side &from, std::size_t bytes, CUstream stream) {
  return copy_in(call, call.stream_of_copy(stream), to, from, bytes, false);
}

CUresult host_to_array(Call &call, CUarray to, std::size_t offset, const void *from, std::size_t bytes) {
  return copy(call, Side::of(to, offset), Side::host(from), bytes);
}
CUresult host_to_array_async(Call &call, CUarray to, std::size_t offset, const void *from, std::size_t bytes,
                             CUstream stream) {
  return copy_async(call, Side::of(to, offset), Side::host(from), bytes, stream);
}
CUresult array_to_host(Call &call, void *to, CUarray from, std::size_t offset, std::size_t bytes) {
  return copy(call, Side::host(to), Side::of(from, offset), bytes);
}
CUresult array_to_host_async(Call &call, void *to, CUarray from, std::size_t offset, std::size_t bytes,
                             CUstream stream) {
  return copy_async(call, Side::host(to), Side::of(from, offset), bytes, stream);
}
CUresult device_to_array(Call &call, CUarray to, std::size_t offset, CUdeviceptr from, std::size_t bytes) {
  return copy(call, Side::of(to, offset), Side::device(from), bytes);
}
CUresult array_to_device(Call &call, CUdeviceptr to, CUarray from, std::size_t offset, std::size_t bytes) {
  return copy(call, Side::device(to), Side::of(from, offset), bytes);
}
CUresult array_to_array(Call &call, CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset,
                        std::size_t bytes) {
  return copy(call, Side::of(to, to_offset), Side::of(from, from_offset), bytes);
}

}  // namespace

constinit const Entries entries_of_array_copies = {
    entries_with_result<kNeeds32BitAddresses, "cuMemcpyHtoA_v2000", "cuMemcpyHtoAAsync_v2000",
                        "cuMemcpyAtoH_v2000", "cuMemcpyAtoHAsync_v2000", "cuMemcpyDtoA_v2000",
                        "cuMemcpyAtoD_v2000", "cuMemcpyAtoA_v2000">,
    entry<"cuMemcpyHtoA", host_to_array>,
    entry<"cuMemcpyHtoAAsync", host_to_array_async>,
    entry<"cuMemcpyAtoH", array_to_host>,
    entry<"cuMemcpyAtoHAsync", array_to_host_async>,
    entry<"cuMemcpyDtoA", device_to_array>,
    entry<"cuMemcpyAtoD", array_to_device>,
    entry<"cuMemcpyAtoA", array_to_array>,
};

}  // namespace cushim::sim

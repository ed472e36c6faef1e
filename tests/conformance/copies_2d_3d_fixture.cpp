// SPDX-License-Identifier: Apache-2.0
#include "copies_2d_3d.hpp"

#include <algorithm>
#include <utility>

namespace conformance {

CUDA_MEMCPY2D in_two(const CUDA_MEMCPY3D_PEER &copy) {
  return {copy.srcXInBytes, copy.srcY,          copy.srcMemoryType, copy.srcHost,
          copy.srcDevice,   copy.srcArray,      copy.srcPitch,      copy.dstXInBytes,
          copy.dstY,        copy.dstMemoryType, copy.dstHost,       copy.dstDevice,
          copy.dstArray,    copy.dstPitch,      copy.WidthInBytes,  copy.Height};
}

CUDA_MEMCPY3D in_three(const CUDA_MEMCPY3D_PEER &copy) {
  void *const reserved = nullptr;
  return {copy.srcXInBytes,   copy.srcY,        copy.srcZ,         copy.srcLOD,   copy.srcMemoryType,
          copy.srcHost,       copy.srcDevice,   copy.srcArray,     reserved,      copy.srcPitch,
          copy.srcHeight,     copy.dstXInBytes, copy.dstY,         copy.dstZ,     copy.dstLOD,
          copy.dstMemoryType, copy.dstHost,     copy.dstDevice,    copy.dstArray, reserved,
          copy.dstPitch,      copy.dstHeight,   copy.WidthInBytes, copy.Height,   copy.Depth};
}

namespace {
// Returns the address of a temporary, which lives until the call that takes the address returns.
template <class Copy>
const Copy *address(const Copy &copy) {
  return &copy;
}
}  // namespace

// constinit, because the static initializers of other files read it.
constinit const std::array<BoxCall, kCalls> box_calls = {{
    {"cuMemcpy2D", true, false,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream) { return driver().cuMemcpy2D(address(in_two(copy))); }},
    {"cuMemcpy2DUnaligned", true, false,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream) {
       return driver().cuMemcpy2DUnaligned(address(in_two(copy)));
     }},
    {"cuMemcpy2DAsync", true, true,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream work) {
       return driver().cuMemcpy2DAsync(address(in_two(copy)), work);
     }},
    {"cuMemcpy3D", false, false,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream) { return driver().cuMemcpy3D(address(in_three(copy))); }},
    {"cuMemcpy3DAsync", false, true,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream work) {
       return driver().cuMemcpy3DAsync(address(in_three(copy)), work);
     }},
    {"cuMemcpy3DPeer", false, false,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream) { return driver().cuMemcpy3DPeer(&copy); }},
    {"cuMemcpy3DPeerAsync", false, true,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream work) { return driver().cuMemcpy3DPeerAsync(&copy, work); }},
}};

std::vector<unsigned char> Box::now() const {
  return end.of == Of::memory
             ? take(end.kind, address, kLinear)
             : take(array, kWidth, std::max(rows, std::size_t{1}), std::max(slices, std::size_t{1}));
}

Box box(Copies3D &t, const End &end, unsigned start) {
  Box made;
  made.end = end;
  if (end.of == Of::memory) {
    made.bytes = pattern(kLinear, start);
    made.address = memory_of(t, end.kind, kLinear);
    put(end.kind, made.address, made.bytes);
    return made;
  }
  CUDA_ARRAY3D_DESCRIPTOR wanted = shape(kWidth, kRows, t.planes ? 0 : kSlices);
  if (end.of == Of::words) wanted = shape(kWidth / 4, kRows, wanted.Depth, CU_AD_FORMAT_FLOAT);
  if (end.of == Of::line) wanted = shape(kWidth);
  if (end.of == Of::layers)
    wanted = shape(kWidth, kRows, kSlices, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED);
  if (end.of == Of::cube) wanted = shape(kWidth, kRows, kSlices);
  made.array = t.array(wanted);
  made.pitch = kWidth;
  made.rows = wanted.Height;
  made.slices = wanted.Depth;
  made.bytes =
      pattern(kWidth * std::max(made.rows, std::size_t{1}) * std::max(made.slices, std::size_t{1}), start);
  put(made.array, kWidth, std::max(made.rows, std::size_t{1}), std::max(made.slices, std::size_t{1}),
      made.bytes);
  return made;
}

void aim(Copies3D &t, const Box &from, const Box &to) {
  const auto host = [](const Box &box) {
    return reinterpret_cast<void *>(box.end.type == CU_MEMORYTYPE_HOST ? box.address : 0);
  };
  const auto in_device_memory = [](const Box &box) {
    return box.end.type == CU_MEMORYTYPE_DEVICE || box.end.type == CU_MEMORYTYPE_UNIFIED ? box.address : 0;
  };
  CUDA_MEMCPY3D_PEER &copy = t.copy;
  copy = {};
  copy.srcMemoryType = from.end.type;
  copy.srcHost = host(from);
  copy.srcDevice = in_device_memory(from);
  copy.srcArray = from.array;
  copy.dstMemoryType = to.end.type;
  copy.dstHost = host(to);
  copy.dstDevice = in_device_memory(to);
  copy.dstArray = to.array;
  copy.srcContext = copy.dstContext = t.context;
  copy.srcPitch = copy.dstPitch = kPitch;
  copy.srcHeight = copy.dstHeight = kRows;
  copy.WidthInBytes = kWidth;
  copy.Height = kRows;
  copy.Depth = t.planes ? 1 : kSlices;
}

std::vector<unsigned char> copied(const CUDA_MEMCPY3D_PEER &copy, bool planes, const Box &from,
                                  const Box &to) {
  std::vector<unsigned char> bytes = to.bytes;
  struct Corner {
    std::size_t pitch, height, x, y, z;
    std::size_t at(std::size_t dx, std::size_t dy, std::size_t dz) const {
      return ((z + dz) * height + y + dy) * pitch + x + dx;
    }
  };
  const auto corner = [&](const Box &box, Corner given) {
    if (box.array != nullptr) given.pitch = kWidth, given.height = box.rows;
    if (given.pitch == 0) given.pitch = given.x + copy.WidthInBytes;
    if (given.height == 0) given.height = given.y + copy.Height;
    if (planes) given.z = 0;
    return given;
  };
  const Corner source = corner(from, {copy.srcPitch, copy.srcHeight, copy.srcXInBytes, copy.srcY, copy.srcZ});
  const Corner target = corner(to, {copy.dstPitch, copy.dstHeight, copy.dstXInBytes, copy.dstY, copy.dstZ});
  for (std::size_t z = 0; z < (planes ? 1 : copy.Depth); ++z)
    for (std::size_t y = 0; y < copy.Height; ++y)
      for (std::size_t x = 0; x < copy.WidthInBytes; ++x)
        bytes.at(target.at(x, y, z)) = from.bytes.at(source.at(x, y, z));
  return bytes;
}

Change set(std::vector<Setting> settings) {
  return [settings = std::move(settings)](Copies3D &t) {
    for (const Setting &setting : settings) t.copy.*setting.extent = setting.value;
  };
}

void add_box_uses(std::span<const BoxUse> uses) {
  for_each_code(uses, box_calls, [](const BoxUse &use, const BoxCall &call, CUresult expected) {
    ADD_TEST(Copies3D, std::string(call.name) + "_" + use.name, [=](Copies3D &t) {
      if (use.may_crash) CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      t.planes = call.planes;
      const Box from = box(t, use.from, 1), to = box(t, use.to, 100);
      aim(t, from, to);
      t.work = t.stream();
      use.change(t);
      expect_answer(__FILE__, __LINE__, std::string(call.name) + "(&copy)", call.call(t.copy, t.work),
                    expected);
      driver().cuCtxSynchronize();
      NEED(driver().cuCtxSetCurrent(t.context));
      NEED(driver().cuStreamSynchronize(t.work));
      const auto after = expected == CUDA_SUCCESS ? copied(t.copy, t.planes, from, to) : to.bytes;
      EXPECT_VALUE(to.now() == after, true);
    });
  });
}

}  // namespace conformance

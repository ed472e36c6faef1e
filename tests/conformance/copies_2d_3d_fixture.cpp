// SPDX-License-Identifier: Apache-2.0
#include "copies_2d_3d.hpp"

#include <algorithm>

namespace conformance {

CUDA_MEMCPY2D in_two(const CUDA_MEMCPY3D_PEER &copy) {
  CUDA_MEMCPY2D made = {};
  made.srcXInBytes = copy.srcXInBytes;
  made.srcY = copy.srcY;
  made.srcMemoryType = copy.srcMemoryType;
  made.srcHost = copy.srcHost;
  made.srcDevice = copy.srcDevice;
  made.srcArray = copy.srcArray;
  made.srcPitch = copy.srcPitch;
  made.dstXInBytes = copy.dstXInBytes;
  made.dstY = copy.dstY;
  made.dstMemoryType = copy.dstMemoryType;
  made.dstHost = copy.dstHost;
  made.dstDevice = copy.dstDevice;
  made.dstArray = copy.dstArray;
  made.dstPitch = copy.dstPitch;
  made.WidthInBytes = copy.WidthInBytes;
  made.Height = copy.Height;
  return made;
}

CUDA_MEMCPY3D in_three(const CUDA_MEMCPY3D_PEER &copy) {
  CUDA_MEMCPY3D made = {};
  made.srcXInBytes = copy.srcXInBytes;
  made.srcY = copy.srcY;
  made.srcZ = copy.srcZ;
  made.srcLOD = copy.srcLOD;
  made.srcMemoryType = copy.srcMemoryType;
  made.srcHost = copy.srcHost;
  made.srcDevice = copy.srcDevice;
  made.srcArray = copy.srcArray;
  made.srcPitch = copy.srcPitch;
  made.srcHeight = copy.srcHeight;
  made.dstXInBytes = copy.dstXInBytes;
  made.dstY = copy.dstY;
  made.dstZ = copy.dstZ;
  made.dstLOD = copy.dstLOD;
  made.dstMemoryType = copy.dstMemoryType;
  made.dstHost = copy.dstHost;
  made.dstDevice = copy.dstDevice;
  made.dstArray = copy.dstArray;
  made.dstPitch = copy.dstPitch;
  made.dstHeight = copy.dstHeight;
  made.WidthInBytes = copy.WidthInBytes;
  made.Height = copy.Height;
  made.Depth = copy.Depth;
  return made;
}

// constinit, because the static initializers of other files read it.
constinit const std::array<BoxCall, kCalls> box_calls = {{
    {"cuMemcpy2D", true, false,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream) {
       const auto two = in_two(copy);
       return driver().cuMemcpy2D(&two);
     }},
    {"cuMemcpy2DUnaligned", true, false,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream) {
       const auto two = in_two(copy);
       return driver().cuMemcpy2DUnaligned(&two);
     }},
    {"cuMemcpy2DAsync", true, true,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream work) {
       const auto two = in_two(copy);
       return driver().cuMemcpy2DAsync(&two, work);
     }},
    {"cuMemcpy3D", false, false,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream) {
       const auto three = in_three(copy);
       return driver().cuMemcpy3D(&three);
     }},
    {"cuMemcpy3DAsync", false, true,
     [](const CUDA_MEMCPY3D_PEER &copy, CUstream work) {
       const auto three = in_three(copy);
       return driver().cuMemcpy3DAsync(&three, work);
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
  CUDA_MEMCPY3D_PEER &copy = t.copy;
  copy = {};
  copy.srcMemoryType = from.end.type;
  if (from.end.type == CU_MEMORYTYPE_HOST) copy.srcHost = reinterpret_cast<const void *>(from.address);
  if (from.end.type == CU_MEMORYTYPE_DEVICE || from.end.type == CU_MEMORYTYPE_UNIFIED)
    copy.srcDevice = from.address;
  copy.srcArray = from.array;
  copy.srcContext = t.context;
  copy.srcPitch = kPitch;
  copy.srcHeight = kRows;
  copy.dstMemoryType = to.end.type;
  if (to.end.type == CU_MEMORYTYPE_HOST) copy.dstHost = reinterpret_cast<void *>(to.address);
  if (to.end.type == CU_MEMORYTYPE_DEVICE || to.end.type == CU_MEMORYTYPE_UNIFIED)
    copy.dstDevice = to.address;
  copy.dstArray = to.array;
  copy.dstContext = t.context;
  copy.dstPitch = kPitch;
  copy.dstHeight = kRows;
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

void add_box_uses(std::span<const BoxUse> uses) {
  for (const BoxUse &use : uses)
    for (std::size_t c = 0; c < kCalls; ++c) {
      if (use.codes[c] < 0) continue;
      const BoxCall call = box_calls[c];
      const CUresult expected = code(use.codes[c]);
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
    }
}

}  // namespace conformance

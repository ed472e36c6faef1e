// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions. Each statement tests all calls; the tables contain the differences
// between the calls.
#include <cushim/exact.hpp>

#include <algorithm>
#include <array>

#include "array_memory.hpp"

namespace conformance {
namespace {

// The extent of all copies: rows of 64 bytes, 8 rows, 4 slices. In linear memory the pitch is 128 bytes.
constexpr std::size_t kWidth = 64, kRows = 8, kSlices = 4, kPitch = 128;
constexpr std::size_t kLinear = kPitch * kRows * kSlices;

class Copies3D : public WithArrays {
 public:
  // The parameters of the copy; calls of two dimensions use only a part of them.
  CUDA_MEMCPY3D_PEER copy = {};
  CUstream work = nullptr;
  bool planes = false;  // two dimensions
};

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

struct BoxCall {
  const char *name;
  bool planes;
  bool takes_stream;
  CUresult (*call)(const CUDA_MEMCPY3D_PEER &copy, CUstream work);
};

const BoxCall box_calls[] = {
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
};
constexpr std::size_t kCalls = std::size(box_calls);

// ---- The ends of a copy ----

enum class Of { memory, array, words, line, layers, cube };

struct End {
  const char *name;
  CUmemorytype type;
  Kind kind = Kind::pageable;
  Of of = Of::memory;
};

constexpr End in_pageable = {"pageable", CU_MEMORYTYPE_HOST, Kind::pageable};
constexpr End in_pinned = {"pinned", CU_MEMORYTYPE_HOST, Kind::pinned};
constexpr End in_device = {"device", CU_MEMORYTYPE_DEVICE, Kind::device};
constexpr End in_host_device = {"host_device", CU_MEMORYTYPE_HOST, Kind::device};
constexpr End in_unified = {"unified_device", CU_MEMORYTYPE_UNIFIED, Kind::device};
constexpr End in_array = {"array", CU_MEMORYTYPE_ARRAY, Kind::device, Of::array};  // as many dimensions
constexpr End in_words = {"words", CU_MEMORYTYPE_ARRAY, Kind::device, Of::words};  // elements of 4 bytes
constexpr End in_line = {"line", CU_MEMORYTYPE_ARRAY, Kind::device, Of::line};
constexpr End in_layers = {"layers", CU_MEMORYTYPE_ARRAY, Kind::device, Of::layers};
constexpr End in_cube = {"cube", CU_MEMORYTYPE_ARRAY, Kind::device, Of::cube};

const End ends[] = {
    in_pageable,
    in_pinned,
    {"registered", CU_MEMORYTYPE_HOST, Kind::registered},
    {"host_managed", CU_MEMORYTYPE_HOST, Kind::managed},
    in_device,
    {"managed", CU_MEMORYTYPE_DEVICE, Kind::managed},
    {"device_pinned", CU_MEMORYTYPE_DEVICE, Kind::pinned},
    {"device_registered", CU_MEMORYTYPE_DEVICE, Kind::registered},
    {"device_pageable", CU_MEMORYTYPE_DEVICE, Kind::pageable},
    in_unified,
    {"unified_managed", CU_MEMORYTYPE_UNIFIED, Kind::managed},
    {"unified_pinned", CU_MEMORYTYPE_UNIFIED, Kind::pinned},
    {"unified_pageable", CU_MEMORYTYPE_UNIFIED, Kind::pageable},
    in_array,
};

struct Box {
  End end;
  CUdeviceptr address = 0;
  CUarray array = nullptr;
  std::size_t pitch = kPitch, rows = kRows, slices = kSlices;
  std::vector<unsigned char> bytes;

  std::vector<unsigned char> now() const {
    return end.of == Of::memory
               ? take(end.kind, address, kLinear)
               : take(array, kWidth, std::max(rows, std::size_t{1}), std::max(slices, std::size_t{1}));
  }
};

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

// Sets up a copy of the whole extent; with two dimensions, of its first slice.
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

// Returns the expected contents of the target. A pitch or height of 0 means the copied extent.
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

const bool between_ends = [] {
  for (const BoxCall &call : box_calls)
    for (const End &from_end : ends)
      for (const End &to_end : ends) {
        const auto is_refused = [](const End &end) {
          return end.type == CU_MEMORYTYPE_DEVICE && end.kind == Kind::pageable;
        };
        const bool refused = is_refused(from_end) || is_refused(to_end);
        const CUresult expected = refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        ADD_TEST(Copies3D, std::string(call.name) + "_takes_" + from_end.name + "_to_" + to_end.name,
                 [=](Copies3D &t) {
                   t.planes = call.planes;
                   const Box from = box(t, from_end, 1), to = box(t, to_end, 100);
                   aim(t, from, to);
                   expect_answer(__FILE__, __LINE__, std::string(call.name) + "(&copy)",
                                 call.call(t.copy, t.stream()), expected);
                   const auto after =
                       expected == CUDA_SUCCESS ? copied(t.copy, t.planes, from, to) : to.bytes;
                   EXPECT_VALUE(to.now() == after, true);
                 });
      }
  return true;
}();

// ---- Partial copies, limits and invalid arguments ----

// Result codes by call, in the order of box_calls. -1: not tested.
using Codes = std::array<int, kCalls>;
constexpr Codes every(int code) { return {code, code, code, code, code, code, code}; }
// Codes for the calls of three dimensions only.
constexpr Codes three(int code) { return {-1, -1, -1, code, code, code, code}; }
// Codes for the calls without and with a stream.
constexpr Codes by_stream(int without, int with) {
  return {without, without, with, without, with, without, with};
}
struct BoxUse {
  const char *name;
  End from, to;
  void (*change)(Copies3D &t);
  Codes codes;
  bool may_crash = false;
};

const BoxUse box_uses[] = {
    {"of_all", in_pageable, in_device, [](Copies3D &) {}, every(0)},
    {"of_a_part", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcXInBytes = 5;
       t.copy.srcY = 3;
       t.copy.dstXInBytes = 9;
       t.copy.dstY = 1;
       t.copy.WidthInBytes = 20;
       t.copy.Height = 4;
     },
     every(0)},
    {"of_a_part_on_the_device", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcXInBytes = 5;
       t.copy.srcY = 3;
       t.copy.dstXInBytes = 9;
       t.copy.dstY = 1;
       t.copy.WidthInBytes = 20;
       t.copy.Height = 4;
     },
     every(0)},
    {"of_some_slices", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcZ = 1;
       t.copy.dstZ = 2;
       t.copy.Depth = 2;
     },
     three(0)},
    {"of_a_part_of_an_array", in_array, in_array,
     [](Copies3D &t) {
       t.copy.srcXInBytes = 5;
       t.copy.srcY = 3;
       t.copy.dstXInBytes = 9;
       t.copy.dstY = 1;
       t.copy.WidthInBytes = 20;
       t.copy.Height = 4;
     },
     every(0)},
    {"of_some_slices_of_an_array", in_array, in_array,
     [](Copies3D &t) {
       t.copy.srcZ = 1;
       t.copy.dstZ = 2;
       t.copy.Depth = 2;
     },
     three(0)},
    {"of_no_width", in_pageable, in_device, [](Copies3D &t) { t.copy.WidthInBytes = 0; }, every(0)},
    {"of_no_rows", in_pageable, in_device, [](Copies3D &t) { t.copy.Height = 0; }, every(0)},
    {"of_no_slices", in_pageable, in_device, [](Copies3D &t) { t.copy.Depth = 0; }, three(0)},
    {"of_no_width_of_an_array", in_array, in_array, [](Copies3D &t) { t.copy.WidthInBytes = 0; }, every(0)},
    {"of_no_rows_of_an_array", in_array, in_array, [](Copies3D &t) { t.copy.Height = 0; }, every(0)},
    {"of_no_slices_of_an_array", in_array, in_array, [](Copies3D &t) { t.copy.Depth = 0; }, three(0)},
    {"of_no_width_from_null", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.WidthInBytes = 0;
       t.copy.srcHost = nullptr;
     },
     every(0)},
    {"of_no_width_to_null", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.WidthInBytes = 0;
       t.copy.dstDevice = 0;
     },
     every(0)},
    {"of_no_width_to_a_null_array", in_pageable, in_array,
     [](Copies3D &t) {
       t.copy.WidthInBytes = 0;
       t.copy.dstArray = nullptr;
     },
     every(0)},
    {"of_no_width_with_a_bad_type", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.WidthInBytes = 0;
       t.copy.srcMemoryType = static_cast<CUmemorytype>(5);
     },
     every(0)},
    {"of_no_width_with_a_small_pitch", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.WidthInBytes = 0;
       t.copy.srcXInBytes = 8;
       t.copy.srcPitch = 4;
     },
     every(0)},
    {"of_no_width_without_a_context", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.WidthInBytes = 0;
       NEED(driver().cuCtxSetCurrent(nullptr));
     },
     by_stream(201, 0)},
    {"from_null_host_memory", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcHost = nullptr; },
     every(1), true},
    {"to_null_host_memory", in_device, in_pageable,
     [](Copies3D &t) { t.copy.dstHost = nullptr; },
     every(1), true},
    {"from_device_memory_said_to_be_of_the_host", in_host_device, in_device,
     [](Copies3D &) {  },
     every(0), true},
    {"to_device_memory_said_to_be_of_the_host", in_device, in_host_device, [](Copies3D &) {}, every(0), true},
    {"from_null_device_memory", in_device, in_pageable, [](Copies3D &t) { t.copy.srcDevice = 0; }, every(1)},
    {"to_null_device_memory", in_pageable, in_device, [](Copies3D &t) { t.copy.dstDevice = 0; }, every(1)},
    {"from_null_unified_memory", in_unified, in_pageable,
     [](Copies3D &t) { t.copy.srcDevice = 0; },
     every(1), true},
    {"to_null_unified_memory", in_pageable, in_unified,
     [](Copies3D &t) { t.copy.dstDevice = 0; },
     every(1), true},
    {"from_a_null_array", in_array, in_pageable, [](Copies3D &t) { t.copy.srcArray = nullptr; }, every(1)},
    {"to_a_null_array", in_pageable, in_array, [](Copies3D &t) { t.copy.dstArray = nullptr; }, every(1)},
    {"from_memory_of_type_0", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcMemoryType = static_cast<CUmemorytype>(0); },
     every(1)},
    {"to_memory_of_type_0", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstMemoryType = static_cast<CUmemorytype>(0); },
     every(1)},
    {"from_memory_of_type_5", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcMemoryType = static_cast<CUmemorytype>(5); },
     every(1)},
    {"to_memory_of_type_5", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstMemoryType = static_cast<CUmemorytype>(5); },
     every(1)},
    {"from_memory_of_type_7", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcMemoryType = static_cast<CUmemorytype>(7); },
     every(1)},
    {"to_memory_of_type_7", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstMemoryType = static_cast<CUmemorytype>(7); },
     every(1)},
    {"with_the_address_in_the_wrong_member", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcDevice = address_of(t.copy.srcHost);
       t.copy.srcHost = nullptr;
     },
     every(1), true},
    {"with_an_unused_source_address", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcDevice = t.memory(); },
     every(0)},
    {"with_an_unused_target_address", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstHost = t.pinned(); },
     every(0)},
    {"with_an_unused_source_array", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcArray = t.array(shape(kWidth, kRows)); },
     every(0)},
    {"with_an_unused_target_array", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstArray = t.array(shape(kWidth, kRows)); },
     every(0)},
    {"with_no_source_pitch", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 0;
       t.copy.Depth = 1;
     },
     every(0)},
    {"with_no_target_pitch", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.dstPitch = 0;
       t.copy.Depth = 1;
     },
     every(0)},
    {"of_one_row_with_no_pitches", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = t.copy.dstPitch = 0;
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(0)},
    {"with_no_source_pitch_on_the_device", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 0;
       t.copy.Depth = 1;
     },
     every(0)},
    {"with_no_source_pitch_and_an_offset", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 0;
       t.copy.Depth = 1;
       t.copy.srcXInBytes = 4;
       t.copy.WidthInBytes = 16;
     },
     every(0)},
    {"with_no_source_pitch_and_rows_before", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 0;
       t.copy.Depth = 1;
       t.copy.srcY = 2;
       t.copy.Height = 3;
       t.copy.WidthInBytes = 16;
     },
     every(0)},
    {"with_a_source_pitch_below_the_width", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcPitch = kWidth - 1; },
     every(1)},
    {"with_a_target_pitch_below_the_width", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstPitch = kWidth - 1; },
     every(1)},
    {"with_a_source_pitch_of_the_width", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = kWidth;
       t.copy.Depth = 1;
     },
     every(0)},
    {"with_a_source_pitch_below_width_and_offset", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = kWidth;
       t.copy.srcXInBytes = 1;
     },
     every(1)},
    {"with_a_target_pitch_below_width_and_offset", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.dstPitch = kWidth;
       t.copy.dstXInBytes = 1;
     },
     every(1)},
    {"of_one_row_with_a_pitch_below_the_width", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = kWidth - 1;
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(1)},
    {"on_the_device_with_a_pitch_below_the_width", in_device, in_device,
     [](Copies3D &t) { t.copy.srcPitch = kWidth - 1; },
     every(1)},
    {"of_an_array_with_a_small_pitch", in_array, in_pageable,
     [](Copies3D &t) { t.copy.srcPitch = 1; },
     every(0)},
    {"with_the_largest_source_pitch", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 2147483647;
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(0)},
    {"with_a_source_pitch_over_the_largest", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 2147483648;
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(0)},
    {"with_a_target_pitch_over_the_largest", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.dstPitch = 2147483648;
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(0)},
    {"on_the_device_with_a_pitch_over_the_largest", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 2147483648;
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(0)},
    {"on_the_device_with_a_pitch_that_cuMemAllocPitch_never_gives", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 100;
       t.copy.dstPitch = 65;
       t.copy.Height = 4;
     },
     every(0)},
    {"to_an_array_with_a_pitch_that_cuMemAllocPitch_never_gives", in_device, in_array,
     [](Copies3D &t) {
       t.copy.srcPitch = 65;
       t.copy.Height = 4;
     },
     every(0)},
    {"on_the_device_at_an_odd_address", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcDevice += 3;
       t.copy.srcPitch = 70;
       t.copy.Height = 2;
       t.copy.Depth = 1;
       t.copy.srcDevice -= 3;
     },
     every(0)},
    {"with_no_source_height", in_pageable, in_device, [](Copies3D &t) { t.copy.srcHeight = 0; }, three(0)},
    {"with_no_target_height", in_pageable, in_device, [](Copies3D &t) { t.copy.dstHeight = 0; }, three(0)},
    {"of_one_slice_with_no_heights", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcHeight = t.copy.dstHeight = 0;
       t.copy.Depth = 1;
     },
     three(0)},
    {"with_a_source_height_below_the_rows", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcHeight = kRows - 1;
       t.copy.Depth = 2;
     },
     three(1)},
    {"with_a_target_height_below_the_rows", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.dstHeight = kRows - 1;
       t.copy.Depth = 2;
     },
     three(1)},
    {"of_one_slice_with_a_height_below_the_rows", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcHeight = kRows - 1;
       t.copy.Depth = 1;
     },
     three(1)},
    {"with_a_source_height_below_rows_and_offset", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcY = 1;
       t.copy.Depth = 2;
     },
     three(1)},
    {"with_no_source_height_and_slices_before", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcHeight = 0;
       t.copy.srcZ = 1;
       t.copy.Depth = 1;
     },
     three(0)},
    {"with_no_pitch_and_no_height_of_one_slice", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = t.copy.srcHeight = 0;
       t.copy.Depth = 1;
     },
     three(0)},
    {"with_no_pitch_of_many_slices", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 0;
       t.copy.Depth = 2;
     },
     three(0)},
    {"with_a_source_level", in_pageable, in_device, [](Copies3D &t) { t.copy.srcLOD = 1; }, three(0)},
    {"with_a_target_level", in_pageable, in_device, [](Copies3D &t) { t.copy.dstLOD = 1; }, three(0)},
    {"with_a_source_level_of_an_array", in_array, in_pageable,
     [](Copies3D &t) { t.copy.srcLOD = 1; },
     three(1)},
    {"with_a_target_level_of_an_array", in_pageable, in_array,
     [](Copies3D &t) { t.copy.dstLOD = 1; },
     three(1)},
    {"from_beyond_the_width_of_an_array", in_array, in_pageable,
     [](Copies3D &t) {
       t.copy.srcXInBytes = kWidth;
       t.copy.WidthInBytes = 1;
     },
     every(1)},
    {"over_the_width_of_an_array", in_array, in_pageable,
     [](Copies3D &t) { t.copy.srcXInBytes = 1; },
     every(1)},
    {"to_over_the_width_of_an_array", in_pageable, in_array,
     [](Copies3D &t) { t.copy.dstXInBytes = 1; },
     every(1)},
    {"over_the_rows_of_an_array", in_array, in_pageable, [](Copies3D &t) { t.copy.srcY = 1; }, every(1)},
    {"to_over_the_rows_of_an_array", in_pageable, in_array, [](Copies3D &t) { t.copy.dstY = 1; }, every(1)},
    {"over_the_slices_of_an_array", in_array, in_pageable, [](Copies3D &t) { t.copy.srcZ = 1; }, three(1)},
    {"to_over_the_slices_of_an_array", in_pageable, in_array, [](Copies3D &t) { t.copy.dstZ = 1; }, three(1)},
    {"of_no_width_beyond_an_array", in_array, in_pageable,
     [](Copies3D &t) {
       t.copy.srcXInBytes = kWidth + 1;
       t.copy.WidthInBytes = 0;
     },
     every(0)},
    {"of_no_rows_beyond_an_array", in_array, in_pageable,
     [](Copies3D &t) {
       t.copy.srcY = kRows + 1;
       t.copy.Height = 0;
     },
     every(0)},
    {"of_words", in_words, in_pageable, [](Copies3D &) {}, every(0)},
    {"to_words", in_pageable, in_words, [](Copies3D &) {}, every(0)},
    {"of_some_words", in_words, in_words,
     [](Copies3D &t) {
       t.copy.srcXInBytes = 4;
       t.copy.dstXInBytes = 8;
       t.copy.WidthInBytes = 12;
       t.copy.Height = 3;
     },
     every(0)},
    {"from_within_a_word", in_words, in_pageable,
     [](Copies3D &t) {
       t.copy.srcXInBytes = 2;
       t.copy.WidthInBytes = 8;
     },
     every(0)},
    {"to_within_a_word", in_pageable, in_words,
     [](Copies3D &t) {
       t.copy.dstXInBytes = 2;
       t.copy.WidthInBytes = 8;
     },
     every(0)},
    {"of_half_a_word", in_words, in_pageable, [](Copies3D &t) { t.copy.WidthInBytes = 6; }, every(0)},
    {"to_half_a_word", in_pageable, in_words, [](Copies3D &t) { t.copy.WidthInBytes = 6; }, every(0)},
    {"between_words_and_bytes", in_words, in_array, [](Copies3D &) {}, every(0)},
    {"between_bytes_and_words", in_array, in_words, [](Copies3D &) {}, every(0)},
    {"of_a_line", in_line, in_pageable, [](Copies3D &t) { t.copy.Height = 1; t.copy.Depth = 1; }, every(0)},
    {"to_a_line", in_pageable, in_line, [](Copies3D &t) { t.copy.Height = 1; t.copy.Depth = 1; }, every(0)},
    {"of_two_rows_of_a_line", in_line, in_pageable,
     [](Copies3D &t) {
       t.copy.Height = 2;
       t.copy.Depth = 1;
     },
     every(1)},
    {"of_no_rows_of_a_line", in_line, in_pageable,
     [](Copies3D &t) {
       t.copy.Height = 0;
       t.copy.Depth = 1;
     },
     every(0)},
    {"of_the_second_row_of_a_line", in_line, in_pageable,
     [](Copies3D &t) {
       t.copy.srcY = 1;
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(1)},
    {"of_a_slice_of_a_cube", in_cube, in_pageable, [](Copies3D &t) { t.copy.Depth = 1; }, every(0)},
    {"to_a_slice_of_a_cube", in_pageable, in_cube, [](Copies3D &t) { t.copy.Depth = 1; }, every(0)},
    {"of_layers", in_layers, in_pageable, [](Copies3D &) {}, every(0)},
    {"to_layers", in_pageable, in_layers, [](Copies3D &) {}, every(0)},
    {"of_some_layers", in_layers, in_layers,
     [](Copies3D &t) {
       t.copy.srcZ = 1;
       t.copy.dstZ = 2;
       t.copy.Depth = 2;
     },
     three(0)},
    {"over_the_layers", in_layers, in_pageable, [](Copies3D &t) { t.copy.srcZ = 1; }, three(1)},
    {"of_two_slices_of_a_plane", in_array, in_pageable,
     [](Copies3D &t) {
       t.copy.srcArray = t.array(shape(kWidth, kRows));
       t.copy.Depth = 2;
     },
     three(1)},
    {"without_a_context", in_pageable, in_device,
     [](Copies3D &) { NEED(driver().cuCtxSetCurrent(nullptr)); },
     by_stream(201, 0)},
    {"on_the_device_without_a_context", in_device, in_device,
     [](Copies3D &) { NEED(driver().cuCtxSetCurrent(nullptr)); },
     by_stream(201, 0)},
    {"of_an_array_without_a_context", in_array, in_pageable,
     [](Copies3D &) { NEED(driver().cuCtxSetCurrent(nullptr)); },
     by_stream(201, 0)},
    {"in_the_null_stream", in_pageable, in_device, [](Copies3D &t) { t.work = nullptr; }, every(0)},
    {"in_the_legacy_stream", in_pageable, in_device, [](Copies3D &t) { t.work = legacy(); }, every(0)},
    {"in_the_per_thread_stream", in_pageable, in_device,
     [](Copies3D &t) { t.work = per_thread(); },
     every(0)},
    {"in_a_stream_of_another_context", in_pageable, in_device,
     [](Copies3D &t) {
       t.work = t.in_other_context([&t] { return t.stream();
       });
     },
     every(0)},
    {"of_an_array_in_a_stream_of_another_context", in_array, in_pageable,
     [](Copies3D &t) {
       t.work = t.in_other_context([&t] { return t.stream();
       });
     },
     every(0)},
    {"of_an_array_in_another_context", in_array, in_pageable,
     [](Copies3D &t) { NEED(driver().cuCtxSetCurrent(t.other_context())); },
     every(0)},
    {"between_arrays_in_another_context", in_array, in_array,
     [](Copies3D &t) { NEED(driver().cuCtxSetCurrent(t.other_context())); },
     every(0)},
    {"on_the_device_in_another_context", in_device, in_device,
     [](Copies3D &t) { NEED(driver().cuCtxSetCurrent(t.other_context())); },
     every(0)},
    {"from_no_context", in_device, in_device, [](Copies3D &t) { t.copy.srcContext = nullptr; }, three(0)},
    {"to_no_context", in_device, in_device, [](Copies3D &t) { t.copy.dstContext = nullptr; }, three(0)},
    {"between_no_contexts", in_device, in_device,
     [](Copies3D &t) { t.copy.srcContext = t.copy.dstContext = nullptr; },
     three(0)},
    {"from_another_context", in_device, in_device,
     [](Copies3D &t) { t.copy.srcContext = t.other_context(); },
     three(0)},
    {"between_other_contexts", in_device, in_device,
     [](Copies3D &t) { t.copy.srcContext = t.copy.dstContext = t.other_context(); },
     three(0)},
    {"of_an_array_from_no_context", in_array, in_array,
     [](Copies3D &t) { t.copy.srcContext = t.copy.dstContext = nullptr; },
     three(0)},
    {"of_host_memory_from_no_context", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcContext = nullptr; },
     three(0)},
    {"of_two_mistakes_type_and_context", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcMemoryType = static_cast<CUmemorytype>(5);
       NEED(driver().cuCtxSetCurrent(nullptr));
     },
     by_stream(201, 1)},
    {"of_two_mistakes_array_and_context", in_array, in_pageable,
     [](Copies3D &t) {
       t.copy.srcArray = nullptr;
       NEED(driver().cuCtxSetCurrent(nullptr));
     },
     by_stream(201, 1)},
    {"of_two_mistakes_array_and_pitch", in_array, in_device,
     [](Copies3D &t) {
       t.copy.srcArray = nullptr;
       t.copy.dstPitch = 1;
     },
     every(1)},
    {"of_two_mistakes_pitch_and_array", in_device, in_array,
     [](Copies3D &t) {
       t.copy.srcPitch = 1;
       t.copy.dstArray = nullptr;
     },
     every(1)},
};

const bool uses = [] {
  for (const BoxUse &use : box_uses)
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
  return true;
}();

// ---- Order ----

class Ordered3D : public Copies3D {
 protected:
  void SetUp() override {
    Copies3D::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    work = stream();
  }
};

TEST_F(Ordered3D, In_a_held_stream_wait) {
  const Box from = box(*this, in_device, 1), to = box(*this, in_pinned, 100);
  aim(*this, from, to);
  // The source was filled from pageable memory: the copy has read that memory when it returns, but the bytes
  // may still be in transit to the device, and this stream does not wait for them. Measured: without this
  // call, zeros arrived.
  NEED(driver().cuCtxSynchronize());
  const CUDA_MEMCPY3D three = in_three(copy);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy3DAsync(&three, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  EXPECT_VALUE(static_cast<int>(reinterpret_cast<volatile unsigned char *>(to.address)[0]), 100);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_TRUE(to.now() == copied(copy, false, from, to));
}
TEST_F(Ordered3D, Between_arrays_in_a_held_stream_wait) {
  const Box from = box(*this, in_array, 1), to = box(*this, in_array, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY3D three = in_three(copy);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy3DAsync(&three, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(to.now() == copied(copy, false, from, to), true);
}
TEST_F(Ordered3D, Of_pinned_memory_are_read_when_the_stream_comes_to_them) {
  planes = true;
  const Box from = box(*this, in_pinned, 1), to = box(*this, in_device, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY2D two = in_two(copy);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  *reinterpret_cast<unsigned char *>(from.address) = 55;
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(to.now()[0]), 55);
}
TEST_F(Ordered3D, In_one_stream_keep_their_order) {
  planes = true;
  const Box one = box(*this, in_device, 1), between = box(*this, in_array, 50),
            other = box(*this, in_device, 100);
  aim(*this, one, between);
  const CUDA_MEMCPY2D there = in_two(copy);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&there, work), CUDA_SUCCESS);
  aim(*this, between, other);
  const CUDA_MEMCPY2D back = in_two(copy);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&back, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD2D8Async(one.address, kPitch, 0, kWidth, kRows, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(std::equal(one.bytes.begin(), one.bytes.begin() + kWidth, other.now().begin()), true);
}
TEST_F(Ordered3D, To_pageable_memory_are_done_when_the_call_returns) {
  planes = true;
  const Box from = box(*this, in_device, 1), to = box(*this, in_pageable, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY2D two = in_two(copy);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  EXPECT_VALUE(std::equal(from.bytes.begin(), from.bytes.begin() + kWidth,
                          reinterpret_cast<const unsigned char *>(to.address)),
               true);
}
TEST_F(Ordered3D, Of_an_array_to_pageable_memory_are_done_when_the_call_returns) {
  planes = true;
  const Box from = box(*this, in_array, 1), to = box(*this, in_pageable, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY2D two = in_two(copy);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  EXPECT_VALUE(std::equal(from.bytes.begin(), from.bytes.begin() + kWidth,
                          reinterpret_cast<const unsigned char *>(to.address)),
               true);
}
TEST_F(Ordered3D, Of_pageable_memory_are_read_before_the_call_returns) {
  planes = true;
  const Box from = box(*this, in_pageable, 1), to = box(*this, in_device, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY2D two = in_two(copy);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  std::fill_n(reinterpret_cast<unsigned char *>(from.address), kLinear, static_cast<unsigned char>(55));
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(to.now() == copied(copy, true, from, to), true);
}
TEST_F(Ordered3D, Of_small_pageable_memory_in_a_held_stream_return_at_once) {
  planes = true;
  const Box from = box(*this, in_pageable, 1), to = box(*this, in_device, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY2D two = in_two(copy);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  std::fill_n(reinterpret_cast<unsigned char *>(from.address), kLinear, static_cast<unsigned char>(55));
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(to.now() == copied(copy, true, from, to), true);
}
TEST_F(Ordered3D, Of_small_pageable_memory_to_an_array_in_a_held_stream_return_at_once) {
  planes = true;
  const Box from = box(*this, in_pageable, 1), to = box(*this, in_array, 100);
  aim(*this, from, to);
  const CUDA_MEMCPY2D two = in_two(copy);
  Hold held = hold(work);
  EXPECT_ANSWER(driver().cuMemcpy2DAsync(&two, work), CUDA_SUCCESS);
  std::fill_n(reinterpret_cast<unsigned char *>(from.address), kLinear, static_cast<unsigned char>(55));
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(to.now() == copied(copy, true, from, to), true);
}

// ---- Null descriptions, and the first ABI ----

// The real driver crashes in some of these calls.
const bool descriptions = [] {
  const auto add = [](const char *name, auto call) {
    for (const bool has_context : {true, false})
      ADD_TEST(Copies3D, std::string(name) + "_needs_a_description" + (has_context ? "" : "_and_a_context"),
               [=](Copies3D &t) {
                 CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
                 if (!has_context) NEED(driver().cuCtxSetCurrent(nullptr));
                 expect_answer(__FILE__, __LINE__, std::string(name) + "(nullptr)", call(t),
                               has_context ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT);
               });
  };
  add("cuMemcpy2D", [](Copies3D &) { return driver().cuMemcpy2D(nullptr); });
  add("cuMemcpy2DUnaligned", [](Copies3D &) { return driver().cuMemcpy2DUnaligned(nullptr); });
  add("cuMemcpy2DAsync", [](Copies3D &) { return driver().cuMemcpy2DAsync(nullptr, nullptr); });
  add("cuMemcpy3D", [](Copies3D &) { return driver().cuMemcpy3D(nullptr); });
  add("cuMemcpy3DAsync", [](Copies3D &) { return driver().cuMemcpy3DAsync(nullptr, nullptr); });
  add("cuMemcpy3DPeer", [](Copies3D &) { return driver().cuMemcpy3DPeer(nullptr); });
  add("cuMemcpy3DPeerAsync", [](Copies3D &) { return driver().cuMemcpy3DPeerAsync(nullptr, nullptr); });
  return true;
}();
TEST_F(Copies3D, cuMemcpy3D_with_something_reserved) {
  unsigned char from = 1, to = 2;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = &from;
  copy.dstHost = &to;
  copy.WidthInBytes = copy.Height = copy.Depth = 1;
  copy.reserved0 = copy.reserved1 = &from;  // documented to be null
  EXPECT_ANSWER(driver().cuMemcpy3D(&copy), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(to), 1);
}

// The first ABI has device addresses of 32 bits.
CushimMemcpy2D_v1 first_two(const void *from, void *to) {
  CushimMemcpy2D_v1 copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstHost = to;
  copy.WidthInBytes = 4;
  copy.Height = 1;
  return copy;
}
CushimMemcpy3D_v1 first_three(const void *from, void *to) {
  CushimMemcpy3D_v1 copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstHost = to;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  return copy;
}
TEST_F(Copies3D, Of_the_first_ABI_between_host_memory) {
  int from = 7, to = 0;
  const CushimMemcpy2D_v1 two = first_two(&from, &to);
  const CushimMemcpy3D_v1 three = first_three(&from, &to);
  EXPECT_ANSWER(cushim::exact::cuMemcpy2D_v2000(driver())(&two), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy2DUnaligned_v2000(driver())(&two), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy2DAsync_v2000(driver())(&two, stream()), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy3D_v2000(driver())(&three), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(cushim::exact::cuMemcpy3DAsync_v2000(driver())(&three, stream()), CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSynchronize());
  EXPECT_VALUE(to, 0);
}

}  // namespace
}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// Common parts of the statements about copies of two and three dimensions.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "array_memory.hpp"

namespace conformance {

// The extent of all copies: rows of 64 bytes, 8 rows, 4 slices. In linear memory the pitch is 128 bytes.
inline constexpr std::size_t kWidth = 64, kRows = 8, kSlices = 4, kPitch = 128;
inline constexpr std::size_t kLinear = kPitch * kRows * kSlices;

class Copies3D : public WithArrays {
 public:
  // The parameters of the copy; calls of two dimensions use only a part of them.
  CUDA_MEMCPY3D_PEER copy = {};
  CUstream work = nullptr;
  bool planes = false;  // two dimensions
};

// Return the copy as the calls of two and of three dimensions take it.
CUDA_MEMCPY2D in_two(const CUDA_MEMCPY3D_PEER &copy);
CUDA_MEMCPY3D in_three(const CUDA_MEMCPY3D_PEER &copy);

struct BoxCall {
  const char *name;
  bool planes;
  bool takes_stream;
  CUresult (*call)(const CUDA_MEMCPY3D_PEER &copy, CUstream work);
};

inline constexpr std::size_t kCalls = 7;
extern const std::array<BoxCall, kCalls> box_calls;

enum class Of { memory, array, words, line, layers, cube };

struct End {
  const char *name;
  CUmemorytype type;
  Kind kind = Kind::pageable;
  Of of = Of::memory;
};

inline constexpr End in_pageable = {"pageable", CU_MEMORYTYPE_HOST, Kind::pageable};
inline constexpr End in_pinned = {"pinned", CU_MEMORYTYPE_HOST, Kind::pinned};
inline constexpr End in_device = {"device", CU_MEMORYTYPE_DEVICE, Kind::device};
inline constexpr End in_host_device = {"host_device", CU_MEMORYTYPE_HOST, Kind::device};
inline constexpr End in_unified = {"unified_device", CU_MEMORYTYPE_UNIFIED, Kind::device};
// An array of as many dimensions as the call, and one with elements of 4 bytes.
inline constexpr End in_array = {"array", CU_MEMORYTYPE_ARRAY, Kind::device, Of::array};
inline constexpr End in_words = {"words", CU_MEMORYTYPE_ARRAY, Kind::device, Of::words};
inline constexpr End in_line = {"line", CU_MEMORYTYPE_ARRAY, Kind::device, Of::line};
inline constexpr End in_layers = {"layers", CU_MEMORYTYPE_ARRAY, Kind::device, Of::layers};
inline constexpr End in_cube = {"cube", CU_MEMORYTYPE_ARRAY, Kind::device, Of::cube};

// Memory or an array at an end of a copy.
struct Box {
  End end;
  CUdeviceptr address = 0;
  CUarray array = nullptr;
  std::size_t pitch = kPitch, rows = kRows, slices = kSlices;
  std::vector<unsigned char> bytes;  // the contents when it was made

  // Returns the bytes that are there now.
  std::vector<unsigned char> now() const;
};

// Makes the memory or the array of an end, with a pattern that begins with `start`.
Box box(Copies3D &t, const End &end, unsigned start);

// Sets up a copy of the whole extent; with two dimensions, of its first slice.
void aim(Copies3D &t, const Box &from, const Box &to);

// Returns the expected contents of the target. A pitch or height of 0 means the copied extent.
std::vector<unsigned char> copied(const CUDA_MEMCPY3D_PEER &copy, bool planes, const Box &from,
                                  const Box &to);

// Result codes by call, in the order of box_calls. -1: not tested.
using Codes = std::array<int, kCalls>;
inline constexpr Codes every(int code) { return {code, code, code, code, code, code, code}; }
// Codes for the calls of three dimensions only.
inline constexpr Codes three(int code) { return {-1, -1, -1, code, code, code, code}; }
// Codes for the calls without and with a stream.
inline constexpr Codes by_stream(int without, int with) {
  return {without, without, with, without, with, without, with};
}

using Change = std::function<void(Copies3D &t)>;
inline void nothing(Copies3D &) {}
inline void without_a_context(Copies3D &) { NEED(driver().cuCtxSetCurrent(nullptr)); }

// Offsets and sizes of a copy, in bytes, rows and slices.
using Extent = std::size_t CUDA_MEMCPY3D_PEER::*;
inline constexpr Extent kSourceX = &CUDA_MEMCPY3D_PEER::srcXInBytes, kSourceY = &CUDA_MEMCPY3D_PEER::srcY,
                        kSourceZ = &CUDA_MEMCPY3D_PEER::srcZ, kSourceLevel = &CUDA_MEMCPY3D_PEER::srcLOD,
                        kSourcePitch = &CUDA_MEMCPY3D_PEER::srcPitch,
                        kSourceHeight = &CUDA_MEMCPY3D_PEER::srcHeight,
                        kTargetX = &CUDA_MEMCPY3D_PEER::dstXInBytes, kTargetY = &CUDA_MEMCPY3D_PEER::dstY,
                        kTargetZ = &CUDA_MEMCPY3D_PEER::dstZ, kTargetLevel = &CUDA_MEMCPY3D_PEER::dstLOD,
                        kTargetPitch = &CUDA_MEMCPY3D_PEER::dstPitch,
                        kTargetHeight = &CUDA_MEMCPY3D_PEER::dstHeight,
                        kCopyWidth = &CUDA_MEMCPY3D_PEER::WidthInBytes,
                        kCopyHeight = &CUDA_MEMCPY3D_PEER::Height, kCopyDepth = &CUDA_MEMCPY3D_PEER::Depth;
struct Setting {
  Extent extent;
  std::size_t value;
};
// Returns a change that sets extents of the copy.
Change set(std::vector<Setting> settings);

// A statement about each call whose code is not -1: it changes the copy of a whole extent and makes it.
struct BoxUse {
  const char *name;
  End from, to;
  Change change;
  Codes codes;
  bool may_crash = false;
};
void add_box_uses(std::span<const BoxUse> uses);

}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions: parts, limits and invalid arguments. Each statement tests all calls;
// the table contains the differences between the calls.
#include "copies_2d_3d.hpp"

namespace conformance {
namespace {

void part(Copies3D &t) {
  t.copy.srcXInBytes = 5;
  t.copy.srcY = 3;
  t.copy.dstXInBytes = 9;
  t.copy.dstY = 1;
  t.copy.WidthInBytes = 20;
  t.copy.Height = 4;
}
void some_slices(Copies3D &t) {
  t.copy.srcZ = 1;
  t.copy.dstZ = 2;
  t.copy.Depth = 2;
}

void only_rows(Copies3D &t, std::size_t count) {
  t.copy.Height = count;
  t.copy.Depth = 1;
}

const BoxUse box_uses[] = {
    {"of_all", in_pageable, in_device, [](Copies3D &) {}, every(0)},
    {"of_a_part", in_pageable, in_device, part, every(0)},
    {"of_a_part_on_the_device", in_device, in_device, part, every(0)},
    {"of_some_slices", in_pageable, in_device, some_slices, three(0)},
    {"of_a_part_of_an_array", in_array, in_array, part, every(0)},
    {"of_some_slices_of_an_array", in_array, in_array, some_slices, three(0)},
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
     [](Copies3D &) {},
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
       only_rows(t, 1);
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
       only_rows(t, 1);
     },
     every(1)},
    {"on_the_device_with_a_pitch_below_the_width", in_device, in_device,
     [](Copies3D &t) { t.copy.srcPitch = kWidth - 1; },
     every(1)},
    {"on_the_device_with_a_source_pitch_below_width_and_offset", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = kWidth;
       t.copy.srcXInBytes = 1;
       only_rows(t, 2);
     },
     every(1)},
    {"on_the_device_with_a_target_pitch_below_width_and_offset", in_device, in_device,
     [](Copies3D &t) {
       t.copy.dstPitch = kWidth;
       t.copy.dstXInBytes = 1;
       only_rows(t, 2);
     },
     every(1)},
    {"on_the_device_with_an_offset_of_two_rows", in_device, in_device,
     [](Copies3D &t) {
       t.copy.dstPitch = kWidth;
       t.copy.dstXInBytes = 2 * kWidth;
       only_rows(t, 2);
     },
     every(1)},
    {"to_the_device_with_an_offset_of_two_rows", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.dstPitch = kWidth;
       t.copy.dstXInBytes = 2 * kWidth;
       only_rows(t, 2);
     },
     every(1)},
    {"on_the_device_with_an_offset_of_one_row_from_the_source", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = kWidth;
       t.copy.srcXInBytes = kWidth;
       only_rows(t, 2);
     },
     every(1)},
    {"of_an_array_with_a_small_pitch", in_array, in_pageable,
     [](Copies3D &t) { t.copy.srcPitch = 1; },
     every(0)},
    {"with_the_largest_source_pitch", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 2147483647;
       only_rows(t, 1);
     },
     every(0)},
    {"with_a_source_pitch_over_the_largest", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 2147483648;
       only_rows(t, 1);
     },
     every(0)},
    {"with_a_target_pitch_over_the_largest", in_pageable, in_device,
     [](Copies3D &t) {
       t.copy.dstPitch = 2147483648;
       only_rows(t, 1);
     },
     every(0)},
    {"on_the_device_with_a_pitch_over_the_largest", in_device, in_device,
     [](Copies3D &t) {
       t.copy.srcPitch = 2147483648;
       only_rows(t, 1);
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
  add_box_uses(box_uses);
  return true;
}();

}  // namespace
}  // namespace conformance

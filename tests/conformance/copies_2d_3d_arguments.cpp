// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions: parts, limits and invalid arguments. Each statement tests all calls;
// the table contains the differences between the calls.
#include <utility>

#include "copies_2d_3d.hpp"

namespace conformance {
namespace {

const Change part =
    set({{kSourceX, 5}, {kSourceY, 3}, {kTargetX, 9}, {kTargetY, 1}, {kCopyWidth, 20}, {kCopyHeight, 4}});
const Change no_width = set({{kCopyWidth, 0}}), no_rows = set({{kCopyHeight, 0}}),
             no_slices = set({{kCopyDepth, 0}});
const Change some_slices = set({{kSourceZ, 1}, {kTargetZ, 2}, {kCopyDepth, 2}});

void from_null_host(Copies3D &t) { t.copy.srcHost = nullptr; }
void to_null_host(Copies3D &t) { t.copy.dstHost = nullptr; }
void from_null_device(Copies3D &t) { t.copy.srcDevice = 0; }
void to_null_device(Copies3D &t) { t.copy.dstDevice = 0; }
void from_null_array(Copies3D &t) { t.copy.srcArray = nullptr; }
void to_null_array(Copies3D &t) { t.copy.dstArray = nullptr; }
void address_in_the_wrong_member(Copies3D &t) {
  t.copy.srcDevice = address_of(std::exchange(t.copy.srcHost, nullptr));
}
Change from_type(int number) {
  return [number](Copies3D &t) { t.copy.srcMemoryType = static_cast<CUmemorytype>(number); };
}
Change to_type(int number) {
  return [number](Copies3D &t) { t.copy.dstMemoryType = static_cast<CUmemorytype>(number); };
}
Change both(const Change &first, const Change &second) {
  return [=](Copies3D &t) {
    first(t);
    second(t);
  };
}

const BoxUse box_uses[] = {
    {"of_all", in_pageable, in_device, nothing, every(0)},
    {"of_a_part", in_pageable, in_device, part, every(0)},
    {"of_a_part_on_the_device", in_device, in_device, part, every(0)},
    {"of_some_slices", in_pageable, in_device, some_slices, three(0)},
    {"of_a_part_of_an_array", in_array, in_array, part, every(0)},
    {"of_some_slices_of_an_array", in_array, in_array, some_slices, three(0)},
    {"of_no_width", in_pageable, in_device, no_width, every(0)},
    {"of_no_rows", in_pageable, in_device, no_rows, every(0)},
    {"of_no_slices", in_pageable, in_device, no_slices, three(0)},
    {"of_no_width_of_an_array", in_array, in_array, no_width, every(0)},
    {"of_no_rows_of_an_array", in_array, in_array, no_rows, every(0)},
    {"of_no_slices_of_an_array", in_array, in_array, no_slices, three(0)},
    {"of_no_width_from_null", in_pageable, in_device, both(no_width, from_null_host), every(0)},
    {"of_no_width_to_null", in_pageable, in_device, both(no_width, to_null_device), every(0)},
    {"of_no_width_to_a_null_array", in_pageable, in_array, both(no_width, to_null_array), every(0)},
    {"of_no_width_with_a_bad_type", in_pageable, in_device, both(no_width, from_type(5)), every(0)},
    {"of_no_width_with_a_small_pitch", in_pageable, in_device,
     set({{kCopyWidth, 0}, {kSourceX, 8}, {kSourcePitch, 4}}), every(0)},
    {"of_no_width_without_a_context", in_pageable, in_device, both(no_width, without_a_context),
     by_stream(201, 0)},
    {"from_null_host_memory", in_pageable, in_device, from_null_host, every(1), true},
    {"to_null_host_memory", in_device, in_pageable, to_null_host, every(1), true},
    {"from_device_memory_said_to_be_of_the_host", in_host_device, in_device, nothing, every(0), true},
    {"to_device_memory_said_to_be_of_the_host", in_device, in_host_device, nothing, every(0), true},
    {"from_null_device_memory", in_device, in_pageable, from_null_device, every(1)},
    {"to_null_device_memory", in_pageable, in_device, to_null_device, every(1)},
    {"from_null_unified_memory", in_unified, in_pageable, from_null_device, every(1), true},
    {"to_null_unified_memory", in_pageable, in_unified, to_null_device, every(1), true},
    {"from_a_null_array", in_array, in_pageable, from_null_array, every(1)},
    {"to_a_null_array", in_pageable, in_array, to_null_array, every(1)},
    {"from_memory_of_type_0", in_pageable, in_device, from_type(0), every(1)},
    {"to_memory_of_type_0", in_pageable, in_device, to_type(0), every(1)},
    {"from_memory_of_type_5", in_pageable, in_device, from_type(5), every(1)},
    {"to_memory_of_type_5", in_pageable, in_device, to_type(5), every(1)},
    {"from_memory_of_type_7", in_pageable, in_device, from_type(7), every(1)},
    {"to_memory_of_type_7", in_pageable, in_device, to_type(7), every(1)},
    {"with_the_address_in_the_wrong_member", in_pageable, in_device, address_in_the_wrong_member, every(1),
     true},
    {"with_an_unused_source_address", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcDevice = t.memory(); }, every(0)},
    {"with_an_unused_target_address", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstHost = t.pinned(); }, every(0)},
    {"with_an_unused_source_array", in_pageable, in_device,
     [](Copies3D &t) { t.copy.srcArray = t.array(shape(kWidth, kRows)); }, every(0)},
    {"with_an_unused_target_array", in_pageable, in_device,
     [](Copies3D &t) { t.copy.dstArray = t.array(shape(kWidth, kRows)); }, every(0)},
    {"with_no_source_pitch", in_pageable, in_device, set({{kSourcePitch, 0}, {kCopyDepth, 1}}), every(0)},
    {"with_no_target_pitch", in_pageable, in_device, set({{kTargetPitch, 0}, {kCopyDepth, 1}}), every(0)},
    {"of_one_row_with_no_pitches", in_pageable, in_device,
     set({{kSourcePitch, 0}, {kTargetPitch, 0}, {kCopyHeight, 1}, {kCopyDepth, 1}}), every(0)},
    {"with_no_source_pitch_on_the_device", in_device, in_device, set({{kSourcePitch, 0}, {kCopyDepth, 1}}),
     every(0)},
    {"with_no_source_pitch_and_an_offset", in_pageable, in_device,
     set({{kSourcePitch, 0}, {kCopyDepth, 1}, {kSourceX, 4}, {kCopyWidth, 16}}), every(0)},
    {"with_no_source_pitch_and_rows_before", in_pageable, in_device,
     set({{kSourcePitch, 0}, {kCopyDepth, 1}, {kSourceY, 2}, {kCopyHeight, 3}, {kCopyWidth, 16}}), every(0)},
    {"with_a_source_pitch_below_the_width", in_pageable, in_device, set({{kSourcePitch, kWidth - 1}}),
     every(1)},
    {"with_a_target_pitch_below_the_width", in_pageable, in_device, set({{kTargetPitch, kWidth - 1}}),
     every(1)},
    {"with_a_source_pitch_of_the_width", in_pageable, in_device,
     set({{kSourcePitch, kWidth}, {kCopyDepth, 1}}), every(0)},
    {"with_a_source_pitch_below_width_and_offset", in_pageable, in_device,
     set({{kSourcePitch, kWidth}, {kSourceX, 1}}), every(1)},
    {"with_a_target_pitch_below_width_and_offset", in_pageable, in_device,
     set({{kTargetPitch, kWidth}, {kTargetX, 1}}), every(1)},
    {"of_one_row_with_a_pitch_below_the_width", in_pageable, in_device,
     set({{kSourcePitch, kWidth - 1}, {kCopyHeight, 1}, {kCopyDepth, 1}}), every(1)},
    {"on_the_device_with_a_pitch_below_the_width", in_device, in_device, set({{kSourcePitch, kWidth - 1}}),
     every(1)},
    {"on_the_device_with_a_source_pitch_below_width_and_offset", in_device, in_device,
     set({{kSourcePitch, kWidth}, {kSourceX, 1}, {kCopyHeight, 2}, {kCopyDepth, 1}}), every(1)},
    {"on_the_device_with_a_target_pitch_below_width_and_offset", in_device, in_device,
     set({{kTargetPitch, kWidth}, {kTargetX, 1}, {kCopyHeight, 2}, {kCopyDepth, 1}}), every(1)},
    {"on_the_device_with_an_offset_of_two_rows", in_device, in_device,
     set({{kTargetPitch, kWidth}, {kTargetX, 2 * kWidth}, {kCopyHeight, 2}, {kCopyDepth, 1}}), every(1)},
    {"to_the_device_with_an_offset_of_two_rows", in_pageable, in_device,
     set({{kTargetPitch, kWidth}, {kTargetX, 2 * kWidth}, {kCopyHeight, 2}, {kCopyDepth, 1}}), every(1)},
    {"on_the_device_with_an_offset_of_one_row_from_the_source", in_device, in_device,
     set({{kSourcePitch, kWidth}, {kSourceX, kWidth}, {kCopyHeight, 2}, {kCopyDepth, 1}}), every(1)},
    {"of_an_array_with_a_small_pitch", in_array, in_pageable, set({{kSourcePitch, 1}}), every(0)},
    {"with_the_largest_source_pitch", in_pageable, in_device,
     set({{kSourcePitch, 2147483647}, {kCopyHeight, 1}, {kCopyDepth, 1}}), every(0)},
    {"with_a_source_pitch_over_the_largest", in_pageable, in_device,
     set({{kSourcePitch, 2147483648}, {kCopyHeight, 1}, {kCopyDepth, 1}}), every(0)},
    {"with_a_target_pitch_over_the_largest", in_pageable, in_device,
     set({{kTargetPitch, 2147483648}, {kCopyHeight, 1}, {kCopyDepth, 1}}), every(0)},
    {"on_the_device_with_a_pitch_over_the_largest", in_device, in_device,
     set({{kSourcePitch, 2147483648}, {kCopyHeight, 1}, {kCopyDepth, 1}}), every(0)},
    {"on_the_device_with_a_pitch_that_cuMemAllocPitch_never_gives", in_device, in_device,
     set({{kSourcePitch, 100}, {kTargetPitch, 65}, {kCopyHeight, 4}}), every(0)},
    {"to_an_array_with_a_pitch_that_cuMemAllocPitch_never_gives", in_device, in_array,
     set({{kSourcePitch, 65}, {kCopyHeight, 4}}), every(0)},
    {"with_no_source_height", in_pageable, in_device, set({{kSourceHeight, 0}}), three(0)},
    {"with_no_target_height", in_pageable, in_device, set({{kTargetHeight, 0}}), three(0)},
    {"of_one_slice_with_no_heights", in_pageable, in_device,
     set({{kSourceHeight, 0}, {kTargetHeight, 0}, {kCopyDepth, 1}}), three(0)},
    {"with_a_source_height_below_the_rows", in_pageable, in_device,
     set({{kSourceHeight, kRows - 1}, {kCopyDepth, 2}}), three(1)},
    {"with_a_target_height_below_the_rows", in_pageable, in_device,
     set({{kTargetHeight, kRows - 1}, {kCopyDepth, 2}}), three(1)},
    {"of_one_slice_with_a_height_below_the_rows", in_pageable, in_device,
     set({{kSourceHeight, kRows - 1}, {kCopyDepth, 1}}), three(1)},
    {"with_a_source_height_below_rows_and_offset", in_pageable, in_device,
     set({{kSourceY, 1}, {kCopyDepth, 2}}), three(1)},
    {"with_no_source_height_and_slices_before", in_pageable, in_device,
     set({{kSourceHeight, 0}, {kSourceZ, 1}, {kCopyDepth, 1}}), three(0)},
    {"with_no_pitch_and_no_height_of_one_slice", in_pageable, in_device,
     set({{kSourcePitch, 0}, {kSourceHeight, 0}, {kCopyDepth, 1}}), three(0)},
    {"with_no_pitch_of_many_slices", in_pageable, in_device, set({{kSourcePitch, 0}, {kCopyDepth, 2}}),
     three(0)},
    {"with_a_source_level", in_pageable, in_device, set({{kSourceLevel, 1}}), three(0)},
    {"with_a_target_level", in_pageable, in_device, set({{kTargetLevel, 1}}), three(0)},
    {"with_a_source_level_of_an_array", in_array, in_pageable, set({{kSourceLevel, 1}}), three(1)},
    {"with_a_target_level_of_an_array", in_pageable, in_array, set({{kTargetLevel, 1}}), three(1)},
    {"of_two_mistakes_type_and_context", in_pageable, in_device, both(from_type(5), without_a_context),
     by_stream(201, 1)},
    {"of_two_mistakes_array_and_context", in_array, in_pageable, both(from_null_array, without_a_context),
     by_stream(201, 1)},
    {"of_two_mistakes_array_and_pitch", in_array, in_device, both(from_null_array, set({{kTargetPitch, 1}})),
     every(1)},
    {"of_two_mistakes_pitch_and_array", in_device, in_array, both(set({{kSourcePitch, 1}}), to_null_array),
     every(1)},
};

const bool uses = [] {
  add_box_uses(box_uses);
  return true;
}();

}  // namespace
}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions of arrays: limits, elements, lines, layers and slices.
#include "copies_2d_3d.hpp"

namespace conformance {
namespace {

const BoxUse box_uses[] = {
    {"from_beyond_the_width_of_an_array", in_array, in_pageable, set({{kSourceX, kWidth}, {kCopyWidth, 1}}),
     every(1)},
    {"over_the_width_of_an_array", in_array, in_pageable, set({{kSourceX, 1}}), every(1)},
    {"to_over_the_width_of_an_array", in_pageable, in_array, set({{kTargetX, 1}}), every(1)},
    {"over_the_rows_of_an_array", in_array, in_pageable, set({{kSourceY, 1}}), every(1)},
    {"to_over_the_rows_of_an_array", in_pageable, in_array, set({{kTargetY, 1}}), every(1)},
    {"over_the_slices_of_an_array", in_array, in_pageable, set({{kSourceZ, 1}}), three(1)},
    {"to_over_the_slices_of_an_array", in_pageable, in_array, set({{kTargetZ, 1}}), three(1)},
    {"of_no_width_beyond_an_array", in_array, in_pageable, set({{kSourceX, kWidth + 1}, {kCopyWidth, 0}}),
     every(0)},
    {"of_no_rows_beyond_an_array", in_array, in_pageable, set({{kSourceY, kRows + 1}, {kCopyHeight, 0}}),
     every(0)},
    {"of_words", in_words, in_pageable, nothing, every(0)},
    {"to_words", in_pageable, in_words, nothing, every(0)},
    {"of_some_words", in_words, in_words,
     set({{kSourceX, 4}, {kTargetX, 8}, {kCopyWidth, 12}, {kCopyHeight, 3}}), every(0)},
    {"from_within_a_word", in_words, in_pageable, set({{kSourceX, 2}, {kCopyWidth, 8}}), every(0)},
    {"to_within_a_word", in_pageable, in_words, set({{kTargetX, 2}, {kCopyWidth, 8}}), every(0)},
    {"of_half_a_word", in_words, in_pageable, set({{kCopyWidth, 6}}), every(0)},
    {"to_half_a_word", in_pageable, in_words, set({{kCopyWidth, 6}}), every(0)},
    {"between_words_and_bytes", in_words, in_array, nothing, every(0)},
    {"between_bytes_and_words", in_array, in_words, nothing, every(0)},
    {"of_a_line", in_line, in_pageable, set({{kCopyHeight, 1}, {kCopyDepth, 1}}), every(0)},
    {"to_a_line", in_pageable, in_line, set({{kCopyHeight, 1}, {kCopyDepth, 1}}), every(0)},
    {"of_two_rows_of_a_line", in_line, in_pageable, set({{kCopyHeight, 2}, {kCopyDepth, 1}}), every(1)},
    {"of_no_rows_of_a_line", in_line, in_pageable, set({{kCopyHeight, 0}, {kCopyDepth, 1}}), every(0)},
    {"of_the_second_row_of_a_line", in_line, in_pageable,
     set({{kSourceY, 1}, {kCopyHeight, 1}, {kCopyDepth, 1}}), every(1)},
    {"of_a_slice_of_a_cube", in_cube, in_pageable, set({{kCopyDepth, 1}}), every(0)},
    {"to_a_slice_of_a_cube", in_pageable, in_cube, set({{kCopyDepth, 1}}), every(0)},
    {"of_layers", in_layers, in_pageable, nothing, every(0)},
    {"to_layers", in_pageable, in_layers, nothing, every(0)},
    {"of_some_layers", in_layers, in_layers, set({{kSourceZ, 1}, {kTargetZ, 2}, {kCopyDepth, 2}}), three(0)},
    {"over_the_layers", in_layers, in_pageable, set({{kSourceZ, 1}}), three(1)},
    {"of_two_slices_of_a_plane", in_array, in_pageable,
     [](Copies3D &t) { t.copy.srcArray = t.array(shape(kWidth, kRows)), t.copy.Depth = 2; }, three(1)},
};

const bool uses = [] {
  add_box_uses(box_uses);
  return true;
}();

}  // namespace
}  // namespace conformance

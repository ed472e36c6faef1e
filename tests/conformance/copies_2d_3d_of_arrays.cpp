// SPDX-License-Identifier: Apache-2.0
// Copies of two and three dimensions of arrays: limits, elements, lines, layers and slices.
#include "copies_2d_3d.hpp"

namespace conformance {
namespace {

const BoxUse box_uses[] = {
    {"from_beyond_the_width_of_an_array", in_array, in_pageable,
     [](Copies3D &t) {
       t.copy.srcXInBytes = kWidth;
       t.copy.WidthInBytes = 1;
     },
     every(1)},
    {"over_the_width_of_an_array", in_array, in_pageable, [](Copies3D &t) { t.copy.srcXInBytes = 1; },
     every(1)},
    {"to_over_the_width_of_an_array", in_pageable, in_array, [](Copies3D &t) { t.copy.dstXInBytes = 1; },
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
    {"of_a_line", in_line, in_pageable,
     [](Copies3D &t) {
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(0)},
    {"to_a_line", in_pageable, in_line,
     [](Copies3D &t) {
       t.copy.Height = 1;
       t.copy.Depth = 1;
     },
     every(0)},
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
};

const bool uses = [] {
  add_box_uses(box_uses);
  return true;
}();

}  // namespace
}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// The images that walks load: PTX, good and broken.
#pragma once

#include "graph_objects.hpp"

namespace differential {

// Returns the index of an image; mostly of a good one.
unsigned an_image(Walk &w);
Argument<const void *> image_of(unsigned number);
// Returns the number of a kernel, mostly of one that the image has.
unsigned a_name(Walk &w, unsigned image);
// The same for the image of a module or library; for image 0 if its slot is not one of these.
template <class Slots, class Handle>
unsigned a_name_in(Walk &w, const Slots &slots, Handle handle) {
  unsigned image = 0;
  for (const auto &slot : slots)
    if (slot.handle == handle) image = slot.image;
  return a_name(w, image);
}

struct JitOptions {
  std::vector<CUjit_option> options;
  std::vector<void *> values;
  std::array<char, 512> log{};
  float time = -1;
  std::string text;
  void add(CUjit_option option, std::uintptr_t value) {
    options.push_back(option);
    values.push_back(reinterpret_cast<void *>(value));
    text += fmt::format(" {}={}", static_cast<int>(option), value < 4096 ? value : 1);
  }
};
void choose_options(Walk &w, JitOptions &jit);

}  // namespace differential

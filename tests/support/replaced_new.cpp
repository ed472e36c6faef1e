// SPDX-License-Identifier: Apache-2.0
// Replaces operator new and operator delete of a program. Not for builds with sanitizers, which replace
// operator new, too.
#include "support/replaced_new.hpp"

#include <cstdlib>
#include <new>

void *operator new(std::size_t size) {
  before_allocation();
  void *const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

// SPDX-License-Identifier: Apache-2.0
// Replaces operator new and operator delete of a program. Exactly one of its sources includes this file, and
// defines before_allocation(). Not for builds with sanitizers, which replace operator new, too.
#pragma once

#include <cstdlib>
#include <new>

// Called before each allocation. Throws std::bad_alloc if the allocation shall fail.
void before_allocation();

void *operator new(std::size_t size) {
  before_allocation();
  void *const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

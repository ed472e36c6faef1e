// SPDX-License-Identifier: Apache-2.0
// The Python functions that a thread is inside of. An interpreter makes all calls from the same machine
// code, so return addresses alone cannot distinguish the Python callers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cushim::check::python {

// Looks for an interpreter among the global symbols of the process. Cheap once one is found.
void look() noexcept;

// Returns whether look() has found an interpreter.
bool is_there() noexcept;

struct Stack {
  // "load (/srv/train.py:12)", innermost first. Empty if the thread runs no Python.
  std::vector<std::string> functions;
  // True if `functions` is complete. If false, the thread runs Python code whose stack cannot be read.
  bool is_exact = true;
};

// Returns the innermost functions of this thread, at most `count`. Takes no lock of the interpreter and
// keeps no reference. If the caller has released the GIL, as ctypes and Cython do, this needs an export
// that reads a thread's stack without it: PyUnstable_DumpTraceback (CPython 3.15) or _Py_DumpTraceback (3.3
// to 3.8, 3.11, 3.12).
Stack stack(std::size_t count);

}  // namespace cushim::check::python

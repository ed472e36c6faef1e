// SPDX-License-Identifier: Apache-2.0
// Preloaded into a Python interpreter: dlsym() does not find the functions that write the stack of a thread
// which does not hold the interpreter's lock, as in interpreters that do not export them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

void *dlsym(void *restrict library, const char *restrict symbol) {
  static void *(*found)(void *, const char *);
  if (found == NULL) {
    void *const next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    *(void **)&found = next != NULL ? next : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  }
  // A name that is found nowhere, since callers ask dlerror() for the reason.
  return found(library, strstr(symbol, "DumpTraceback") != NULL ? "no_such_function" : symbol);
}

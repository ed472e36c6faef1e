// SPDX-License-Identifier: Apache-2.0
// Opens the driver as programs do, copies a number to the device and back, and calls the driver again at
// exit, after its shutdown: CUDA_ERROR_DEINITIALIZED.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

static void *library;

static void *find(const char *symbol) {
  void *function = dlsym(library, symbol);
  if (function == nullptr) {
    std::printf("%s is not there\n", symbol);
    std::exit(1);
  }
  return function;
}

static void check(CUresult result, const char *call) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s answered %d\n", call, static_cast<int>(result));
  std::exit(1);
}

#define QUOTED_(name) #name
#define QUOTED(name) QUOTED_(name)
// Uses the symbol that the header's macro gives for the name.
#define CALL(name, ...) \
  check(reinterpret_cast<decltype(&name)>(find(QUOTED(name)))(__VA_ARGS__), QUOTED(name))

static void at_exit() {
  int count = 0;
  const auto get_count = reinterpret_cast<decltype(&cuDeviceGetCount)>(find("cuDeviceGetCount"));
  std::printf("at exit: %d\n", static_cast<int>(get_count(&count)));
}

int main() {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return std::printf("%s\n", dlerror()), 1;
  std::atexit(at_exit);
  int count = 0, there = 42, back = 0;
  char name[64];
  CUcontext context;
  CUdeviceptr memory;
  CALL(cuInit, 0);
  CALL(cuDeviceGetCount, &count);
  CALL(cuDeviceGetName, name, sizeof name, 0);
  // The headers of some releases use this name for other ABIs.
  using Create = CUresult (*)(CUcontext *, unsigned, CUdevice);
  check(reinterpret_cast<Create>(find("cuCtxCreate_v2"))(&context, 0, 0), "cuCtxCreate_v2");
  CALL(cuMemAlloc, &memory, sizeof there);
  CALL(cuMemcpyHtoD, memory, &there, sizeof there);
  CALL(cuMemcpyDtoH, &back, memory, sizeof back);
  CALL(cuMemFree, memory);
  CALL(cuCtxDestroy, context);
  std::printf("%d devices, %s, %d there and back, ", count, name, back);
  return 0;
}

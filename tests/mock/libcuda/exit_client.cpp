// SPDX-License-Identifier: Apache-2.0
// Exits while its threads are in the driver, and calls the driver from an object that outlives main().
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

void *library;

template <class Function>
Function find(const char *symbol) {
  void *const function = dlsym(library, symbol);
  if (function == nullptr) std::abort();
  return reinterpret_cast<Function>(function);
}

void check(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: %d\n", what, static_cast<int>(result));
  std::fflush(stdout);
  std::_Exit(1);
}

// After the driver's own exit handler each call returns CUDA_ERROR_DEINITIALIZED and has no effect. Measured
// on driver 580.
void check_ended(CUresult result, const char *what) {
  check(result == CUDA_ERROR_DEINITIALIZED ? CUDA_SUCCESS
        : result == CUDA_SUCCESS           ? CUDA_ERROR_UNKNOWN
                                           : result,
        what);
}

// Constructed before the driver is opened, so it is destroyed after everything that the driver registers.
struct Last {
  ~Last() {
    if (library == nullptr) return;
    CUdeviceptr memory = 0;
    check_ended(find<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(context), "set current");
    check_ended(find<CUresult (*)(CUdeviceptr *, std::size_t)>("cuMemAlloc_v2")(&memory, 64), "allocate");
    check_ended(find<CUresult (*)(CUdeviceptr)>("cuMemFree_v2")(memory), "free");
    std::printf("answered at the end\n");
  }
  CUcontext context = nullptr;
};

Last last;
std::atomic<int> threads{0}, rounds{0};

void work() {
  check(find<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(last.context), "set current");
  CUstream stream;
  CUdeviceptr memory;
  check(find<CUresult (*)(CUstream *, unsigned)>("cuStreamCreate")(&stream, 0), "stream");
  check(find<CUresult (*)(CUdeviceptr *, std::size_t)>("cuMemAlloc_v2")(&memory, 64), "allocate");
  const auto set = find<CUresult (*)(CUdeviceptr, unsigned char, std::size_t, CUstream)>("cuMemsetD8Async");
  const auto synchronize = find<CUresult (*)(CUstream)>("cuStreamSynchronize");
  ++threads;
  for (;;) {
    for (const CUresult result : {set(memory, 1, 64, stream), synchronize(stream)})
      if (result != CUDA_ERROR_DEINITIALIZED) check(result, "work");
    ++rounds;
  }
}

}  // namespace

int main() {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return std::printf("%s\n", dlerror()), 1;
  check(find<CUresult (*)(unsigned)>("cuInit")(0), "init");
  check(find<CUresult (*)(CUcontext *, CUdevice)>("cuDevicePrimaryCtxRetain")(&last.context, 0), "retain");
  for (int i = 0; i < 3; ++i) std::thread(work).detach();
  while (threads < 3 || rounds < 100) std::this_thread::yield();
  return 0;
}

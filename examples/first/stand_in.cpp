// SPDX-License-Identifier: Apache-2.0
#include "stand_in.hpp"

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

// See first.cpp: the example calls the first ABI.
#undef cuEventElapsedTime

namespace first {
namespace {

struct Event {
  bool recorded = false;
  timespec time = {};
};

Event *as_event(CUevent event) { return reinterpret_cast<Event *>(event); }

// Streams and contexts have no state here; their handles only have to be different from null.
char the_stream;
char the_context;

void *as_host(CUdeviceptr pointer) { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(pointer)); }

// ---- The calls, each with the type of its entry point -----------------------------------------------

CUresult CUDAAPI device_get(CUdevice *device, int number) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (number != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI device_get_name(char *name, int capacity, CUdevice) {
  if (name == nullptr || capacity <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<std::size_t>(capacity), "host memory");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI primary_context_retain(CUcontext *context, CUdevice) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = reinterpret_cast<CUcontext>(&the_context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI primary_context_release(CUdevice) { return CUDA_SUCCESS; }

CUresult CUDAAPI context_set_current(CUcontext) { return CUDA_SUCCESS; }

CUresult CUDAAPI allocate_host(void **pointer, std::size_t size) {
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  *pointer = std::malloc(size);
  return *pointer == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI free_host(void *pointer) {
  std::free(pointer);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI allocate(CUdeviceptr *pointer, std::size_t size) {
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  void *memory = std::malloc(size);
  *pointer = reinterpret_cast<std::uintptr_t>(memory);
  return memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI free_device(CUdeviceptr pointer) { return free_host(as_host(pointer)); }

CUresult CUDAAPI copy_to_device(CUdeviceptr target, const void *source, std::size_t size, CUstream) {
  std::memcpy(as_host(target), source, size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI copy_to_host(void *target, CUdeviceptr source, std::size_t size, CUstream) {
  std::memcpy(target, as_host(source), size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI stream_create(CUstream *stream, unsigned) {
  if (stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *stream = reinterpret_cast<CUstream>(&the_stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI stream_destroy(CUstream) { return CUDA_SUCCESS; }

CUresult CUDAAPI event_create(CUevent *event, unsigned) {
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *event = reinterpret_cast<CUevent>(new Event);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI event_record(CUevent event, CUstream) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  as_event(event)->recorded = true;
  clock_gettime(CLOCK_MONOTONIC, &as_event(event)->time);
  return CUDA_SUCCESS;
}

// What was recorded is done: streams run at once.
CUresult CUDAAPI event_synchronize(CUevent event) {
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult CUDAAPI event_elapsed(float *milliseconds, CUevent start, CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (start == nullptr || end == nullptr || !as_event(start)->recorded || !as_event(end)->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  const timespec from = as_event(start)->time;
  const timespec to = as_event(end)->time;
  *milliseconds = static_cast<float>(static_cast<double>(to.tv_sec - from.tv_sec) * 1e3 +
                                     static_cast<double>(to.tv_nsec - from.tv_nsec) / 1e6);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI event_destroy(CUevent event) {
  delete as_event(event);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// ---- Which symbols they serve -----------------------------------------------------------------------

struct Served {
  std::string_view symbol;
  void (*function)();
};

// The compiler checks each function against the type that the table has for the entry.
#define SERVES(symbol, function)                                                                      \
  Served {                                                                                            \
    cushim::detail::symbols[static_cast<int>(cushim::Entry::symbol)],                                 \
        reinterpret_cast<void (*)()>(static_cast<decltype(CushimDriver::symbol)::Function>(function)) \
  }

const Served served[] = {
    SERVES(cuDeviceGet, device_get),
    SERVES(cuDeviceGetName, device_get_name),
    SERVES(cuDevicePrimaryCtxRetain, primary_context_retain),
    SERVES(cuDevicePrimaryCtxRelease, primary_context_release),
    SERVES(cuCtxSetCurrent, context_set_current),
    SERVES(cuMemAllocHost, allocate_host),
    SERVES(cuMemFreeHost, free_host),
    SERVES(cuMemAlloc, allocate),
    SERVES(cuMemFree, free_device),
    SERVES(cuMemcpyHtoDAsync, copy_to_device),
    SERVES(cuMemcpyDtoHAsync, copy_to_host),
    SERVES(cuStreamCreate, stream_create),
    SERVES(cuStreamDestroy, stream_destroy),
    SERVES(cuEventCreate, event_create),
    SERVES(cuEventRecord, event_record),
    SERVES(cuEventSynchronize, event_synchronize),
    SERVES(cuEventElapsedTime, event_elapsed),
    SERVES(cuEventDestroy, event_destroy),
};

void (*find(void *, const char *symbol))() {
  for (const Served &entry : served)
    if (entry.symbol == symbol) return entry.function;
  return nullptr;
}

cushim::Driver &make() {
  char name[96];
  std::snprintf(name, sizeof name, "stand-in driver (no GPU; serves %zu calls of the first example)",
                sizeof served / sizeof served[0]);
  return cushim::Driver::from_functions(name, CUDA_VERSION, find);
}

}  // namespace

cushim::Driver &stand_in() {
  static cushim::Driver &driver = make();
  return driver;
}

}  // namespace first

// SPDX-License-Identifier: Apache-2.0
// A first program: copies memory to the device and back on a stream, and measures the time with two events.
// It links no CUDA library. Without a usable driver it prints the reason and continues with a simulated
// driver. That is a choice of this program; cushim never does it on its own.
#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

// In the CUDA 13 headers this name means the ABI that CUDA 12.8 introduced. The first ABI does the same for
// events with timing enabled, and every driver has it.
#undef cuEventElapsedTime

// Exits with the name of the call if it failed.
static void check(CUresult result, const char *call) {
  if (result == CUDA_SUCCESS) return;
  const char *name = nullptr;
  if (cushim::driver().cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "no name";
  std::fprintf(stderr, "%s failed: %d (%s)\n", call, static_cast<int>(result), name);
  std::exit(EXIT_FAILURE);
}

// Calls an entry point of the current driver: CALL(cuInit, 0).
#define CALL(function, ...) check(cushim::driver().function(__VA_ARGS__), #function)

int main() {
  // Finds the driver, resolves its entry points and initializes it. Returns a value instead of throwing, so
  // that a program that works without a GPU can continue.
  const cushim::Loaded loaded = cushim::load({.initialize = true});
  std::optional<cushim::sim::Machine> machine;
  std::optional<cushim::ScopedDriver> scope;
  if (!loaded) {
    std::printf("%s\nGoing on with a SIMULATED device.\n\n", loaded.diagnosis.text().c_str());
    machine.emplace();
    scope.emplace(machine->driver());  // until the end of main, all calls below go to the simulated driver
    CALL(cuInit, 0);
  }

  CUdevice device;
  CUcontext context;
  char name[256] = "";
  CALL(cuDeviceGet, &device, 0);
  CALL(cuDeviceGetName, name, sizeof name, device);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);

  // Pinned host memory: copies run at full speed and asynchronously to the host.
  constexpr std::size_t size = std::size_t{64} << 20;
  void *source;
  void *target;
  CUdeviceptr on_device;
  CALL(cuMemAllocHost, &source, size);
  CALL(cuMemAllocHost, &target, size);
  CALL(cuMemAlloc, &on_device, size);
  for (std::size_t i = 0; i < size; ++i)
    static_cast<unsigned char *>(source)[i] = static_cast<unsigned char>(i % 251);
  std::memset(target, 0, size);

  CUstream stream;
  CUevent start;
  CUevent end;
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CALL(cuEventCreate, &start, CU_EVENT_DEFAULT);
  CALL(cuEventCreate, &end, CU_EVENT_DEFAULT);

  // These four calls only queue operations; the stream executes them in order.
  CALL(cuEventRecord, start, stream);
  CALL(cuMemcpyHtoDAsync, on_device, source, size, stream);
  CALL(cuMemcpyDtoHAsync, target, on_device, size, stream);
  CALL(cuEventRecord, end, stream);

  CALL(cuEventSynchronize, end);
  float milliseconds = 0;
  CALL(cuEventElapsedTime, &milliseconds, start, end);
  const bool same = std::memcmp(source, target, size) == 0;

  CALL(cuEventDestroy, end);
  CALL(cuEventDestroy, start);
  CALL(cuStreamDestroy, stream);
  CALL(cuMemFree, on_device);
  CALL(cuMemFreeHost, target);
  CALL(cuMemFreeHost, source);
  CALL(cuDevicePrimaryCtxRelease, device);

  const std::string driver(cushim::driver()->name());
  std::printf("Ran on: %s\nDevice: %s\n", driver.c_str(), name);
  std::printf("%zu MiB there and back in %.3f ms%s (%.2f GB/s each way): %s\n", size >> 20, milliseconds,
              machine ? " of virtual time" : "", 2 * static_cast<double>(size) / milliseconds / 1e6,
              same ? "arrived unchanged" : "failed, bytes differ");
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

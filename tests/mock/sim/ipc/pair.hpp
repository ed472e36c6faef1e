// SPDX-License-Identifier: Apache-2.0
// Common parts of the processes of these tests.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <cushim/testing.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "support/need.hpp"

namespace cushim::processes {

// Defined if the program needs descriptors: the undefined behaviour sanitizer opens a pipe whenever it
// inspects the type of an object.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUSHIM_NEEDS_DESCRIPTORS
#endif
#endif
#ifdef CUSHIM_NEEDS_DESCRIPTORS
inline constexpr bool kNeedsDescriptors = true;
#else
inline constexpr bool kNeedsDescriptors = false;
#endif

using testing::Channel;
using testing::Child;

inline constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

using test::need;

// Returns the number of open file descriptors of this process, and of entries that do not change.
inline int open_files() {
  int count = 0;
  DIR *const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

inline CUstream begin() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  need(driver().cuInit(0));
  need(driver().cuDevicePrimaryCtxRetain(&context, 0));
  need(driver().cuCtxSetCurrent(context));
  need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

inline constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// Exports physical memory or a multicast object. Returns a descriptor that exec does not close.
inline int exported(CUmemGenericAllocationHandle object) {
  int file = -1;
  need(driver().cuMemExportToShareableHandle(&file, object, kDescriptor, 0));
  if (fcntl(file, F_SETFD, 0) != 0) throw std::runtime_error("F_SETFD failed");
  return file;
}
inline CUresult import(CUmemGenericAllocationHandle *object, int file) {
  return driver().cuMemImportFromShareableHandle(object, reinterpret_cast<void *>(std::intptr_t{file}),
                                                 kDescriptor);
}

// The handles that an exporter sends: memory, an event that the exporter records, and one that the importer
// records.
struct Handles {
  CUipcMemHandle memory;
  CUipcEventHandle there, back;
};

struct Exported {
  explicit Exported(std::size_t bytes = 4096) {
    need(driver().cuMemAlloc(&memory, bytes));
    need(driver().cuEventCreate(&there, kShared));
    need(driver().cuEventCreate(&back, kShared));
    need(driver().cuIpcGetMemHandle(&handles.memory, memory));
    need(driver().cuIpcGetEventHandle(&handles.there, there));
    need(driver().cuIpcGetEventHandle(&handles.back, back));
  }
  CUdeviceptr memory = 0;
  CUevent there = nullptr, back = nullptr;
  Handles handles{};
};

}  // namespace cushim::processes

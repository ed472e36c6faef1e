// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"

namespace arguments {
namespace {

// The descriptor is not that of a file: which files the process has open would change the answer.
CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory_without_file() {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = -1;
  description.size = 4096;
  return description;
}

CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC semaphore_without_file() {
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = -1;
  return description;
}

}  // namespace

void add_external_calls(Calls &calls) {
  CALL(cuImportExternalMemory, o.hidden<CUexternalMemory>(), o.in(memory_without_file()));
  CALL(cuImportExternalSemaphore, o.hidden<CUexternalSemaphore>(), o.in(semaphore_without_file()));
}

}  // namespace arguments

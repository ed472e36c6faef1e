// SPDX-License-Identifier: Apache-2.0
// Memory and semaphores of other interfaces, imported by file descriptor. No statement imports a semaphore:
// on a real driver only a graphics driver makes one.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "virtual_memory.hpp"

namespace conformance {
namespace {

class ExternalMemory : public WithVirtualMemory {
 protected:
  void TearDown() override {
    if (memory_out != nullptr) driver().cuDestroyExternalMemory(memory_out);
    for (const int descriptor : opened_) close(descriptor);
    WithVirtualMemory::TearDown();
  }

 public:
  static constexpr std::size_t kBytes = 2 << 20;

  int open(int descriptor) {
    opened_.push_back(descriptor);
    return descriptor;
  }
  // A description of `bytes` bytes behind an opaque file descriptor.
  static CUDA_EXTERNAL_MEMORY_HANDLE_DESC opaque(int descriptor, std::size_t bytes = kBytes) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = descriptor;
    description.size = bytes;
    return description;
  }
  // A description of physical memory that was exported as a file descriptor.
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC exported() {
    CUmemAllocationProp properties = plain_properties();
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle memory = 0;
    NEED(driver().cuMemCreate(&memory, kBytes, &properties, 0));
    int descriptor = -1;
    NEED(driver().cuMemExportToShareableHandle(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                               0));
    NEED(driver().cuMemRelease(memory));
    return opaque(descriptor);
  }
  CUresult import(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC &description) {
    return driver().cuImportExternalMemory(&memory_out, &description);
  }

  CUexternalMemory memory_out = nullptr;
  CUexternalSemaphore semaphore_out = nullptr;

 private:
  std::vector<int> opened_;
};

STATEMENT(ExternalMemory, Needs_a_place, driver().cuImportExternalMemory(nullptr, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ExternalMemory, Needs_a_description, driver().cuImportExternalMemory(&memory_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ExternalMemory, Behind_no_file_descriptor, import(opaque(-1)), CUDA_ERROR_UNKNOWN)
STATEMENT(ExternalMemory, Behind_a_closed_file_descriptor, import(opaque(999)), CUDA_ERROR_UNKNOWN)
STATEMENT(ExternalMemory, Of_no_size, import(opaque(open(::open("/dev/null", O_RDWR)), 0)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ExternalMemory, Behind_a_device, import(opaque(open(::open("/dev/null", O_RDWR)))),
          CUDA_ERROR_UNKNOWN)
STATEMENT(ExternalMemory, Behind_a_file_in_memory, import(opaque(open(memfd_create("memory", 0)))),
          CUDA_ERROR_UNKNOWN)
TEST_F(ExternalMemory, Of_each_type) {
  // Types 5 to 7, of Direct3D, need the flag CUDA_EXTERNAL_MEMORY_DEDICATED.
  constexpr CUresult kUnsupported = CUDA_ERROR_NOT_SUPPORTED, kInvalid = CUDA_ERROR_INVALID_VALUE;
  constexpr CUresult answers[] = {kInvalid,     CUDA_ERROR_UNKNOWN, kUnsupported, kUnsupported,
                                  kUnsupported, kInvalid,           kInvalid,     kInvalid,
                                  kUnsupported, kUnsupported,       kInvalid,     kInvalid};
  for (int type = 0; type < 12; ++type) {
    auto description = opaque(open(memfd_create("memory", 0)));
    description.type = static_cast<CUexternalMemoryHandleType>(type);
    CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
    make_context();
    EXPECT_ANSWER(import(description), answers[type]);
  }
}
TEST_F(ExternalMemory, With_an_unknown_flag) {
  auto description = opaque(open(memfd_create("memory", 0)));
  description.flags = 2;
  EXPECT_ANSWER(import(description), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ExternalMemory, With_reserved_words) {
  auto description = exported();
  description.reserved[0] = 1;
  EXPECT_ANSWER(import(description), CUDA_ERROR_INVALID_VALUE);
  close(description.handle.fd);
}
TEST_F(ExternalMemory, That_was_exported_is_imported) {
  const auto description = exported();
  EXPECT_ANSWER(import(description), CUDA_SUCCESS);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  buffer.size = kBytes;
  EXPECT_ANSWER(driver().cuExternalMemoryGetMappedBuffer(&pointer, memory_out, &buffer), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemsetD8(pointer, 3, kBytes), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFree(pointer), CUDA_SUCCESS);
  pointer = 0;
  EXPECT_ANSWER(driver().cuDestroyExternalMemory(memory_out), CUDA_SUCCESS);
  memory_out = nullptr;
}
TEST_F(ExternalMemory, That_was_exported_as_dedicated_memory) {
  auto description = exported();
  description.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
  EXPECT_ANSWER(import(description), CUDA_SUCCESS);
}
TEST_F(ExternalMemory, That_was_exported_is_imported_in_a_larger_size) {
  auto description = exported();
  description.size = 2 * kBytes;
  EXPECT_ANSWER(import(description), CUDA_SUCCESS);
  RECORD_VALUE(fcntl(description.handle.fd, F_GETFD) == -1);
}
TEST_F(ExternalMemory, Takes_over_the_file_descriptor) {
  const auto description = exported();
  NEED(import(description));
  EXPECT_VALUE(fcntl(description.handle.fd, F_GETFD) == -1, true);
}
TEST_F(ExternalMemory, Is_mapped_beyond_its_end) {
  NEED(import(exported()));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  buffer.size = 2 * kBytes;
  EXPECT_ANSWER(driver().cuExternalMemoryGetMappedBuffer(&pointer, memory_out, &buffer),
                CUDA_ERROR_INVALID_VALUE);
  buffer.size = 0;
  EXPECT_ANSWER(driver().cuExternalMemoryGetMappedBuffer(&pointer, memory_out, &buffer),
                CUDA_ERROR_INVALID_VALUE);
  buffer.size = 4096;
  buffer.offset = 4096;
  EXPECT_ANSWER(driver().cuExternalMemoryGetMappedBuffer(&pointer, memory_out, &buffer), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemFree(pointer), CUDA_SUCCESS);
  buffer.flags = 1;
  EXPECT_ANSWER(driver().cuExternalMemoryGetMappedBuffer(&pointer, memory_out, &buffer),
                CUDA_ERROR_INVALID_VALUE);
  pointer = 0;
}
TEST_F(ExternalMemory, Of_no_object) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuDestroyExternalMemory(nullptr), CUDA_ERROR_INVALID_VALUE);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  buffer.size = 4096;
  EXPECT_ANSWER(driver().cuExternalMemoryGetMappedBuffer(&pointer, nullptr, &buffer),
                CUDA_ERROR_INVALID_VALUE);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC array{};
  CUmipmappedArray levels = nullptr;
  EXPECT_ANSWER(driver().cuExternalMemoryGetMappedMipmappedArray(&levels, nullptr, &array),
                CUDA_ERROR_INVALID_VALUE);
}

// ---- Semaphores ----

using ExternalSemaphores = ExternalMemory;

STATEMENT(ExternalSemaphores, Need_a_place, driver().cuImportExternalSemaphore(nullptr, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(ExternalSemaphores, Need_a_description, driver().cuImportExternalSemaphore(&semaphore_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(ExternalSemaphores, Of_each_type) {
  const auto of_type = [](int type) {
    if (type == 0 || type == 11) return CUDA_ERROR_INVALID_VALUE;
    const bool is_descriptor = type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
                               type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    return is_descriptor ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_NOT_SUPPORTED;
  };
  for (int type = 0; type < 12; ++type) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
    description.type = static_cast<CUexternalSemaphoreHandleType>(type);
    description.handle.fd = open(memfd_create("semaphore", 0));
    EXPECT_ANSWER(driver().cuImportExternalSemaphore(&semaphore_out, &description), of_type(type));
  }
}
TEST_F(ExternalSemaphores, Behind_no_file_descriptor) {
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = -1;
  EXPECT_ANSWER(driver().cuImportExternalSemaphore(&semaphore_out, &description), CUDA_ERROR_UNKNOWN);
  description.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
  EXPECT_ANSWER(driver().cuImportExternalSemaphore(&semaphore_out, &description), CUDA_ERROR_INVALID_VALUE);
  description.flags = 1;
  EXPECT_ANSWER(driver().cuImportExternalSemaphore(&semaphore_out, &description), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ExternalSemaphores, Of_no_object_are_not_destroyed) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuDestroyExternalSemaphore(nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ExternalSemaphores, In_a_list_of_none) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuWaitExternalSemaphoresAsync(nullptr, nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuSignalExternalSemaphoresAsync(nullptr, nullptr, 1, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuWaitExternalSemaphoresAsync(nullptr, nullptr, 1, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ExternalSemaphores, Of_no_object_are_not_signalled) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS values{};
  EXPECT_ANSWER(driver().cuSignalExternalSemaphoresAsync(&semaphore_out, &values, 1, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ExternalSemaphores, Of_no_object_are_not_waited_for) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS values{};
  EXPECT_ANSWER(driver().cuWaitExternalSemaphoresAsync(&semaphore_out, &values, 1, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(ExternalSemaphores, Make_nodes_of_graphs) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  NEED(driver().cuGraphCreate(&graph, 0));
  CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal{};
  EXPECT_ANSWER(driver().cuGraphAddExternalSemaphoresSignalNode(&node, graph, nullptr, 0, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphAddExternalSemaphoresSignalNode(&node, graph, nullptr, 0, &signal),
                CUDA_SUCCESS);
  CUDA_EXT_SEM_WAIT_NODE_PARAMS wait{};
  EXPECT_ANSWER(driver().cuGraphAddExternalSemaphoresWaitNode(&node, graph, nullptr, 0, &wait), CUDA_SUCCESS);
}

}  // namespace
}  // namespace conformance

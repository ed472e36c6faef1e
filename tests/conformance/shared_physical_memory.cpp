// SPDX-License-Identifier: Apache-2.0
// Physical memory as a file descriptor, and handles that a machine may not have.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "virtual_memory.hpp"

namespace conformance {
namespace {

// Closes the file descriptors that its members return.
class SharedPhysicalMemory : public WithVirtualMemory {
 protected:
  void TearDown() override {
    if (file_out > 2) close(file_out);
    for (const int file : files_) close(file);
    WithVirtualMemory::TearDown();
  }

 public:
  int kept(int file) {
    if (file < 0) throw std::runtime_error("no file descriptor");
    files_.push_back(file);
    return file;
  }
  Handle exportable(std::size_t bytes = kGranule) { return physical(bytes, kFileDescriptor); }
  int exported(Handle memory) {
    int file = -1;
    NEED(driver().cuMemExportToShareableHandle(&file, memory, handle_type(kFileDescriptor), 0));
    return kept(file);
  }
  Handle imported(int file) {
    Handle made = 0;
    NEED(driver().cuMemImportFromShareableHandle(&made, os_handle(file), handle_type(kFileDescriptor)));
    own(made);
    return made;
  }
  static void *os_handle(int file) { return reinterpret_cast<void *>(static_cast<std::intptr_t>(file)); }
  int pipe_end() {
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    kept(ends[1]);
    return kept(ends[0]);
  }
  int memory_file(std::size_t bytes) {
    const int file = kept(memfd_create("statement", MFD_CLOEXEC));
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("no file");
    return file;
  }

  int file_out = -1;
  unsigned char fabric[64] = {};  // CUmemFabricHandle

 private:
  std::vector<int> files_;
};

const auto kFile = handle_type(kFileDescriptor);

// ---- Exporting ----

TEST_F(SharedPhysicalMemory, Is_exported) {
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file_out, exportable(), kFile, 0), CUDA_SUCCESS);
  EXPECT_VALUE(file_out >= 0, true);
}
TEST_F(SharedPhysicalMemory, Is_closed_by_exec) {
  const int descriptor_flags = fcntl(exported(exportable()), F_GETFD);
  EXPECT_VALUE(descriptor_flags >= 0, true);
  EXPECT_VALUE((descriptor_flags & FD_CLOEXEC) != 0, true);
}
TEST_F(SharedPhysicalMemory, Is_exported_as_another_file_descriptor_each_time) {
  const Handle memory = exportable();
  EXPECT_VALUE(exported(memory) != exported(memory), true);
}
TEST_F(SharedPhysicalMemory, Is_exported_without_a_context) {
  const Handle memory = exportable();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file_out, memory, kFile, 0), CUDA_SUCCESS);
}
STATEMENT(SharedPhysicalMemory, Exporting_needs_a_place,
          driver().cuMemExportToShareableHandle(nullptr, exportable(), kFile, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Is_not_exported_with_flags,
          driver().cuMemExportToShareableHandle(&file_out, exportable(), kFile, 1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Is_not_exported_as_nothing,
          driver().cuMemExportToShareableHandle(&file_out, exportable(), handle_type(0), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Is_not_exported_as_a_win32_handle,
          driver().cuMemExportToShareableHandle(&file_out, exportable(), handle_type(2), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Is_not_exported_as_a_handle_of_type_16,
          driver().cuMemExportToShareableHandle(&file_out, exportable(), handle_type(16), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Is_not_exported_as_a_fabric_handle,
          driver().cuMemExportToShareableHandle(fabric, exportable(), handle_type(kFabric), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Made_without_a_handle_type_is_not_exported,
          driver().cuMemExportToShareableHandle(&file_out, physical(), kFile, 0), CUDA_ERROR_INVALID_VALUE)
TEST_F(SharedPhysicalMemory, The_handle_0_is_not_exported) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file_out, 0, kFile, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(SharedPhysicalMemory, Released_is_not_exported) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const Handle memory = disowned(exportable());
  NEED(driver().cuMemRelease(memory));
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file_out, memory, kFile, 0), CUDA_ERROR_INVALID_VALUE);
}

// ---- Importing ----

STATEMENT(SharedPhysicalMemory, Is_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(exported(exportable())), kFile),
          CUDA_SUCCESS)
TEST_F(SharedPhysicalMemory, Imported_has_a_handle_of_its_own) {
  const Handle memory = exportable();
  EXPECT_VALUE(imported(exported(memory)) != memory, true);
}
TEST_F(SharedPhysicalMemory, Is_imported_without_a_context) {
  const int file = exported(exportable());
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemImportFromShareableHandle(&handle_out, os_handle(file), kFile), CUDA_SUCCESS);
}
TEST_F(SharedPhysicalMemory, The_file_descriptor_is_the_programs_after_importing) {
  const int file = exported(exportable());
  imported(file);
  EXPECT_VALUE(fcntl(file, F_GETFD) >= 0, true);
  EXPECT_VALUE(imported(file) != 0, true);
}
TEST_F(SharedPhysicalMemory, Imported_twice_has_two_handles) {
  const int file = exported(exportable());
  EXPECT_VALUE(imported(file) != imported(file), true);
}
TEST_F(SharedPhysicalMemory, Is_imported_through_a_duplicate_of_the_file_descriptor) {
  const int file = kept(dup(exported(exportable())));
  EXPECT_ANSWER(driver().cuMemImportFromShareableHandle(&handle_out, os_handle(file), kFile), CUDA_SUCCESS);
}
TEST_F(SharedPhysicalMemory, Is_imported_after_its_release) {
  const Handle memory = disowned(exportable());
  const int file = exported(memory);
  NEED(driver().cuMemRelease(memory));
  EXPECT_ANSWER(driver().cuMemImportFromShareableHandle(&handle_out, os_handle(file), kFile), CUDA_SUCCESS);
}
TEST_F(SharedPhysicalMemory, Of_a_file_descriptor_stays_after_its_release) {
  const Handle memory = exportable();
  const CUdeviceptr at = grant(map(range(), kGranule, memory), kGranule);
  put_device(at, pattern(64));
  const int file = exported(memory);
  NEED(driver().cuMemUnmap(at, kGranule));
  NEED(driver().cuMemRelease(disowned(memory)));
  const CUdeviceptr again = grant(map(range(), kGranule, imported(file)), kGranule);
  EXPECT_VALUE(take_device(again, 64) == pattern(64), true);
}
TEST_F(SharedPhysicalMemory, Imported_shows_the_same_bytes) {
  const Handle memory = exportable();
  const CUdeviceptr one = grant(map(range(), kGranule, memory), kGranule);
  const CUdeviceptr other = grant(map(range(), kGranule, imported(exported(memory))), kGranule);
  put_device(one + 1000, pattern(64));
  EXPECT_VALUE(take_device(other + 1000, 64) == pattern(64), true);
}
TEST_F(SharedPhysicalMemory, Imported_takes_no_free_memory) {
  const int file = exported(exportable(4 * kGranule));
  const std::size_t before = free_memory();
  imported(file);
  EXPECT_VALUE(before == free_memory(), true);
}
TEST_F(SharedPhysicalMemory, Of_a_file_descriptor_takes_memory_until_it_is_closed) {
  const Handle memory = disowned(exportable(4 * kGranule));
  NEED(driver().cuMemExportToShareableHandle(&file_out, memory, kFile, 0));
  const std::size_t before = free_memory();
  NEED(driver().cuMemRelease(memory));
  EXPECT_VALUE(before == free_memory(), true);
  close(file_out);
  file_out = -1;
  EXPECT_VALUE(free_memory() - before, 4 * kGranule);
}
TEST_F(SharedPhysicalMemory, Imported_has_the_properties_of_the_exported) {
  EXPECT_ANSWER(
      driver().cuMemGetAllocationPropertiesFromHandle(&properties_out, imported(exported(exportable()))),
      CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(properties_out.type), int{CU_MEM_ALLOCATION_TYPE_PINNED});
  EXPECT_VALUE(static_cast<int>(properties_out.location.type), int{CU_MEM_LOCATION_TYPE_DEVICE});
  EXPECT_VALUE(properties_out.location.id, 0);
  EXPECT_VALUE(static_cast<int>(properties_out.requestedHandleTypes), 0);
}
TEST_F(SharedPhysicalMemory, Imported_is_not_exported_again) {
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file_out, imported(exported(exportable())), kFile, 0),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(SharedPhysicalMemory, Imported_is_retained_with_its_own_handle) {
  const Handle memory = imported(exported(exportable()));
  const CUdeviceptr at = map(range(), kGranule, memory);
  EXPECT_ANSWER(driver().cuMemRetainAllocationHandle(&handle_out, reinterpret_cast<void *>(at)),
                CUDA_SUCCESS);
  EXPECT_VALUE(handle_out == memory, true);
}

// ---- Importing what is not memory ----

STATEMENT(SharedPhysicalMemory, Importing_needs_a_place,
          driver().cuMemImportFromShareableHandle(nullptr, os_handle(exported(exportable())), kFile),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Is_not_imported_as_nothing,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(exported(exportable())),
                                                  handle_type(0)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, Is_not_imported_as_a_win32_handle,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(exported(exportable())),
                                                  handle_type(2)),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(SharedPhysicalMemory, Is_not_imported_as_a_handle_of_type_16,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(exported(exportable())),
                                                  handle_type(16)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, The_file_descriptor_minus_1_is_not_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(-1), kFile), CUDA_ERROR_UNKNOWN)
STATEMENT(SharedPhysicalMemory, A_file_descriptor_that_is_not_open_is_not_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(1000), kFile), CUDA_ERROR_UNKNOWN)
STATEMENT(SharedPhysicalMemory, A_pipe_is_not_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(pipe_end()), kFile),
          CUDA_ERROR_UNKNOWN)
STATEMENT(SharedPhysicalMemory, A_device_file_is_not_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(kept(open("/dev/null", O_RDWR))),
                                                  kFile),
          CUDA_ERROR_UNKNOWN)
STATEMENT(SharedPhysicalMemory, A_directory_is_not_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(kept(open("/", O_RDONLY))), kFile),
          CUDA_ERROR_UNKNOWN)
STATEMENT(SharedPhysicalMemory, A_file_of_the_program_is_not_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(memory_file(kGranule)), kFile),
          CUDA_ERROR_UNKNOWN)
STATEMENT(SharedPhysicalMemory, An_empty_file_of_the_program_is_not_imported,
          driver().cuMemImportFromShareableHandle(&handle_out, os_handle(memory_file(0)), kFile),
          CUDA_ERROR_UNKNOWN)
TEST_F(SharedPhysicalMemory, A_fabric_handle_of_zeros_is_not_imported) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemImportFromShareableHandle(&handle_out, fabric, handle_type(kFabric)),
                CUDA_ERROR_NOT_SUPPORTED);
}
TEST_F(SharedPhysicalMemory, The_machine_has_these_kinds_of_handles) {
  EXPECT_ANSWER(driver().cuDeviceGetAttribute(
                    &number, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0),
                CUDA_SUCCESS);
  EXPECT_VALUE(number, 1);
  const auto fabric_supported = static_cast<CUdevice_attribute>(128);  // named since 12.3
  EXPECT_ANSWER(driver().cuDeviceGetAttribute(&number, fabric_supported, 0), CUDA_SUCCESS);
  RECORD_VALUE(number);
  EXPECT_ANSWER(driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0),
                CUDA_SUCCESS);
  RECORD_VALUE(number);
}

// ---- A handle of an address range ----

const auto kDmaBuffer = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;

STATEMENT(SharedPhysicalMemory, A_range_handle_of_mapped_memory,
          driver().cuMemGetHandleForAddressRange(&file_out, accessible(), kGranule, kDmaBuffer, 0),
          CUDA_SUCCESS)
STATEMENT(SharedPhysicalMemory, A_range_handle_of_allocated_memory,
          driver().cuMemGetHandleForAddressRange(&file_out, memory(kGranule), kGranule, kDmaBuffer, 0),
          CUDA_SUCCESS)
STATEMENT(SharedPhysicalMemory, A_range_handle_needs_a_place,
          driver().cuMemGetHandleForAddressRange(nullptr, accessible(), kGranule, kDmaBuffer, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, A_range_handle_of_no_bytes,
          driver().cuMemGetHandleForAddressRange(&file_out, accessible(), 0, kDmaBuffer, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, A_range_handle_of_a_byte,
          driver().cuMemGetHandleForAddressRange(&file_out, accessible(), 1, kDmaBuffer, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, A_range_handle_of_null,
          driver().cuMemGetHandleForAddressRange(&file_out, 0, kGranule, kDmaBuffer, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, A_range_handle_of_the_stack,
          driver().cuMemGetHandleForAddressRange(&file_out, address_of(&number), 4096, kDmaBuffer, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, A_range_handle_of_an_unknown_type,
          driver().cuMemGetHandleForAddressRange(&file_out, accessible(), kGranule,
                                                 static_cast<CUmemRangeHandleType>(99), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(SharedPhysicalMemory, A_range_handle_with_unknown_flags,
          driver().cuMemGetHandleForAddressRange(&file_out, accessible(), kGranule, kDmaBuffer, 1 << 20),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(SharedPhysicalMemory, A_range_handle_without_a_context) {
  const CUdeviceptr at = accessible();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemGetHandleForAddressRange(&file_out, at, kGranule, kDmaBuffer, 0),
                CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace conformance

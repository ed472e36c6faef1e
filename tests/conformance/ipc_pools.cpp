// SPDX-License-Identifier: Apache-2.0
// Memory pools that processes share by file descriptors, and pointers to their memory.
#include <fcntl.h>
#include <unistd.h>

#include "ipc.hpp"
#include "pools.hpp"

namespace conformance {
namespace {

const auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void *os_handle(int file) { return reinterpret_cast<void *>(static_cast<std::intptr_t>(file)); }

class IpcPools : public WithIpc<OnPools> {
 protected:
  void TearDown() override {
    if (file_out >= 0) close(file_out);
    for (const int file : files_) close(file);
    OnPools::TearDown();
  }

 public:
  CUmemoryPool exportable_pool(CUmemLocationType location = CU_MEM_LOCATION_TYPE_DEVICE) {
    auto properties = properties_of(location);
    properties.handleTypes = kFile;
    return pool(properties);
  }
  // Returns a file descriptor that exec does not close.
  int exported(CUmemoryPool pool) {
    int file = -1;
    NEED(driver().cuMemPoolExportToShareableHandle(&file, pool, kFile, 0));
    files_.push_back(file);
    fcntl(file, F_SETFD, 0);
    return file;
  }
  CUmemoryPool imported(int file) {
    CUmemoryPool made = nullptr;
    NEED(driver().cuMemPoolImportFromShareableHandle(&made, os_handle(file), kFile, 0));
    return made;
  }
  // Returns memory of an exported pool that begins with this byte.
  CUdeviceptr filled(CUmemoryPool pool, unsigned char byte, std::size_t bytes = 4096) {
    const CUdeviceptr at = synchronized_from(pool, bytes);
    NEED(driver().cuMemsetD8(at, byte, bytes));
    NEED(driver().cuCtxSynchronize());
    return at;
  }
  CUmemPoolPtrExportData data_of(CUdeviceptr at) {
    NEED(driver().cuMemPoolExportPointer(&data, at));
    return data;
  }
  // Runs a process that imports a pool and a pointer to memory of the pool, and sends its result.
  template <class Result>
  Result result_of(const char *importer, int file, CUdeviceptr at) {
    Child child(importer);
    child.send(file);
    child.send(data_of(at));
    const auto result = child.receive<Result>();
    EXPECT_EQ(child.wait(), 0);
    return result;
  }

  int file_out = -1;
  CUmemPoolPtrExportData data{};

 private:
  std::vector<int> files_;
};

// ---- Exporting and importing ----

STATEMENT(IpcPools, Are_exported,
          driver().cuMemPoolExportToShareableHandle(&file_out, exportable_pool(), kFile, 0), CUDA_SUCCESS)
TEST_F(IpcPools, Are_exported_as_another_file_descriptor_each_time) {
  const CUmemoryPool pool = exportable_pool();
  EXPECT_VALUE(exported(pool) != exported(pool), true);
}
STATEMENT(IpcPools, Exporting_needs_a_place,
          driver().cuMemPoolExportToShareableHandle(nullptr, exportable_pool(), kFile, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, Null_is_not_exported,
          driver().cuMemPoolExportToShareableHandle(&file_out, nullptr, kFile, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, Are_not_exported_with_flags,
          driver().cuMemPoolExportToShareableHandle(&file_out, exportable_pool(), kFile, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, Are_not_exported_as_nothing,
          driver().cuMemPoolExportToShareableHandle(&file_out, exportable_pool(), CU_MEM_HANDLE_TYPE_NONE, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, Without_handle_types_are_not_exported,
          driver().cuMemPoolExportToShareableHandle(&file_out, pool(), kFile, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, Of_the_default_are_not_exported,
          driver().cuMemPoolExportToShareableHandle(&file_out, default_pool(), kFile, 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(IpcPools, Are_imported_by_their_own_process) {
  const CUmemoryPool pool = exportable_pool();
  CUmemoryPool other = nullptr;
  EXPECT_ANSWER(driver().cuMemPoolImportFromShareableHandle(&other, os_handle(exported(pool)), kFile, 0),
                CUDA_SUCCESS);
  EXPECT_VALUE(other == pool, false);
  EXPECT_ANSWER(driver().cuMemPoolDestroy(other), CUDA_SUCCESS);
}
STATEMENT(IpcPools, Importing_needs_a_place,
          driver().cuMemPoolImportFromShareableHandle(nullptr, os_handle(exported(exportable_pool())), kFile,
                                                      0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, Are_not_imported_with_flags,
          driver().cuMemPoolImportFromShareableHandle(&pool_out, os_handle(exported(exportable_pool())),
                                                      kFile, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, Are_not_imported_as_nothing,
          driver().cuMemPoolImportFromShareableHandle(&pool_out, os_handle(exported(exportable_pool())),
                                                      CU_MEM_HANDLE_TYPE_NONE, 0),
          CUDA_ERROR_INVALID_VALUE)

// ---- Pointers ----

STATEMENT(IpcPools, Exporting_a_pointer_needs_a_place, driver().cuMemPoolExportPointer(nullptr, pointer),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, A_pointer_of_null_is_not_exported, driver().cuMemPoolExportPointer(&data, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, A_pointer_to_allocated_memory_is_not_exported,
          driver().cuMemPoolExportPointer(&data, memory()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, A_pointer_to_memory_of_a_pool_without_handle_types_is_not_exported,
          driver().cuMemPoolExportPointer(&data, synchronized_from(pool())), CUDA_ERROR_INVALID_VALUE)
STATEMENT(IpcPools, A_pointer_to_memory_of_a_pool_that_was_not_exported_is_not_exported,
          driver().cuMemPoolExportPointer(&data, synchronized_from(exportable_pool())),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(IpcPools, A_pointer_is_exported_but_no_interior_pointer) {
  const CUmemoryPool pool = exportable_pool();
  exported(pool);
  const CUdeviceptr at = synchronized_from(pool);
  EXPECT_ANSWER(driver().cuMemPoolExportPointer(&data, at + 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuMemPoolExportPointer(&data, at), CUDA_SUCCESS);
}
TEST_F(IpcPools, A_pointer_to_freed_memory_is_not_exported) {
  const CUmemoryPool pool = exportable_pool();
  exported(pool);
  const CUstream work = stream();
  const CUdeviceptr at = from(pool, 4096, work);
  NEED(driver().cuMemFreeAsync(at, work));
  EXPECT_ANSWER(driver().cuMemPoolExportPointer(&data, at), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(IpcPools, A_pointer_is_not_imported_from_the_exporting_pool) {
  const CUmemoryPool pool = exportable_pool();
  exported(pool);
  data_of(synchronized_from(pool));
  EXPECT_ANSWER(driver().cuMemPoolImportPointer(&pointer, pool, &data), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(IpcPools, A_pointer_imported_by_its_own_process_is_another_one) {
  const CUmemoryPool pool = exportable_pool(), other = imported(exported(pool));
  const CUdeviceptr at = filled(pool, 7);
  data_of(at);
  CUdeviceptr there = 0;
  unsigned char byte = 0;
  EXPECT_ANSWER(driver().cuMemPoolImportPointer(&there, other, &data), CUDA_SUCCESS);
  EXPECT_VALUE(there == at, false);
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&byte, there, 1), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(byte), 7);
  EXPECT_ANSWER(driver().cuMemFree(there), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemPoolDestroy(other), CUDA_SUCCESS);
}

// ---- In another process ----

struct Imported {
  CUresult import, allocate, make_current, import_pointer, read, write, free, destroy;
  int byte;
  bool is_of_pool;
};
CUSHIM_CHILD(importer_of_a_pool) {
  make_context();
  const int file = parent.receive<int>();
  auto data = parent.receive<CUmemPoolPtrExportData>();
  Imported result{};
  CUmemoryPool pool = nullptr, of = nullptr;
  CUdeviceptr at = 0, other = 0;
  CUstream work = nullptr;
  unsigned char byte = 0;
  NEED(driver().cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  result.import = driver().cuMemPoolImportFromShareableHandle(&pool, os_handle(file), kFile, 0);
  result.allocate = driver().cuMemAllocFromPoolAsync(&other, 4096, pool, work);
  result.make_current = driver().cuDeviceSetMemPool(0, pool);
  result.import_pointer = driver().cuMemPoolImportPointer(&at, pool, &data);
  result.read = driver().cuMemcpyDtoH(&byte, at, 1);
  result.byte = byte;
  NEED(driver().cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
  result.is_of_pool = of == pool;
  result.write = driver().cuMemsetD8(at, 9, 4096);
  NEED(driver().cuCtxSynchronize());
  result.free = driver().cuMemFreeAsync(at, work);
  NEED(driver().cuStreamSynchronize(work));
  result.destroy = driver().cuMemPoolDestroy(pool);
  parent.send(result);
}
TEST_F(IpcPools, Are_used_by_another_process) {
  const CUmemoryPool pool = exportable_pool();
  const int file = exported(pool);
  const CUdeviceptr at = filled(pool, 5);
  const auto result = result_of<Imported>("importer_of_a_pool", file, at);
  EXPECT_ANSWER(result.import, CUDA_SUCCESS);
  EXPECT_ANSWER(result.allocate, CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(result.make_current, CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(result.import_pointer, CUDA_SUCCESS);
  EXPECT_ANSWER(result.read, CUDA_SUCCESS);
  EXPECT_VALUE(result.byte, 5);
  EXPECT_VALUE(result.is_of_pool, true);
  EXPECT_ANSWER(result.write, CUDA_SUCCESS);
  EXPECT_ANSWER(result.free, CUDA_SUCCESS);
  EXPECT_ANSWER(result.destroy, CUDA_SUCCESS);
  unsigned char byte = 0;
  EXPECT_ANSWER(driver().cuMemcpyDtoH(&byte, at + 4095, 1), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(byte), 9);
  EXPECT_VALUE(used(pool), 4096ull);
}

// ---- Host memory ----

STATEMENT(IpcPools, Of_a_numa_node_are_exported,
          driver().cuMemPoolExportToShareableHandle(&file_out, exportable_pool(kLocationHostNuma), kFile, 0),
          CUDA_SUCCESS)
TEST_F(IpcPools, Of_a_numa_node_are_imported_by_their_own_process) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const CUmemoryPool pool = exportable_pool(kLocationHostNuma), other = imported(exported(pool));
  const CUdeviceptr at = synchronized_from(pool);
  *reinterpret_cast<unsigned char *>(at) = 7;
  CUdeviceptr there = 0;
  data_of(at);
  EXPECT_ANSWER(driver().cuMemPoolImportPointer(&there, other, &data), CUDA_SUCCESS);
  EXPECT_VALUE(there == at, false);
  EXPECT_VALUE(static_cast<int>(*reinterpret_cast<unsigned char *>(there)), 7);
  EXPECT_ANSWER(driver().cuMemFree(there), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemPoolDestroy(other), CUDA_SUCCESS);
}

struct ImportedOnHost {
  CUresult import, import_pointer, free, destroy;
  int byte, type;
};
CUSHIM_CHILD(importer_of_a_host_pool) {
  make_context();
  const int file = parent.receive<int>();
  auto data = parent.receive<CUmemPoolPtrExportData>();
  ImportedOnHost result{};
  CUmemoryPool pool = nullptr;
  CUdeviceptr at = 0;
  result.import = driver().cuMemPoolImportFromShareableHandle(&pool, os_handle(file), kFile, 0);
  result.import_pointer = driver().cuMemPoolImportPointer(&at, pool, &data);
  NEED(result.import_pointer);
  auto *const bytes = reinterpret_cast<unsigned char *>(at);
  result.byte = bytes[0];
  bytes[4095] = 9;
  NEED(driver().cuPointerGetAttribute(&result.type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
  result.free = driver().cuMemFree(at);
  result.destroy = driver().cuMemPoolDestroy(pool);
  parent.send(result);
}
TEST_F(IpcPools, Of_a_numa_node_are_used_by_the_host_of_another_process) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const CUmemoryPool pool = exportable_pool(kLocationHostNuma);
  const int file = exported(pool);
  const CUdeviceptr at = synchronized_from(pool);
  auto *const bytes = reinterpret_cast<unsigned char *>(at);
  bytes[0] = 5;
  const auto result = result_of<ImportedOnHost>("importer_of_a_host_pool", file, at);
  EXPECT_ANSWER(result.import, CUDA_SUCCESS);
  EXPECT_ANSWER(result.import_pointer, CUDA_SUCCESS);
  EXPECT_VALUE(result.byte, 5);
  EXPECT_VALUE(result.type, int{CU_MEMORYTYPE_HOST});
  EXPECT_ANSWER(result.free, CUDA_SUCCESS);
  EXPECT_ANSWER(result.destroy, CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(bytes[4095]), 9);
}

}  // namespace
}  // namespace conformance

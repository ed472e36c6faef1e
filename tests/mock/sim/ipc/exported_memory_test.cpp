// SPDX-License-Identifier: Apache-2.0
// Physical memory that processes share by file descriptors.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "pair.hpp"
#include "support/mapped_memory.hpp"
#include "support/ptx_header.hpp"
#include "support/structures.hpp"

namespace cushim::processes {
namespace {

constexpr std::size_t kGranule = 2 << 20;

CUmemAllocationProp properties() {
  CUmemAllocationProp made = {};
  made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  made.requestedHandleTypes = kDescriptor;
  return made;
}

CUmemGenericAllocationHandle exportable(CUmemLocationType location = CU_MEM_LOCATION_TYPE_DEVICE) {
  CUmemAllocationProp of = properties();
  of.location.type = location;
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMemCreate(&made, 2 * kGranule, &of, 0));
  return made;
}

CUdeviceptr map(CUmemGenericAllocationHandle memory,
                CUmemLocationType accessor = CU_MEM_LOCATION_TYPE_DEVICE) {
  CUmemAccessDesc access = test::full_access();
  access.location.type = accessor;
  return test::map(memory, 2 * kGranule, access);
}

struct ExportedWord {
  CUmemGenericAllocationHandle memory;
  CUdeviceptr at;
  int file;
};
// Exports mapped memory that begins with a word.
ExportedWord export_word(unsigned value) {
  const CUmemGenericAllocationHandle memory = exportable();
  const CUdeviceptr at = map(memory);
  need(driver().cuMemsetD32(at, value, 1));
  return {memory, at, exported(memory)};
}

unsigned word_at(CUdeviceptr address) {
  unsigned word = 0;
  need(driver().cuMemcpyDtoH(&word, address, sizeof word));
  return word;
}

// Imports an inherited descriptor, sends the word at its start, and writes one at its end.
CUSHIM_CHILD(imports_memory) {
  begin();
  CUmemGenericAllocationHandle memory = 0;
  const CUresult code = import(&memory, parent.receive<int>());
  parent.send(code);
  if (code != CUDA_SUCCESS) return;
  const CUdeviceptr at = map(memory);
  parent.send(word_at(at));
  parent.send(word_at(at + kGranule));
  need(driver().cuMemsetD32(at + 2 * kGranule - 4, 8, 1));
  need(driver().cuCtxSynchronize());
  parent.send(true);
}

TEST(ExportedMemory, Shows_the_same_bytes_in_another_process) {
  begin();
  const auto [memory, at, file] = export_word(7);
  Child child("imports_memory");
  child.send(file);
  EXPECT_EQ(child.receive<CUresult>(), CUDA_SUCCESS);
  EXPECT_EQ(child.receive<unsigned>(), 7u);
  EXPECT_EQ(child.receive<unsigned>(), word_at(at + kGranule + 64)) << "not poisoned";
  child.receive<bool>();
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(word_at(at + 2 * kGranule - 4), 8u);
  close(file);
}

TEST(ExportedMemory, Is_imported_after_its_release) {
  begin();
  const auto [memory, at, file] = export_word(9);
  need(driver().cuMemUnmap(at, 2 * kGranule));
  need(driver().cuMemRelease(memory));
  Child child("imports_memory");
  child.send(file);
  EXPECT_EQ(child.receive<CUresult>(), CUDA_SUCCESS);
  EXPECT_EQ(child.receive<unsigned>(), 9u);
  EXPECT_EQ(child.receive<unsigned>() != 9u, true);
  child.receive<bool>();
  EXPECT_EQ(child.wait(), 0);
  close(file);
}

// Waits in a stream for a word that the parent writes.
CUSHIM_CHILD(waits_for_a_word) {
  const CUstream stream = begin();
  CUmemGenericAllocationHandle memory = 0;
  need(import(&memory, parent.receive<int>()));
  need(driver().cuStreamWaitValue32(stream, map(memory), 5, CU_STREAM_WAIT_VALUE_EQ));
  parent.send(true);
  parent.send(driver().cuStreamSynchronize(stream));
}

TEST(ExportedMemory, Is_waited_for_until_another_process_writes_it) {
  begin();
  const auto [memory, at, file] = export_word(0);
  Child child("waits_for_a_word");
  child.send(file);
  child.receive<bool>();
  need(driver().cuMemsetD32(at, 5, 1));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(child.receive<CUresult>(), CUDA_SUCCESS);
  EXPECT_EQ(child.wait(), 0);
  close(file);
}

#if CUDA_VERSION >= 12020

CUSHIM_CHILD(imports_host_memory) {
  begin();
  CUmemGenericAllocationHandle memory = 0;
  need(import(&memory, parent.receive<int>()));
  auto *const words = reinterpret_cast<unsigned *>(map(memory, CU_MEM_LOCATION_TYPE_HOST));
  parent.send(words[0]);
  words[1] = 8;
  parent.send(true);
}

TEST(ExportedMemory, Of_a_numa_node_is_read_and_written_by_the_host_of_another_process) {
  begin();
  const CUmemGenericAllocationHandle memory = exportable(CU_MEM_LOCATION_TYPE_HOST_NUMA);
  auto *const words = reinterpret_cast<unsigned *>(map(memory, CU_MEM_LOCATION_TYPE_HOST));
  words[0] = 7;
  const int file = exported(memory);
  Child child("imports_host_memory");
  child.send(file);
  EXPECT_EQ(child.receive<unsigned>(), 7u);
  child.receive<bool>();
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(words[1], 8u);
  close(file);
}

TEST(ExportedMemory, Of_a_pool_of_a_numa_node_leaves_no_file_descriptor) {
  const CUstream stream = begin();
  CUmemPoolProps of = test::pool_of_device(0, kDescriptor);
  of.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  const auto share = [&] {
    CUmemoryPool pool = nullptr, imported = nullptr;
    CUdeviceptr at = 0, there = 0;
    CUmemPoolPtrExportData data;
    int file = -1;
    need(driver().cuMemPoolCreate(&pool, &of));
    need(driver().cuMemAllocFromPoolAsync(&at, 4096, pool, stream));
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuMemPoolExportToShareableHandle(&file, pool, kDescriptor, 0));
    need(driver().cuMemPoolExportPointer(&data, at));
    need(driver().cuMemPoolImportFromShareableHandle(&imported, reinterpret_cast<void *>(std::intptr_t{file}),
                                                     kDescriptor, 0));
    need(driver().cuMemPoolImportPointer(&there, imported, &data));
    *reinterpret_cast<unsigned *>(at) = 7;
    EXPECT_EQ(*reinterpret_cast<unsigned *>(there), 7u);
    need(driver().cuMemFree(there));
    need(driver().cuMemPoolDestroy(imported));
    need(driver().cuMemFreeAsync(at, stream));
    need(driver().cuStreamSynchronize(stream));
    need(driver().cuMemPoolDestroy(pool));
    close(file);
  };
  share();  // makes the table of exports
  const int files_before = open_files();
  for (int i = 0; i < 20; ++i) share();
  EXPECT_EQ(open_files(), files_before);
}

#endif

// waits: sets the first word, waits for the second one for at most 10 s, and stores it in the third word.
const char *const kWaitingKernel = CUSHIM_PTX_HEADER R"(
.visible .entry waits(.param .u64 words) {
  .reg .u64 at, now, end; .reg .u32 x; .reg .pred more;
  ld.param.u64 at, [words];
  st.volatile.u32 [at], 1;
  mov.u64 end, %globaltimer;
  add.u64 end, end, 10000000000;
again:
  ld.volatile.u32 x, [at + 4];
  mov.u64 now, %globaltimer;
  setp.lt.u64 more, now, end;
  setp.eq.and.u32 more, x, 0, more;
  @more bra again;
  st.volatile.u32 [at + 8], x;
  ret;
}
)";

TEST(ExportedMemory, Of_a_pool_is_exported_while_a_kernel_runs) {
  const CUstream stream = begin();
  const CUmemPoolProps of = test::pool_of_device(0, kDescriptor);
  CUmemoryPool pool = nullptr;
  int file = -1;
  need(driver().cuMemPoolCreate(&pool, &of));
  need(driver().cuMemPoolExportToShareableHandle(&file, pool, kDescriptor, 0));
  close(file);
  CUdeviceptr at = 0;
  need(driver().cuMemAllocFromPoolAsync(&at, 4096, pool, stream));
  void *host = nullptr;
  need(driver().cuMemAllocHost(&host, 12));
  auto *const words = static_cast<unsigned *>(host);
  std::fill_n(words, 3, 0u);
  CUmodule module = nullptr;
  CUfunction waits = nullptr;
  need(driver().cuModuleLoadData(&module, kWaitingKernel));
  need(driver().cuModuleGetFunction(&waits, module, "waits"));
  void *parameters[] = {&host};
  need(driver().cuLaunchKernel(waits, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  while (std::atomic_ref(words[0]).load() == 0) std::this_thread::yield();
  CUmemPoolPtrExportData data;
  need(driver().cuMemPoolExportPointer(&data, at));
  std::atomic_ref(words[1]).store(1);
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(words[2], 1u) << "the export waited for the kernel";
}

// A copy of an exported file, of which the caller changes some bytes or the size.
int copy_of(int file, std::size_t size) {
  struct stat status = {};
  if (fstat(file, &status) != 0) throw std::runtime_error("fstat failed");
  const auto whole = static_cast<std::size_t>(status.st_size);
  std::vector<char> bytes(whole - 2 * kGranule);
  if (pread(file, bytes.data(), bytes.size(), 2 * kGranule) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("pread failed");
  const int copy = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(copy, static_cast<off_t>(whole)) != 0 ||
      pwrite(copy, bytes.data(), bytes.size(), 2 * kGranule) != static_cast<ssize_t>(bytes.size()) ||
      ftruncate(copy, static_cast<off_t>(size == 0 ? whole : size)) != 0)
    throw std::runtime_error("the copy failed");
  return copy;
}
void seal(int file) { fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW); }

TEST(ExportedMemory, Is_not_imported_from_a_file_that_can_shrink) {
  begin();
  CUmemGenericAllocationHandle memory = 0;
  const int copy = copy_of(exported(exportable()), 0);
  EXPECT_EQ(import(&memory, copy), CUDA_ERROR_UNKNOWN);
  seal(copy);
  EXPECT_EQ(import(&memory, copy), CUDA_SUCCESS) << "the copy itself is valid";
  close(copy);
}

TEST(ExportedMemory, Is_not_imported_from_a_truncated_file) {
  begin();
  CUmemGenericAllocationHandle memory = 0;
  for (const std::size_t size : {std::size_t{1}, kGranule, 2 * kGranule, 2 * kGranule + 100}) {
    const int copy = copy_of(exported(exportable()), size);
    seal(copy);
    EXPECT_EQ(import(&memory, copy), CUDA_ERROR_UNKNOWN) << size;
    close(copy);
  }
}

TEST(ExportedMemory, Is_not_imported_from_a_file_with_another_label) {
  begin();
  CUmemGenericAllocationHandle memory = 0;
  const int original = exported(exportable());
  struct stat status = {};
  ASSERT_EQ(fstat(original, &status), 0);
  // Changes each 8 bytes of the end of the file: the label, with its size, nonce, device and properties.
  const std::array<unsigned char, 8> wrong = {0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee};
  for (off_t back = 8; back <= 96; back += 8) {
    const int copy = copy_of(original, 0);
    ASSERT_EQ(pwrite(copy, wrong.data(), wrong.size(), status.st_size - back), 8);
    seal(copy);
    const CUresult code = import(&memory, copy);
    const bool is_refused = code == CUDA_ERROR_UNKNOWN || code == CUDA_ERROR_INVALID_VALUE;
    EXPECT_TRUE(is_refused || code == CUDA_SUCCESS) << back << ": " << code;
    close(copy);
  }
  close(original);
}

}  // namespace
}  // namespace cushim::processes

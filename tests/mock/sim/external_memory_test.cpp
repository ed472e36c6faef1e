// SPDX-License-Identifier: Apache-2.0
// External memory: what only the simulated driver does. tests/conformance has the rest.
#include "support/machine_fixture.hpp"
#include "support/structures.hpp"

namespace cushim::sim {
namespace {

constexpr std::size_t kBytes = 2 << 20;

CUmemGenericAllocationHandle exportable() {
  CUmemAllocationProp properties = test::device_memory();
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle made = 0;
  need(driver().cuMemCreate(&made, kBytes, &properties, 0));
  return made;
}

CUexternalMemory imported(CUmemGenericAllocationHandle memory) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.size = kBytes;
  need(driver().cuMemExportToShareableHandle(&description.handle.fd, memory,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUexternalMemory made = nullptr;
  need(driver().cuImportExternalMemory(&made, &description));
  return made;
}

CUdeviceptr buffer(CUexternalMemory memory, std::size_t offset, std::size_t size) {
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
  description.offset = offset;
  description.size = size;
  CUdeviceptr made = 0;
  need(driver().cuExternalMemoryGetMappedBuffer(&made, memory, &description));
  return made;
}

TEST(ExternalMemory, Has_the_bytes_of_the_exported_memory) {
  const Running running;
  const CUmemGenericAllocationHandle memory = exportable();
  const CUexternalMemory external = imported(memory);
  const CUdeviceptr whole = buffer(external, 0, kBytes), part = buffer(external, 4096, 8192);
  need(driver().cuMemsetD32(part, 7, 2048));
  EXPECT_EQ(word_at(whole + 4096), 7u);
  EXPECT_EQ(word_at(whole + 4096 + 8188), 7u);
  need(driver().cuDestroyExternalMemory(external));
  EXPECT_EQ(word_at(part), 7u) << "buffers outlive the external memory";
  need(driver().cuMemFree(part));
  need(driver().cuMemFree(whole));
  need(driver().cuMemRelease(memory));
  EXPECT_TRUE(running.machine.usage().alive.empty());
}

TEST(ExternalMemory, Is_accessed_within_its_buffers_only) {
  const Running running;
  const CUdeviceptr part = buffer(imported(exportable()), 4096, 8192);
  EXPECT_EQ(driver().cuMemsetD8(part, 1, 8193), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemsetD8(part - 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  need(driver().cuMemGetAddressRange(&base, &size, part + 5));
  EXPECT_EQ(base, part);
  EXPECT_EQ(size, 8192u);
  EXPECT_EQ(driver().cuMemFree(part + 1), CUDA_ERROR_INVALID_VALUE);
  need(driver().cuMemFree(part));
  EXPECT_EQ(driver().cuMemFree(part), CUDA_ERROR_INVALID_VALUE);
}

TEST(ExternalMemory, Has_buffers_that_are_not_mappings_of_the_program) {
  const Running running;
  const CUdeviceptr whole = buffer(imported(exportable()), 0, kBytes);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(driver().cuMemRetainAllocationHandle(&handle, reinterpret_cast<void *>(whole)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemUnmap(whole, kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemAddressFree(whole, kBytes), CUDA_ERROR_INVALID_VALUE);
}

TEST(ExternalMemory, That_is_not_freed_is_in_the_usage) {
  const Running running;
  const CUmemGenericAllocationHandle memory = exportable();
  buffer(imported(memory), 0, 4096);
  need(driver().cuMemRelease(memory));
  std::vector<std::string> alive;
  for (const Usage::Alive &one : running.machine.usage().alive) alive.push_back(one.what);
  EXPECT_EQ(alive, (std::vector<std::string>{"external memory", "buffers of external memory"}));
}

}  // namespace
}  // namespace cushim::sim

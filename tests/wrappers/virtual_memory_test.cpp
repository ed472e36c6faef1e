// SPDX-License-Identifier: Apache-2.0
// Tests virtual memory: the exact driver calls of each operation, and their arguments and results.
#include <gmock/gmock.h>

#include <fcntl.h>
#include <unistd.h>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Device device() { return Device::from_handle(3); }
PhysicalMemoryRef memory() { return PhysicalMemoryRef::from_handle(0x70); }
ReservedRange range(std::size_t size = 0x2000) { return ReservedRange::from_address(0x10000, size); }

// ---- Physical memory ---------------------------------------------------------------------------

TEST(PhysicalMemory, Creating_is_one_call_and_releasing_is_one) {
  Recording recording;
  { const auto memory = PhysicalMemory::create(device(), 0x1000); }
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemCreate(&, 4096, &, 0x0)", "cuMemRelease(0x1000)"));
}

TEST(PhysicalMemory, The_type_and_the_options_are_the_properties_of_creation) {
  Recording recording;
  CUmemAllocationProp given{};
  recording.on<Entry::cuMemCreate_v10020>([&](CUmemGenericAllocationHandle *handle, std::size_t,
                                              const CUmemAllocationProp *properties, unsigned long long) {
    given = *properties;
    *handle = 0x70;
    return CUDA_SUCCESS;
  });
  static_cast<void>(PhysicalMemory::create(device(), 0x1000).release());
  EXPECT_EQ(given.type, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(given.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(given.location.id, 3);
  EXPECT_EQ(given.requestedHandleTypes, CU_MEM_HANDLE_TYPE_NONE);
  EXPECT_EQ(given.allocFlags.gpuDirectRDMACapable, 0);
  static_cast<void>(ShareablePhysicalMemory::create(device(), 0x1000, {.gpu_direct_rdma = true}).release());
  EXPECT_EQ(given.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(given.allocFlags.gpuDirectRDMACapable, 1);
  static_cast<void>(PhysicalMemory::create_on_host_node(1, 0x1000).release());
  EXPECT_EQ(static_cast<int>(given.location.type), 3);
  EXPECT_EQ(given.location.id, 1);
}

TEST(PhysicalMemory, Queries_are_one_call_each) {
  Recording recording;
  EXPECT_EQ(PhysicalMemory::granularity(device()), 0x1000u);
  EXPECT_EQ(ShareablePhysicalMemory::granularity(device(), Granularity::recommended), 0x1000u);
  memory().properties();
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemGetAllocationGranularity(&, &, 0)", "cuMemGetAllocationGranularity(&, &, 1)",
                          "cuMemGetAllocationPropertiesFromHandle(&, 0x70)"));
}

TEST(PhysicalMemory, Is_found_by_the_address_of_its_mapping) {
  Recording recording;
  { const auto memory = PhysicalMemory::retain(DevicePtr<int>(0x10004)); }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemRetainAllocationHandle(&, 0x10004)", "cuMemRelease(0x1000)"));
}

TEST(PhysicalMemory, Errors_name_the_size_or_the_memory) {
  Recording recording;
  recording.answer(Entry::cuMemCreate, CUDA_ERROR_OUT_OF_MEMORY);
  const Error error = error_of([] { PhysicalMemory::create(device(), 0x1000); });
  EXPECT_EQ(error.code(), std::errc::not_enough_memory);
  EXPECT_THAT(error.what(), HasSubstr("bytes 4096"));
  EXPECT_EQ(error_of([] { PhysicalMemoryRef().properties(); }).result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(to_text(memory()), "physical memory 0x70");
}

// ---- Sharing -----------------------------------------------------------------------------------

TEST(SharedMemoryFd, Is_closed_by_its_owner) {
  Recording recording;
  int descriptor = -1;
  recording.on<Entry::cuMemExportToShareableHandle_v10020>(
      [&](void *out, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long) {
        descriptor = ::dup(STDERR_FILENO);
        *static_cast<int *>(out) = descriptor;
        return CUDA_SUCCESS;
      });
  const auto memory = ShareablePhysicalMemory::adopt(0x70);
  {
    const SharedMemoryFd exported = memory.export_fd();
    EXPECT_EQ(exported.get(), descriptor);
    EXPECT_NE(::fcntl(descriptor, F_GETFD), -1);
  }
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1);
  EXPECT_TRUE(SharedMemoryFd().is_empty());
  EXPECT_EQ(SharedMemoryFd().get(), -1);
  recording.calls();
}

TEST(SharedMemoryFd, Imports_memory_in_one_call) {
  Recording recording;
  SharedMemoryFd received = SharedMemoryFd::adopt(0x99);
  { const auto memory = ShareablePhysicalMemory::import(received); }
  EXPECT_EQ(received.release(), 0x99);
  EXPECT_TRUE(received.is_empty());
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemImportFromShareableHandle(&, 0x99, 1)", "cuMemRelease(0x1000)"));
}

// ---- Addresses and mappings --------------------------------------------------------------------

TEST(AddressReservation, Reserving_is_one_call_and_freeing_is_one) {
  Recording recording;
  { const auto reservation = AddressReservation::create(0x3000); }
  {
    const auto reservation = AddressReservation::create(0x3000, {.alignment = 0x8000, .preferred = 0x70000});
  }
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuMemAddressReserve(&, 12288, 0, 0x0, 0x0)", "cuMemAddressFree(0x1000, 12288)",
                  "cuMemAddressReserve(&, 12288, 32768, 0x70000, 0x0)", "cuMemAddressFree(0x2000, 12288)"));
}

TEST(AddressReservation, Has_parts) {
  Recording recording;
  const auto reservation = AddressReservation::create(0x3000);
  const ReservedRange part = reservation.subrange(0x1000, 0x2000);
  EXPECT_EQ(part.base(), reservation.base() + 0x1000);
  EXPECT_EQ(part.subrange(0x1000, 0x1000).base(), reservation.base() + 0x2000);
  EXPECT_THROW(reservation.subrange(0x1000, 0x2001), std::out_of_range);
  EXPECT_THROW(part.subrange(0x1000, 0x1001), std::out_of_range);
}

TEST(Mapping, Mapping_is_one_call_and_unmapping_is_one) {
  Recording recording;
  { const auto mapping = Mapping::create(range(), memory()); }
  Mapping::create(range(), memory(), 0x4000).close();
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemMap(0x10000, 8192, 0, 0x70, 0x0)", "cuMemUnmap(0x10000, 8192)",
                          "cuMemMap(0x10000, 8192, 16384, 0x70, 0x0)", "cuMemUnmap(0x10000, 8192)"));
}

TEST(Mapping, Access_is_set_and_read_by_device) {
  Recording recording;
  CUmemAccessDesc given[2] = {};
  recording.on<Entry::cuMemSetAccess_v10020>(
      [&](CUdeviceptr, std::size_t, const CUmemAccessDesc *list, std::size_t count) {
        std::copy_n(list, count, given);
        return CUDA_SUCCESS;
      });
  recording.on<Entry::cuMemGetAccess_v10020>(
      [](unsigned long long *flags, const CUmemLocation *location, CUdeviceptr) {
        *flags = location->id == 3 ? 3 : 0;
        return CUDA_SUCCESS;
      });
  const auto mapping = Mapping::create(range(), memory());
  recording.calls();
  mapping.set_access(device(), MemoryAccess::read);
  EXPECT_EQ(given[0].location.id, 3);
  EXPECT_EQ(given[0].flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(mapping.access(device()), MemoryAccess::read_write);
  EXPECT_EQ(mapping.access(Device::from_handle(4)), MemoryAccess::none);
  const Device both[] = {device(), Device::from_handle(4)};
  set_access(range(), both, MemoryAccess::read_write);
  EXPECT_EQ(given[1].location.id, 4);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemSetAccess(0x10000, 8192, &, 1)", "cuMemGetAccess(&, &, 0x10000)",
                          "cuMemGetAccess(&, &, 0x10000)", "cuMemSetAccess(0x10000, 8192, &, 2)"));
}

TEST(Mapping, Is_a_range_of_elements) {
  Recording recording;
  const auto mapping = Mapping::create(range(), memory());
  EXPECT_EQ(mapping.span<int>(), DeviceSpan<int>(DevicePtr<int>(0x10000), 2048));
}

TEST(Mapping, Errors_name_the_memory_and_the_addresses) {
  Recording recording;
  recording.answer(Entry::cuMemMap, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error_of([] { Mapping::create(range(), memory()); }).what(),
              HasSubstr("physical memory 0x70, 8192 bytes at 0x10000"));
  EXPECT_EQ(error_of([] { Mapping::create(range(), PhysicalMemoryRef()); }).result(),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(error_of([] { Mapping::create(ReservedRange(), memory()); }).result(), CUDA_ERROR_INVALID_HANDLE);
}

// ---- Virtual buffers ---------------------------------------------------------------------------

TEST(VirtualBuffer, Reserves_whole_granules_and_no_memory) {
  Recording recording;
  {
    const auto buffer = VirtualBuffer<int>::create(device(), 3000);
    EXPECT_EQ(buffer.size(), 0u);
    EXPECT_EQ(buffer.capacity(), 0u);
    EXPECT_EQ(buffer.max_size(), 3072u);
    EXPECT_FALSE(buffer.is_empty());
  }
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemGetAllocationGranularity(&, &, 1)",
                          "cuMemAddressReserve(&, 12288, 0, 0x0, 0x0)", "cuMemAddressFree(0x1000, 12288)"));
}

TEST(VirtualBuffer, Maps_memory_only_when_it_grows_beyond_its_capacity) {
  Recording recording;
  auto buffer = VirtualBuffer<int>::create(device(), 3000);
  const DevicePtr<int> before = buffer.data();
  recording.calls();
  buffer.resize(1);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemCreate(&, 4096, &, 0x0)", "cuMemMap(0x1000, 4096, 0, 0x2000, 0x0)",
                          "cuMemSetAccess(0x1000, 4096, &, 1)", "cuMemRelease(0x2000)"));
  EXPECT_EQ(buffer.capacity(), 1024u);
  buffer.resize(1024);
  EXPECT_THAT(recording.calls(), IsEmpty());
  buffer.resize(1025);
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuMemCreate(&, 4096, &, 0x0)", "cuMemMap(0x2000, 4096, 0, 0x3000, 0x0)",
                          "cuMemSetAccess(0x2000, 4096, &, 1)", "cuMemRelease(0x3000)"));
  EXPECT_EQ(buffer.data(), before);
  EXPECT_EQ(buffer.size(), 1025u);
}

TEST(VirtualBuffer, Unmaps_the_memory_behind_its_new_end) {
  Recording recording;
  auto buffer = VirtualBuffer<int>::create(device(), 3000);
  buffer.resize(1);
  buffer.resize(3000);  // one mapping of two granules
  recording.calls();
  buffer.resize(1500);  // in the middle of the second mapping
  EXPECT_THAT(recording.calls(), IsEmpty());
  buffer.resize(1024);
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemUnmap(0x2000, 8192)"));
  EXPECT_EQ(buffer.capacity(), 1024u);
  buffer.close();
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemUnmap(0x1000, 4096)", "cuMemAddressFree(0x1000, 12288)"));
  EXPECT_TRUE(buffer.is_empty());
}

TEST(VirtualBuffer, Gives_other_devices_access_now_and_later) {
  Recording recording;
  auto buffer = VirtualBuffer<int>::create(device(), 3000);
  buffer.resize(1);
  recording.calls();
  buffer.add_access(Device::from_handle(4));
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemSetAccess(0x1000, 4096, &, 1)"));
  buffer.resize(1025);
  EXPECT_THAT(recording.calls(), testing::Contains("cuMemSetAccess(0x2000, 4096, &, 2)"));
}

TEST(VirtualBuffer, Is_unchanged_if_it_cannot_grow) {
  Recording recording;
  auto buffer = VirtualBuffer<int>::create(device(), 3000);
  buffer.resize(10);
  recording.answer(Entry::cuMemCreate, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(error_of([&] { buffer.resize(2000); }).result(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(error_of([&] { buffer.resize(3073); }).result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(buffer.size(), 10u);
  EXPECT_EQ(buffer.capacity(), 1024u);
}

TEST(VirtualBuffer, Of_no_elements_makes_no_call) {
  Recording recording;
  EXPECT_TRUE(VirtualBuffer<int>::create(device(), 0).is_empty());
  EXPECT_EQ(error_of([] { VirtualBuffer<int>::create(device(), ~std::size_t{0} / 4); }).result(),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(recording.calls(), ElementsAre("cuMemGetAllocationGranularity(&, &, 1)"));
}

}  // namespace
}  // namespace cushim::test

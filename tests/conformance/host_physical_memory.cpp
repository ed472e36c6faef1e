// SPDX-License-Identifier: Apache-2.0
// Physical memory of the host: creation, access of the host and of a device, attributes, sharing.
#include <unistd.h>

#include <cstring>

#include "virtual_memory.hpp"

namespace conformance {
namespace {

constexpr auto kReadWrite = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

class HostPhysicalMemory : public WithVirtualMemory {
 public:
  CUmemAllocationProp properties_of(int location, int handle_types = 0) {
    CUmemAllocationProp made = plain_properties(handle_types);
    made.location.type = location_type(location);
    return made;
  }
  Handle of_host(int location, std::size_t bytes = kGranule, int handle_types = 0) {
    const CUmemAllocationProp properties = properties_of(location, handle_types);
    Handle made = 0;
    NEED(driver().cuMemCreate(&made, bytes, &properties, 0));
    own(made);
    return made;
  }
  CUdeviceptr mapped_host(int location) { return map(range(), kGranule, of_host(location)); }
  CUmemAccessDesc access_from(int location, CUmemAccess_flags flags = kReadWrite) {
    CUmemAccessDesc wanted = access(flags);
    wanted.location.type = location_type(location);
    return wanted;
  }
  CUresult open_to(CUdeviceptr at, int location, CUmemAccess_flags flags = kReadWrite) {
    const CUmemAccessDesc wanted = access_from(location, flags);
    return driver().cuMemSetAccess(at, kGranule, &wanted, 1);
  }
  // Returns a mapping that the host can access.
  unsigned char *of_the_host(int location) {
    const CUdeviceptr at = mapped_host(location);
    NEED(open_to(at, kHost));
    return reinterpret_cast<unsigned char *>(at);
  }
  // Returns the access of a location as a number, or 1000 plus the error.
  unsigned long long access_from_location(CUdeviceptr at, int location) {
    const CUmemLocation from = access_from(location).location;
    unsigned long long found = 77;
    const CUresult code = driver().cuMemGetAccess(&found, &from, at);
    return code == CUDA_SUCCESS ? found : 1000 + static_cast<unsigned long long>(code);
  }
  unsigned attribute_of(CUdeviceptr at, CUpointer_attribute which) {
    unsigned value = 77;
    NEED(driver().cuPointerGetAttribute(&value, which, at));
    return value;
  }
};

struct HostKind {
  const char *name;
  int location;
};
const bool of_each_kind = [] {
  for (const HostKind &kind : {HostKind{"the_host", kHost}, HostKind{"a_numa_node", kHostNuma}}) {
    const int location = kind.location;
    const std::string of = std::string("Of_") + kind.name;
    ADD_TEST(HostPhysicalMemory, of + "_takes_no_memory_of_the_device", [=](HostPhysicalMemory &t) {
      const std::size_t before = t.free_memory();
      t.of_host(location, 16 * kGranule);
      EXPECT_VALUE(before == t.free_memory(), true);
    });
    ADD_TEST(HostPhysicalMemory, of + "_has_no_access_at_first", [=](HostPhysicalMemory &t) {
      const CUdeviceptr at = t.mapped_host(location);
      EXPECT_VALUE(t.access_from_location(at, CU_MEM_LOCATION_TYPE_DEVICE), 0ull);
      EXPECT_VALUE(t.access_from_location(at, kHost), 0ull);
      EXPECT_VALUE(t.access_from_location(at, kHostNuma), 0ull);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_opened_to_the_host", [=](HostPhysicalMemory &t) {
      const CUdeviceptr at = t.mapped_host(location);
      EXPECT_ANSWER(t.open_to(at, kHost), CUDA_SUCCESS);
      EXPECT_VALUE(t.access_from_location(at, kHost), 3ull);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_opened_to_a_numa_node", [=](HostPhysicalMemory &t) {
      const CUdeviceptr at = t.mapped_host(location);
      EXPECT_ANSWER(t.open_to(at, kHostNuma), CUDA_SUCCESS);
      EXPECT_VALUE(t.access_from_location(at, kHostNuma), 3ull);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_opened_to_the_host_for_reading", [=](HostPhysicalMemory &t) {
      const CUdeviceptr at = t.mapped_host(location);
      EXPECT_ANSWER(t.open_to(at, kHost, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_SUCCESS);
      EXPECT_VALUE(t.access_from_location(at, kHost), 1ull);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_closed_to_the_host_again", [=](HostPhysicalMemory &t) {
      const CUdeviceptr at = t.mapped_host(location);
      NEED(t.open_to(at, kHost));
      EXPECT_ANSWER(t.open_to(at, kHost, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_SUCCESS);
      EXPECT_VALUE(t.access_from_location(at, kHost), 0ull);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_not_opened_to_the_current_numa_node", [=](HostPhysicalMemory &t) {
      EXPECT_ANSWER(t.open_to(t.mapped_host(location), 4), CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_written_by_the_host_and_read_by_a_device",
             [=](HostPhysicalMemory &t) {
               CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
               unsigned char *const bytes = t.of_the_host(location);
               NEED(t.open_to(address_of(bytes), CU_MEM_LOCATION_TYPE_DEVICE));
               std::memset(bytes, 7, kGranule);
               EXPECT_VALUE(static_cast<int>(t.take_device(address_of(bytes), kGranule)[kGranule - 1]), 7);
             });
    ADD_TEST(HostPhysicalMemory, of + "_is_written_by_a_device_and_read_by_the_host",
             [=](HostPhysicalMemory &t) {
               CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
               unsigned char *const bytes = t.of_the_host(location);
               NEED(t.open_to(address_of(bytes), CU_MEM_LOCATION_TYPE_DEVICE));
               EXPECT_ANSWER(driver().cuMemsetD8(address_of(bytes), 9, kGranule), CUDA_SUCCESS);
               NEED(driver().cuCtxSynchronize());
               EXPECT_VALUE(static_cast<int>(bytes[kGranule - 1]), 9);
             });
    ADD_TEST(HostPhysicalMemory, of + "_shows_the_host_the_same_bytes_at_two_addresses",
             [=](HostPhysicalMemory &t) {
               CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
               const auto memory = t.of_host(location);
               const CUdeviceptr one = t.map(t.range(), kGranule, memory);
               const CUdeviceptr other = t.map(t.range(), kGranule, memory);
               NEED(t.open_to(one, kHost));
               NEED(t.open_to(other, kHost));
               reinterpret_cast<unsigned char *>(one)[100] = 5;
               EXPECT_VALUE(static_cast<int>(reinterpret_cast<unsigned char *>(other)[100]), 5);
             });
    ADD_TEST(HostPhysicalMemory, of + "_is_host_memory", [=](HostPhysicalMemory &t) {
      const CUdeviceptr at = address_of(t.of_the_host(location));
      EXPECT_VALUE(t.attribute_of(at, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), unsigned{CU_MEMORYTYPE_HOST});
      EXPECT_VALUE(t.attribute_of(at, CU_POINTER_ATTRIBUTE_IS_MANAGED), 0u);
      void *host_pointer = nullptr;
      EXPECT_ANSWER(driver().cuPointerGetAttribute(&host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, at),
                    CUDA_SUCCESS);
      EXPECT_VALUE(address_of(host_pointer) == at, true);
    });
    ADD_TEST(HostPhysicalMemory, of + "_without_access_of_the_host_has_no_host_pointer",
             [=](HostPhysicalMemory &t) {
               const CUdeviceptr at = t.mapped_host(location);
               NEED(t.open_to(at, CU_MEM_LOCATION_TYPE_DEVICE));
               void *host_pointer = nullptr;
               EXPECT_ANSWER(
                   driver().cuPointerGetAttribute(&host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, at),
                   CUDA_ERROR_INVALID_VALUE);
             });
    ADD_TEST(HostPhysicalMemory, of + "_is_not_freed_as_pinned_memory", [=](HostPhysicalMemory &t) {
      EXPECT_ANSWER(driver().cuMemFreeHost(t.of_the_host(location)), CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_not_registered", [=](HostPhysicalMemory &t) {
      EXPECT_ANSWER(driver().cuMemHostRegister(t.of_the_host(location), kGranule, 0),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(HostPhysicalMemory, of + "_is_retained_by_its_address", [=](HostPhysicalMemory &t) {
      const auto memory = t.of_host(location);
      const CUdeviceptr at = t.map(t.range(), kGranule, memory);
      EXPECT_ANSWER(driver().cuMemRetainAllocationHandle(&t.handle_out, reinterpret_cast<void *>(at)),
                    CUDA_SUCCESS);
      EXPECT_VALUE(t.handle_out == memory, true);
    });
  }
  return true;
}();

TEST_F(HostPhysicalMemory, Before_device_memory_is_opened_to_the_host_alone) {
  const CUdeviceptr at = range(2 * kGranule);
  map(at, kGranule, of_host(kHost));
  map(at + kGranule, kGranule, physical());
  const CUmemAccessDesc wanted = access_from(kHost);
  EXPECT_ANSWER(driver().cuMemSetAccess(at, 2 * kGranule, &wanted, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_VALUE(access_from_location(at, kHost), 3ull);
}
TEST_F(HostPhysicalMemory, Beside_device_memory_is_copied_with_it) {
  const CUdeviceptr at = range(2 * kGranule);
  map(at, kGranule, of_host(kHost));
  map(at + kGranule, kGranule, physical());
  grant(at, 2 * kGranule);
  put_device(at + kGranule - 32, pattern(64));
  EXPECT_VALUE(take_device(at + kGranule - 32, 64) == pattern(64), true);
}

// ---- Sharing ----

TEST_F(HostPhysicalMemory, Of_the_host_is_not_made_exportable) {
  const CUmemAllocationProp properties = properties_of(kHost, kFileDescriptor);
  EXPECT_ANSWER(driver().cuMemCreate(&handle_out, kGranule, &properties, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(HostPhysicalMemory, Of_a_numa_node_is_made_exportable) {
  const CUmemAllocationProp properties = properties_of(kHostNuma, kFileDescriptor);
  EXPECT_ANSWER(driver().cuMemCreate(&handle_out, kGranule, &properties, 0), CUDA_SUCCESS);
}
TEST_F(HostPhysicalMemory, Of_a_numa_node_is_imported_with_its_bytes_and_its_location) {
  const Handle memory = of_host(kHostNuma, kGranule, kFileDescriptor);
  const CUdeviceptr at = grant(map(range(), kGranule, memory), kGranule);
  put_device(at, pattern(64));
  int file = -1;
  Handle imported = 0;
  EXPECT_ANSWER(driver().cuMemExportToShareableHandle(&file, memory, handle_type(kFileDescriptor), 0),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemImportFromShareableHandle(
                    &imported, reinterpret_cast<void *>(static_cast<std::intptr_t>(file)),
                    handle_type(kFileDescriptor)),
                CUDA_SUCCESS);
  close(file);
  own(imported);
  NEED(driver().cuMemGetAllocationPropertiesFromHandle(&properties_out, imported));
  EXPECT_VALUE(static_cast<int>(properties_out.location.type), kHostNuma);
  EXPECT_VALUE(properties_out.location.id, 0);
  const CUdeviceptr other = grant(map(range(), kGranule, imported), kGranule);
  EXPECT_VALUE(take_device(other, 64) == pattern(64), true);
}

}  // namespace
}  // namespace conformance

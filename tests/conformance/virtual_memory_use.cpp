// SPDX-License-Identifier: Apache-2.0
// The use of mapped memory: copies, memsets, kernels, pointer attributes, and calls for other kinds of
// memory.
#include <cstring>

#include "virtual_memory.hpp"

namespace conformance {
namespace {

class VirtualMemory : public WithVirtualMemory {
 public:
  std::vector<unsigned char> bytes = pattern(8192);
  unsigned attribute_of(CUdeviceptr at, CUpointer_attribute which) {
    unsigned value = 77;
    NEED(driver().cuPointerGetAttribute(&value, which, at));
    return value;
  }
  CUdeviceptr address_attribute_of(CUdeviceptr at, CUpointer_attribute which) {
    CUdeviceptr value = 77;
    NEED(driver().cuPointerGetAttribute(&value, which, at));
    return value;
  }
  // Returns two adjacent mappings, of which only the first has access.
  CUdeviceptr half_accessible() { return grant(adjacent(2), kGranule); }
  // Returns a range whose last granule has no mapping.
  CUdeviceptr half_mapped() {
    const CUdeviceptr at = range(2 * kGranule);
    return grant(map(at, kGranule, physical()), kGranule);
  }
};

constexpr std::size_t kSize = 8192;
constexpr CUdeviceptr kBoundary =
    kGranule - kSize / 2;  // a range of kSize bytes from here crosses a boundary

// ---- Copies and memsets ----

TEST_F(VirtualMemory, Is_written_and_read) {
  const CUdeviceptr at = accessible();
  EXPECT_ANSWER(driver().cuMemcpyHtoD(at + 100, bytes.data(), kSize), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(at + 100, kSize) == bytes, true);
}
TEST_F(VirtualMemory, Is_written_across_a_boundary) {
  const CUdeviceptr at = accessible_adjacent(2);
  EXPECT_ANSWER(driver().cuMemcpyHtoD(at + kBoundary, bytes.data(), kSize), CUDA_SUCCESS);
  std::vector<unsigned char> read(kSize);
  EXPECT_ANSWER(driver().cuMemcpyDtoH(read.data(), at + kBoundary, kSize), CUDA_SUCCESS);
  EXPECT_VALUE(read == bytes, true);
}
TEST_F(VirtualMemory, Is_copied_across_a_boundary) {
  const CUdeviceptr from = accessible_adjacent(2), to = accessible_adjacent(2);
  put_device(from + kBoundary, bytes);
  EXPECT_ANSWER(driver().cuMemcpyDtoD(to + kBoundary + 64, from + kBoundary, kSize), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(to + kBoundary + 64, kSize) == bytes, true);
}
TEST_F(VirtualMemory, Is_copied_across_a_boundary_by_unified_addresses) {
  const CUdeviceptr from = accessible_adjacent(2), to = accessible_adjacent(2);
  put_device(from + kBoundary, bytes);
  EXPECT_ANSWER(driver().cuMemcpy(to + kBoundary, from + kBoundary, kSize), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(to + kBoundary, kSize) == bytes, true);
}
TEST_F(VirtualMemory, Is_copied_over_three_mappings) {
  const CUdeviceptr from = accessible_adjacent(3), to = accessible_adjacent(3);
  NEED(driver().cuMemsetD8(from, 7, 3 * kGranule));
  EXPECT_ANSWER(driver().cuMemcpyDtoDAsync(to, from, 3 * kGranule, legacy()), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(to + 3 * kGranule - 16, 16) == std::vector<unsigned char>(16, 7), true);
}
TEST_F(VirtualMemory, Is_copied_in_a_stream) {
  const CUdeviceptr at = accessible_adjacent(2);
  const CUstream work = stream();
  std::vector<unsigned char> read(kSize);
  EXPECT_ANSWER(driver().cuMemcpyHtoDAsync(at + kBoundary, bytes.data(), kSize, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemcpyDtoHAsync(read.data(), at + kBoundary, kSize, work), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
  EXPECT_VALUE(read == bytes, true);
}
TEST_F(VirtualMemory, Is_copied_by_rows_across_a_boundary) {
  const CUdeviceptr at = accessible_adjacent(2);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = bytes.data();
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = at + kBoundary;
  copy.dstPitch = 64;
  copy.WidthInBytes = 64;
  copy.Height = kSize / 64;
  EXPECT_ANSWER(driver().cuMemcpy2D(&copy), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(at + kBoundary, kSize) == bytes, true);
}
TEST_F(VirtualMemory, Is_set_across_a_boundary) {
  const CUdeviceptr at = accessible_adjacent(2);
  EXPECT_ANSWER(driver().cuMemsetD8(at + kBoundary, 9, kSize), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(at + kBoundary, kSize) == std::vector<unsigned char>(kSize, 9), true);
}
TEST_F(VirtualMemory, Is_set_by_rows_across_a_boundary) {
  const CUdeviceptr at = accessible_adjacent(2);
  EXPECT_ANSWER(driver().cuMemsetD2D8(at + kBoundary, 64, 9, 64, kSize / 64), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(at + kBoundary, kSize) == std::vector<unsigned char>(kSize, 9), true);
}
TEST_F(VirtualMemory, Shows_the_same_bytes_at_two_addresses) {
  const Handle memory = physical(2 * kGranule);
  const CUdeviceptr one = grant(map(range(2 * kGranule), 2 * kGranule, memory), 2 * kGranule);
  const CUdeviceptr other = grant(map(range(2 * kGranule), 2 * kGranule, memory), 2 * kGranule);
  put_device(one + kGranule + 100, bytes);
  EXPECT_VALUE(take_device(other + kGranule + 100, kSize) == bytes, true);
}
TEST_F(VirtualMemory, Keeps_its_bytes_at_another_address) {
  const Handle memory = physical();
  const CUdeviceptr one = grant(map(range(), kGranule, memory), kGranule);
  put_device(one, bytes);
  NEED(driver().cuMemUnmap(one, kGranule));
  const CUdeviceptr other = grant(map(range(), kGranule, memory), kGranule);
  EXPECT_VALUE(take_device(other, kSize) == bytes, true);
}
TEST_F(VirtualMemory, Keeps_its_bytes_in_another_context) {
  const CUdeviceptr at = accessible();
  put_device(at, bytes);
  EXPECT_VALUE(in_other_context([&] { return take_device(at, kSize) == bytes; }), true);
}
TEST_F(VirtualMemory, Made_in_a_context_outlives_it) {
  CUcontext brief = nullptr;
  NEED(driver().cuCtxCreate_v2(&brief, 0, device));
  const CUdeviceptr at = accessible();
  put_device(at, bytes);
  NEED(driver().cuCtxDestroy(brief));
  NEED(driver().cuCtxSetCurrent(context));
  EXPECT_VALUE(take_device(at, kSize) == bytes, true);
}
TEST_F(VirtualMemory, Is_written_by_a_stream_memory_operation) {
  const CUdeviceptr at = accessible();
  EXPECT_ANSWER(driver().cuStreamWriteValue32(legacy(), at + 64, 0x01020304, 0), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(at + 64, 4) == (std::vector<unsigned char>{4, 3, 2, 1}), true);
}
TEST_F(VirtualMemory, Is_written_by_a_kernel_across_a_boundary) {
  const char *const text =
      ".version 7.8\n.target sm_52\n.address_size 64\n"
      ".visible .entry fill(.param .u64 to) {\n"
      "  .reg .u64 %a, %o; .reg .u32 %t;\n"
      "  ld.param.u64 %a, [to]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;\n"
      "  st.global.u32 [%a], %t; ret;\n}\n";
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  NEED(driver().cuModuleLoadData(&module, text));
  NEED(driver().cuModuleGetFunction(&fill, module, "fill"));
  CUdeviceptr to = accessible_adjacent(2) + kGranule - 128;
  void *arguments[] = {&to};
  EXPECT_ANSWER(driver().cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr),
                CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_VALUE(take_device(to + 252, 4) == (std::vector<unsigned char>{63, 0, 0, 0}), true);
  NEED(driver().cuModuleUnload(module));
}

// ---- Beyond the mapped and the accessible ----

// Each in a process of its own: where the driver does not check, the device faults.
#define OUTSIDE(name, address, call, code)                    \
  TEST_F(VirtualMemory, name) {                               \
    CUSHIM_IN_A_FRESH_PROCESS();                              \
    const CUdeviceptr at = address;                           \
    EXPECT_ANSWER(call, code);                                \
    EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS); \
  }

OUTSIDE(Without_access_is_not_written, mapped(), driver().cuMemcpyHtoD(at, bytes.data(), 16),
        CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Without_access_is_not_read, mapped(), driver().cuMemcpyDtoH(bytes.data(), at, 16),
        CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Without_access_is_not_copied, mapped(), driver().cuMemcpyDtoD(at, at + 64, 16),
        CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Without_access_is_not_set, mapped(), driver().cuMemsetD8(at, 1, 16), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Without_access_is_not_written_in_a_stream, mapped(),
        driver().cuMemcpyHtoDAsync(at, bytes.data(), 16, legacy()), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Without_access_is_not_written_by_a_stream_memory_operation, mapped(),
        driver().cuStreamWriteValue32(legacy(), at, 1, 0), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Whose_access_was_taken_is_not_written, grant(accessible(), kGranule, 0),
        driver().cuMemcpyHtoD(at, bytes.data(), 16), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Of_which_a_part_has_access_is_not_written_over_its_end, half_accessible(),
        driver().cuMemcpyHtoD(at + kBoundary, bytes.data(), kSize), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Of_which_a_part_has_access_is_not_set_over_its_end, half_accessible(),
        driver().cuMemsetD8(at + kBoundary, 1, kSize), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Of_which_a_part_is_mapped_is_not_written_over_its_end, half_mapped(),
        driver().cuMemcpyHtoD(at + kBoundary, bytes.data(), kSize), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Of_which_a_part_is_mapped_is_not_read_over_its_end, half_mapped(),
        driver().cuMemcpyDtoH(bytes.data(), at + kBoundary, kSize), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Of_which_a_part_is_mapped_is_not_set_over_its_end, half_mapped(),
        driver().cuMemsetD8(at + kBoundary, 1, kSize), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(Is_not_written_over_the_end_of_its_range, accessible(),
        driver().cuMemcpyHtoD(at + kBoundary, bytes.data(), kSize), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(To_read_is_read, grant(accessible(), kGranule, CU_MEM_ACCESS_FLAGS_PROT_READ),
        driver().cuMemcpyDtoH(bytes.data(), at, 16), CUDA_SUCCESS)
OUTSIDE(To_read_is_not_written, grant(mapped(), kGranule, CU_MEM_ACCESS_FLAGS_PROT_READ),
        driver().cuMemcpyHtoD(at, bytes.data(), 16), CUDA_ERROR_INVALID_VALUE)
OUTSIDE(To_read_is_not_set, grant(mapped(), kGranule, CU_MEM_ACCESS_FLAGS_PROT_READ),
        driver().cuMemsetD8(at, 1, 16), CUDA_ERROR_INVALID_VALUE)

TEST_F(VirtualMemory, That_was_unmapped_is_not_written) {
  CUSHIM_IN_A_FRESH_PROCESS();
  const CUdeviceptr at = accessible();
  NEED(driver().cuMemUnmap(at, kGranule));
  EXPECT_ANSWER(driver().cuMemcpyHtoD(at, bytes.data(), 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuCtxSynchronize(), CUDA_SUCCESS);
}

// ---- Ranges and attributes ----

TEST_F(VirtualMemory, Has_the_address_range_of_its_mapping) {
  const CUdeviceptr at = range(4 * kGranule);
  const CUdeviceptr mapping = grant(map(at + kGranule, 2 * kGranule, physical(2 * kGranule)), 2 * kGranule);
  CUdeviceptr start = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&start, &size, mapping + 100), CUDA_SUCCESS);
  EXPECT_VALUE(start - at, CUdeviceptr{kGranule});
  EXPECT_VALUE(size, 2 * kGranule);
}
TEST_F(VirtualMemory, Has_an_address_range_for_each_mapping) {
  const CUdeviceptr at = accessible_adjacent(3);
  CUdeviceptr start = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&start, &size, at + kGranule + 100), CUDA_SUCCESS);
  EXPECT_VALUE(start - at, CUdeviceptr{kGranule});
  EXPECT_VALUE(size, kGranule);
}
TEST_F(VirtualMemory, Without_access_has_no_address_range) {
  const CUdeviceptr at = mapped(2);
  CUdeviceptr start = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&start, &size, at + 100), CUDA_ERROR_NOT_FOUND);
  EXPECT_VALUE(start, 0ull);
  EXPECT_VALUE(size, 0u);
}

struct Attribute {
  CUpointer_attribute attribute;
  const char *name;
  bool comparable;                   // the value is not an address or an identity
  int accessible, mapped, reserved;  // expected codes
};
const Attribute attributes[] = {
    {CU_POINTER_ATTRIBUTE_CONTEXT, "context", false, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "memory_type", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, "device_pointer", false, 0, 1, 1},
    {CU_POINTER_ATTRIBUTE_HOST_POINTER, "host_pointer", false, 1, 1, 1},
    {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, "sync_memops", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_BUFFER_ID, "buffer_id", false, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_IS_MANAGED, "is_managed", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "device_ordinal", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, "is_legacy_ipc_capable", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "range_start", false, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_RANGE_SIZE, "range_size", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_MAPPED, "mapped", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, "allowed_handle_types", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, "is_gpu_direct_rdma_capable", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, "access_flags", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, "mempool_handle", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_MAPPING_SIZE, "mapping_size", true, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, "mapping_base", false, 0, 0, 1},
    {CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, "memory_block_id", false, 0, 0, 1},
    {static_cast<CUpointer_attribute>(21), "is_hw_decompress_capable", true, 0, 0, 1},  // unnamed before 12.8
};

const bool of_attributes = [] {
  const auto ask = [](const Attribute &attribute, CUdeviceptr at, int expected) {
    unsigned char value[64] = {};
    expect_answer(__FILE__, __LINE__, "cuPointerGetAttribute",
                  driver().cuPointerGetAttribute(value, attribute.attribute, at), code(expected));
    unsigned number = 0;
    std::memcpy(&number, value, sizeof number);
    if (attribute.comparable) RECORD_VALUE(number);
  };
  for (const Attribute &attribute : attributes) {
    const std::string name = std::string("The_") + attribute.name;
    ADD_TEST(VirtualMemory, name + "_of_accessible_memory", [&attribute, ask](VirtualMemory &t) {
      ask(attribute, t.accessible(2) + 100, attribute.accessible);
    });
    ADD_TEST(VirtualMemory, name + "_of_memory_without_access",
             [&attribute, ask](VirtualMemory &t) { ask(attribute, t.mapped(2) + 100, attribute.mapped); });
    ADD_TEST(VirtualMemory, name + "_of_a_range_without_memory", [&attribute, ask](VirtualMemory &t) {
      ask(attribute, t.range(2 * kGranule) + 100, attribute.reserved);
    });
  }
  return true;
}();

TEST_F(VirtualMemory, Is_of_no_context) {
  EXPECT_ANSWER(driver().cuPointerGetAttribute(&context_out, CU_POINTER_ATTRIBUTE_CONTEXT, accessible()),
                CUDA_SUCCESS);
  EXPECT_VALUE(context_out == nullptr, true);
}
TEST_F(VirtualMemory, Has_its_reserved_range_and_its_mapping_as_attributes) {
  const CUdeviceptr at = range(4 * kGranule);
  const CUdeviceptr mapping = grant(map(at + kGranule, 2 * kGranule, physical(2 * kGranule)), 2 * kGranule);
  EXPECT_VALUE(address_attribute_of(mapping + 100, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) - at,
               CUdeviceptr{0});
  EXPECT_VALUE(address_attribute_of(mapping + 100, CU_POINTER_ATTRIBUTE_RANGE_SIZE),
               CUdeviceptr{4 * kGranule});
  EXPECT_VALUE(address_attribute_of(mapping + 100, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR) - at,
               CUdeviceptr{kGranule});
  EXPECT_VALUE(address_attribute_of(mapping + 100, CU_POINTER_ATTRIBUTE_MAPPING_SIZE),
               CUdeviceptr{2 * kGranule});
}
TEST_F(VirtualMemory, Has_a_buffer_id_for_each_mapping) {
  const CUdeviceptr at = accessible_adjacent(2);
  EXPECT_VALUE(address_attribute_of(at, CU_POINTER_ATTRIBUTE_BUFFER_ID) ==
                   address_attribute_of(at + kGranule, CU_POINTER_ATTRIBUTE_BUFFER_ID),
               false);
}
TEST_F(VirtualMemory, Has_the_same_memory_block_id_at_two_addresses) {
  const Handle memory = physical();
  const CUdeviceptr one = grant(map(range(), kGranule, memory), kGranule);
  const CUdeviceptr other = grant(map(range(), kGranule, memory), kGranule);
  EXPECT_VALUE(address_attribute_of(one, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID) ==
                   address_attribute_of(other, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID),
               true);
  EXPECT_VALUE(address_attribute_of(one, CU_POINTER_ATTRIBUTE_BUFFER_ID) ==
                   address_attribute_of(other, CU_POINTER_ATTRIBUTE_BUFFER_ID),
               false);
}
TEST_F(VirtualMemory, Of_an_exportable_handle_names_the_handle_type) {
  const CUdeviceptr at = grant(map(range(), kGranule, physical(kGranule, kFileDescriptor)), kGranule);
  EXPECT_VALUE(address_attribute_of(at, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES), CUdeviceptr{1});
}
TEST_F(VirtualMemory, To_read_has_the_access_flag_of_reading) {
  const CUdeviceptr at = grant(mapped(), kGranule, CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_VALUE(attribute_of(at, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS), 1u);
}
TEST_F(VirtualMemory, Is_not_set_to_synchronize) {
  const CUdeviceptr at = accessible();
  const int on = 1;
  EXPECT_ANSWER(driver().cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at),
                CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_VALUE(attribute_of(at, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 0u);
}

// ---- Calls for other kinds of memory ----

STATEMENT(VirtualMemory, Is_not_freed, driver().cuMemFree(accessible()), CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMemory, Is_not_freed_in_a_stream, driver().cuMemFreeAsync(accessible(), legacy()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(VirtualMemory, Is_not_freed_as_host_memory,
          driver().cuMemFreeHost(reinterpret_cast<void *>(accessible())), CUDA_ERROR_INVALID_VALUE)
TEST_F(VirtualMemory, Is_not_exported_for_legacy_ipc) {
  CUipcMemHandle handle = {};
  EXPECT_ANSWER(driver().cuIpcGetMemHandle(&handle, accessible()), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(VirtualMemory, Has_host_flags) {
  EXPECT_ANSWER(driver().cuMemHostGetFlags(&flags, reinterpret_cast<void *>(accessible())), CUDA_SUCCESS);
  RECORD_VALUE(flags);
}

}  // namespace
}  // namespace conformance

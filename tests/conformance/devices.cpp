// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <cushim/device_attribute.hpp>
#include <cushim/exact.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class Devices : public Initialized {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Initialized::SetUp());
    CUSHIM_NEEDS(gpus(1));
    NEED(driver().cuDeviceGetCount(&count));
  }

 public:
  int count = 0;
  int number = 0;
  std::size_t size = 0;
  char text[256] = {};
  CUuuid uuid = {};
};
class DeviceAttributes : public Devices {};

// ---- Counting and choosing ----

STATEMENT(Devices, Are_counted, driver().cuDeviceGetCount(&number), CUDA_SUCCESS)
STATEMENT(Devices, Counting_needs_a_place, driver().cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, The_first_is_there, driver().cuDeviceGet(&device, 0), CUDA_SUCCESS)
STATEMENT(Devices, The_last_is_there, driver().cuDeviceGet(&device, count - 1), CUDA_SUCCESS)
STATEMENT(Devices, One_past_the_last_is_not_there, driver().cuDeviceGet(&device, count),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Devices, Minus_one_is_not_there, driver().cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Devices, The_highest_ordinal_is_not_there, driver().cuDeviceGet(&device, 2147483647),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Devices, The_lowest_ordinal_is_not_there, driver().cuDeviceGet(&device, -2147483647 - 1),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Devices, Choosing_needs_a_place, driver().cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, Choosing_needs_a_place_before_a_good_ordinal, driver().cuDeviceGet(nullptr, count),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Devices, Are_numbered_by_their_ordinals) {
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    EXPECT_ANSWER(driver().cuDeviceGet(&device, ordinal), CUDA_SUCCESS);
    EXPECT_VALUE(device == ordinal, true);
  }
}

TEST_F(Devices, A_refused_ordinal_leaves_the_place_alone) {
  device = 77;
  EXPECT_ANSWER(driver().cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_VALUE(device, 77);
}

// ---- Names ----

TEST_F(Devices, Have_names) {
  EXPECT_ANSWER(driver().cuDeviceGetName(text, sizeof text, 0), CUDA_SUCCESS);
  EXPECT_VALUE(std::strlen(text) > 0, true);
  RECORD_VALUE(std::string(text));
}

TEST_F(Devices, Names_are_cut_to_the_room_given) {
  char whole[256] = {};
  NEED(driver().cuDeviceGetName(whole, sizeof whole, 0));
  std::memset(text, 'x', sizeof text);
  EXPECT_ANSWER(driver().cuDeviceGetName(text, 4, 0), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(text, strnlen(text, 8)) == std::string(whole, 3), true);
  EXPECT_VALUE(text[4], 'x');
}

TEST_F(Devices, A_name_of_one_byte_is_empty) {
  std::memset(text, 'x', sizeof text);
  EXPECT_ANSWER(driver().cuDeviceGetName(text, 1, 0), CUDA_SUCCESS);
  EXPECT_VALUE(static_cast<int>(text[0]), 0);
}

// The driver treats a negative length as a large one.
TEST_F(Devices, A_name_is_given_with_a_negative_length) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceGetName(text, -1, 0), CUDA_SUCCESS);
}

TEST_F(Devices, A_name_needs_a_place) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceGetName(nullptr, 10, 0), CUDA_ERROR_INVALID_VALUE);
}

STATEMENT(Devices, A_device_that_is_not_there_has_no_name, driver().cuDeviceGetName(text, sizeof text, count),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Devices, A_negative_device_has_no_name, driver().cuDeviceGetName(text, sizeof text, -1),
          CUDA_ERROR_INVALID_DEVICE)

// ---- UUIDs and PCI addresses ----

STATEMENT(Devices, Have_a_UUID, driver().cuDeviceGetUuid_v2(&uuid, 0), CUDA_SUCCESS)
STATEMENT(Devices, A_UUID_needs_a_place, driver().cuDeviceGetUuid_v2(nullptr, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, A_device_that_is_not_there_has_no_UUID, driver().cuDeviceGetUuid_v2(&uuid, count),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Devices, A_UUID_needs_a_place_before_a_device, driver().cuDeviceGetUuid_v2(nullptr, count),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Devices, The_UUID_is_the_same_by_both_ABIs) {
  CUuuid first = {};
  EXPECT_ANSWER(cushim::exact::cuDeviceGetUuid_v9020(cushim::current_driver())(&first, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetUuid_v2(&uuid, 0), CUDA_SUCCESS);
  EXPECT_VALUE(std::memcmp(&first, &uuid, sizeof uuid), 0);
}

TEST_F(Devices, Have_no_LUID_on_Linux) {
  unsigned mask = 0;
  EXPECT_ANSWER(driver().cuDeviceGetLuid(text, &mask, 0), CUDA_ERROR_NOT_SUPPORTED);
}

STATEMENT(Devices, Have_a_PCI_address, driver().cuDeviceGetPCIBusId(text, sizeof text, 0), CUDA_SUCCESS)
STATEMENT(Devices, A_PCI_address_needs_a_place, driver().cuDeviceGetPCIBusId(nullptr, 13, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, A_PCI_address_fits_into_13_bytes, driver().cuDeviceGetPCIBusId(text, 13, 0), CUDA_SUCCESS)
STATEMENT(Devices, A_PCI_address_does_not_fit_into_12_bytes, driver().cuDeviceGetPCIBusId(text, 12, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, A_PCI_address_does_not_fit_into_nothing, driver().cuDeviceGetPCIBusId(text, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, A_PCI_address_does_not_fit_into_less, driver().cuDeviceGetPCIBusId(text, -1, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, A_device_that_is_not_there_has_no_PCI_address,
          driver().cuDeviceGetPCIBusId(text, sizeof text, count), CUDA_ERROR_INVALID_DEVICE)

TEST_F(Devices, Are_found_by_their_PCI_address) {
  NEED(driver().cuDeviceGetPCIBusId(text, sizeof text, count - 1));
  EXPECT_VALUE(std::strlen(text), std::size_t{12});
  EXPECT_ANSWER(driver().cuDeviceGetByPCIBusId(&device, text), CUDA_SUCCESS);
  EXPECT_VALUE(device == count - 1, true);
  // The domain may be omitted. The documentation says that the function may be omitted as well.
  EXPECT_ANSWER(driver().cuDeviceGetByPCIBusId(&device, std::string(text + 5).c_str()), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetByPCIBusId(&device, std::string(text + 5, 5).c_str()),
                CUDA_ERROR_INVALID_VALUE);
}

STATEMENT(Devices, An_address_of_nothing_finds_no_device,
          driver().cuDeviceGetByPCIBusId(&device, "0000:ff:1f.7"), CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Devices, A_word_is_no_PCI_address, driver().cuDeviceGetByPCIBusId(&device, "word"),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, An_empty_text_is_no_PCI_address, driver().cuDeviceGetByPCIBusId(&device, ""),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, Finding_by_PCI_address_needs_a_place,
          driver().cuDeviceGetByPCIBusId(nullptr, "0000:00:06.0"), CUDA_ERROR_INVALID_VALUE)

TEST_F(Devices, Finding_by_PCI_address_needs_a_text) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuDeviceGetByPCIBusId(&device, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// ---- Sizes and capabilities ----

TEST_F(Devices, Have_memory) {
  EXPECT_ANSWER(driver().cuDeviceTotalMem(&size, 0), CUDA_SUCCESS);
  EXPECT_VALUE(size > 0, true);
  RECORD_VALUE(size);
}
STATEMENT(Devices, Total_memory_needs_a_place, driver().cuDeviceTotalMem(nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, A_device_that_is_not_there_has_no_memory, driver().cuDeviceTotalMem(&size, count),
          CUDA_ERROR_INVALID_DEVICE)

TEST_F(Devices, The_first_ABI_tells_at_most_32_bits_of_memory) {
  unsigned bytes = 0;
  EXPECT_ANSWER(cushim::exact::cuDeviceTotalMem_v2000(cushim::current_driver())(&bytes, 0), CUDA_SUCCESS);
  RECORD_VALUE(bytes);
}

TEST_F(Devices, Have_a_compute_capability) {
  int major = 0, minor = 0, by_attribute = 0;
  EXPECT_ANSWER(driver().cuDeviceComputeCapability(&major, &minor, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetAttribute(&by_attribute, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
                CUDA_SUCCESS);
  EXPECT_VALUE(major == by_attribute, true);
  EXPECT_ANSWER(driver().cuDeviceComputeCapability(nullptr, &minor, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceComputeCapability(&major, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceComputeCapability(&major, &minor, count), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, Have_properties) {
  CUdevprop properties = {};
  EXPECT_ANSWER(driver().cuDeviceGetProperties(&properties, 0), CUDA_SUCCESS);
  RECORD_VALUE(properties.maxThreadsPerBlock);
  RECORD_VALUE(properties.sharedMemPerBlock);
  RECORD_VALUE(properties.SIMDWidth);
  RECORD_VALUE(properties.regsPerBlock);
  EXPECT_ANSWER(driver().cuDeviceGetProperties(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceGetProperties(&properties, count), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, Have_a_largest_linear_texture) {
  EXPECT_ANSWER(driver().cuDeviceGetTexture1DLinearMaxWidth(&size, CU_AD_FORMAT_FLOAT, 4, 0), CUDA_SUCCESS);
  RECORD_VALUE(size);
}
STATEMENT(Devices, A_linear_texture_has_1_2_or_4_channels,
          driver().cuDeviceGetTexture1DLinearMaxWidth(&size, CU_AD_FORMAT_FLOAT, 3, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, The_largest_linear_texture_needs_a_place,
          driver().cuDeviceGetTexture1DLinearMaxWidth(nullptr, CU_AD_FORMAT_FLOAT, 4, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Devices, A_device_that_is_not_there_has_no_linear_texture,
          driver().cuDeviceGetTexture1DLinearMaxWidth(&size, CU_AD_FORMAT_FLOAT, 4, count),
          CUDA_ERROR_INVALID_DEVICE)

TEST_F(Devices, Tell_whether_they_limit_a_context_to_some_multiprocessors) {
  EXPECT_ANSWER(driver().cuDeviceGetExecAffinitySupport(&number, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0),
                CUDA_SUCCESS);
  RECORD_VALUE(number);
  EXPECT_ANSWER(driver().cuDeviceGetExecAffinitySupport(&number, CU_EXEC_AFFINITY_TYPE_MAX, 0), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuDeviceGetExecAffinitySupport(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuDeviceGetExecAffinitySupport(&number, CU_EXEC_AFFINITY_TYPE_SM_COUNT, count),
                CUDA_ERROR_INVALID_DEVICE);
}

// ---- Attributes ----

struct Attribute {
  const char *name;
  int number;
};
#define A(name) \
  { #name, cushim::attribute::name.number }
// clang-format off
const Attribute attributes[] = {
    A(max_threads_per_block), A(max_block_dim_x), A(max_block_dim_y), A(max_block_dim_z), A(max_grid_dim_x),
    A(max_grid_dim_y), A(max_grid_dim_z), A(max_shared_memory_per_block), A(total_constant_memory),
    A(warp_size), A(max_pitch), A(max_registers_per_block), A(clock_rate), A(texture_alignment),
    A(gpu_overlap), A(multiprocessor_count), A(kernel_exec_timeout), A(integrated), A(can_map_host_memory),
    A(compute_mode), A(maximum_texture1d_width), A(maximum_texture2d_width), A(maximum_texture2d_height),
    A(maximum_texture3d_width), A(maximum_texture3d_height), A(maximum_texture3d_depth),
    A(maximum_texture2d_layered_width), A(maximum_texture2d_layered_height),
    A(maximum_texture2d_layered_layers), A(surface_alignment), A(concurrent_kernels), A(ecc_enabled),
    A(pci_bus_id), A(pci_device_id), A(tcc_driver), A(memory_clock_rate), A(global_memory_bus_width),
    A(l2_cache_size), A(max_threads_per_multiprocessor), A(async_engine_count), A(unified_addressing),
    A(maximum_texture1d_layered_width), A(maximum_texture1d_layered_layers), A(can_tex2d_gather),
    A(maximum_texture2d_gather_width), A(maximum_texture2d_gather_height),
    A(maximum_texture3d_width_alternate), A(maximum_texture3d_height_alternate),
    A(maximum_texture3d_depth_alternate), A(pci_domain_id), A(texture_pitch_alignment),
    A(maximum_texturecubemap_width), A(maximum_texturecubemap_layered_width),
    A(maximum_texturecubemap_layered_layers), A(maximum_surface1d_width), A(maximum_surface2d_width),
    A(maximum_surface2d_height), A(maximum_surface3d_width), A(maximum_surface3d_height),
    A(maximum_surface3d_depth), A(maximum_surface1d_layered_width), A(maximum_surface1d_layered_layers),
    A(maximum_surface2d_layered_width), A(maximum_surface2d_layered_height),
    A(maximum_surface2d_layered_layers), A(maximum_surfacecubemap_width),
    A(maximum_surfacecubemap_layered_width), A(maximum_surfacecubemap_layered_layers),
    A(maximum_texture1d_linear_width), A(maximum_texture2d_linear_width),
    A(maximum_texture2d_linear_height), A(maximum_texture2d_linear_pitch),
    A(maximum_texture2d_mipmapped_width), A(maximum_texture2d_mipmapped_height),
    A(compute_capability_major), A(compute_capability_minor), A(maximum_texture1d_mipmapped_width),
    A(stream_priorities_supported), A(global_l1_cache_supported), A(local_l1_cache_supported),
    A(max_shared_memory_per_multiprocessor), A(max_registers_per_multiprocessor), A(managed_memory),
    A(multi_gpu_board), A(multi_gpu_board_group_id), A(host_native_atomic_supported),
    A(single_to_double_precision_perf_ratio), A(pageable_memory_access), A(concurrent_managed_access),
    A(compute_preemption_supported), A(can_use_host_pointer_for_registered_mem),
    A(can_use_stream_mem_ops_v1), A(can_use_64_bit_stream_mem_ops_v1), A(can_use_stream_wait_value_nor_v1),
    A(cooperative_launch), A(cooperative_multi_device_launch), A(max_shared_memory_per_block_optin),
    A(can_flush_remote_writes), A(host_register_supported), A(pageable_memory_access_uses_host_page_tables),
    A(direct_managed_mem_access_from_host), A(virtual_memory_management_supported),
    A(handle_type_posix_file_descriptor_supported), A(handle_type_win32_handle_supported),
    A(handle_type_win32_kmt_handle_supported), A(max_blocks_per_multiprocessor),
    A(generic_compression_supported), A(max_persisting_l2_cache_size), A(max_access_policy_window_size),
    A(gpu_direct_rdma_with_cuda_vmm_supported), A(reserved_shared_memory_per_block),
    A(sparse_cuda_array_supported), A(read_only_host_register_supported),
    A(timeline_semaphore_interop_supported), A(memory_pools_supported), A(gpu_direct_rdma_supported),
    A(gpu_direct_rdma_writes_ordering), A(cluster_launch), A(deferred_mapping_cuda_array_supported),
    A(can_use_64_bit_stream_mem_ops), A(can_use_stream_wait_value_nor), A(dma_buf_supported),
    A(ipc_event_supported), A(mem_sync_domain_count), A(tensor_map_access_supported),
    A(handle_type_fabric_supported), A(unified_function_pointers), A(numa_config), A(numa_id),
    A(multicast_supported), A(mps_enabled), A(host_numa_id), A(d3d12_cig_supported),
    A(mem_decompress_maximum_length), A(vulkan_cig_supported), A(gpu_pci_device_id),
    A(gpu_pci_subsystem_id), A(host_numa_virtual_memory_management_supported),
    A(host_numa_memory_pools_supported), A(host_numa_multinode_ipc_supported),
    A(host_memory_pools_supported), A(host_virtual_memory_management_supported),
    A(host_alloc_dma_buf_supported), A(only_partial_host_native_atomic_supported),
    A(atomic_reduction_supported), A(locality_domain_count), A(max_oversized_shared_memory_per_block),
    A(d3d12_cig_streams_supported), A(dma_buf_mmap_supported), A(logical_endpoint_unicast_supported),
    A(logical_endpoint_multicast_supported), A(logical_endpoint_counted_ops_supported),
    A(logical_endpoint_unicast_access_on_owner_device_supported), A(locality_domain_multiprocessor_count),
    A(logical_endpoint_supported_handle_types), A(vulkan_cig_streams_supported),
    A(tensor_map_large_tensor_min_size), A(gpu_direct_rdma_with_localized_memory_supported),
};
// clang-format on
#undef A

// The PCI address differs between otherwise identical machines.
bool is_an_identity(int number) {
  return number == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID || number == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID ||
         number == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID || number == 139 || number == 140;
}

[[maybe_unused]] const bool attributes_added = [] {
  for (const Attribute &row : attributes) {
    const auto attribute = static_cast<CUdevice_attribute>(row.number);
    ADD_TEST(DeviceAttributes, row.name, [=](DeviceAttributes &t) {
      const CUresult known =
          answer("cuDeviceGetAttribute", driver().cuDeviceGetAttribute(&t.number, attribute, 0));
      if (known == CUDA_SUCCESS && !is_an_identity(row.number)) answer("value", t.number);
      // The driver does not know the attributes of later releases.
      EXPECT_EQ(known, row.number < 148 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    });
  }
  return true;
}();

STATEMENT(DeviceAttributes, Number_0_is_none,
          driver().cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(0), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceAttributes, A_negative_number_is_none,
          driver().cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(-1), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceAttributes, Number_1000_is_none,
          driver().cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(1000), 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceAttributes, Need_a_place,
          driver().cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceAttributes, Need_a_device,
          driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(DeviceAttributes, Need_a_device_that_is_not_negative,
          driver().cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, -1),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(DeviceAttributes, Need_a_place_before_a_device,
          driver().cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(DeviceAttributes, Need_a_device_before_a_known_number,
          driver().cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(1000), count),
          CUDA_ERROR_INVALID_DEVICE)

}  // namespace
}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// All device attributes with their types: device.attribute(attribute::warp_size) is an int,
// device.attribute(attribute::ipc_event_supported) a bool. Names and numbers are those of cuda.h of CUDA 13.5
// under all headers. A driver returns an error for an attribute that it does not know.
#pragma once

#include <cushim/detail/cxx20.hpp>

#include <cuda.h>

#include <cstddef>

namespace cushim {
inline namespace v1 {

// A device attribute with a value of type T.
template <class T>
struct DeviceAttribute {
  int number;  // its CUdevice_attribute
};

// Sizes, pitches and alignments are in bytes (std::size_t).
namespace attribute {

inline constexpr DeviceAttribute<int> max_threads_per_block{1};
inline constexpr DeviceAttribute<int> max_block_dim_x{2};
inline constexpr DeviceAttribute<int> max_block_dim_y{3};
inline constexpr DeviceAttribute<int> max_block_dim_z{4};
inline constexpr DeviceAttribute<int> max_grid_dim_x{5};
inline constexpr DeviceAttribute<int> max_grid_dim_y{6};
inline constexpr DeviceAttribute<int> max_grid_dim_z{7};
inline constexpr DeviceAttribute<std::size_t> max_shared_memory_per_block{8};
inline constexpr DeviceAttribute<std::size_t> total_constant_memory{9};
inline constexpr DeviceAttribute<int> warp_size{10};
inline constexpr DeviceAttribute<std::size_t> max_pitch{11};
inline constexpr DeviceAttribute<int> max_registers_per_block{12};
inline constexpr DeviceAttribute<int> clock_rate{13};  // kHz
inline constexpr DeviceAttribute<std::size_t> texture_alignment{14};
inline constexpr DeviceAttribute<bool> gpu_overlap{15};
inline constexpr DeviceAttribute<int> multiprocessor_count{16};
inline constexpr DeviceAttribute<bool> kernel_exec_timeout{17};
inline constexpr DeviceAttribute<bool> integrated{18};
inline constexpr DeviceAttribute<bool> can_map_host_memory{19};
inline constexpr DeviceAttribute<CUcomputemode> compute_mode{20};  // restriction on creating contexts
inline constexpr DeviceAttribute<int> maximum_texture1d_width{21};
inline constexpr DeviceAttribute<int> maximum_texture2d_width{22};
inline constexpr DeviceAttribute<int> maximum_texture2d_height{23};
inline constexpr DeviceAttribute<int> maximum_texture3d_width{24};
inline constexpr DeviceAttribute<int> maximum_texture3d_height{25};
inline constexpr DeviceAttribute<int> maximum_texture3d_depth{26};
inline constexpr DeviceAttribute<int> maximum_texture2d_layered_width{27};
inline constexpr DeviceAttribute<int> maximum_texture2d_layered_height{28};
inline constexpr DeviceAttribute<int> maximum_texture2d_layered_layers{29};
inline constexpr DeviceAttribute<std::size_t> surface_alignment{30};
inline constexpr DeviceAttribute<bool> concurrent_kernels{31};
inline constexpr DeviceAttribute<bool> ecc_enabled{32};
inline constexpr DeviceAttribute<int> pci_bus_id{33};
inline constexpr DeviceAttribute<int> pci_device_id{34};
inline constexpr DeviceAttribute<bool> tcc_driver{35};
inline constexpr DeviceAttribute<int> memory_clock_rate{36};        // kHz
inline constexpr DeviceAttribute<int> global_memory_bus_width{37};  // bits
inline constexpr DeviceAttribute<std::size_t> l2_cache_size{38};
inline constexpr DeviceAttribute<int> max_threads_per_multiprocessor{39};
inline constexpr DeviceAttribute<int> async_engine_count{40};
inline constexpr DeviceAttribute<bool> unified_addressing{41};
inline constexpr DeviceAttribute<int> maximum_texture1d_layered_width{42};
inline constexpr DeviceAttribute<int> maximum_texture1d_layered_layers{43};
inline constexpr DeviceAttribute<bool> can_tex2d_gather{44};
inline constexpr DeviceAttribute<int> maximum_texture2d_gather_width{45};
inline constexpr DeviceAttribute<int> maximum_texture2d_gather_height{46};
inline constexpr DeviceAttribute<int> maximum_texture3d_width_alternate{47};
inline constexpr DeviceAttribute<int> maximum_texture3d_height_alternate{48};
inline constexpr DeviceAttribute<int> maximum_texture3d_depth_alternate{49};
inline constexpr DeviceAttribute<int> pci_domain_id{50};
inline constexpr DeviceAttribute<std::size_t> texture_pitch_alignment{51};
inline constexpr DeviceAttribute<int> maximum_texturecubemap_width{52};
inline constexpr DeviceAttribute<int> maximum_texturecubemap_layered_width{53};
inline constexpr DeviceAttribute<int> maximum_texturecubemap_layered_layers{54};
inline constexpr DeviceAttribute<int> maximum_surface1d_width{55};
inline constexpr DeviceAttribute<int> maximum_surface2d_width{56};
inline constexpr DeviceAttribute<int> maximum_surface2d_height{57};
inline constexpr DeviceAttribute<int> maximum_surface3d_width{58};
inline constexpr DeviceAttribute<int> maximum_surface3d_height{59};
inline constexpr DeviceAttribute<int> maximum_surface3d_depth{60};
inline constexpr DeviceAttribute<int> maximum_surface1d_layered_width{61};
inline constexpr DeviceAttribute<int> maximum_surface1d_layered_layers{62};
inline constexpr DeviceAttribute<int> maximum_surface2d_layered_width{63};
inline constexpr DeviceAttribute<int> maximum_surface2d_layered_height{64};
inline constexpr DeviceAttribute<int> maximum_surface2d_layered_layers{65};
inline constexpr DeviceAttribute<int> maximum_surfacecubemap_width{66};
inline constexpr DeviceAttribute<int> maximum_surfacecubemap_layered_width{67};
inline constexpr DeviceAttribute<int> maximum_surfacecubemap_layered_layers{68};
inline constexpr DeviceAttribute<int> maximum_texture1d_linear_width{69};
inline constexpr DeviceAttribute<int> maximum_texture2d_linear_width{70};
inline constexpr DeviceAttribute<int> maximum_texture2d_linear_height{71};
inline constexpr DeviceAttribute<std::size_t> maximum_texture2d_linear_pitch{72};
inline constexpr DeviceAttribute<int> maximum_texture2d_mipmapped_width{73};
inline constexpr DeviceAttribute<int> maximum_texture2d_mipmapped_height{74};
inline constexpr DeviceAttribute<int> compute_capability_major{75};
inline constexpr DeviceAttribute<int> compute_capability_minor{76};
inline constexpr DeviceAttribute<int> maximum_texture1d_mipmapped_width{77};
inline constexpr DeviceAttribute<bool> stream_priorities_supported{78};
inline constexpr DeviceAttribute<bool> global_l1_cache_supported{79};
inline constexpr DeviceAttribute<bool> local_l1_cache_supported{80};
inline constexpr DeviceAttribute<std::size_t> max_shared_memory_per_multiprocessor{81};
inline constexpr DeviceAttribute<int> max_registers_per_multiprocessor{82};
inline constexpr DeviceAttribute<bool> managed_memory{83};
inline constexpr DeviceAttribute<bool> multi_gpu_board{84};
inline constexpr DeviceAttribute<int> multi_gpu_board_group_id{85};
inline constexpr DeviceAttribute<bool> host_native_atomic_supported{86};
inline constexpr DeviceAttribute<int> single_to_double_precision_perf_ratio{87};
inline constexpr DeviceAttribute<bool> pageable_memory_access{88};
inline constexpr DeviceAttribute<bool> concurrent_managed_access{89};
inline constexpr DeviceAttribute<bool> compute_preemption_supported{90};
inline constexpr DeviceAttribute<bool> can_use_host_pointer_for_registered_mem{91};
inline constexpr DeviceAttribute<bool> can_use_stream_mem_ops_v1{92};
inline constexpr DeviceAttribute<bool> can_use_64_bit_stream_mem_ops_v1{93};
inline constexpr DeviceAttribute<bool> can_use_stream_wait_value_nor_v1{94};
inline constexpr DeviceAttribute<bool> cooperative_launch{95};
inline constexpr DeviceAttribute<bool> cooperative_multi_device_launch{96};
inline constexpr DeviceAttribute<std::size_t> max_shared_memory_per_block_optin{97};
inline constexpr DeviceAttribute<bool> can_flush_remote_writes{98};
inline constexpr DeviceAttribute<bool> host_register_supported{99};
inline constexpr DeviceAttribute<bool> pageable_memory_access_uses_host_page_tables{100};
inline constexpr DeviceAttribute<bool> direct_managed_mem_access_from_host{101};
inline constexpr DeviceAttribute<bool> virtual_memory_management_supported{102};
inline constexpr DeviceAttribute<bool> handle_type_posix_file_descriptor_supported{103};
inline constexpr DeviceAttribute<bool> handle_type_win32_handle_supported{104};
inline constexpr DeviceAttribute<bool> handle_type_win32_kmt_handle_supported{105};
inline constexpr DeviceAttribute<int> max_blocks_per_multiprocessor{106};
inline constexpr DeviceAttribute<bool> generic_compression_supported{107};
inline constexpr DeviceAttribute<std::size_t> max_persisting_l2_cache_size{108};
inline constexpr DeviceAttribute<std::size_t> max_access_policy_window_size{109};
inline constexpr DeviceAttribute<bool> gpu_direct_rdma_with_cuda_vmm_supported{110};
inline constexpr DeviceAttribute<std::size_t> reserved_shared_memory_per_block{111};
inline constexpr DeviceAttribute<bool> sparse_cuda_array_supported{112};
inline constexpr DeviceAttribute<bool> read_only_host_register_supported{113};
inline constexpr DeviceAttribute<bool> timeline_semaphore_interop_supported{114};
inline constexpr DeviceAttribute<bool> memory_pools_supported{115};
inline constexpr DeviceAttribute<bool> gpu_direct_rdma_supported{116};
inline constexpr DeviceAttribute<unsigned> gpu_direct_rdma_flush_writes_options{
    117};  // a mask of CUflushGPUDirectRDMAWritesOptions
inline constexpr DeviceAttribute<CUGPUDirectRDMAWritesOrdering> gpu_direct_rdma_writes_ordering{118};
inline constexpr DeviceAttribute<unsigned> mempool_supported_handle_types{
    119};  // a mask of CUmemAllocationHandleType
inline constexpr DeviceAttribute<bool> cluster_launch{120};
inline constexpr DeviceAttribute<bool> deferred_mapping_cuda_array_supported{121};
inline constexpr DeviceAttribute<bool> can_use_64_bit_stream_mem_ops{122};
inline constexpr DeviceAttribute<bool> can_use_stream_wait_value_nor{123};
inline constexpr DeviceAttribute<bool> dma_buf_supported{124};
inline constexpr DeviceAttribute<bool> ipc_event_supported{125};
inline constexpr DeviceAttribute<int> mem_sync_domain_count{126};
inline constexpr DeviceAttribute<bool> tensor_map_access_supported{127};
inline constexpr DeviceAttribute<bool> handle_type_fabric_supported{128};
inline constexpr DeviceAttribute<bool> unified_function_pointers{129};
inline constexpr DeviceAttribute<int> numa_config{130};  // a CUdeviceNumaConfig
inline constexpr DeviceAttribute<int> numa_id{131};
inline constexpr DeviceAttribute<bool> multicast_supported{132};
inline constexpr DeviceAttribute<bool> mps_enabled{133};
inline constexpr DeviceAttribute<int> host_numa_id{134};
inline constexpr DeviceAttribute<bool> d3d12_cig_supported{135};
inline constexpr DeviceAttribute<unsigned> mem_decompress_algorithm_mask{
    136};  // a mask of CUmemDecompressAlgorithm
inline constexpr DeviceAttribute<std::size_t> mem_decompress_maximum_length{137};
inline constexpr DeviceAttribute<bool> vulkan_cig_supported{138};
inline constexpr DeviceAttribute<int> gpu_pci_device_id{139};
inline constexpr DeviceAttribute<int> gpu_pci_subsystem_id{140};
inline constexpr DeviceAttribute<bool> host_numa_virtual_memory_management_supported{141};
inline constexpr DeviceAttribute<bool> host_numa_memory_pools_supported{142};
inline constexpr DeviceAttribute<bool> host_numa_multinode_ipc_supported{143};
inline constexpr DeviceAttribute<bool> host_memory_pools_supported{144};
inline constexpr DeviceAttribute<bool> host_virtual_memory_management_supported{145};
inline constexpr DeviceAttribute<bool> host_alloc_dma_buf_supported{146};
inline constexpr DeviceAttribute<bool> only_partial_host_native_atomic_supported{147};
inline constexpr DeviceAttribute<bool> atomic_reduction_supported{148};
inline constexpr DeviceAttribute<int> locality_domain_count{149};
inline constexpr DeviceAttribute<std::size_t> max_oversized_shared_memory_per_block{150};
inline constexpr DeviceAttribute<bool> d3d12_cig_streams_supported{151};
inline constexpr DeviceAttribute<bool> dma_buf_mmap_supported{152};
inline constexpr DeviceAttribute<bool> logical_endpoint_unicast_supported{153};
inline constexpr DeviceAttribute<bool> logical_endpoint_multicast_supported{154};
inline constexpr DeviceAttribute<bool> logical_endpoint_counted_ops_supported{155};
inline constexpr DeviceAttribute<bool> logical_endpoint_unicast_access_on_owner_device_supported{156};
inline constexpr DeviceAttribute<int> locality_domain_multiprocessor_count{157};
inline constexpr DeviceAttribute<unsigned> logical_endpoint_supported_handle_types{158};  // a mask
inline constexpr DeviceAttribute<bool> vulkan_cig_streams_supported{159};
inline constexpr DeviceAttribute<std::size_t> tensor_map_large_tensor_min_size{160};
inline constexpr DeviceAttribute<bool> gpu_direct_rdma_with_localized_memory_supported{161};

}  // namespace attribute

// An attribute of the link from one device to a peer, with a value of type T; see Device::peer_attribute().
template <class T>
struct PeerAttribute {
  int number;  // its CUdevice_P2PAttribute
};

// Names and numbers are those of cuda.h of CUDA 13.0 under all headers.
namespace peer_attribute {
inline constexpr PeerAttribute<int> performance_rank{1};  // 0 is the best
inline constexpr PeerAttribute<bool> access_supported{2};
inline constexpr PeerAttribute<bool> native_atomic_supported{3};
inline constexpr PeerAttribute<bool> cuda_array_access_supported{4};
inline constexpr PeerAttribute<bool> only_partial_native_atomic_supported{5};
}  // namespace peer_attribute

}  // namespace v1
}  // namespace cushim

// SPDX-License-Identifier: Apache-2.0
// Physical memory: granularity, creation, properties, references.
#include <functional>

#include "virtual_memory.hpp"

namespace conformance {
namespace {

class PhysicalMemory : public WithVirtualMemory {
 public:
  CUmemAllocationProp properties = plain_properties();
  std::size_t granularity = 77;
  // Returns the free memory that the action takes.
  template <class Action>
  long long taken_by(Action action) {
    const std::size_t before = free_memory();
    action();
    return static_cast<long long>(before) - static_cast<long long>(free_memory());
  }
};

constexpr auto kMinimum = CU_MEM_ALLOC_GRANULARITY_MINIMUM;
constexpr auto kRecommended = CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;

// ---- Properties ----

// A change of plain_properties(), and the expected code of cuMemCreate. cuMemGetAllocationGranularity does
// not check them.
struct Variant {
  const char *name;
  std::function<void(CUmemAllocationProp &)> change;
  int create;
};
const std::vector<Variant> variants = {
    {"plain", [](auto &) {}, 0},
    {"type_0", [](auto &p) { p.type = CU_MEM_ALLOCATION_TYPE_INVALID; }, 1},
    {"type_2", [](auto &p) { p.type = static_cast<CUmemAllocationType>(2); }, 1},
    {"type_99", [](auto &p) { p.type = static_cast<CUmemAllocationType>(99); }, 1},
    {"location_type_0", [](auto &p) { p.location.type = CU_MEM_LOCATION_TYPE_INVALID; }, 1},
    {"location_host", [](auto &p) { p.location.type = location_type(kHost); }, 0},
    {"location_host_numa_0", [](auto &p) { p.location.type = location_type(kHostNuma); }, 0},
    {"location_host_numa_99",
     [](auto &p) {
       p.location.type = location_type(kHostNuma);
       p.location.id = 99;
     },
     1},
    {"location_host_numa_current", [](auto &p) { p.location.type = location_type(4); }, 1},
    {"location_type_5", [](auto &p) { p.location.type = location_type(5); }, 1},
    {"location_type_99", [](auto &p) { p.location.type = location_type(99); }, 1},
    {"device_minus_1", [](auto &p) { p.location.id = -1; }, 101},
    {"device_99", [](auto &p) { p.location.id = 99; }, 101},
    {"file_descriptor", [](auto &p) { p.requestedHandleTypes = handle_type(kFileDescriptor); }, 0},
    {"win32_handle", [](auto &p) { p.requestedHandleTypes = handle_type(2); }, 1},
    {"win32_kmt_handle", [](auto &p) { p.requestedHandleTypes = handle_type(4); }, 1},
    {"fabric_handle", [](auto &p) { p.requestedHandleTypes = handle_type(kFabric); }, 800},
    {"file_descriptor_and_fabric_handle",
     [](auto &p) { p.requestedHandleTypes = handle_type(kFileDescriptor | kFabric); }, 800},
    {"handle_type_16", [](auto &p) { p.requestedHandleTypes = handle_type(16); }, 0},
    {"win32_metadata", [](auto &p) { p.win32HandleMetaData = &p; }, 1},
    {"compression", [](auto &p) { p.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC; }, 0},
    {"compression_2", [](auto &p) { p.allocFlags.compressionType = 2; }, 1},
    {"rdma", [](auto &p) { p.allocFlags.gpuDirectRDMACapable = 1; }, 0},
    {"rdma_2", [](auto &p) { p.allocFlags.gpuDirectRDMACapable = 2; }, 0},
    {"tile_pool", [](auto &p) { p.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL; }, 0},
    {"hardware_decompression", [](auto &p) { p.allocFlags.usage = 2; }, 0},
    {"usage_4", [](auto &p) { p.allocFlags.usage = 4; }, 0},
    {"reserved_flags", [](auto &p) { p.allocFlags.reserved[0] = 1; }, 1},
    {"type_0_on_device_99",
     [](auto &p) {
       p.type = CU_MEM_ALLOCATION_TYPE_INVALID;
       p.location.id = 99;
     },
     101},
    {"win32_handle_on_device_99",
     [](auto &p) {
       p.requestedHandleTypes = handle_type(2);
       p.location.id = 99;
     },
     101},
};

// Reads the fields of properties back as text.
std::string text_of(const CUmemAllocationProp &p) {
  return "type " + std::to_string(static_cast<int>(p.type)) + ", handle types " +
         std::to_string(static_cast<int>(p.requestedHandleTypes)) + ", location " +
         std::to_string(static_cast<int>(p.location.type)) + " " + std::to_string(p.location.id) +
         ", metadata " + (p.win32HandleMetaData == nullptr ? "null" : "set") + ", compression " +
         std::to_string(p.allocFlags.compressionType) + ", rdma " +
         std::to_string(p.allocFlags.gpuDirectRDMACapable) + ", usage " + std::to_string(p.allocFlags.usage) +
         ", reserved " + std::to_string(p.allocFlags.reserved[0]);
}

const bool of_variants = [] {
  for (const Variant &variant : variants) {
    ADD_TEST(PhysicalMemory, std::string("The_granularity_of_") + variant.name,
             [&variant](PhysicalMemory &t) {
               variant.change(t.properties);
               const CUresult code =
                   driver().cuMemGetAllocationGranularity(&t.granularity, &t.properties, kMinimum);
               expect_answer(__FILE__, __LINE__, "cuMemGetAllocationGranularity", code, CUDA_SUCCESS);
               answer("minimum", t.granularity);
               driver().cuMemGetAllocationGranularity(&t.granularity, &t.properties, kRecommended);
               answer("recommended", t.granularity);
             });
    ADD_TEST(PhysicalMemory, std::string("Of_") + variant.name + "_is_created",
             [&variant](PhysicalMemory &t) {
               variant.change(t.properties);
               const CUresult code = driver().cuMemCreate(&t.handle_out, kGranule, &t.properties, 0);
               expect_answer(__FILE__, __LINE__, "cuMemCreate", code, conformance::code(variant.create));
               if (code != CUDA_SUCCESS) return;
               expect_answer(__FILE__, __LINE__, "cuMemGetAllocationPropertiesFromHandle",
                             driver().cuMemGetAllocationPropertiesFromHandle(&t.properties_out, t.handle_out),
                             CUDA_SUCCESS);
               answer("properties", text_of(t.properties_out));
             });
  }
  return true;
}();

// ---- Granularity ----

TEST_F(PhysicalMemory, The_minimum_granularity_is_2_MiB) {
  EXPECT_ANSWER(driver().cuMemGetAllocationGranularity(&granularity, &properties, kMinimum), CUDA_SUCCESS);
  EXPECT_VALUE(granularity, kGranule);
}
TEST_F(PhysicalMemory, The_recommended_granularity_is_2_MiB) {
  EXPECT_ANSWER(driver().cuMemGetAllocationGranularity(&granularity, &properties, kRecommended),
                CUDA_SUCCESS);
  EXPECT_VALUE(granularity, kGranule);
}
STATEMENT(PhysicalMemory, The_granularity_needs_a_place,
          driver().cuMemGetAllocationGranularity(nullptr, &properties, kMinimum), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, The_granularity_needs_properties,
          driver().cuMemGetAllocationGranularity(&granularity, nullptr, kMinimum), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, The_granularity_of_an_unknown_kind,
          driver().cuMemGetAllocationGranularity(&granularity, &properties,
                                                 static_cast<CUmemAllocationGranularity_flags>(2)),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(PhysicalMemory, The_granularity_that_is_refused_is_not_written) {
  EXPECT_ANSWER(driver().cuMemGetAllocationGranularity(&granularity, &properties,
                                                       static_cast<CUmemAllocationGranularity_flags>(2)),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(granularity, std::size_t{77});
}
TEST_F(PhysicalMemory, The_granularity_needs_no_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemGetAllocationGranularity(&granularity, &properties, kMinimum), CUDA_SUCCESS);
}

// ---- Creating ----

STATEMENT(PhysicalMemory, Creating_needs_a_place, driver().cuMemCreate(nullptr, kGranule, &properties, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Creating_needs_properties, driver().cuMemCreate(&handle_out, kGranule, nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Of_no_bytes_is_refused, driver().cuMemCreate(&handle_out, 0, &properties, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Of_one_byte_is_refused, driver().cuMemCreate(&handle_out, 1, &properties, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Of_64_KiB_is_refused, driver().cuMemCreate(&handle_out, 65536, &properties, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Of_a_granule_and_a_half_is_refused,
          driver().cuMemCreate(&handle_out, kGranule + kGranule / 2, &properties, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Of_three_granules_is_created,
          driver().cuMemCreate(&handle_out, 3 * kGranule, &properties, 0), CUDA_SUCCESS)
STATEMENT(PhysicalMemory, With_flags_is_refused, driver().cuMemCreate(&handle_out, kGranule, &properties, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Of_16_TiB_is_not_there,
          driver().cuMemCreate(&handle_out, std::size_t{1} << 44, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY)
STATEMENT(PhysicalMemory, Of_16_TiB_with_flags,
          driver().cuMemCreate(&handle_out, std::size_t{1} << 44, &properties, 1), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Of_16_TiB_and_a_byte,
          driver().cuMemCreate(&handle_out, (std::size_t{1} << 44) + 1, &properties, 0),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(PhysicalMemory, Of_a_byte_on_device_99) {
  properties.location.id = 99;
  EXPECT_ANSWER(driver().cuMemCreate(&handle_out, 1, &properties, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PhysicalMemory, Is_created_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemCreate(&handle_out, kGranule, &properties, 0), CUDA_SUCCESS);
}
TEST_F(PhysicalMemory, Refused_leaves_the_place_as_it_was) {
  Handle out = 77;
  EXPECT_ANSWER(driver().cuMemCreate(&out, 1, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(out == 77, true);
}
TEST_F(PhysicalMemory, Has_different_handles) { EXPECT_VALUE(physical() != physical(), true); }
TEST_F(PhysicalMemory, Takes_its_size_of_the_free_memory) {
  EXPECT_VALUE(taken_by([this] { physical(16 * kGranule); }), static_cast<long long>(16 * kGranule));
}
TEST_F(PhysicalMemory, Is_free_memory_again_after_its_release) {
  const Handle memory = physical(16 * kGranule);
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemRelease(disowned(memory))); }),
               -static_cast<long long>(16 * kGranule));
}

// ---- Releasing ----

STATEMENT(PhysicalMemory, Is_released, driver().cuMemRelease(disowned(physical())), CUDA_SUCCESS)
TEST_F(PhysicalMemory, Is_released_without_a_context) {
  const Handle memory = physical();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemRelease(disowned(memory)), CUDA_SUCCESS);
}
TEST_F(PhysicalMemory, The_handle_0_is_not_released) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PhysicalMemory, Is_not_released_twice) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const Handle memory = disowned(physical());
  NEED(driver().cuMemRelease(memory));
  EXPECT_ANSWER(driver().cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PhysicalMemory, A_number_is_not_released) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemRelease(12345), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PhysicalMemory, That_is_mapped_is_released) {
  const Handle memory = physical();
  map(range(), kGranule, memory);
  EXPECT_ANSWER(driver().cuMemRelease(disowned(memory)), CUDA_SUCCESS);
}
TEST_F(PhysicalMemory, That_is_mapped_stays_after_its_release) {
  const Handle memory = physical(4 * kGranule);
  const CUdeviceptr at = grant(map(range(4 * kGranule), 4 * kGranule, memory), 4 * kGranule);
  put_device(at, pattern(64));
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemRelease(disowned(memory))); }), 0ll);
  EXPECT_VALUE(take_device(at, 64) == pattern(64), true);
}
TEST_F(PhysicalMemory, That_was_released_is_freed_when_it_is_unmapped) {
  const Handle memory = physical(4 * kGranule);
  const CUdeviceptr at = map(range(4 * kGranule), 4 * kGranule, memory);
  NEED(driver().cuMemRelease(disowned(memory)));
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemUnmap(at, 4 * kGranule)); }),
               -static_cast<long long>(4 * kGranule));
}
TEST_F(PhysicalMemory, That_was_released_is_freed_with_its_last_mapping) {
  const Handle memory = physical(4 * kGranule);
  const CUdeviceptr one = map(range(4 * kGranule), 4 * kGranule, memory);
  const CUdeviceptr other = map(range(4 * kGranule), 4 * kGranule, memory);
  NEED(driver().cuMemRelease(disowned(memory)));
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemUnmap(one, 4 * kGranule)); }), 0ll);
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemUnmap(other, 4 * kGranule)); }),
               -static_cast<long long>(4 * kGranule));
}
TEST_F(PhysicalMemory, Is_not_freed_by_unmapping_it) {
  const CUdeviceptr at = mapped(4);
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemUnmap(at, 4 * kGranule)); }), 0ll);
}
TEST_F(PhysicalMemory, Takes_no_memory_for_a_mapping) {
  const Handle memory = physical(4 * kGranule);
  const CUdeviceptr at = range(4 * kGranule);
  EXPECT_VALUE(taken_by([&] { grant(map(at, 4 * kGranule, memory), 4 * kGranule); }), 0ll);
}

// ---- The properties of a handle ----

STATEMENT(PhysicalMemory, Properties_need_a_place,
          driver().cuMemGetAllocationPropertiesFromHandle(nullptr, physical()), CUDA_ERROR_INVALID_VALUE)
TEST_F(PhysicalMemory, The_handle_0_has_no_properties) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemGetAllocationPropertiesFromHandle(&properties_out, 0),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(PhysicalMemory, That_was_released_has_properties) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  const Handle memory = disowned(physical());
  NEED(driver().cuMemRelease(memory));
  EXPECT_ANSWER(driver().cuMemGetAllocationPropertiesFromHandle(&properties_out, memory), CUDA_SUCCESS);
}
TEST_F(PhysicalMemory, Properties_need_no_context) {
  const Handle memory = physical();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemGetAllocationPropertiesFromHandle(&properties_out, memory), CUDA_SUCCESS);
}

// ---- Retaining ----

void *host_of(CUdeviceptr at) { return reinterpret_cast<void *>(at); }

TEST_F(PhysicalMemory, Is_retained_by_its_address) {
  const Handle memory = physical();
  const CUdeviceptr at = map(range(), kGranule, memory);
  EXPECT_ANSWER(driver().cuMemRetainAllocationHandle(&handle_out, host_of(at)), CUDA_SUCCESS);
  EXPECT_VALUE(handle_out == memory, true);
}
TEST_F(PhysicalMemory, Is_retained_by_an_interior_address) {
  const Handle memory = physical();
  const CUdeviceptr at = map(range(), kGranule, memory);
  EXPECT_ANSWER(driver().cuMemRetainAllocationHandle(&handle_out, host_of(at + kGranule - 1)), CUDA_SUCCESS);
  EXPECT_VALUE(handle_out == memory, true);
}
TEST_F(PhysicalMemory, Is_retained_after_its_release) {
  const Handle memory = physical();
  const CUdeviceptr at = map(range(), kGranule, memory);
  NEED(driver().cuMemRelease(disowned(memory)));
  EXPECT_ANSWER(driver().cuMemRetainAllocationHandle(&handle_out, host_of(at)), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemGetAllocationPropertiesFromHandle(&properties_out, handle_out), CUDA_SUCCESS);
}
TEST_F(PhysicalMemory, That_is_retained_is_released_as_often) {
  const CUdeviceptr at = mapped(4);
  Handle retained = 0;
  NEED(driver().cuMemRetainAllocationHandle(&retained, host_of(at)));
  NEED(driver().cuMemUnmap(at, 4 * kGranule));
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemRelease(retained)); }), 0ll);
  EXPECT_VALUE(taken_by([&] { NEED(driver().cuMemRelease(disowned(retained))); }),
               -static_cast<long long>(4 * kGranule));
}
TEST_F(PhysicalMemory, Retained_is_released_while_it_is_mapped) {
  const CUdeviceptr at = mapped();
  Handle retained = 0;
  EXPECT_ANSWER(driver().cuMemRetainAllocationHandle(&retained, host_of(at)), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemRelease(retained), CUDA_SUCCESS);
}
TEST_F(PhysicalMemory, Retaining_needs_no_context) {
  const CUdeviceptr at = mapped();
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemRetainAllocationHandle(&handle_out, host_of(at)), CUDA_SUCCESS);
}
STATEMENT(PhysicalMemory, Retaining_needs_a_place,
          driver().cuMemRetainAllocationHandle(nullptr, host_of(mapped())), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Null_is_not_retained, driver().cuMemRetainAllocationHandle(&handle_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, An_address_without_a_mapping_is_not_retained,
          driver().cuMemRetainAllocationHandle(&handle_out, host_of(range())), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Allocated_memory_is_not_retained,
          driver().cuMemRetainAllocationHandle(&handle_out, host_of(memory(kGranule))),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, The_stack_is_not_retained,
          driver().cuMemRetainAllocationHandle(&handle_out, &number), CUDA_ERROR_INVALID_VALUE)
STATEMENT(PhysicalMemory, Pinned_memory_is_not_retained,
          driver().cuMemRetainAllocationHandle(&handle_out, pinned()), CUDA_ERROR_INVALID_VALUE)

}  // namespace
}  // namespace conformance

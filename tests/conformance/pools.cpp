// SPDX-License-Identifier: Apache-2.0
// Memory pools that a program creates: properties, attributes, access, destruction.
#include "pools.hpp"

namespace conformance {
namespace {

class Pools : public OnPools {
 public:
  CUmemPoolProps properties = properties_of(CU_MEM_LOCATION_TYPE_DEVICE);
};

// ---- Creating ----

STATEMENT(Pools, Are_created, driver().cuMemPoolCreate(&pool_out, &properties), CUDA_SUCCESS)
STATEMENT(Pools, Need_a_place, driver().cuMemPoolCreate(nullptr, &properties), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Pools, Need_properties, driver().cuMemPoolCreate(&pool_out, nullptr), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Pools, Need_a_place_and_properties, driver().cuMemPoolCreate(nullptr, nullptr),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(Pools, Are_created_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemPoolCreate(&pool_out, &properties), CUDA_SUCCESS);
  EXPECT_VALUE(pool_out != nullptr, true);
}
TEST_F(Pools, Are_different_each_time) {
  EXPECT_VALUE(pool() == pool(), false);
  EXPECT_VALUE(pool() == default_pool(), false);
}
TEST_F(Pools, Not_created_leave_the_place_as_it_was) {
  const auto before = pool();
  pool_out = before;
  properties.allocType = static_cast<CUmemAllocationType>(0);
  EXPECT_ANSWER(driver().cuMemPoolCreate(&pool_out, &properties), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(pool_out == before, true);
  EXPECT_VALUE(pool_out == nullptr, false);
  pool_out = nullptr;
}

// Properties with one member changed, and the answer of cuMemPoolCreate.
struct Change {
  const char *name;
  int code;
  void (*change)(CUmemPoolProps &properties);
};
#define CHANGE(statement) [](CUmemPoolProps &p) { statement; }
constexpr auto kTypeOf = [](int value) { return static_cast<CUmemAllocationType>(value); };
constexpr auto kHandlesOf = [](int value) { return static_cast<CUmemAllocationHandleType>(value); };
constexpr auto kLocation = [](int value) { return static_cast<CUmemLocationType>(value); };
const Change changes[] = {
    {"the_allocation_type_0", 1, CHANGE(p.allocType = kTypeOf(0))},
    {"the_allocation_type_2", 0, CHANGE(p.allocType = kTypeOf(2))},
    {"the_allocation_type_3", 1, CHANGE(p.allocType = kTypeOf(3))},
    {"the_allocation_type_1000", 1, CHANGE(p.allocType = kTypeOf(1000))},
    {"the_last_allocation_type", 1, CHANGE(p.allocType = kTypeOf(0x7fffffff))},
    {"handles_that_are_file_descriptors", 0, CHANGE(p.handleTypes = kHandlesOf(1))},
    {"handles_of_windows", 1, CHANGE(p.handleTypes = kHandlesOf(2))},
    {"handles_that_are_file_descriptors_or_of_windows", 1, CHANGE(p.handleTypes = kHandlesOf(3))},
    {"global_handles_of_windows", 1, CHANGE(p.handleTypes = kHandlesOf(4))},
    {"fabric_handles", 0, CHANGE(p.handleTypes = kHandlesOf(8))},
    {"handles_that_are_file_descriptors_or_of_a_fabric", 0, CHANGE(p.handleTypes = kHandlesOf(9))},
    {"handles_of_the_unknown_type_16", 1, CHANGE(p.handleTypes = kHandlesOf(16))},
    {"handles_of_all_types", 1, CHANGE(p.handleTypes = kHandlesOf(0x7fffffff))},
    {"the_location_type_0", 1, CHANGE(p.location.type = kLocation(0))},
    {"the_location_type_2", 0, CHANGE(p.location.type = kLocation(2))},
    {"the_location_type_3", 0, CHANGE(p.location.type = kLocation(3))},
    {"the_location_type_4", 1, CHANGE(p.location.type = kLocation(4))},
    {"the_location_type_5", 1, CHANGE(p.location.type = kLocation(5))},
    {"the_location_type_6", 1, CHANGE(p.location.type = kLocation(6))},
    {"the_location_type_1000", 1, CHANGE(p.location.type = kLocation(1000))},
    {"the_device_99", 1, CHANGE(p.location.id = 99)},
    {"a_device_below_0", 1, CHANGE(p.location.id = -1)},
    {"the_host_and_an_id_of_1", 0, CHANGE(p.location = location_of(kLocationHost, 1))},
    {"the_host_and_an_id_of_99", 0, CHANGE(p.location = location_of(kLocationHost, 99))},
    {"the_host_and_an_id_below_0", 0, CHANGE(p.location = location_of(kLocationHost, -1))},
    {"the_numa_node_999", 1, CHANGE(p.location = location_of(kLocationHostNuma, 999))},
    {"a_numa_node_below_0", 1, CHANGE(p.location = location_of(kLocationHostNuma, -1))},
    {"the_host_and_handles_that_are_file_descriptors", 1,
     CHANGE(p.location = location_of(kLocationHost); p.handleTypes = kHandlesOf(1))},
    {"the_numa_node_0_and_handles_that_are_file_descriptors", 0,
     CHANGE(p.location = location_of(kLocationHostNuma); p.handleTypes = kHandlesOf(1))},
    {"managed_memory_and_handles_that_are_file_descriptors", 1,
     CHANGE(p.allocType = kManaged; p.handleTypes = kHandlesOf(1))},
    {"managed_memory_of_the_location_type_0", 0,
     CHANGE(p.allocType = kManaged; p.location = location_of(kLocation(0)))},
    {"managed_memory_of_the_location_type_2", 0,
     CHANGE(p.allocType = kManaged; p.location = location_of(kLocation(2)))},
    {"managed_memory_of_the_location_type_3", 0,
     CHANGE(p.allocType = kManaged; p.location = location_of(kLocation(3)))},
    {"managed_memory_of_the_location_type_4", 0,
     CHANGE(p.allocType = kManaged; p.location = location_of(kLocation(4)))},
    {"managed_memory_of_the_device_99", 1, CHANGE(p.allocType = kManaged; p.location.id = 99)},
    {"managed_memory_of_at_most_64_mebibytes", 1,
     CHANGE(p.allocType = kManaged; set_member(p, kOfMaxSize, 64 * kMiB))},
    {"at_most_1_byte", 0, CHANGE(set_member(p, kOfMaxSize, std::size_t{1}))},
    {"at_most_4096_bytes", 0, CHANGE(set_member(p, kOfMaxSize, std::size_t{4096}))},
    {"at_most_2_mebibytes", 0, CHANGE(set_member(p, kOfMaxSize, 2 * kMiB))},
    {"at_most_64_mebibytes", 0, CHANGE(set_member(p, kOfMaxSize, 64 * kMiB))},
    {"at_most_16_tebibytes", 0, CHANGE(set_member(p, kOfMaxSize, std::size_t{1} << 44))},
    {"the_usage_1", 0, CHANGE(set_member(p, kOfUsage, static_cast<unsigned short>(1)))},
    {"the_usage_2", 0, CHANGE(set_member(p, kOfUsage, static_cast<unsigned short>(2)))},
    {"the_usage_4", 0, CHANGE(set_member(p, kOfUsage, static_cast<unsigned short>(4)))},
    {"all_usages", 0, CHANGE(set_member(p, kOfUsage, static_cast<unsigned short>(0xffff)))},
    {"security_attributes_of_windows", 0, CHANGE(p.win32SecurityAttributes = &p)},
    {"a_reserved_byte", 1, CHANGE(set_member(p, kOfUsage + 2, '\1'))},
    {"the_last_reserved_byte", 1, CHANGE(set_member(p, sizeof p - 1, '\1'))},
    {"no_member", 1, CHANGE(p = CUmemPoolProps{})},
    {"the_allocation_type_0_and_the_device_99", 1, CHANGE(p.allocType = kTypeOf(0); p.location.id = 99)},
    {"handles_of_windows_and_the_device_99", 1, CHANGE(p.handleTypes = kHandlesOf(2); p.location.id = 99)},
};
#undef CHANGE
const bool created = [] {
  for (const Change &change : changes)
    ADD_TEST(Pools, std::string("Are_asked_for_with_") + change.name, [=](Pools &test) {
      change.change(test.properties);
      expect_answer(__FILE__, __LINE__, "cuMemPoolCreate(&pool_out, &properties)",
                    driver().cuMemPoolCreate(&test.pool_out, &test.properties),
                    static_cast<CUresult>(change.code));
    });
  return true;
}();

// ---- Attributes ----

const bool attributes = [] {
  static constexpr int get[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1},
                       set[] = {1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1};
  static constexpr unsigned long long initial[] = {77, 1, 1, 1, 0, 0, 0, 0, 0};
  for (int attribute = 0; attribute < 16; ++attribute) {
    const auto index = static_cast<std::size_t>(attribute);
    const auto which = static_cast<CUmemPool_attribute>(attribute);
    const std::string name = std::to_string(attribute);
    ADD_TEST(Pools, "Are_asked_for_the_attribute_" + name, [=](Pools &test) {
      unsigned long long value = 77;
      expect_answer(__FILE__, __LINE__, "cuMemPoolGetAttribute(pool, attribute, &value)",
                    driver().cuMemPoolGetAttribute(test.pool(), which, &value),
                    static_cast<CUresult>(get[index]));
      // The reuse policies are ints.
      if (attribute >= 1 && attribute <= 3) value = static_cast<unsigned>(value);
      EXPECT_VALUE(value, index < std::size(initial) ? initial[index] : 77);
    });
    ADD_TEST(Pools, "Have_the_attribute_" + name + "_set_to_0", [=](Pools &test) {
      unsigned long long value = 0;
      expect_answer(__FILE__, __LINE__, "cuMemPoolSetAttribute(pool, attribute, &value)",
                    driver().cuMemPoolSetAttribute(test.pool(), which, &value),
                    static_cast<CUresult>(set[index]));
    });
    ADD_TEST(Pools, "Have_the_attribute_" + name + "_set_to_a_mebibyte", [=](Pools &test) {
      unsigned long long value = kMiB;
      expect_answer(__FILE__, __LINE__, "cuMemPoolSetAttribute(pool, attribute, &value)",
                    driver().cuMemPoolSetAttribute(test.pool(), which, &value),
                    static_cast<CUresult>(attribute == 6 || attribute == 8 ? 1 : set[index]));
    });
  }
  return true;
}();

TEST_F(Pools, Have_reuse_policies_that_are_ints) {
  const CUmemoryPool pool = this->pool();
  for (int attribute = 1; attribute <= 3; ++attribute) {
    unsigned char value[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    const auto which = static_cast<CUmemPool_attribute>(attribute);
    EXPECT_ANSWER(driver().cuMemPoolGetAttribute(pool, which, value), CUDA_SUCCESS);
    EXPECT_VALUE(static_cast<int>(value[0]), 1);
    EXPECT_VALUE(static_cast<int>(value[3]), 0);
    EXPECT_VALUE(static_cast<int>(value[4]), 9);
  }
}
TEST_F(Pools, Remember_their_reuse_policies) {
  const CUmemoryPool pool = this->pool();
  for (int attribute = 1; attribute <= 3; ++attribute)
    for (const int wanted : {0, 1, 2, -1, 0}) {
      const auto which = static_cast<CUmemPool_attribute>(attribute);
      int value = wanted;
      EXPECT_ANSWER(driver().cuMemPoolSetAttribute(pool, which, &value), CUDA_SUCCESS);
      value = 77;
      EXPECT_ANSWER(driver().cuMemPoolGetAttribute(pool, which, &value), CUDA_SUCCESS);
      EXPECT_VALUE(value, wanted != 0 ? 1 : 0);
    }
}
TEST_F(Pools, Remember_their_release_threshold) {
  const CUmemoryPool pool = this->pool();
  for (const unsigned long long wanted : {0ull, 1ull, 1ull << 20, ~0ull, 0ull}) {
    set_value(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, wanted);
    EXPECT_VALUE(value_of(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), wanted);
  }
}
TEST_F(Pools, Have_thresholds_of_their_own) {
  const CUmemoryPool one = pool(), other = pool();
  set_value(one, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 5);
  EXPECT_VALUE(value_of(one, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 5ull);
  EXPECT_VALUE(value_of(other, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0ull);
}
TEST_F(Pools, Need_a_place_for_an_attribute) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemPoolGetAttribute(pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Pools, Need_a_value_for_an_attribute) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuMemPoolSetAttribute(pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}
STATEMENT(Pools, Of_null_have_no_attribute,
          driver().cuMemPoolSetAttribute(nullptr, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &size),
          CUDA_ERROR_INVALID_VALUE)
TEST_F(Pools, Are_asked_for_attributes_without_a_context) {
  const CUmemoryPool pool = this->pool();
  unsigned long long value = 0;
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
}

// ---- Access ----

STATEMENT(Pools, Are_closed_to_a_location_type_of_0,
          set_access(pool(), location_of(kLocation(0)), CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(Pools, Are_open_to_their_device_again,
          set_access(pool(), location_of(CU_MEM_LOCATION_TYPE_DEVICE), CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
          CUDA_SUCCESS)
STATEMENT(Pools, Are_not_closed_to_their_device,
          set_access(pool(), location_of(CU_MEM_LOCATION_TYPE_DEVICE), CU_MEM_ACCESS_FLAGS_PROT_NONE),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Pools, Are_not_open_to_their_device_for_reading_alone,
          set_access(pool(), location_of(CU_MEM_LOCATION_TYPE_DEVICE), CU_MEM_ACCESS_FLAGS_PROT_READ),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(Pools, Are_not_open_with_the_flags_2,
          set_access(pool(), location_of(CU_MEM_LOCATION_TYPE_DEVICE), static_cast<CUmemAccess_flags>(2)),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Pools, Are_not_open_to_the_device_99,
          set_access(pool(), location_of(CU_MEM_LOCATION_TYPE_DEVICE, 99),
                     CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(Pools, Of_a_device_are_not_open_to_the_host,
          set_access(pool(), location_of(kLocationHost), CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(Pools, Of_a_device_are_not_open_to_a_numa_node,
          set_access(pool(), location_of(kLocationHostNuma), CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
          CUDA_ERROR_NOT_SUPPORTED)
STATEMENT(Pools, Are_open_to_no_location, driver().cuMemPoolSetAccess(pool(), nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Pools, Are_open_to_null, driver().cuMemPoolSetAccess(pool(), nullptr, 1), CUDA_ERROR_INVALID_VALUE)
TEST_F(Pools, Are_open_to_their_device_twice) {
  CUmemAccessDesc wanted[2]{};
  for (CUmemAccessDesc &each : wanted) {
    each.location = location_of(CU_MEM_LOCATION_TYPE_DEVICE);
    each.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  EXPECT_ANSWER(driver().cuMemPoolSetAccess(pool(), wanted, 2), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuMemPoolSetAccess(pool(), wanted, 0), CUDA_SUCCESS);
}

const bool access = [] {
  struct Asked {
    const char *name;
    int type, id;
    int code, flags;
  };
  static constexpr Asked all[] = {
      {"their_device", 1, 0, 0, 3},
      {"the_device_99", 1, 99, 1, 77},
      {"a_device_below_0", 1, -1, 1, 77},
      {"the_location_type_0", 0, 0, 1, 77},
      {"the_host", 2, 0, 0, 0},
      {"the_numa_node_0", 3, 0, 0, 0},
      {"the_current_numa_node", 4, 0, 1, 77},
      {"the_location_type_5", 5, 0, 1, 77},
  };
  for (const Asked &asked : all)
    ADD_TEST(Pools, std::string("Are_asked_for_the_access_of_") + asked.name, [=](Pools &test) {
      auto location = location_of(kLocation(asked.type), asked.id);
      auto flags = static_cast<CUmemAccess_flags>(2);
      expect_answer(__FILE__, __LINE__, "cuMemPoolGetAccess(&flags, pool, &location)",
                    driver().cuMemPoolGetAccess(&flags, test.pool(), &location),
                    static_cast<CUresult>(asked.code));
      EXPECT_VALUE(static_cast<int>(flags), asked.code == 0 ? asked.flags : 2);
    });
  return true;
}();
TEST_F(Pools, Need_a_place_for_the_access) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  auto location = location_of(CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(nullptr, pool(), &location), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Pools, Need_a_location_for_the_access) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  auto access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, pool(), nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Pools, Of_null_have_no_access) {
  auto location = location_of(CU_MEM_LOCATION_TYPE_DEVICE);
  auto access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_ANSWER(driver().cuMemPoolGetAccess(&access, nullptr, &location), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

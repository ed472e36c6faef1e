// SPDX-License-Identifier: Apache-2.0
#include "managed.hpp"

#include <array>

namespace conformance {

void WithManagedMemory::SetUp() {
  CUSHIM_NEEDS(concurrent_managed);
  OnDevice::SetUp();
}

CUmemLocation location(int type, int id) {
  CUmemLocation made{};
  made.type = static_cast<CUmemLocationType>(type);
  made.id = id;
  return made;
}

Place place_of_prefetch(const CUmemLocation &to) {
  const int type = to.type;
  return {type == CU_MEM_LOCATION_TYPE_DEVICE ? to.id : CU_DEVICE_CPU, type, to.id};
}

const std::vector<NamedLocation> &locations() {
  static const std::vector<NamedLocation> all = {
      {"device_0", location(CU_MEM_LOCATION_TYPE_DEVICE, 0)},
      {"device_99", location(CU_MEM_LOCATION_TYPE_DEVICE, 99)},
      {"device_minus_1", location(CU_MEM_LOCATION_TYPE_DEVICE, -1)},
      {"the_host", location(CU_MEM_LOCATION_TYPE_HOST, 0)},
      {"the_host_with_id_5", location(CU_MEM_LOCATION_TYPE_HOST, 5)},
      {"host_node_0", location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)},
      {"host_node_99", location(CU_MEM_LOCATION_TYPE_HOST_NUMA, 99)},
      {"host_node_minus_1", location(CU_MEM_LOCATION_TYPE_HOST_NUMA, -1)},
      {"the_current_host_node", location(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0)},
      {"no_type", location(CU_MEM_LOCATION_TYPE_INVALID, 0)},
      {"type_9", location(9, 0)},
  };
  return all;
}

namespace {

std::string place_text(const Place &place) {
  return std::to_string(place.device) + " (type " + std::to_string(place.type) + ", id " +
         std::to_string(place.id) + ")";
}

constexpr std::size_t kListed = 3;  // length of the list of accessing devices

template <std::size_t count = 1>
std::array<int, count> attribute(CUmem_range_attribute attribute, CUdeviceptr address, std::size_t bytes) {
  std::array<int, count> values{};
  NEED(driver().cuMemRangeGetAttribute(values.data(), sizeof values, attribute, address, bytes));
  return values;
}

}  // namespace

std::string text_of(const RangeState &state) {
  std::string text = state.is_read_mostly ? "read mostly" : "not read mostly";
  text += ", preferred " + place_text(state.preferred) + ", accessed by";
  for (std::size_t i = 0; i < kListed; ++i)
    text += ' ' + std::to_string(i < state.accessed_by.size() ? state.accessed_by[i] : CU_DEVICE_INVALID);
  return text + ", prefetched " + place_text(state.prefetched);
}

std::string state_of(CUdeviceptr address, std::size_t bytes) {
  const auto one = [&](CUmem_range_attribute name) { return attribute(name, address, bytes)[0]; };
  const auto accessed_by = attribute<kListed>(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, address, bytes);
  return text_of(
      {one(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) != 0,
       {one(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), one(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE),
        one(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID)},
       {accessed_by.begin(), accessed_by.end()},
       {one(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION),
        one(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE),
        one(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)}});
}

}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// Managed memory for statements: locations, and the attributes of a range in one line of text.
#pragma once

#include <string>
#include <vector>

#include "memory_kinds.hpp"

namespace conformance {

// Skips the statements if host and device cannot use managed memory concurrently.
class WithManagedMemory : public OnDevice {
 protected:
  void SetUp() override;
};

inline constexpr std::size_t kPage = 4096;  // the granularity of advice and prefetches

CUmemLocation location(int type, int id);

// A location as the range attributes return it: as a device number, and as type and id.
struct Place {
  int device = CU_DEVICE_INVALID;
  int type = CU_MEM_LOCATION_TYPE_INVALID;
  int id = CU_DEVICE_INVALID;
};
inline constexpr Place kNowhere{};
inline constexpr Place kOnDevice{0, CU_MEM_LOCATION_TYPE_DEVICE, 0};
inline constexpr Place kOnHost{CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST, CU_DEVICE_CPU};
// Returns the place to which a prefetch of the second ABI brings memory. For locations that it accepts.
Place place_of_prefetch(const CUmemLocation &to);

// All attributes of a range.
struct RangeState {
  bool is_read_mostly = false;
  Place preferred{};
  std::vector<int> accessed_by{};
  Place prefetched{};
};
std::string text_of(const RangeState &state);
// Reads the attributes of a range, as the text of a RangeState.
std::string state_of(CUdeviceptr address, std::size_t bytes);

// Locations that calls receive, valid and invalid.
struct NamedLocation {
  const char *name;
  CUmemLocation location;
};
const std::vector<NamedLocation> &locations();

}  // namespace conformance

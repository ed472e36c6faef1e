// SPDX-License-Identifier: Apache-2.0
// A fixture of tests of the leak checker.
#pragma once

#include <cushim/check/leaks.hpp>

#include "../fixture.hpp"

namespace cushim::check {

class Leaked : public OnDevice {
 protected:
  Leaks leaks_{current_driver()};
};

inline CUmemoryPool new_pool() {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  need(driver().cuMemPoolCreate(&pool, &properties));
  return pool;
}

}  // namespace cushim::check

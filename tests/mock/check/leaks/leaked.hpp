// SPDX-License-Identifier: Apache-2.0
// A fixture of tests of the leak checker.
#pragma once

#include <cushim/check/leaks.hpp>

#include "../fixture.hpp"
#include "support/structures.hpp"

namespace cushim::check {

class Leaked : public OnDevice {
 protected:
  Leaks leaks_{current_driver()};
};

inline CUmemoryPool new_pool() {
  const CUmemPoolProps properties = test::pool_of_device();
  CUmemoryPool pool = nullptr;
  need(driver().cuMemPoolCreate(&pool, &properties));
  return pool;
}

}  // namespace cushim::check

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cushim/driver.hpp>

#include <cstddef>

#include "support/need.hpp"
#include "support/structures.hpp"

namespace cushim::test {

// Maps physical memory or a multicast object at a new address.
inline CUdeviceptr map(CUmemGenericAllocationHandle handle, std::size_t size,
                       const CUmemAccessDesc &access = full_access()) {
  CUdeviceptr at = 0;
  need(driver().cuMemAddressReserve(&at, size, 0, 0, 0));
  need(driver().cuMemMap(at, size, 0, handle, 0));
  need(driver().cuMemSetAccess(at, size, &access, 1));
  return at;
}

}  // namespace cushim::test

// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include <cushim/testing/kernel.hpp>

namespace cushim::testing {

namespace {
sim::Machine *simulated = nullptr;  // null on other drivers
}

void register_kernels_with(sim::Machine &machine) { simulated = &machine; }

void detail::add_kernel(std::string name, sim::RegisteredKernel kernel) {
  if (simulated != nullptr) simulated->add_kernel(std::move(name), std::move(kernel));
}

}  // namespace cushim::testing

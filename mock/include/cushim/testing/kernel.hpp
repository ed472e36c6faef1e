// SPDX-License-Identifier: Apache-2.0
// Kernels in C++ for tests on any driver. Not included by cushim/testing.hpp.
#pragma once

#include <cushim/sim/kernel.hpp>

#include <string>
#include <utility>

namespace cushim::testing {

namespace detail {
void add_kernel(std::string name, sim::RegisteredKernel kernel);
}

// Registers a kernel in C++ with the simulated driver of --driver=sim, for tests whose modules have machine
// code only, or PTX that the simulated driver does not execute. On other drivers, the module's own kernel
// runs. See cushim/sim/kernel.hpp for `function`. Of the tests in a process, later ones keep the kernel.
template <class Function>
void kernel(std::string name, Function function) {
  detail::add_kernel(std::move(name), sim::registered_kernel(std::move(function)));
}

}  // namespace cushim::testing

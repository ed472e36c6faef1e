// SPDX-License-Identifier: Apache-2.0
// The memory accesses of kernels that the hazard checker knows: from the program's descriptions and from the
// driver.
#pragma once

#include <cuda.h>
#include <cushim/check/hazards.hpp>
#include <cushim/detail/launch_watch.hpp>

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hazards/hazard_model.hpp"

namespace cushim::check {

class KernelKnowledge {
 public:
  using Kernel = mock::EnqueuedKernel;
  using PointerUse = HazardModel::PointerUse;

  KernelKnowledge(Driver &driver, HazardOptions options) : driver(driver), options_(std::move(options)) {}

  // Returns a kernel with its parameters, for a driver that is not watched (LaunchWatch). `pointers` and
  // `extra` are the last two arguments of cuLaunchKernel. Before CUDA 12.4 the driver does not tell the sizes
  // of the parameters: then those in `extra` are one parameter, and those at `pointers` are unknown.
  Kernel ask(CUfunction function, void *const *pointers, void *const *extra);
  // The same for the parameters of a node.
  template <class Parameters>
  Kernel ask_node(const Parameters &node) {
    CUfunction function = node.func;
    if constexpr (requires { node.kern; })
      if (function == nullptr) function = reinterpret_cast<CUfunction>(node.kern);
    return ask(function, node.kernelParams, node.extra);
  }
  // Returns the addresses that a kernel gets, and what it does with the memory there. Empty if kernels are
  // not checked.
  std::vector<PointerUse> pointers_of(const Kernel &kernel, const HazardModel &model) const;
  bool are_checked() const noexcept { return options_.checks_kernels; }
  // Call when a module was unloaded: the driver may reuse its handles for other functions.
  void forget() { known_.clear(); }

  Driver &driver;

 private:
  struct Known {
    std::string name;
    std::optional<std::vector<Kernel::Parameter>> parameters;
  };
  const Known &known(CUfunction function);

  const HazardOptions options_;
  std::unordered_map<CUfunction, Known> known_;
};

// Returns the name of a kernel in reports.
std::shared_ptr<const NamedWork> named(const mock::EnqueuedKernel &kernel);

}  // namespace cushim::check

// SPDX-License-Identifier: Apache-2.0
// Sums the counts of launches by kernel.
#pragma once

#include <cushim/ptx/execute.hpp>
#include <cushim/sim/kernel_profile.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/module.hpp"

namespace cushim::sim {

// Not thread-safe.
class KernelProfileCollector {
 public:
  // Adds a launch that the PTX executor ran. Modules of the same text share a profile.
  void add(const Code &code, const ptx::Program &program, const std::string &kernel,
           const ptx::LaunchShape &shape, const ptx::Counts &counts);
  // Adds a launch of a registered function, which is not counted.
  void add_registered(const std::string &kernel, const ptx::LaunchShape &shape);

  // Returns the profiles, sorted by the number of executed instructions, the highest first.
  std::vector<KernelProfile> profiles() const;

 private:
  struct Kernel {
    std::uint64_t launches = 0, blocks = 0, threads = 0;
    std::shared_ptr<const std::string> text{};
    std::vector<std::string> functions{};  // by ptx::InstructionInfo::function
    std::vector<ptx::InstructionInfo> infos{};
    ptx::Counts counts{};
  };
  static void count_launch(Kernel &kernel, const ptx::LaunchShape &shape);

  std::map<std::pair<std::string, std::string>, Kernel> kernels_;  // by name and text
};

}  // namespace cushim::sim

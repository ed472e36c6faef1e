// SPDX-License-Identifier: Apache-2.0
#include "kernel_profile/collector.hpp"

#include <algorithm>
#include <set>

namespace cushim::sim {

void KernelProfileCollector::count_launch(Kernel &kernel, const ptx::LaunchShape &shape) {
  ++kernel.launches;
  kernel.blocks += shape.grid.count();
  kernel.threads += shape.grid.count() * shape.block.count();
}

void KernelProfileCollector::add(const Code &code, const ptx::Program &program, const std::string &kernel,
                                 const ptx::LaunchShape &shape, const ptx::Counts &counts) {
  Kernel &to = kernels_[{kernel, *code.module.text}];
  count_launch(to, shape);
  if (to.counts.empty()) {
    to.text = code.module.text;
    for (const ptx::Function &function : code.module.functions) to.functions.emplace_back(function.name);
    to.infos = ptx::instructions(program);
    to.counts = counts;
    return;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) to.counts[i] += counts[i];
}

void KernelProfileCollector::add_registered(const std::string &kernel, const ptx::LaunchShape &shape) {
  count_launch(kernels_[{kernel, ""}], shape);
}

std::vector<KernelProfile> KernelProfileCollector::profiles() const {
  std::vector<KernelProfile> list;
  for (const auto &[key, kernel] : kernels_) {
    KernelProfile &profile = list.emplace_back();
    profile.kernel = key.first;
    profile.launches = kernel.launches;
    profile.blocks = kernel.blocks;
    profile.threads = kernel.threads;
    profile.text = kernel.text;
    std::set<std::uint32_t> executed;
    for (std::size_t i = 0; i < kernel.infos.size(); ++i)
      if (kernel.counts[i].executions != 0) executed.insert(kernel.infos[i].function);
    for (std::size_t i = 0; i < kernel.infos.size(); ++i) {
      const ptx::InstructionInfo &info = kernel.infos[i];
      if (!executed.contains(info.function)) continue;
      profile.instructions.push_back({kernel.functions.at(info.function), info.line, info.kind,
                                      info.is_branch, info.source_file, info.source_line, kernel.counts[i]});
    }
  }
  std::ranges::stable_sort(list, std::ranges::greater(),
                           [](const KernelProfile &profile) { return totals(profile).warp_instructions; });
  return list;
}

}  // namespace cushim::sim

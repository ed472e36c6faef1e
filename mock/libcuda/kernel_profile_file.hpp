// SPDX-License-Identifier: Apache-2.0
// The profile of kernels at the end of a process.
#pragma once

#include <cushim/sim/kernel_profile.hpp>

#include <string>
#include <vector>

namespace cushim::sim {

// CUSHIM_PROFILE_KERNELS: "stderr" for a summary, or the name of a file that is written beside the summary:
// FILE.html or FILE.json, in which %p is the process ID; without %p, ".PROCESS" is inserted before the
// extension. Empty: kernels are not profiled. Throws std::invalid_argument for another extension.
std::string kernel_report_from_environment();

// Writes the summary and the file. Throws std::runtime_error if the file cannot be written.
void report_kernels(const std::string &to, const std::vector<KernelProfile> &profiles);

}  // namespace cushim::sim

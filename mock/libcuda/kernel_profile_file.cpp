// SPDX-License-Identifier: Apache-2.0
#include "kernel_profile_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <cushim/detail/report_file.hpp>

namespace cushim::sim {

std::string kernel_report_from_environment() {
  const char *const value = std::getenv("CUSHIM_PROFILE_KERNELS");
  const std::string to = value != nullptr ? value : "";
  if (!to.empty() && to != "stderr" && !to.ends_with(".html") && !to.ends_with(".json"))
    throw std::invalid_argument("CUSHIM_PROFILE_KERNELS must be stderr, FILE.html or FILE.json, not \"" + to +
                                "\"");
  return to;
}

void report_kernels(const std::string &to, const std::vector<KernelProfile> &profiles) {
  std::ostringstream summary;
  write_summary(profiles, summary, "cushim[" + std::to_string(getpid()) + "]: ");
  std::fputs(summary.str().c_str(), stderr);
  if (to == "stderr") return;
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const std::string name = kernel_report_file(to, getpid());
  std::ofstream file(name, std::ios::trunc);
  if (to.ends_with(".json"))
    write_json(profiles, program, file);
  else
    write_html(profiles, program, file);
  if (!file.flush())
    throw std::runtime_error("cannot write the profile of kernels to " + name + ": " + std::strerror(errno));
}

}  // namespace cushim::sim

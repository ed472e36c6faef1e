// SPDX-License-Identifier: Apache-2.0
// Where the report of a process lies, for the library that writes it and for cushim run.
#pragma once

#include <sys/types.h>

#include <string>

namespace cushim::sim {

// The pattern is CUSHIM_REPORT's: %p is the process; without it, ".PROCESS" is appended.
inline std::string report_file(const std::string &pattern, pid_t process) {
  const std::string number = std::to_string(process);
  std::string name = pattern;
  std::size_t at = name.find("%p");
  if (at == std::string::npos) return name + "." + number;
  for (; at != std::string::npos; at = name.find("%p", at)) name.replace(at, 2, number);
  return name;
}

}  // namespace cushim::sim

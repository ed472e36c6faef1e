// SPDX-License-Identifier: Apache-2.0
// The report file of a process, shared by the library that writes it and by cushim run.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace cushim::sim {

// Returns the file name of a process. The pattern is that of CUSHIM_REPORT: %p becomes the process ID;
// without %p, ".PROCESS" is appended.
inline std::string report_file(const std::string &pattern, pid_t process) {
  const std::string number = std::to_string(process);
  std::string name = pattern;
  std::size_t at = name.find("%p");
  if (at == std::string::npos) return name + "." + number;
  for (; at != std::string::npos; at = name.find("%p", at)) name.replace(at, 2, number);
  return name;
}

// The same for a name whose extension tells the format: without %p, ".PROCESS" is inserted before it.
inline std::string kernel_report_file(const std::string &pattern, pid_t process) {
  const std::size_t dot = pattern.rfind('.');
  if (pattern.find("%p") != std::string::npos || dot == std::string::npos)
    return report_file(pattern, process);
  return report_file(pattern.substr(0, dot) + ".%p" + pattern.substr(dot), process);
}

// Returns the fields that identify the process. `driver` is the path of the driver that receives the calls;
// empty for the simulated one.
inline nlohmann::ordered_json report_head(const std::string &driver, pid_t process,
                                          const std::string &program, bool has_ended) {
  return {{"driver", driver.empty() ? "SIMULATED by cushim" : driver},
          {"process", process},
          {"program", program},
          {"has_ended", has_ended}};
}

// Adds all other fields with the values of a process that did nothing. Of a driver that is not simulated,
// fewer fields are known.
inline void add_empty_usage(nlohmann::ordered_json &report, bool is_simulated) {
  using Json = nlohmann::ordered_json;
  report["calls"] = Json::object();
  if (is_simulated) {
    for (const char *list : {"devices", "not_implemented", "not_found", "cubins", "skipped_kernels"})
      report[list] = Json::array();
    report["misuses"] = 0;
  }
  report["faults"] = Json::array();
  if (is_simulated) report["alive"] = Json::array();
  for (const char *list : {"findings", "other_drivers"}) report[list] = Json::array();
  report["has_findings"] = false;
}

// Writes the report. Throws std::runtime_error if it cannot be written.
inline void write_report(const std::string &name, const nlohmann::ordered_json &report) {
  std::ofstream file(name, std::ios::trunc);
  file << report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  file.flush();
  if (!file) throw std::runtime_error("cannot write the report to " + name + ": " + std::strerror(errno));
}

}  // namespace cushim::sim

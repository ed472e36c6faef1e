// SPDX-License-Identifier: Apache-2.0
#include "ctest_resources/ctest_resources.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "doctor/doctor.hpp"

namespace cushim::command {

namespace {

Outcome failure(Exit exit, const std::string &what) {
  return {exit, "cushim ctest-resources: " + what + "\n", Json{{"error", what}}};
}

std::string first_problem(const DoctorReport &report) {
  if (!report.problems.empty()) return report.problems.front().text();
  return report.failures.empty() ? "the driver reports no device" : report.failures.front();
}

}  // namespace

Outcome ctest_resources(const DoctorReport &report, const ResourceOptions &options) {
  if (!report.driver) return failure(Exit::no_driver, first_problem(report));
  if (report.devices.empty()) return failure(Exit::finding, first_problem(report));

  Json gpus = Json::array();
  for (const DeviceReport &device : report.devices)
    gpus.push_back({{"id", std::to_string(device.number)}, {"slots", options.slots}});
  const Json json{{"version", {{"major", 1}, {"minor", 0}}}, {"local", Json::array({{{"gpus", gpus}}})}};
  const std::string text = json.dump(2) + "\n";
  if (options.output.empty()) return {Exit::good, text, json};

  std::ofstream file(options.output);
  file << text;
  file.close();
  if (!file)
    return failure(Exit::usage, fmt::format("cannot write {}: {}", options.output, std::strerror(errno)));
  return {Exit::good,
          fmt::format("{}: {} {}GPU{} with {} slot{} each\n", options.output, report.devices.size(),
                      report.driver->is_simulated ? "SIMULATED " : "", report.devices.size() == 1 ? "" : "s",
                      options.slots, options.slots == 1 ? "" : "s"),
          json};
}

}  // namespace cushim::command

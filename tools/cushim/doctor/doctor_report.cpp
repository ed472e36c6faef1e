// SPDX-License-Identifier: Apache-2.0
// The text of `cushim doctor`: first the problems, then the facts.
#include <fmt/format.h>

#include <algorithm>

#include "common/release.hpp"
#include "common/text.hpp"
#include "doctor/doctor.hpp"

namespace cushim::command {
namespace {

// The text lists at most this many names; JSON lists all.
constexpr std::size_t few = 12;

constexpr std::size_t label_width = 14;

// Column of the names of missing entry points.
constexpr std::size_t names_column = 30;

const char *lookup_text(CushimLookup lookup) {
  switch (lookup) {
    case CUSHIM_LOOKUP_NONE:
      return "none";
    case CUSHIM_LOOKUP_GET_PROC_V2:
      return "cuGetProcAddress_v2";
    case CUSHIM_LOOKUP_GET_PROC_V1:
      return "cuGetProcAddress";
    case CUSHIM_LOOKUP_DLSYM:
      return "dlsym";
    case CUSHIM_LOOKUP_IN_PROCESS:
      return "in-process";
  }
  return "none";
}

int count_resolved(const DriverReport &driver) {
  int count = 0;
  for (const ReleaseReport &release : driver.releases) count += release.resolved;
  return count;
}

std::vector<ObjectReport> interposers(const DriverReport &driver) {
  std::vector<ObjectReport> others;
  std::copy_if(driver.objects.begin(), driver.objects.end(), std::back_inserter(others),
               [](const ObjectReport &object) { return !object.is_driver; });
  return others;
}

// ---- Text -----------------------------------------------------------------------------------------

std::string line(std::string_view label, const std::string &text) {
  return fmt::format("{:<{}}{}\n", label, label_width, printable(text));
}

std::string wrapped_line(std::string_view label, std::string_view text) {
  return fmt::format("{:<{}}{}\n", label, label_width, wrap(text, label_width));
}

std::string few_names(const std::vector<std::string> &names) {
  const std::vector<std::string> first(names.begin(), names.begin() + std::min(names.size(), few));
  const std::string rest = names.size() > few ? fmt::format(" and {} more", names.size() - few) : "";
  return fmt::format("{}{}", fmt::join(first, " "), rest);
}

std::string attempt_text(const CushimAttempt &attempt) {
  std::string text =
      fmt::format("{} ({}): {}", attempt.library, attempt.source,
                  attempt.outcome == CUSHIM_OK ? "accepted" : cushim_diagnosis_name(attempt.outcome));
  if (attempt.detail[0] != '\0') text += fmt::format("; {}", attempt.detail);
  return text;
}

std::string problem_text(const Diagnosis &problem) {
  return line(fmt::format("cushim[{}]", problem.name()), "") + wrapped_line("  what", problem.what()) +
         wrapped_line("  to do", problem.advice());
}

std::string device_text(const DeviceReport &device) {
  const auto or_unknown = [](const std::optional<std::string> &text) { return text.value_or("unknown"); };
  std::string text = line(fmt::format("Device {}", device.number), or_unknown(device.name));
  text += line("  memory", device.memory
                               ? fmt::format("{:.1f} GiB ({} bytes)",
                                             static_cast<double>(*device.memory) / (1 << 30), *device.memory)
                               : "unknown");
  text += line("  compute", or_unknown(device.compute_capability));
  text += line("  UUID", or_unknown(device.uuid));
  text += line("  PCI", or_unknown(device.pci));
  for (const std::string &failure : device.failures) text += line("  failed", failure);
  return text;
}

// Returns one line for each range of releases that are completely present or completely missing, and one line
// with names for each partially present release.
std::string releases_text(const std::vector<ReleaseReport> &releases) {
  std::string text;
  const auto kind = [](const ReleaseReport &r) {
    return r.missing.empty() ? 'a' : r.resolved == 0 ? 'n' : 's';
  };
  for (auto first = releases.begin(); first != releases.end();) {
    auto last = first + 1;
    while (kind(*first) != 's' && last != releases.end() && kind(*last) == kind(*first)) ++last;
    int resolved = 0;
    int total = 0;
    for (auto release = first; release != last; ++release) {
      resolved += release->resolved;
      total += release->total();
    }
    std::string range = release_text(first->release);
    if (last - first > 1) range += fmt::format(" to {}", release_text((last - 1)->release));
    std::string row = fmt::format("  {:<14}{:>3} of {}", range, resolved, total);
    if (kind(*first) == 's') {
      row = fmt::format("{:<{}}", row, names_column);
      row += wrap("missing: " + few_names(first->missing), names_column);
    }
    text += row + "\n";
    first = last;
  }
  return text;
}

std::string driver_text(const DriverReport &driver) {
  std::string text;
  text += line("Driver", driver.path);
  if (driver.loaded_as != driver.path) text += line("  loaded as", driver.loaded_as);
  text += line("  version",
               fmt::format("{} ({}); it supports CUDA toolkits up to {}", release_text(driver.version),
                           driver.version, release_text(driver.version)));
  text += line("  lookup", lookup_text(driver.lookup));
  const std::vector<ObjectReport> others = interposers(driver);
  if (others.empty()) text += line("  functions", "all in the driver's own library");
  for (const ObjectReport &other : others)
    text += wrapped_line("  interposed", fmt::format("{} entry points are in {}: {}", other.symbols.size(),
                                                     other.path, few_names(other.symbols)));
  text += line("Entry points",
               fmt::format("{} of {} resolved; by release:", count_resolved(driver), cushim_entry_count()));
  return text + releases_text(driver.releases);
}

std::string to_text(const DoctorReport &report) {
  std::string text;
  if (report.driver && report.driver->is_simulated)
    text += "SIMULATED: this is cushim's simulated driver. No GPU is used.\n\n";
  for (const Diagnosis &problem : report.problems) text += problem_text(problem) + "\n";
  for (const CushimAttempt &attempt : report.attempts)
    text += wrapped_line(&attempt == report.attempts.data() ? "Tried" : "", attempt_text(attempt));
  for (const Variable &variable : report.environment)
    text += line(&variable == report.environment.data() ? "Environment" : "",
                 fmt::format("{}={}", variable.name, variable.value));
  if (report.driver) text += driver_text(*report.driver);
  for (const DeviceReport &device : report.devices) text += device_text(device);
  for (const std::string &failure : report.failures) text += line("Failed", failure);
  if (report.is_good())
    text += "No problems found.\n";
  else if (report.problems.empty())
    text += "Driver calls failed: see the lines above. `cushim explain CODE` explains a result.\n";
  return text;
}

// ---- JSON -----------------------------------------------------------------------------------------

template <class Value>
Json or_null(const std::optional<Value> &value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Diagnosis &problem) {
  return {{"id", problem.name()},
          {"code", static_cast<int>(problem.code())},
          {"what", problem.what()},
          {"advice", problem.advice()}};
}

Json to_json(const CushimAttempt &attempt) {
  return {{"source", attempt.source},
          {"library", attempt.library},
          {"outcome", cushim_diagnosis_name(attempt.outcome)},
          {"detail", attempt.detail}};
}

Json to_json(const DeviceReport &device) {
  return {{"number", device.number},          {"name", or_null(device.name)},
          {"memory", or_null(device.memory)}, {"compute_capability", or_null(device.compute_capability)},
          {"uuid", or_null(device.uuid)},     {"pci", or_null(device.pci)},
          {"failures", device.failures}};
}

Json to_json(const DriverReport &driver) {
  Json json{{"path", driver.path},
            {"loaded_as", driver.loaded_as},
            {"simulated", driver.is_simulated},
            {"version", driver.version},
            {"newest_toolkit", release_text(driver.version)},
            {"lookup", lookup_text(driver.lookup)}};
  json["interposed"] = !interposers(driver).empty();
  json["objects"] = Json::array();
  for (const ObjectReport &object : driver.objects)
    json["objects"].push_back(
        {{"path", object.path}, {"is_driver", object.is_driver}, {"symbols", object.symbols}});
  json["entry_points"] = {{"known", cushim_entry_count()}, {"resolved", count_resolved(driver)}};
  json["releases"] = Json::array();
  for (const ReleaseReport &release : driver.releases)
    json["releases"].push_back({{"release", release_text(release.release)},
                                {"resolved", release.resolved},
                                {"total", release.total()},
                                {"missing", release.missing}});
  return json;
}

template <class Value>
Json to_array(const std::vector<Value> &values) {
  Json json = Json::array();
  for (const Value &value : values) json.push_back(to_json(value));
  return json;
}

Json to_json(const DoctorReport &report) {
  Json json{{"cushim", cushim_version()}, {"good", report.is_good()}};
  json["problems"] = to_array(report.problems);
  json["tried"] = to_array(report.attempts);
  json["environment"] = Json::object();
  for (const Variable &variable : report.environment) json["environment"][variable.name] = variable.value;
  json["driver"] = report.driver ? to_json(*report.driver) : Json(nullptr);
  json["devices"] = to_array(report.devices);
  json["failures"] = report.failures;
  return json;
}

}  // namespace

bool DoctorReport::is_good() const {
  return problems.empty() && failures.empty() &&
         std::all_of(devices.begin(), devices.end(),
                     [](const DeviceReport &device) { return device.failures.empty(); });
}

Outcome report(const DoctorReport &report) {
  Outcome outcome{Exit::good, to_text(report), to_json(report)};
  if (!report.driver)
    outcome.exit = Exit::no_driver;
  else if (!report.is_good())
    outcome.exit = Exit::finding;
  return outcome;
}

}  // namespace cushim::command

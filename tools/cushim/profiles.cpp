// SPDX-License-Identifier: Apache-2.0
#include "profiles.hpp"

#include <fmt/format.h>
#include <cushim/sim/profile.hpp>

#include <stdexcept>

namespace cushim::command {
namespace {

std::string compute_capability(const sim::Profile &profile) {
  return fmt::format("{}.{}", profile.attributes.at(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                     profile.attributes.at(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

double gibibytes(const sim::Profile &profile) {
  return static_cast<double>(profile.total_memory) / (1024.0 * 1024.0 * 1024.0);
}

Json summary(const sim::Profile &profile) {
  return {{"id", profile.id},
          {"name", profile.name},
          {"total_memory", profile.total_memory},
          {"compute_capability", compute_capability(profile)},
          {"status", sim::status_name(profile.status)},
          {"source", profile.source}};
}

Outcome list() {
  Outcome outcome;
  for (const sim::Profile &profile : sim::profiles()) {
    outcome.text += fmt::format("{:<8} {:<24} {:>6.1f} GiB  compute {:<5} {}\n         {}\n", profile.id,
                                profile.name, gibibytes(profile), compute_capability(profile),
                                sim::status_name(profile.status), profile.source);
    outcome.json["profiles"].push_back(summary(profile));
  }
  return outcome;
}

void append(Outcome &outcome, std::size_t index, const sim::Profile &profile) {
  outcome.text +=
      fmt::format("Device {}  {}: {}, {} bytes, {}\n          {}\n", index, profile.id, profile.name,
                  profile.total_memory, sim::status_name(profile.status), profile.source);
  Json device = summary(profile);
  for (const auto &[number, value] : profile.attributes) {
    const std::string &name = sim::attribute_names().at(number);
    const bool is_estimated = profile.estimated.contains(number);
    outcome.text += fmt::format("  {:<52} {:>12}{}\n", name, value, is_estimated ? "  estimated" : "");
    device["attributes"][name] = value;
    if (is_estimated) device["estimated"].push_back(name);
  }
  outcome.json["devices"].push_back(device);
}

}  // namespace

Outcome profiles(const std::string &description) try {
  if (description.empty()) return list();
  const sim::MachineProfile machine = sim::machine(description);
  Outcome outcome;
  outcome.json["driver"] = machine.driver_version;
  for (std::size_t i = 0; i < machine.devices.size(); ++i) append(outcome, i, machine.devices[i]);
  return outcome;
} catch (const std::invalid_argument &error) {
  return {Exit::usage, fmt::format("cushim profiles: {}\n", error.what()), {{"error", error.what()}}};
}

}  // namespace cushim::command

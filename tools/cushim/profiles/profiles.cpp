// SPDX-License-Identifier: Apache-2.0
#include "profiles/profiles.hpp"

#include <fmt/format.h>
#include <cushim/sim/profile.hpp>

#include <map>
#include <stdexcept>
#include <variant>

#include "common/text.hpp"

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
          {"status", sim::status_name(profile.sources.front().status)},
          {"source", profile.sources.front().text}};
}

std::string text_of(const sim::ProfileValue &value) {
  if (const bool *truth = std::get_if<bool>(&value)) return *truth ? "yes" : "no";
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

Json json_of(const sim::ProfileValue &value) {
  return std::visit([](auto one) { return Json(one); }, value);
}

Outcome list() {
  Outcome outcome;
  for (const sim::Profile &profile : sim::profiles()) {
    outcome.text +=
        fmt::format("{:<8} {:<24} {:>6.1f} GiB  compute {:<5} {}\n         {}\n", profile.id, profile.name,
                    gibibytes(profile), compute_capability(profile),
                    sim::status_name(profile.sources.front().status), profile.sources.front().text);
    outcome.json["profiles"].push_back(summary(profile));
  }
  return outcome;
}

// Appends all values of a device, grouped by source.
void append(Outcome &outcome, std::size_t index, const sim::Profile &profile) {
  const std::map<std::string, sim::ProfileValue> values = profile.values();
  outcome.text += fmt::format("Device {}  {}: {}\n", index, printable(profile.id), printable(profile.name));
  Json device = summary(profile);
  for (std::size_t i = 0; i < profile.sources.size(); ++i) {
    const sim::Source &source = profile.sources[i];
    std::string lines;
    for (const auto &[name, value] : values) {
      if (profile.source_of.at(name) != i) continue;
      lines += fmt::format("    {:<56} {:>14}\n", name, text_of(value));
      device["values"][name] = {
          {"value", json_of(value)}, {"status", sim::status_name(source.status)}, {"source", source.text}};
    }
    if (!lines.empty())
      outcome.text +=
          fmt::format("  {}: {}\n{}", sim::status_name(source.status), printable(source.text), lines);
  }
  outcome.json["devices"].push_back(device);
}

// Appends the links between the devices of a machine; omits pairs without a link.
void append_links(Outcome &outcome, const sim::MachineProfile &machine) {
  outcome.json["links"] = Json::array();
  const int count = static_cast<int>(machine.devices.size());
  for (int device = 0; device < count; ++device)
    for (int other = 0; other < count; ++other) {
      const sim::Peer link = machine.peer(device, other);
      if (device == other || !link.access) continue;
      outcome.text +=
          fmt::format("Device {} reaches {}: {} GB/s{}, performance rank {}\n", device, other, link.bandwidth,
                      link.native_atomics ? ", native atomics" : "", link.performance_rank);
      outcome.json["links"].push_back({{"from", device},
                                       {"to", other},
                                       {"bandwidth", link.bandwidth},
                                       {"native_atomics", link.native_atomics},
                                       {"performance_rank", link.performance_rank}});
    }
}

}  // namespace

Outcome profiles(const std::string &description) try {
  if (description.empty()) return list();
  const sim::MachineProfile machine = sim::machine(description);
  Outcome outcome;
  outcome.json["driver"] = machine.driver_version;
  for (std::size_t i = 0; i < machine.devices.size(); ++i) append(outcome, i, machine.devices[i]);
  append_links(outcome, machine);
  return outcome;
} catch (const std::invalid_argument &error) {
  return {
      Exit::usage, fmt::format("cushim profiles: {}\n", printable(error.what())), {{"error", error.what()}}};
}

}  // namespace cushim::command

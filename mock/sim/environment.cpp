// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/machine.hpp>
#include <cushim/sim/profile.hpp>

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace cushim::sim {

namespace {

constexpr std::pair<Schedule, std::string_view> kSchedules[] = {
    {Schedule::eager, "eager"},     {Schedule::deferred, "deferred"},     {Schedule::seeded, "seeded"},
    {Schedule::stepped, "stepped"}, {Schedule::background, "background"},
};

const char *value_of(const char *variable) {
  const char *const value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

Schedule schedule(std::string_view name) {
  std::string names;
  for (const auto &[schedule, its_name] : kSchedules) {
    if (name == its_name) return schedule;
    names += (names.empty() ? "" : ", ") + std::string(its_name);
  }
  throw std::invalid_argument("there is no schedule \"" + std::string(name) + "\"; there are " + names);
}

std::string_view name_of(Schedule schedule) noexcept {
  for (const auto &[one, name] : kSchedules)
    if (one == schedule) return name;
  return "";
}

Options options_from_environment(Options options) {
  if (const char *const devices = value_of("CUSHIM_DEVICES")) options.devices = devices;
  if (const char *const version = value_of("CUSHIM_DRIVER_VERSION")) try {
      options.driver_version = driver_version(version);
    } catch (const std::invalid_argument &error) {
      throw std::invalid_argument(std::string("CUSHIM_DRIVER_VERSION: ") + error.what());
    }
  if (const char *const name = value_of("CUSHIM_SCHEDULE")) options.schedule = schedule(name);
  if (const char *const seed = value_of("CUSHIM_SEED")) {
    char *end = nullptr;
    options.seed = std::strtoull(seed, &end, 10);
    if (*end != '\0' || *seed == '-')
      throw std::invalid_argument("CUSHIM_SEED wants a number, not \"" + std::string(seed) + "\"");
  }
  if (const char *const patience = value_of("CUSHIM_PATIENCE")) {
    char *end = nullptr;
    options.patience = std::chrono::milliseconds(std::strtol(patience, &end, 10));
    if (*end != '\0' || *patience == '-')
      throw std::invalid_argument("CUSHIM_PATIENCE wants milliseconds, not \"" + std::string(patience) +
                                  "\"");
  }
  return options;
}

}  // namespace cushim::sim

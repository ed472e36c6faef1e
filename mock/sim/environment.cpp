// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/machine.hpp>

#include <cstdlib>
#include <stdexcept>

namespace cushim::sim {

namespace {

const char *value_of(const char *variable) {
  const char *const value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

Schedule schedule(std::string_view name) {
  if (name == "eager") return Schedule::eager;
  if (name == "deferred") return Schedule::deferred;
  if (name == "seeded") return Schedule::seeded;
  if (name == "stepped") return Schedule::stepped;
  if (name == "background") return Schedule::background;
  throw std::invalid_argument("there is no schedule \"" + std::string(name) +
                              "\"; there are eager, deferred, seeded, stepped and background");
}

Options options_from_environment(Options options) {
  if (const char *const devices = value_of("CUSHIM_DEVICES")) options.devices = devices;
  if (const char *const name = value_of("CUSHIM_SCHEDULE")) options.schedule = schedule(name);
  if (const char *const seed = value_of("CUSHIM_SEED")) {
    char *end = nullptr;
    options.seed = std::strtoull(seed, &end, 10);
    if (*end != '\0' || *seed == '-')
      throw std::invalid_argument("CUSHIM_SEED wants a number, not \"" + std::string(seed) + "\"");
  }
  return options;
}

}  // namespace cushim::sim

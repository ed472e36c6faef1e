// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/machine.hpp>
#include <cushim/sim/profile.hpp>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <cushim/detail/nearest.hpp>

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

// Adds the variable's name to the error message of `read`.
auto named(const char *variable, auto &&read) {
  try {
    return read();
  } catch (const std::invalid_argument &error) {
    throw std::invalid_argument(variable + std::string(": ") + error.what());
  }
}

template <class Number>
std::optional<Number> number_of(const char *variable, const char *what) {
  const char *const value = value_of(variable);
  if (value == nullptr) return std::nullopt;
  const char *const end = value + std::strlen(value);
  Number number = 0;
  const auto [stop, error] = std::from_chars(value, end, number);
  if (error != std::errc() || stop != end)
    throw std::invalid_argument(std::string(variable) + " must be " + what + ", at most " +
                                std::to_string(std::numeric_limits<Number>::max()) + ", not \"" + value +
                                "\"");
  return number;
}

}  // namespace

Schedule schedule(std::string_view name) {
  std::vector<std::string> names;
  for (const auto &[schedule, its_name] : kSchedules) {
    if (name == its_name) return schedule;
    names.emplace_back(its_name);
  }
  std::string list;
  for (const std::string &one : names) list += (list.empty() ? "" : ", ") + one;
  throw std::invalid_argument("there is no schedule \"" + std::string(name) + "\"; did you mean \"" +
                              mock::nearest(name, names) + "\"? Schedules: " + list);
}

std::string_view name_of(Schedule schedule) noexcept {
  for (const auto &[one, name] : kSchedules)
    if (one == schedule) return name;
  return "";
}

Options options_from_environment(Options options) {
  if (const char *const devices = value_of("CUSHIM_DEVICES")) options.devices = devices;
  if (const char *const version = value_of("CUSHIM_DRIVER_VERSION"))
    options.driver_version = named("CUSHIM_DRIVER_VERSION", [&] { return driver_version(version); });
  if (const char *const name = value_of("CUSHIM_SCHEDULE"))
    options.schedule = named("CUSHIM_SCHEDULE", [&] { return schedule(name); });
  if (const auto seed = number_of<std::uint64_t>("CUSHIM_SEED", "a number")) options.seed = *seed;
  if (const auto patience = number_of<std::uint32_t>("CUSHIM_PATIENCE", "a number of milliseconds"))
    options.patience = std::chrono::milliseconds(*patience);
  if (const char *const faults = value_of("CUSHIM_FAULTS")) options.faults = faults;
  if (const char *const folder = value_of("CUSHIM_PTX_STORE")) options.ptx_store = folder;
  if (const char *const libraries = value_of("CUSHIM_KERNELS")) options.kernels = libraries;
  if (const auto skips = number_of<std::uint8_t>("CUSHIM_SKIP_KERNELS", "0 or 1"))
    options.skips_kernels = *skips != 0;
  options.profiles_kernels = options.profiles_kernels || value_of("CUSHIM_PROFILE_KERNELS") != nullptr;
  if (const char *const times = value_of("CUSHIM_KERNEL_TIMES")) {
    options.models_kernel_times = std::string_view(times) == "model";
    if (!options.models_kernel_times && std::string_view(times) != "fixed")
      throw std::invalid_argument("CUSHIM_KERNEL_TIMES must be fixed or model, not \"" + std::string(times) +
                                  "\"");
  }
  if (const auto limit = number_of<std::uint64_t>("CUSHIM_KERNEL_LIMIT", "a number of instructions"))
    options.kernel_limit = *limit;
  return options;
}

}  // namespace cushim::sim

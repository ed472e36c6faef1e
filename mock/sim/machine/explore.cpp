// SPDX-License-Identifier: Apache-2.0
#include <cushim/sim/explore.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace cushim::sim {

namespace {

std::vector<Options> runs(int seeds, const Options &options) {
  for (const char *variable : {"CUSHIM_SCHEDULE", "CUSHIM_SEED"})
    if (const char *const value = std::getenv(variable); value != nullptr && *value != '\0') {
      Options one = options;
      if (std::getenv("CUSHIM_SCHEDULE") == nullptr) one.schedule = Schedule::seeded;
      return {options_from_environment(one)};
    }
  std::vector<Options> all;
  const auto add = [&](Schedule schedule, std::uint64_t seed) {
    Options one = options;
    one.schedule = schedule;
    one.seed = seed;
    all.push_back(std::move(one));
  };
  add(Schedule::eager, options.seed);
  add(Schedule::deferred, options.seed);
  for (int seed = 1; seed <= seeds; ++seed) add(Schedule::seeded, static_cast<std::uint64_t>(seed));
  return all;
}

std::optional<FailingSchedule> run(const Options &options, const std::function<bool(Machine &)> &body) {
  Machine machine(options);
  const ScopedDriver scope(machine.driver());
  std::string why;
  try {
    if (body(machine)) return std::nullopt;
  } catch (const std::exception &error) {
    why = error.what();
  }
  return FailingSchedule{options, std::move(why), machine.order()};
}

}  // namespace

std::string FailingSchedule::text() const {
  std::string alone = "CUSHIM_SCHEDULE=" + std::string(name_of(options.schedule));
  std::string which = "schedule " + std::string(name_of(options.schedule));
  if (options.schedule == Schedule::seeded) {
    alone += " CUSHIM_SEED=" + std::to_string(options.seed);
    which += ", seed " + std::to_string(options.seed);
  }
  return "fails with " + which + (why.empty() ? "" : ": " + why) +
         "\noperations in the order in which they ran, with their call numbers:\n" + order +
         "to reproduce: " + alone + "\n";
}

std::optional<FailingSchedule> explore(int seeds, const std::function<bool(Machine &)> &body,
                                       const Options &options) {
  for (const Options &one : runs(seeds, options)) {
    std::optional<FailingSchedule> failing = run(one, body);
    if (!failing) continue;
    std::fprintf(stderr, "cushim[sim]: %s", failing->text().c_str());
    return failing;
  }
  return std::nullopt;
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

// Sets an environment variable until the end of the scope.
struct Variable {
  Variable(const char *variable, const char *value) : name(variable) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name); }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;
  const char *name;
};

// Returns the message of the exception for a value of a variable; empty if the value is accepted.
std::string said_of(const char *variable, const char *value) {
  const Variable set(variable, value);
  try {
    const Machine machine(options_from_environment({.devices = "small"}));
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "";
}

TEST(Environment, Sets_the_options_of_a_machine) {
  const Variable devices("CUSHIM_DEVICES", "l4x2"), schedule("CUSHIM_SCHEDULE", "seeded"),
      seed("CUSHIM_SEED", "18446744073709551615"), patience("CUSHIM_PATIENCE", "250"),
      version("CUSHIM_DRIVER_VERSION", "12.4");
  const Options options = options_from_environment();
  EXPECT_EQ(options.devices, "l4x2");
  EXPECT_EQ(options.schedule, Schedule::seeded);
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_EQ(options.patience, std::chrono::milliseconds(250));
  EXPECT_EQ(options.driver_version, 12040);
}

TEST(Environment, Keeps_options_whose_variables_are_not_set) {
  const Variable empty("CUSHIM_SCHEDULE", "");
  EXPECT_EQ(options_from_environment({.schedule = Schedule::deferred}).schedule, Schedule::deferred);
}

TEST(Environment, Suggests_the_nearest_schedule) {
  EXPECT_EQ(
      said_of("CUSHIM_SCHEDULE", "eger"),
      "CUSHIM_SCHEDULE: there is no schedule \"eger\"; did you mean \"eager\"? Schedules: eager, deferred, "
      "seeded, stepped, background");
}

TEST(Environment, Suggests_the_nearest_device) {
  EXPECT_NE(said_of("CUSHIM_DEVICES", "h20").find("there is no device \"h20\"; did you mean \"h200\"?"),
            std::string::npos)
      << said_of("CUSHIM_DEVICES", "h20");
}

TEST(Environment, Requires_an_existing_version_of_the_driver) {
  EXPECT_EQ(said_of("CUSHIM_DRIVER_VERSION", "9.2"),
            "CUSHIM_DRIVER_VERSION: \"9.2\" is not a CUDA version from 11.0 to 13.99; an example is 12.4");
}

TEST(Environment, Requires_integers_that_fit) {
  for (const char *value : {"many", "-1", "1.5", " 1", "0x10", "18446744073709551616"})
    EXPECT_EQ(
        said_of("CUSHIM_SEED", value),
        "CUSHIM_SEED must be a number, at most 18446744073709551615, not \"" + std::string(value) + "\"");
  for (const char *value : {"soon", "-1", "1s", "4294967296"})
    EXPECT_EQ(said_of("CUSHIM_PATIENCE", value),
              "CUSHIM_PATIENCE must be a number of milliseconds, at most 4294967295, not \"" +
                  std::string(value) + "\"");
}

}  // namespace
}  // namespace cushim::sim

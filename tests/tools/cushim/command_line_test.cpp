// SPDX-License-Identifier: Apache-2.0
#include <cushim/load.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/release.hpp"
#include "support/run_command.hpp"

namespace cushim::command {
namespace {

using testing::HasSubstr;

TEST(CommandLine, Help_names_every_verb_and_the_exit_codes) {
  const std::string help = output_of({"--help"});
  for (const char *word : {"doctor", "symbols", "explain", "ctest-resources",
                           "0 no finding, 1 a finding, 2 a usage error, 3 no driver"})
    EXPECT_THAT(help, HasSubstr(word));
}

TEST(CommandLine, Every_verb_has_help_and_json) {
  for (const char *verb : {"doctor", "symbols", "explain"})
    EXPECT_THAT(output_of({verb, "--help"}), HasSubstr("--json")) << verb;
}

TEST(CommandLine, The_version_has_the_number_of_entry_points_and_the_newest_release) {
  const std::string version = output_of({"--version"});
  EXPECT_THAT(version, HasSubstr("cushim " + cushim_version()));
  EXPECT_THAT(version, HasSubstr(std::to_string(cushim_entry_count()) + " entry points"));
  EXPECT_THAT(version, HasSubstr("release " + release_text(newest_known_release())));
}

TEST(CommandLine, Invalid_arguments_are_a_usage_error_on_standard_error) {
  const std::vector<std::vector<std::string>> lines{{},
                                                    {"cure"},
                                                    {"doctor", "--no-such-option"},
                                                    {"doctor", "--at-least", "soon"},
                                                    {"doctor", "--at-least"},
                                                    {"symbols", "one", "two"}};
  for (const std::vector<std::string> &line : lines) {
    const Finished refused = run(line);
    EXPECT_EQ(refused.exit, 2) << testing::PrintToString(line);
    EXPECT_EQ(refused.out, "") << testing::PrintToString(line);
    EXPECT_NE(refused.error, "") << testing::PrintToString(line);
  }
}

}  // namespace
}  // namespace cushim::command

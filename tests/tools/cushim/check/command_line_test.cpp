// SPDX-License-Identifier: Apache-2.0
// Runs `cushim check` on files made by the compiler and the linker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/folder.hpp"
#include "support/run_command.hpp"

namespace cushim::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

nlohmann::json file_of(const std::string &path) {
  const Finished finished = run({"check", path, "--json"});
  EXPECT_EQ(finished.exit, 0) << finished.error;
  return finished.json()["files"][0];
}

TEST(CheckCommand, Tells_all_of_a_program_that_links_the_driver) {
  const nlohmann::json file = file_of(CHECK_LINKED);
  EXPECT_EQ(file["name"], CHECK_LINKED);
  EXPECT_EQ(file["kind"], "program");
  EXPECT_EQ(file["bits"], 64);
  EXPECT_EQ(file["links_driver"], true);
  EXPECT_EQ(file["floor"], nlohmann::json::parse(R"({"symbol": "cuDeviceGetCount", "release": "2.0"})"));
  ASSERT_EQ(file["imports"].size(), 2u);
  EXPECT_EQ(file["imports"][1]["symbol"], "cuInit");
  ASSERT_EQ(file["weak_imports"].size(), 1u);
  EXPECT_EQ(file["weak_imports"][0]["symbol"], "cuCtxGetDevice_v2");
  EXPECT_EQ(file["exports"], 0);
  EXPECT_EQ(file["hints"]["would_use"], nullptr);
  EXPECT_EQ(file["runtime"]["links"], nullptr);
  EXPECT_EQ(file["runtime"]["contains_copy"], "no");
  EXPECT_EQ(file["cushim"]["contains"], nullptr);
  EXPECT_THAT(file["without_gpu"], ElementsAre("It does not start without the NVIDIA driver."));
}

TEST(CheckCommand, Tells_the_same_of_the_stripped_program) {
  nlohmann::json stripped = file_of(CHECK_LINKED_STRIPPED);
  stripped["name"] = CHECK_LINKED;
  EXPECT_EQ(stripped, file_of(CHECK_LINKED));
}

TEST(CheckCommand, Tells_what_a_plugin_would_use) {
  const nlohmann::json file = file_of(CHECK_OPENED);
  EXPECT_EQ(file["kind"], "library");
  EXPECT_EQ(file["links_driver"], false);
  EXPECT_EQ(file["floor"], nullptr);
  EXPECT_EQ(file["hints"]["names_library"], true);
  EXPECT_EQ(file["hints"]["would_use"]["symbol"], "cuStreamGetDevice");
  EXPECT_EQ(file["hints"]["would_use"]["release"], "12.8");
}

TEST(CheckCommand, Finds_the_copy_of_cushim_in_a_plugin) {
  const nlohmann::json file = file_of(CHECK_SHIMMED);
  EXPECT_EQ(file["cushim"]["contains"], CUSHIM_VERSION);
  EXPECT_THAT(file["hints"]["names"], IsEmpty());
  EXPECT_EQ(file["links_driver"], false);
}

TEST(CheckCommand, Finds_no_libcuda_in_a_program_that_was_linked_to_the_drop_in_library) {
  EXPECT_EQ(file_of(CHECK_LINKED)["cushim"]["drop_in"], false);
  const nlohmann::json file = file_of(CHECK_DROPPED_IN);
  EXPECT_EQ(file["cushim"]["drop_in"], true);
  EXPECT_EQ(file["cushim"]["contains"], CUSHIM_VERSION);
  EXPECT_EQ(file["links_driver"], false);
  EXPECT_THAT(file["imports"], IsEmpty());
  EXPECT_THAT(file["without_gpu"], ElementsAre(HasSubstr("starts without the driver")));
  const Finished finished = run({"check", "--forbid", "links", "--forbid", "imports", CHECK_DROPPED_IN});
  EXPECT_EQ(finished.exit, 0);
  EXPECT_THAT(finished.out, HasSubstr("Contains cushim's drop-in library"));
}

TEST(CheckCommand, Counts_what_a_driver_exports) { EXPECT_EQ(file_of(CHECK_DRIVER)["exports"], 3); }

TEST(CheckCommand, Is_good_if_what_is_forbidden_is_not_there) {
  const Finished finished =
      run({"check", CHECK_SHIMMED, "--forbid", "links", "--forbid", "imports", "--max-driver", "11.2"});
  EXPECT_EQ(finished.exit, 0);
  EXPECT_THAT(finished.out, HasSubstr("findings: 0"));
  EXPECT_EQ(finished.error, "");
}

TEST(CheckCommand, Fails_on_each_thing_that_was_forbidden) {
  const Finished finished =
      run({"check", "--forbid", "links", "--forbid", "imports", CHECK_LINKED, "--json"});
  EXPECT_EQ(finished.exit, 1);
  const nlohmann::json json = finished.json();
  EXPECT_EQ(json["good"], false);
  ASSERT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(json["findings"][0]["rule"], "links");
  EXPECT_EQ(json["findings"][0]["name"], CHECK_LINKED);
  EXPECT_EQ(json["findings"][1]["rule"], "imports");
}

TEST(CheckCommand, Fails_on_a_driver_newer_than_allowed) {
  const Finished finished = run({"check", CHECK_LINKED, "--max-driver", "1.1"});
  EXPECT_EQ(finished.exit, 1);
  EXPECT_THAT(finished.out, HasSubstr("finding[max-driver]: " CHECK_LINKED
                                      " needs a CUDA 2.0 driver for cuDeviceGetCount; the limit is 1.1"));
}

TEST(CheckCommand, Fails_on_a_glibc_newer_than_allowed_and_names_what_needs_it) {
  const nlohmann::json glibc = file_of(CHECK_LINKED)["glibc"];
  const std::string needed = glibc["version"];
  EXPECT_TRUE(needed.starts_with("2.")) << needed;
  EXPECT_NE(glibc["symbol"], "");
  EXPECT_EQ(run({"check", CHECK_LINKED, "--max-glibc", needed}).exit, 0);
  const Finished finished = run({"check", CHECK_LINKED, "--max-glibc", "2.1"});
  EXPECT_EQ(finished.exit, 1);
  EXPECT_THAT(finished.out, HasSubstr("finding[max-glibc]: " CHECK_LINKED " needs glibc " + needed + " for " +
                                      glibc["symbol"].get<std::string>() + "; the limit is 2.1"));
  for (const char *version : {"new", "2", "3.1", "2.x", "2.12345"})
    EXPECT_EQ(run({"check", CHECK_LINKED, "--max-glibc", version}).exit, 2) << version;
}

TEST(CheckCommand, Refuses_what_makes_no_sense) {
  EXPECT_EQ(run({"check"}).exit, 2);
  EXPECT_EQ(run({"check", CHECK_LINKED, "--forbid", "everything"}).exit, 2);
  EXPECT_EQ(run({"check", CHECK_LINKED, "--max-driver", "new"}).exit, 2);
}

TEST(CheckCommand, Refuses_a_path_that_cannot_be_read_and_checks_the_rest) {
  const Folder folder;
  const Finished finished = run({"check", folder.path("missing"), CHECK_LINKED, "--json"});
  EXPECT_EQ(finished.exit, 2);
  const nlohmann::json json = finished.json();
  ASSERT_EQ(json["unchecked"].size(), 1u);
  EXPECT_EQ(json["unchecked"][0]["name"], folder.path("missing"));
  EXPECT_EQ(json["files"].size(), 1u);
}

TEST(CheckCommand, A_name_sets_no_title_and_forges_no_finding) {
  const Folder folder;
  const std::string name = "\x1b]0;owned\a\nfinding[links]: x.so";
  folder.write(name, bytes_of(CHECK_LINKED));
  folder.write(name + "-broken",
               "\x7f"
               "ELF");
  const Finished finished = run({"check", folder.path(), "--forbid", "imports"});
  EXPECT_EQ(finished.exit, 1);
  EXPECT_EQ(finished.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(finished.out.find("\nfinding[links]"), std::string::npos);
  EXPECT_THAT(finished.out, HasSubstr("\\x1b]0;owned\\x07\\nfinding[links]: x.so"));
}

TEST(CheckCommand, Prints_names_that_are_not_UTF_8) {
  const Folder folder;
  folder.write("\xff.so", bytes_of(CHECK_OPENED));
  const Finished finished = run({"check", folder.path(), "--json"});
  EXPECT_EQ(finished.exit, 0);
  EXPECT_EQ(finished.json()["files"].size(), 1u);
}

}  // namespace
}  // namespace cushim::command

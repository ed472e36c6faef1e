// SPDX-License-Identifier: Apache-2.0
// Tests `cushim check` on files and directories: which files are inspected, and which results are findings.
#include "check/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "elf_recipe.hpp"
#include "support/folder.hpp"

namespace cushim::command {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const ElfRecipe linked = {.is_program = true,
                          .needed = {"libcuda.so.1"},
                          .dynamic_symbols = {{"cuInit"}, {"cuStreamBeginCaptureToGraph"}}};

std::vector<std::string> names_of(const CheckReport &report) {
  std::vector<std::string> names;
  for (const FileFacts &facts : report.files) names.push_back(facts.name);
  return names;
}

// Returns "rule name" for each finding.
std::vector<std::string> findings_of(const CheckReport &report) {
  std::vector<std::string> findings;
  for (const Finding &finding : report.findings) findings.push_back(finding.rule + " " + finding.name);
  return findings;
}

// Returns "name why" for each unchecked file.
std::vector<std::string> unchecked_of(const CheckReport &report) {
  std::vector<std::string> unchecked;
  for (const Unchecked &each : report.unchecked) unchecked.push_back(each.name + " " + each.why);
  return unchecked;
}

Exit exit_of(const CheckReport &checked) { return report(checked).exit; }

TEST(Check, Looks_into_directories_below_directories_in_the_order_of_names) {
  const Folder folder;
  std::filesystem::create_directories(folder.path("b/c"));
  folder.write("z.so", make_elf({}));
  folder.write("b/c/y.so", make_elf({}));
  folder.write("b/x.so", make_elf({}));
  folder.write("readme.txt", "words");
  const CheckReport report = check({.paths = {folder.path()}});
  EXPECT_THAT(names_of(report),
              ElementsAre(folder.path("b/c/y.so"), folder.path("b/x.so"), folder.path("z.so")));
  EXPECT_EQ(exit_of(report), Exit::good);
}

TEST(Check, Follows_a_link_that_is_given_and_none_in_a_directory) {
  const Folder folder;
  folder.write("library.so.1", make_elf({}));
  std::filesystem::create_symlink("library.so.1", folder.path("library.so"));
  std::filesystem::create_directory_symlink(".", folder.path("loop"));
  EXPECT_THAT(names_of(check({.paths = {folder.path()}})), ElementsAre(folder.path("library.so.1")));
  EXPECT_THAT(names_of(check({.paths = {folder.path("library.so")}})),
              ElementsAre(folder.path("library.so")));
}

TEST(Check, A_driver_newer_than_allowed_is_a_finding) {
  const Folder folder;
  const std::string path = folder.write("program", make_elf(linked));
  EXPECT_THAT(findings_of(check({.paths = {path}, .max_driver = 12030})), IsEmpty());
  const CheckReport old = check({.paths = {path}, .max_driver = 12020});
  ASSERT_THAT(findings_of(old), ElementsAre("max-driver " + path));
  EXPECT_THAT(old.findings[0].text,
              AllOf(HasSubstr("12.3"), HasSubstr("cuStreamBeginCaptureToGraph"), HasSubstr("12.2")));
  EXPECT_EQ(exit_of(old), Exit::finding);
}

TEST(Check, Weak_imports_and_hints_are_not_a_finding_for_the_driver) {
  const Folder folder;
  folder.write("weak.so", make_elf({.dynamic_symbols = {{"cuCtxGetDevice_v2", false, true}}}));
  folder.write("names.so", make_elf({.texts = {"libcuda.so.1", "cuCtxGetDevice_v2"}}));
  EXPECT_THAT(findings_of(check({.paths = {folder.path()}, .max_driver = 12000})), IsEmpty());
}

struct Forbids {
  std::string word;
  ElfRecipe recipe;
};

class CheckForbids : public testing::TestWithParam<Forbids> {};

TEST_P(CheckForbids, What_is_there_and_nothing_else) {
  const Folder folder;
  const std::string with = folder.write("with.so", make_elf(GetParam().recipe));
  folder.write("without.so", make_elf({.needed = {"libc.so.6"}, .dynamic_symbols = {{"printf"}}}));
  const CheckReport report = check({.paths = {folder.path()}, .forbid = {GetParam().word}});
  EXPECT_THAT(findings_of(report), ElementsAre(GetParam().word + " " + with));
  EXPECT_EQ(exit_of(report), Exit::finding);
  // Each recipe has only one forbidden property, except the runtime library, which two values of --forbid
  // name.
  for (const std::string &word : forbidden_properties())
    if (!word.starts_with(GetParam().word) && !GetParam().word.starts_with(word)) {
      EXPECT_THAT(findings_of(check({.paths = {with}, .forbid = {word}})), IsEmpty()) << word;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Words, CheckForbids,
    testing::Values(Forbids{"links", {.needed = {"libcuda.so.1"}}},
                    Forbids{"imports", {.dynamic_symbols = {{"cuInit"}}}},
                    Forbids{"names", {.texts = {"cuInit"}}},
                    Forbids{"runtime", {.needed = {"libcudart.so.12"}}},
                    Forbids{"runtime-shared", {.needed = {"libcudart.so.12"}}},
                    Forbids{"runtime-static", {.static_symbols = {{"cudaGetDeviceCount", true}}}},
                    Forbids{"device-code", {.sections = {".nv_fatbin"}}},
                    Forbids{"cushim", {.cushim = std::array<std::uint32_t, 3>{1, 0, 0}}}),
    [](const auto &info) {
      std::string name = info.param.word;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(Check, Every_word_that_can_be_forbidden_is_tested_above) {
  EXPECT_THAT(forbidden_properties(), ElementsAre("links", "imports", "names", "runtime", "runtime-shared",
                                                  "runtime-static", "device-code", "cushim"));
}

TEST(Check, A_broken_file_is_reported_and_the_others_are_checked) {
  const Folder folder;
  const std::string whole = make_elf(linked);
  folder.write("a_broken.so", whole.substr(0, whole.size() - 10));
  folder.write("sound.so", whole);
  const CheckReport report = check({.paths = {folder.path()}});
  EXPECT_THAT(unchecked_of(report), ElementsAre(folder.path("a_broken.so") + " is truncated"));
  EXPECT_THAT(names_of(report), ElementsAre(folder.path("sound.so")));
  EXPECT_EQ(exit_of(report), Exit::finding);
}

TEST(Check, A_path_in_which_nothing_is_checked_is_not_good) {
  const Folder folder;
  folder.write("script.py", "print()");
  const CheckReport report = check({.paths = {folder.path(), folder.path("script.py")}});
  EXPECT_THAT(unchecked_of(report),
              ElementsAre(folder.path() + " contains no ELF program or library",
                          folder.path("script.py") + " contains no ELF program or library"));
  EXPECT_EQ(exit_of(report), Exit::finding);
}

TEST(Check, A_path_that_cannot_be_read_is_a_usage_error_and_the_others_are_checked) {
  const Folder folder;
  folder.write("sound.so", make_elf({}));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const CheckReport report =
      check({.paths = {folder.path("missing"), folder.path("pipe"), folder.path("sound.so")}});
  EXPECT_THAT(unchecked_of(report),
              ElementsAre(folder.path("missing") + " cannot be read: No such file or directory",
                          folder.path("pipe") + " is neither a file nor a directory"));
  EXPECT_THAT(names_of(report), ElementsAre(folder.path("sound.so")));
  EXPECT_EQ(exit_of(report), Exit::usage);
}

TEST(Check, Objects_are_passed_over) {
  const Folder folder;
  std::string object = make_elf(linked);
  object[16] = 1;  // ET_REL
  folder.write("object.o", object);
  folder.write("sound.so", make_elf({}));
  EXPECT_THAT(names_of(check({.paths = {folder.path()}})), ElementsAre(folder.path("sound.so")));
}

TEST(Check, The_report_names_the_file_that_needs_the_newest_driver) {
  const Folder folder;
  folder.write("a.so", make_elf({.dynamic_symbols = {{"cuInit"}}}));
  const std::string newest = folder.write("b.so", make_elf(linked));
  folder.write("c.so", make_elf({.needed = {"libc.so.6"}}));
  const Outcome told = report(check({.paths = {folder.path()}}));
  EXPECT_THAT(told.text, EndsWith("files checked: 3, files that use CUDA: 2, findings: 0, unchecked: 0\n"
                                  "driver needed: CUDA 12.3 or later (" +
                                  newest + ", for cuStreamBeginCaptureToGraph)\n"));
  EXPECT_THAT(told.text, Not(HasSubstr("c.so")));
  EXPECT_EQ(told.json["floor"]["release"], "12.3");
  EXPECT_EQ(told.json["floor"]["name"], newest);
  EXPECT_EQ(told.json["files"].size(), 3u);
}

// Returns the report's sentences about a machine without a GPU.
std::vector<std::string> without_gpu(const ElfRecipe &recipe) {
  const Folder folder;
  return report(check({.paths = {folder.write("file", make_elf(recipe))}})).json["files"][0]["without_gpu"];
}

TEST(Check, Reports_the_behaviour_of_a_program_without_a_GPU) {
  EXPECT_THAT(without_gpu({.is_program = true}), IsEmpty());
  EXPECT_THAT(without_gpu({.is_program = true, .needed = {"libcuda.so.1"}}),
              ElementsAre("It does not start without the NVIDIA driver."));
  EXPECT_THAT(without_gpu({.needed = {"libcuda.so.1"}}),
              ElementsAre("It cannot be loaded without the NVIDIA driver."));
  EXPECT_THAT(without_gpu({.needed = {"libcudart.so.13"}}),
              ElementsAre("It cannot be loaded without libcudart.so.13.",
                          HasSubstr("cudaErrorInsufficientDriver"), HasSubstr("not with a mock")));
  EXPECT_THAT(without_gpu({.is_program = true, .static_symbols = {{"cudaGetDeviceCount", true}}}),
              ElementsAre(HasSubstr("It starts without the driver"), HasSubstr("not with a mock")));
  EXPECT_THAT(without_gpu({.is_program = true, .cushim = std::array<std::uint32_t, 3>{1, 0, 0}}),
              ElementsAre(HasSubstr("can be tested with a mock")));
  EXPECT_THAT(without_gpu({.dynamic_symbols = {{"cuInit"}}}),
              ElementsAre(HasSubstr("The process that loads it must provide")));
}

}  // namespace
}  // namespace cushim::command

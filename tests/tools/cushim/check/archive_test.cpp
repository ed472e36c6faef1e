// SPDX-License-Identifier: Apache-2.0
// Wheels and Debian packages.
#include "check/archive.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archives.hpp"
#include "check/check.hpp"
#include "elf_recipe.hpp"
#include "support/folder.hpp"

namespace cushim::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Members members = {{"package/__init__.py", "import os\n"},
                         {"package/extension.so", make_elf({.needed = {"libcuda.so.1"}})},
                         {"package/short", "\x7f"},
                         {"package/helper.so", make_elf({.needed = {"libc.so.6"}})}};

// Returns "name: linked" or "name: not linked" for each inspected file.
std::vector<std::string> looked_at(const std::string &path) {
  std::vector<std::string> files;
  for (const FileFacts &facts : check({.paths = {path}}).files)
    files.push_back(facts.name + (facts.links_driver ? ": linked" : ": not linked"));
  return files;
}

auto IsThatOf(const std::string &path) {
  return ElementsAre(path + ": package/extension.so: linked", path + ": package/helper.so: not linked");
}

void run(const std::string &command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

TEST(Archive, The_members_of_a_wheel_are_inspected) {
  const Folder folder;
  const std::string path = folder.path("package-1.0-py3-none-linux_x86_64.whl");
  write_wheel(path, members);
  EXPECT_THAT(looked_at(path), IsThatOf(path));
}

TEST(Archive, A_wheel_that_Python_made_is_read) {
  const Folder folder;
  std::filesystem::create_directory(folder.path("package"));
  for (const auto &[name, bytes] : members) folder.write(name, bytes);
  const std::string path = folder.path("package.whl");
  run("cd '" + folder.path() + "' && '" CUSHIM_TEST_PYTHON "' -m zipfile -c package.whl package");
  EXPECT_THAT(looked_at(path), IsThatOf(path));
}

class PackageTest : public testing::TestWithParam<Compression> {};

std::string name_of(const testing::TestParamInfo<Compression> &info) {
  constexpr const char *names[] = {"none", "gzip", "xz", "zstd"};
  return names[static_cast<std::size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Compressions, PackageTest,
                         testing::Values(Compression::none, Compression::gzip, Compression::xz,
                                         Compression::zstd),
                         name_of);

TEST_P(PackageTest, The_data_of_a_Debian_package_is_inspected) {
  const Folder folder;
  const std::string path = folder.path("package.deb");
  write_package(path, members, GetParam());
  EXPECT_THAT(looked_at(path), IsThatOf(path));
}

TEST(Archive, A_package_that_ar_and_tar_made_is_read) {
  const Folder folder;
  std::filesystem::create_directory(folder.path("package"));
  for (const auto &[name, bytes] : members) folder.write(name, bytes);
  folder.write("debian-binary", "2.0\n");
  const std::string path = folder.path("package.deb");
  run("cd '" + folder.path() +
      "' && tar czf data.tar.gz ./package/extension.so ./package/helper.so && '" CUSHIM_TEST_AR
      "' rc package.deb debian-binary data.tar.gz");
  EXPECT_THAT(looked_at(path), IsThatOf(path));
}

TEST(Archive, Archives_in_a_directory_are_inspected) {
  const Folder folder;
  const std::string path = folder.path("package.whl");
  write_wheel(path, members);
  EXPECT_THAT(looked_at(folder.path()), IsThatOf(path));
}

TEST(Archive, A_wheel_cut_short_anywhere_is_never_taken_for_a_whole_one) {
  const Folder folder;
  const std::string whole_path = folder.path("whole.whl");
  write_wheel(whole_path, members);
  const std::string whole = bytes_of(whole_path);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const CheckReport report = check({.paths = {folder.write("cut.whl", whole.substr(0, size))}});
    EXPECT_FALSE(report.unchecked.empty()) << "after " << size << " bytes";
  }
}

TEST(Archive, A_package_cut_short_anywhere_is_never_taken_for_a_whole_one) {
  const Folder folder;
  const std::string whole_path = folder.path("whole.deb");
  write_package(whole_path, members, Compression::xz);
  const std::string whole = bytes_of(whole_path);
  for (std::size_t size = 0; size + 1 < whole.size(); size += 7) {
    const CheckReport report = check({.paths = {folder.write("cut.deb", whole.substr(0, size))}});
    EXPECT_FALSE(report.unchecked.empty()) << "after " << size << " bytes";
  }
}

TEST(Archive, Survives_flipped_bits) {
  const Folder folder;
  write_wheel(folder.path("whole.whl"), members);
  write_package(folder.path("whole.deb"), members, Compression::gzip);
  for (const std::string kind : {".whl", ".deb"}) {
    std::string bytes = bytes_of(folder.path("whole" + kind));
    std::size_t noticed = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
      noticed += !check({.paths = {folder.write("flipped" + kind, bytes)}}).unchecked.empty();
      bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
    }
    EXPECT_GT(noticed, 0u);
  }
}

TEST(Archive, A_broken_member_is_reported_and_the_others_are_checked) {
  const Folder folder;
  const std::string path = folder.path("package.whl");
  Members broken = members;
  broken[1].second.pop_back();
  write_wheel(path, broken);
  const CheckReport report = check({.paths = {path}});
  ASSERT_EQ(report.unchecked.size(), 1u);
  EXPECT_EQ(report.unchecked[0].name, path + ": package/extension.so");
  EXPECT_EQ(report.unchecked[0].why, "is truncated");
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_EQ(report.files[0].name, path + ": package/helper.so");
}

TEST(Archive, A_file_that_is_an_archive_by_name_only_is_reported) {
  const Folder folder;
  for (const std::string name : {"words.whl", "words.deb"}) {
    const std::string path = folder.write(name, "these are words");
    const CheckReport report = check({.paths = {path}});
    ASSERT_EQ(report.unchecked.size(), 1u);
    EXPECT_EQ(report.unchecked[0].name, path);
    EXPECT_THAT(report.unchecked[0].why, HasSubstr("cannot be read"));
  }
}

TEST(Archive, A_package_without_data_is_reported) {
  const Folder folder;
  folder.write("debian-binary", "2.0\n");
  run("cd '" + folder.path() + "' && '" CUSHIM_TEST_AR "' rc package.deb debian-binary");
  const CheckReport report = check({.paths = {folder.path("package.deb")}});
  ASSERT_EQ(report.unchecked.size(), 1u);
  EXPECT_EQ(report.unchecked[0].why, "has no data archive");
}

}  // namespace
}  // namespace cushim::command

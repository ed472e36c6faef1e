// SPDX-License-Identifier: Apache-2.0
// The search for a driver: locations, their order, and the settings that select them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "broken_files.hpp"
#include "child.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"

namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kUsable = "cushim[ok]: the driver is usable";

// ---- The search path ----------------------------------------------------------------------------

TEST(Search, The_driver_is_what_the_linker_finds_by_soname) {
  EXPECT_EQ(probe({"load", "name", "version"}, {{"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({kUsable + " (soname: " + fake_path("13000") + ").", fake_path("13000"), "13000"}));
}

TEST(Search, The_first_of_several_on_the_path_is_taken) {
  EXPECT_EQ(
      probe({"load", "version"}, {{"LD_LIBRARY_PATH", fake_folder("12040") + ":" + fake_folder("13000")}})
          .out,
      kUsable + " (soname: " + fake_path("12040") + ").\n12040\n");
}

TEST(Search, A_library_that_is_already_loaded_is_used_regardless_of_the_path) {
  EXPECT_EQ(
      probe({"preload", fake_path("12040"), "load", "name"}, {{"LD_LIBRARY_PATH", fake_folder("13000")}}),
      lines({kUsable + " (soname: libcuda.so.1).", fake_path("12040")}));
}

TEST(Search, A_loaded_library_is_used_although_a_broken_file_is_on_the_path) {
  const Folder folder;
  folder.write("libcuda.so.1", "no library\n");
  EXPECT_EQ(probe({"preload", fake_path("12040"), "load", "name"}, {{"LD_LIBRARY_PATH", folder.path()}}),
            lines({kUsable + " (soname: libcuda.so.1).", fake_path("12040")}));
}

TEST(Search, A_pipe_on_the_path_is_skipped_without_a_wait_for_its_writer) {
  const Folder folder;
  ASSERT_EQ(mkfifo(folder.path("libcuda.so.1").c_str(), 0600), 0);
  EXPECT_EQ(
      probe({"call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", folder.path() + ":" + fake_folder("13000")}}),
      lines({"0", fake_path("13000")}));
}

// ---- The linker's directories -------------------------------------------------------------------

// Returns a directory whose path is longer than 256 bytes.
std::string long_folder(const Folder &folder) {
  const std::string path = folder.path(std::string(200, 'a') + "/" + std::string(200, 'b'));
  fs::create_directories(path);
  return path;
}

TEST(Search, A_pipe_in_a_folder_with_a_long_path_is_passed_over) {
  const Folder folder;
  const std::string far = long_folder(folder);
  ASSERT_EQ(mkfifo((far + "/libcuda.so.1").c_str(), 0600), 0);
  EXPECT_EQ(probe({"call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", far + ":" + fake_folder("13000")}}),
            lines({"0", fake_path("13000")}));
}

TEST(Search, A_driver_in_a_folder_with_a_long_path_has_its_whole_path_as_its_name) {
  const Folder folder;
  const std::string path = long_folder(folder) + "/libcuda.so.1";
  fs::create_symlink(fake_path("13000"), path);
  EXPECT_EQ(probe({"call", "cuInit", "name"}, {{"CUSHIM_LIBRARY", path}}), lines({"0", path}));
}

TEST(Search, The_reason_is_reported_if_a_driver_with_a_long_path_cannot_be_loaded) {
  const Folder folder;
  const std::string path = long_folder(folder) + "/libcuda.so.1";
  fs::create_symlink(fake_path("unresolved"), path);
  EXPECT_THAT(probe({"load"}, {{"CUSHIM_LIBRARY", path}}).out,
              HasSubstr("undefined symbol: cushim_test_defined_nowhere"));
}

TEST(Search, Many_bad_files_on_the_path_do_not_hide_the_one_that_was_accepted) {
  std::vector<Folder> folders(20);
  std::string path;
  for (const Folder &folder : folders) {
    folder.write("libcuda.so.1", "");
    path += folder.path() + ":";
  }
  EXPECT_THAT(probe({"load"}, {{"LD_LIBRARY_PATH", path + fake_folder("13000")}}).out,
              EndsWith("; soname: " + fake_path("13000") + ").\n"));
}

#if defined(__x86_64__)
TEST(Search, A_pipe_in_a_folder_for_processors_of_a_level_is_passed_over) {
  const Folder folder;
  fs::create_directories(folder.path("glibc-hwcaps/x86-64-v2"));
  ASSERT_EQ(mkfifo(folder.path("glibc-hwcaps/x86-64-v2/libcuda.so.1").c_str(), 0600), 0);
  EXPECT_EQ(
      probe({"call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", folder.path() + ":" + fake_folder("13000")}}),
      lines({"0", fake_path("13000")}));
}

TEST(Search, A_driver_for_processors_of_a_level_is_preferred_as_the_linker_does) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no level";
  const Folder folder;
  fs::create_directories(folder.path("glibc-hwcaps/x86-64-v2"));
  fs::create_symlink(fake_path("13000"), folder.path("glibc-hwcaps/x86-64-v2/libcuda.so.1"));
  fs::create_symlink(fake_path("12040"), folder.path("libcuda.so.1"));
  EXPECT_EQ(probe({"name", "call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", folder.path()}}),
            lines({"", "0", folder.path("glibc-hwcaps/x86-64-v2/libcuda.so.1")}));
}
#endif

TEST(Search, A_pipe_in_any_other_subfolder_that_the_linker_knows_is_not_waited_for) {
  const Folder folder;
  for (const char *subfolder : {"tls", "x86_64", "tls/x86_64", "haswell", "haswell/x86_64"}) {
    fs::create_directories(folder.path(subfolder));
    ASSERT_EQ(mkfifo(folder.path(subfolder + std::string("/libcuda.so.1")).c_str(), 0600), 0);
  }
  EXPECT_EQ(
      probe({"call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", folder.path() + ":" + fake_folder("13000")}}),
      lines({"0", fake_path("13000")}));
}

TEST(Search, The_current_directory_is_not_searched_if_the_path_has_an_empty_element) {
  const Folder folder;
  fs::create_symlink(fake_path("13000"), folder.path("libcuda.so.1"));
  for (const std::string path : {"", ".", "./", "libraries/.."}) {
    fs::create_directories(folder.path("libraries"));
    const Outcome outcome =
        probe({"folder", folder.path(), "load", "name"}, {{"LD_LIBRARY_PATH", path + ":/nowhere"}});
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("usable"))) << path;
    EXPECT_THAT(outcome.out, HasSubstr("cushim[relative-path]: ")) << path;
    EXPECT_THAT(outcome.out, HasSubstr("Remove empty and relative directories from LD_LIBRARY_PATH."))
        << path;
  }
  EXPECT_EQ(probe({"folder", folder.path(), "call", "cuInit", "name"},
                  {{"LD_LIBRARY_PATH", ":" + fake_folder("12040")}}),
            lines({"0", fake_path("12040")}));
}

TEST(Search, A_path_that_the_program_sets_itself_changes_nothing_as_for_the_linker) {
  EXPECT_EQ(probe({"path", fake_folder("12040"), "call", "cuInit", "name"},
                  {{"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({"0", fake_path("13000")}));
}

// If no driver follows on the path, the diagnosis is about the broken file.
TEST(Search, A_fault_of_a_file_on_the_path_is_reported_if_there_is_no_driver) {
  if (probe({"preload", "libcuda.so.1"}) == lines({})) GTEST_SKIP() << "this machine has a driver";
  for (const BrokenFile &file : broken_files()) {
    const Folder folder;
    file.make(folder.path("libcuda.so.1"));
    const std::string by_name = probe({"load"}, {{"CUSHIM_LIBRARY", folder.path("libcuda.so.1")}}).out;
    const std::string id = by_name.substr(0, by_name.find(' '));
    EXPECT_THAT(probe({"load"}, {{"LD_LIBRARY_PATH", folder.path()}}).out, StartsWith(id)) << file.name;
  }
}

TEST(Search, A_link_to_itself_is_reported) {
  if (probe({"preload", "libcuda.so.1"}) == lines({})) GTEST_SKIP() << "this machine has a driver";
  const Folder folder;
  const std::string path = folder.path("libcuda.so.1");
  fs::create_symlink(path, path);
  for (const Environment &environment :
       {Environment{{"LD_LIBRARY_PATH", folder.path()}}, Environment{{"CUSHIM_LIBRARY", path}}})
    EXPECT_THAT(probe({"load"}, environment).out,
                StartsWith("cushim[not-loadable]: " + path + " exists but cannot be loaded ("));
  EXPECT_EQ(
      probe({"call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", folder.path() + ":" + fake_folder("13000")}}),
      lines({"0", fake_path("13000")}));
}

// ---- The linker's cache -------------------------------------------------------------------------

// Writes a linker cache of these directories with the system's ldconfig.
std::string make_cache(const Folder &folder, const std::vector<std::string> &folders,
                       const std::string &format) {
  std::string text;
  for (const std::string &each : folders) text += each + "\n";
  const std::string command = "/sbin/ldconfig -X -c " + format + " -C " + folder.path("cache") + " -f " +
                              folder.write("conf", text) + " >/dev/null 2>&1";
  return std::system(command.c_str()) == 0 ? folder.path("cache") : "";
}

class Cache : public testing::TestWithParam<std::string> {};

TEST_P(Cache, A_driver_that_ldconfig_found_is_taken) {
  if (*CUSHIM_TEST_EMULATOR != '\0') GTEST_SKIP() << "this machine's ldconfig is of another machine";
  const Folder folder;
  const std::string cache = make_cache(folder, {fake_folder("12040")}, GetParam());
  if (cache.empty()) GTEST_SKIP() << "no ldconfig with the format " << GetParam();
  EXPECT_EQ(probe({"cache", cache, "call", "cuInit", "name"}), lines({"0", fake_path("12040")}));
  EXPECT_EQ(probe({"cache", cache, "call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({"0", fake_path("13000")}))
      << "the path comes first";
  const Folder broken;
  broken.write("libcuda.so.1", "");
  EXPECT_EQ(probe({"cache", cache, "call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", broken.path()}}),
            lines({"0", fake_path("12040")}));
}

TEST_P(Cache, That_is_cut_short_or_altered_is_read_without_a_crash) {
  if (*CUSHIM_TEST_EMULATOR != '\0') GTEST_SKIP() << "this machine's ldconfig is of another machine";
  const Folder folder;
  const std::string cache = make_cache(folder, {fake_folder("12040")}, GetParam());
  if (cache.empty()) GTEST_SKIP() << "no ldconfig with the format " << GetParam();
  const std::string whole = bytes_of(cache);
  for (std::size_t size :
       {0ul, 10ul, 11ul, 12ul, 15ul, 16ul, 47ul, 48ul, 60ul, whole.size() / 2, whole.size() - 1}) {
    folder.write("cache", whole.substr(0, size));
    EXPECT_EQ(probe({"cache", cache, "load"}).status, 0) << size;
  }
  for (std::size_t at = 0; at < 128; at += 4) {
    std::string altered = whole;
    altered.replace(at, 4, "\377\377\377\377");
    folder.write("cache", altered);
    EXPECT_EQ(probe({"cache", cache, "load"}).status, 0) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Format, Cache, testing::Values("new", "compat"),
                         [](const auto &format) { return format.param; });

// ---- Broken files on the search path: the next candidate is tried -------------------------------

class Broken : public testing::TestWithParam<BrokenFile> {};

TEST_P(Broken, File_on_the_path_is_passed_over_and_the_next_candidate_is_taken) {
  const Folder folder;
  GetParam().make(folder.path("libcuda.so.1"));
  const Outcome outcome = probe({"load", "name", "call", "cuInit"},
                                {{"LD_LIBRARY_PATH", folder.path() + ":" + fake_folder("13000")}});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith(kUsable + " ("));
  EXPECT_THAT(outcome.out, EndsWith(").\n" + fake_path("13000") + "\n0\n"));
}

TEST_P(Broken, File_on_the_path_is_passed_over_by_the_first_call_too) {
  const Folder folder;
  GetParam().make(folder.path("libcuda.so.1"));
  EXPECT_EQ(
      probe({"call", "cuInit", "name"}, {{"LD_LIBRARY_PATH", folder.path() + ":" + fake_folder("13000")}}),
      lines({"0", fake_path("13000")}));
}

class Unusable : public testing::TestWithParam<BrokenFile> {};

TEST_P(Unusable, File_that_is_named_is_refused_with_its_fault_and_nothing_else_is_tried) {
  const Folder folder;
  const std::string path = folder.path("libcuda.so.1");
  GetParam().make(path);
  EXPECT_EQ(probe({"load", "call", "cuInit"},
                  {{"CUSHIM_LIBRARY", path}, {"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({GetParam().diagnosis(path), "303"}));
}

const auto name_of = [](const auto &parameter) { return parameter.param.name; };
INSTANTIATE_TEST_SUITE_P(Candidate, Broken, testing::ValuesIn(broken_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Foreign, Broken, testing::ValuesIn(foreign_libraries()), name_of);
INSTANTIATE_TEST_SUITE_P(Broken, Unusable, testing::ValuesIn(broken_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Foreign, Unusable, testing::ValuesIn(foreign_libraries()), name_of);

TEST(Search, The_stub_on_the_path_is_refused_by_name) {
  EXPECT_THAT(probe({"load"}, {{"LD_LIBRARY_PATH", fake_folder("stub")}}).out,
              HasSubstr("(soname: " + fake_path("stub") + " is the CUDA toolkit's link stub; "));
}

TEST(Search, A_driver_cut_short_anywhere_is_refused_or_sound_and_never_crashes) {
  const Folder folder;
  const std::string whole = bytes_of(fake_path("12040"));
  for (std::size_t size : {0, 1, 4, 5, 16, 63, 64, 65, 500, 4095, 4096, 4097, 8192, 20000}) {
    ASSERT_LT(size, whole.size());
    const std::string path = folder.write("cut-" + std::to_string(size), whole.substr(0, size));
    const Outcome outcome = probe({"load"}, {{"CUSHIM_LIBRARY", path}});
    EXPECT_EQ(outcome.status, 0) << size;
    EXPECT_THAT(outcome.out, StartsWith("cushim[not-a-library]: " + path)) << size;
  }
  // The last bytes, which only debuggers read, may be missing.
  const std::string path = folder.write("almost-whole", whole.substr(0, whole.size() - 1));
  EXPECT_EQ(probe({"load"}, {{"CUSHIM_LIBRARY", path}}),
            lines({kUsable + " (CUSHIM_LIBRARY: " + path + ")."}));
}

// ---- CUSHIM_LIBRARY -----------------------------------------------------------------------------

TEST(CushimLibrary, A_path_is_opened) {
  EXPECT_EQ(probe({"load", "version"},
                  {{"CUSHIM_LIBRARY", fake_path("12040")}, {"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({kUsable + " (CUSHIM_LIBRARY: " + fake_path("12040") + ").", "12040"}));
}

TEST(CushimLibrary, A_soname_is_found_by_the_linker) {
  const Folder folder;
  fs::create_symlink(fake_path("12040"), folder.path("libother.so.7"));
  EXPECT_EQ(
      probe({"load", "name"}, {{"CUSHIM_LIBRARY", "libother.so.7"}, {"LD_LIBRARY_PATH", folder.path()}}),
      lines({kUsable + " (CUSHIM_LIBRARY: " + folder.path("libother.so.7") + ").",
             folder.path("libother.so.7")}));
}

TEST(CushimLibrary, A_soname_that_is_a_pipe_somewhere_on_the_path_is_passed_over) {
  const Folder folder;
  ASSERT_EQ(mkfifo(folder.path("libother.so.7").c_str(), 0600), 0);
  const Folder good;
  fs::create_symlink(fake_path("12040"), good.path("libother.so.7"));
  EXPECT_EQ(probe({"call", "cuInit", "name"}, {{"CUSHIM_LIBRARY", "libother.so.7"},
                                               {"LD_LIBRARY_PATH", folder.path() + ":" + good.path()}}),
            lines({"0", good.path("libother.so.7")}));
  EXPECT_THAT(probe({"load"}, {{"CUSHIM_LIBRARY", "libother.so.7"}, {"LD_LIBRARY_PATH", folder.path()}}).out,
              StartsWith("cushim[not-a-library]: " + folder.path("libother.so.7")));
}

TEST(CushimLibrary, Empty_is_as_good_as_unset) {
  EXPECT_EQ(probe({"load"}, {{"CUSHIM_LIBRARY", ""}, {"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({kUsable + " (soname: " + fake_path("13000") + ")."}));
}

TEST(CushimLibrary, None_disables_an_installed_driver) {
  EXPECT_EQ(probe({"load", "call", "cuInit"},
                  {{"CUSHIM_LIBRARY", "none"}, {"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({"cushim[driver-disabled]: CUSHIM_LIBRARY=none disables the driver (CUSHIM_LIBRARY: "
                   "none). Unset "
                   "CUSHIM_LIBRARY to use the installed driver.",
                   "303"}));
}

TEST(CushimLibrary, A_name_that_does_not_exist_never_falls_back_to_the_installed_driver) {
  for (const std::string name : {"/nowhere/libcuda.so.1", "libnowhere.so.1"}) {
    const Outcome outcome = probe({"load", "call", "cuInit"},
                                  {{"CUSHIM_LIBRARY", name}, {"LD_LIBRARY_PATH", fake_folder("13000")}});
    EXPECT_THAT(outcome.out, StartsWith("cushim[no-driver]: " + name + " not found (CUSHIM_LIBRARY: "));
    EXPECT_THAT(outcome.out, EndsWith("\n303\n"));
  }
}

TEST(CushimLibrary, A_relative_path_is_refused_though_it_exists) {
  EXPECT_EQ(
      probe({"load"}, {{"CUSHIM_LIBRARY", "./libcuda.so.1"}, {"LD_LIBRARY_PATH", fake_folder("13000")}}),
      lines({"cushim[relative-path]: ./libcuda.so.1 is a relative path, which names a different file in "
             "each working directory (CUSHIM_LIBRARY: ./libcuda.so.1 relative to the current directory). Use "
             "an "
             "absolute path, or a library name without a slash."}));
}

TEST(CushimLibrary, A_pipe_is_refused_without_a_wait_for_its_writer) {
  const Folder folder;
  ASSERT_EQ(mkfifo(folder.path("libcuda.so.1").c_str(), 0666), 0);
  EXPECT_THAT(probe({"load"}, {{"CUSHIM_LIBRARY", folder.path("libcuda.so.1")}}).out,
              HasSubstr("libcuda.so.1 is a device or pipe, not a file"));
}

TEST(CushimLibrary, It_is_ignored_by_a_build_without_it) {
  EXPECT_EQ(run(CUSHIM_TEST_PROBE_WITHOUT_ENVIRONMENT, {"load", "version"},
                {{"CUSHIM_LIBRARY", fake_path("12040")}, {"LD_LIBRARY_PATH", fake_folder("13000")}}),
            lines({kUsable + " (soname: " + fake_path("13000") + ").", "13000"}));
}

TEST(CushimLibrary, It_is_ignored_in_a_setuid_program) {
  if (*CUSHIM_TEST_EMULATOR != '\0') GTEST_SKIP() << "an emulated program gets no other rights";
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a program of another user";
  const Folder folder;
  struct statvfs status;
  ASSERT_EQ(statvfs(folder.path().c_str(), &status), 0);
  if (status.f_flag & ST_NOSUID) GTEST_SKIP() << folder.path() << " is on a file system without setuid";
  const std::string program = folder.path("probe");
  fs::copy_file(CUSHIM_TEST_PROBE, program);
  ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
  fs::permissions(program, fs::perms(04755));

  const Environment environment{{"CUSHIM_LIBRARY", "none"}};
  const Outcome outcome = run(program, {"secure", "load", "leave"}, environment);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("secure\n"));
  EXPECT_THAT(outcome.out, HasSubstr("(soname: "));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("CUSHIM_LIBRARY")));
  // Without setuid, the same program honours the variable.
  fs::permissions(program, fs::perms(0755));
  EXPECT_THAT(run(program, {"secure", "load", "leave"}, environment).out,
              StartsWith("not secure\ncushim[driver-disabled]: "));
}

}  // namespace

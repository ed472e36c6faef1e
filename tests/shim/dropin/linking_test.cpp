// SPDX-License-Identifier: Apache-2.0
// Programs and libraries that link the drop-in: their dependencies, their exports, and which functions they
// call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <string>

namespace {

using testing::HasSubstr;
using testing::Not;

std::string output_of(const std::string &command) {
  FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  char part[4096];
  while (pipe != nullptr && fgets(part, sizeof part, pipe) != nullptr) text += part;
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

std::string run(const std::string &program, const std::string &library) {
  return output_of("CUSHIM_LIBRARY=" + library + " " CUSHIM_TEST_EMULATOR " " + program);
}

// Returns the driver functions that a file exports or imports.
std::string dynamic_driver_symbols(const std::string &file) {
  const std::string symbols = output_of(CUSHIM_TEST_NM " -D " + file);
  const std::regex driver_symbol(" (cu[A-Z]\\w*)");
  std::string found;
  for (std::sregex_iterator one(symbols.begin(), symbols.end(), driver_symbol), end; one != end; ++one)
    found += (*one)[1].str() + " ";
  return found;
}

TEST(DropInProgram, It_starts_without_a_driver_and_its_calls_say_so) {
  EXPECT_EQ(run(CUSHIM_TEST_PROGRAM, "none"), "cuInit 303 cuDriverGetVersion 303 version 0\n");
}

TEST(DropInProgram, Errors_have_names_without_a_driver) {
  EXPECT_EQ(run(CUSHIM_TEST_ERROR_NAMES, "none"),
            "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED CUDA_ERROR_SHARED_OBJECT_INIT_FAILED\n1 null, 1\n");
}

TEST(DropInProgram, It_loads_the_driver_on_the_first_call) {
  EXPECT_EQ(run(CUSHIM_TEST_PROGRAM, CUSHIM_TEST_FAKES "/12040/libcuda.so.1"),
            "cuInit 0 cuDriverGetVersion 0 version 12040\n");
}

TEST(DropInProgram, It_does_not_need_libcuda) {
  const std::string needed = output_of(CUSHIM_TEST_READELF " -d " CUSHIM_TEST_PROGRAM);
  EXPECT_THAT(needed, HasSubstr("libc.so"));
  EXPECT_THAT(needed, Not(HasSubstr("libcuda")));
}

TEST(DropInProgram, It_exports_no_driver_function_even_if_all_symbols_are_exported) {
  EXPECT_EQ(dynamic_driver_symbols(CUSHIM_TEST_PROGRAM), "");
  EXPECT_THAT(output_of(CUSHIM_TEST_NM " -D " CUSHIM_TEST_PROGRAM), HasSubstr("main")) << "it exports all";
}

TEST(DropInProgram, A_driver_that_calls_its_own_functions_by_name_reaches_its_own) {
  EXPECT_EQ(run(CUSHIM_TEST_PROGRAM, CUSHIM_TEST_OWN_CALLS),
            "cuInit 103 cuDriverGetVersion 0 version 13000\n");
}

TEST(DropInLibrary, It_exports_and_imports_no_driver_function) {
  EXPECT_EQ(dynamic_driver_symbols(CUSHIM_TEST_LIBRARY), "");
}

TEST(DropInLibrary, It_works_in_a_program_that_links_libcuda) {
  // The program's own calls go to the driver that it links; the library's calls go to the driver that cushim
  // loads.
  EXPECT_EQ(run(CUSHIM_TEST_PROGRAM_WITH_BOTH, "none"), "linked 103 dropped in 303\n");
}

TEST(DropInLibrary, Its_object_files_keep_control_flow_protection) {
#if defined(__x86_64__)
  const char *const protection = "x86 feature: IBT, SHSTK";
#else
  const char *const protection = "AArch64 feature: BTI";
#endif
  const std::string notes = output_of(CUSHIM_TEST_READELF " -n " CUSHIM_TEST_DROP_IN " 2>/dev/null");
  EXPECT_THAT(notes, HasSubstr(protection));
}

}  // namespace

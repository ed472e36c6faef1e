// SPDX-License-Identifier: Apache-2.0
// Several copies of cushim in one process, and a C program that needs no C++ library.
#include <cushim/version.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cushim/driver.hpp>

#include <filesystem>

#include "child.hpp"
#include "support/fakes.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;

class SecondCopy {
 public:
  ~SecondCopy() { dlclose(handle_); }

  template <class Result>
  Result call(const char *name) const {
    return reinterpret_cast<Result (*)()>(dlsym(handle_, name))();
  }

 private:
  void *handle_ = dlopen(CUSHIM_TEST_SECOND_COPY, RTLD_NOW | RTLD_LOCAL);
};

TEST(Copies, The_program_s_own_copy_is_listed_with_its_path_and_version) {
  const auto copies = cushim::copies();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_TRUE(copies[0].is_this_one);
  EXPECT_EQ(copies[0].path, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_EQ(copies[0].version_major, CUSHIM_VERSION_MAJOR);
  EXPECT_EQ(copies[0].version_minor, CUSHIM_VERSION_MINOR);
  EXPECT_EQ(copies[0].version_patch, CUSHIM_VERSION_PATCH);
}

TEST(Copies, A_library_with_a_copy_of_its_own_is_listed_while_it_is_loaded) {
  {
    const SecondCopy second;
    const auto copies = cushim::copies();
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_TRUE(copies[0].is_this_one);
    EXPECT_FALSE(copies[1].is_this_one);
    EXPECT_EQ(copies[1].path, CUSHIM_TEST_SECOND_COPY);
    EXPECT_EQ(second.call<int>("second_copy_counts"), 2);
  }
  EXPECT_EQ(cushim::copies().size(), 1u);
}

TEST(Copies, Each_has_a_current_driver_of_its_own) {
  const SecondCopy second;
  CushimDriver *before = second.call<CushimDriver *>("second_copy_current");
  EXPECT_NE(before, &cushim::current_driver());
  const cushim::ScopedDriver scope(*cushim::Driver::load({.library = fake_path("13000").c_str()}));
  EXPECT_EQ(second.call<CushimDriver *>("second_copy_current"), before);
}

TEST(CProgram, It_loads_and_calls_the_driver) {
  EXPECT_EQ(run(CUSHIM_TEST_C_PROGRAM, {}, {{"CUSHIM_LIBRARY", fake_path("12040")}}),
            lines({"0 12040 12040"}));
}

TEST(CProgram, It_needs_no_library_of_Cpp) {
  const Outcome dump = run(CUSHIM_TEST_READELF, {"-d", CUSHIM_TEST_C_PROGRAM});
  EXPECT_EQ(dump.status, 0);
  EXPECT_THAT(dump.out, HasSubstr("NEEDED"));
  EXPECT_THAT(dump.out, Not(HasSubstr("libstdc++")));
  EXPECT_THAT(dump.out, Not(HasSubstr("libc++")));
  EXPECT_THAT(dump.out, Not(HasSubstr("libcuda")));
}

}  // namespace

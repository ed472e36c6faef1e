// SPDX-License-Identifier: Apache-2.0
// A build without libarchive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/check.hpp"
#include "support/folder.hpp"

namespace cushim::command {
namespace {

TEST(Archive, A_build_that_reads_no_archives_reports_them_as_unchecked) {
  const Folder folder;
  const CheckReport checked = check({.paths = {folder.write("package.whl", "")}});
  ASSERT_EQ(checked.unchecked.size(), 1u);
  EXPECT_THAT(checked.unchecked[0].why, testing::HasSubstr("built without libarchive"));
  EXPECT_EQ(report(checked).exit, Exit::finding);
}

}  // namespace
}  // namespace cushim::command

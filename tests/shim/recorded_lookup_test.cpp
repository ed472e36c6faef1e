// SPDX-License-Identifier: Apache-2.0
// Compares cushim_find_version(base, version, per thread) with recorded cuGetProcAddress answers of a real
// driver.
#include <cushim/load.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace {

constexpr int kRecordedVersion = 13000;

struct Answer {
  std::string base;
  int flags, from_version, status;
  std::string symbol;
};

std::string ours(const Answer &recorded) {
  const int slot = cushim_find_version(recorded.base.c_str(), recorded.from_version, recorded.flags == 2);
  return slot < 0 ? "null" : cushim_entry(slot)->symbol;
}

TEST(Lookup, Every_answer_of_a_real_driver_is_the_slot_that_we_find) {
  std::ifstream file(CUSHIM_TEST_DATA "/get_proc_address_580.159.04.txt");
  int compared = 0;
  int not_on_this_platform = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    Answer recorded;
    ASSERT_TRUE(std::istringstream(line) >> recorded.base >> recorded.flags >> recorded.from_version >>
                recorded.status >> recorded.symbol)
        << line;
    // Status 1: this driver does not know the name. It came after 13.0, or exists on Tegra only.
    if (recorded.status == 1) {
      EXPECT_EQ(recorded.symbol, "null") << line;
      ++not_on_this_platform;
      continue;
    }
    EXPECT_EQ(ours(recorded), recorded.symbol) << line;
    ++compared;
  }
  EXPECT_GT(compared, 2000);
  EXPECT_GT(not_on_this_platform, 0);
}

TEST(Lookup, No_row_up_to_the_recorded_release_is_unknown_to_the_real_driver_but_the_one_of_Tegra) {
  std::ifstream file(CUSHIM_TEST_DATA "/get_proc_address_580.159.04.txt");
  std::stringstream recorded;
  recorded << file.rdbuf();
  const std::string text = recorded.str();
  int served = 0;
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    const CushimEntryInfo *entry = cushim_entry(slot);
    if (entry->version > kRecordedVersion) continue;
    const std::string row = std::string(entry->base) + (entry->thread[0] != '\0' ? " 2 " : " 0 ") +
                            std::to_string(entry->version) + " 0 " + entry->symbol + "\n";
    const bool found = text.find(row) != std::string::npos;
    EXPECT_EQ(found, std::string(entry->symbol) != "cuEventCreateFromEGLSync") << row;
    served += found;
  }
  EXPECT_GT(served, 650);
}

}  // namespace

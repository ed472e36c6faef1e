// SPDX-License-Identifier: Apache-2.0
// Compares the results of calls whose arguments are all zero with those of an H200
// (recorded/null_arguments.txt).
#include <cushim/exact.hpp>

#include <fstream>
#include <map>
#include <string>

#include "support/every_entry.hpp"
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

std::map<std::string, int> read_results() {
  std::map<std::string, int> results;
  std::ifstream file(NULL_ARGUMENT_RESULTS);
  for (std::string line; std::getline(file, line);)
    if (const std::size_t end = line.find(' '); end != line.npos && line[0] != '#')
      results[line.substr(0, end)] = std::stoi(line.substr(end));
  return results;
}

TEST(NullArguments, Are_answered_as_by_an_H200) {
  const Running running;
  CUcontext context = nullptr;
  need(exact::cuCtxCreate_v3020(driver())(&context, 0, 0));
  need(driver().cuDevicePrimaryCtxRelease(0));
  std::map<std::string, int> results = read_results();
  every_entry(running.machine.driver(), [&](int, const CushimEntryInfo &entry, int result) {
    if (const auto expected = results.extract(entry.symbol); !expected.empty()) {
      EXPECT_EQ(result, expected.mapped()) << entry.symbol;
    }
    need(driver().cuCtxSetCurrent(context));  // the call may have popped it
  });
  for (const auto &[symbol, result] : results) ADD_FAILURE() << symbol << " is not an entry point";
}

}  // namespace
}  // namespace cushim::sim

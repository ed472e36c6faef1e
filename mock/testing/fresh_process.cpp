// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <cushim/testing/answer.hpp>
#include <cushim/testing/fresh_process.hpp>

#include <string>

#include "fork_server.hpp"
#include "memory_file.hpp"
#include "options.hpp"
#include "record.hpp"

namespace cushim::testing::detail {

namespace {

// Returns the reason that GTEST_SKIP() printed.
std::string skip_reason(const std::string &output) {
  const auto start = output.find("cushim-skip:");
  return start == output.npos ? "" : output.substr(start, output.find('\n', start) - start);
}

}  // namespace

FreshProcess in_a_fresh_process(Crash crash) {
  if (options().is_fresh) return {};
  const MemoryFile answers("answers"), output("output");
  const int status = run_in_fresh_process(running_test(), answers.file(), output.file());
  add_child_answers(answers.text());

  FreshProcess result{.ended = true, .failure = {}};
  if (crash == Crash::is_recorded) {
    const bool crashed = status == -SIGSEGV || status == -SIGBUS;
    answer("process", crashed ? "crashed" : "ended");
    if (crashed) return result;
  }
  if (status != 0) {
    result.failure = output.text() + (status < 0 ? "killed by signal " + std::to_string(-status) : "");
    return result;
  }
  result.failure = skip_reason(output.text());
  result.skipped = !result.failure.empty();
  return result;
}

}  // namespace cushim::testing::detail

// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cushim/testing/answer.hpp>
#include <cushim/testing/fresh_process.hpp>

#include <stdexcept>

#include "options.hpp"
#include "record.hpp"
#include "spawn.hpp"

namespace cushim::testing::detail {

namespace {

// An anonymous file in memory.
class Memory {
 public:
  explicit Memory(const char *what) : file_(memfd_create(what, MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("memfd_create failed");
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory() { close(file_); }

  int file() const { return file_; }
  std::string text() const {
    std::string text;
    char part[4096];
    lseek(file_, 0, SEEK_SET);
    for (ssize_t got; (got = read(file_, part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(got));
    return text;
  }

 private:
  int file_;
};

// Returns the reason that GTEST_SKIP() printed.
std::string skip_reason(const std::string &output) {
  const auto start = output.find("cushim-skip:");
  return start == output.npos ? "" : output.substr(start, output.find('\n', start) - start);
}

}  // namespace

FreshProcess in_a_fresh_process(Crash crash) {
  if (options().is_fresh) return {};
  const ::testing::TestInfo &test = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(test.test_suite_name()) + "." + test.name();
  const Memory answers("answers");
  const Memory output("output");
  const int status = wait_for(spawn(
      {"--cushim-fresh", "--gtest_color=no", "--gtest_also_run_disabled_tests", "--gtest_filter=" + name},
      answers.file(), output.file()));
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

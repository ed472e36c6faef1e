// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of recorded answers, and the reader of the lines that a test's child process sends to its
// parent.
#include "file.hpp"
#include "fuzz.hpp"
#include "record.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace cushim::testing;
  static const fuzz::File file;
  file.set(fuzz::text_of(data, size));
  Answers answers;
  if (!read_answers(file.path(), answers).empty()) return 0;
  Answers again;
  for (const auto &[test, keys] : answers)
    for (const auto &[key, value] : keys)
      fuzz::promise(add_line(again, line_of(test, key, value)), "what was read can be written and read");
  fuzz::promise(again == answers, "and is the same");
  const Comparison comparison = compare(answers, answers);
  fuzz::promise(comparison.missing.empty() && comparison.not_recorded == 0, "nothing lacks itself");
  fuzz::promise(!comparison.table(answers).empty(), "a comparison can be printed");
  return 0;
}

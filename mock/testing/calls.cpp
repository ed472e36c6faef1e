// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "options.hpp"
#include "record.hpp"

namespace cushim::testing {

namespace {

std::mutex mutex;
sim::Machine *counted = nullptr;
int file = -1;

// Writes each line with one write(), since several processes append to the file.
void write_line(const std::string &line) {
  if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw std::runtime_error("cannot write " + options().write_calls);
}

}  // namespace

void begin_calls(sim::Machine &machine) {
  if (options().write_calls.empty()) return;
  const bool is_first = options().parent == 0;
  file = open(options().write_calls.c_str(),
              O_WRONLY | O_APPEND | O_CLOEXEC | (is_first ? O_CREAT | O_TRUNC : 0), 0666);
  if (file < 0) throw std::runtime_error("cannot write " + options().write_calls);
  counted = &machine;
  if (!is_first) return;
  std::string served;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (machine.driver().supports(static_cast<Entry>(slot)))
      served += "# serves " + std::string(cushim_entry(slot)->symbol) + "\n";
  write_line(served);
}

void record_calls(const std::string &key) {
  const std::lock_guard lock(mutex);
  if (counted == nullptr) return;
  static std::map<std::string, unsigned long> known;
  const auto calls = counted->usage().calls;
  std::string symbols;
  for (const auto &[symbol, count] : calls)
    if (count != known[symbol]) symbols += (symbols.empty() ? "" : " ") + symbol;
  known = calls;
  if (!symbols.empty()) write_line(line_of(running_test(), key, symbols) + "\n");
}

}  // namespace cushim::testing

// SPDX-License-Identifier: Apache-2.0
// ptxas is a program, which nvcc, Triton and others start by paths of their own. When it ends, its input is
// still there and its output is complete.
#include <exception>
#include <string>
#include <vector>

#include "kernels/cubin.hpp"
#include "kernels/ptx_text.hpp"
#include "recorder.hpp"

namespace cushim::recorder {

namespace {

// The command line, if this process is ptxas. Read at the start, because ptxas overwrites its arguments.
std::vector<std::string> &arguments() {
  static auto &arguments = *new std::vector<std::string>;  // NOLINT(bugprone-unhandled-exception-at-new)
  return arguments;
}

// Returns the value of -o and --output-file, which is the next argument or follows a "=".
std::string output_of(const std::vector<std::string> &arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i)
    for (const std::string option : {"-o", "--output-file", "-output-file"}) {
      if (arguments[i] == option && i + 1 < arguments.size()) return arguments[i + 1];
      if (arguments[i].starts_with(option + "=")) return arguments[i].substr(option.size() + 1);
    }
  return "elf.o";
}

}  // namespace

void begin_ptxas() try {
  const std::string line = content_of("/proc/self/cmdline");
  const std::string program = line.substr(0, line.find('\0'));
  if (program.substr(program.rfind('/') + 1) != "ptxas") return;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = line.find('\0', begin);
    arguments().push_back(line.substr(begin, end - begin));
    begin = end != std::string::npos ? end + 1 : line.size();
  }
} catch (const std::exception &) {
  return;
}

void end_ptxas() try {
  if (arguments().empty()) return;
  const std::string output = content_of(output_of(arguments()));
  const auto cubin = sim::cubin_at(output.data(), output.size());
  if (!cubin) return;
  std::string text;
  for (std::size_t i = 1; i < arguments().size(); ++i) {
    if (arguments()[i].starts_with('-')) continue;
    if (const std::string input = content_of(arguments()[i]); sim::is_ptx(input))
      sim::append_ptx(text, input);
  }
  if (!text.empty()) keep(*cubin, text, "ptxas", max_registers(arguments()));
} catch (const std::exception &) {
  return;
}

}  // namespace cushim::recorder

// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.hpp"

#include <cushim/trace/trace.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "common/outcome.hpp"
#include "common/text.hpp"

namespace cushim::command {
namespace {

struct Format {
  const char *name;
  const char *extension;  // empty: no file name selects it
  void (*write)(const trace::Trace &trace, std::ostream &to);
};
constexpr Format formats[] = {
    {"text", ".txt", trace::write_text},      {"jsonl", ".jsonl", trace::write_json},
    {"chrome", ".json", trace::write_chrome}, {"html", ".html", trace::write_html},
    {"summary", "", trace::write_summary},
};

}  // namespace

std::vector<std::string> trace_formats() {
  std::vector<std::string> names;
  for (const Format &format : formats) names.emplace_back(format.name);
  return names;
}

std::optional<std::string> trace_format_of(std::string_view file) {
  for (const Format &format : formats)
    if (*format.extension != '\0' && file.ends_with(format.extension)) return format.name;
  return std::nullopt;
}

void write_trace(const std::string &file, const std::string &format, std::ostream &to) {
  for (const Format &one : formats)
    if (format == one.name) return one.write(trace::Trace(file), to);
}

Verb add_trace(CLI::App &app) {
  struct Options {
    std::string file;
    std::string format = "text";
  };
  const auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand("trace",
                                      "Print a trace of driver calls (cushim run --trace FILE.trace) as "
                                      "text, JSON, a timeline or a summary.");
  verb->add_option("--format", options->format,
                   "text, jsonl (one JSON object a line), chrome (a timeline for Perfetto), html (a timeline "
                   "as a page) or "
                   "summary (calls, copies, "
                   "memory, streams, advice). Default: text.")
      ->check(CLI::IsMember(trace_formats()));
  verb->add_option("TRACE", options->file, "The trace.")->required();
  return {verb, [options] {
            try {
              write_trace(options->file, options->format, std::cout);
            } catch (const std::runtime_error &error) {
              std::fprintf(stderr, "cushim trace: %s\n", printable(error.what()).c_str());
              return static_cast<int>(Exit::usage);
            }
            return static_cast<int>(std::cout.flush() ? Exit::good : Exit::finding);
          }};
}

}  // namespace cushim::command

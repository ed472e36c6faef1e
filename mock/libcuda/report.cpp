// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <unistd.h>
#include <cushim/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <cushim/detail/report_file.hpp>
#include "loaded_files.hpp"

namespace cushim::sim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string text_of(const char *variable) {
  const char *const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

std::string this_process() { return std::to_string(getpid()); }

std::string this_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

void mark(const ReportOptions &options, const char *what) {
  if (!options.run_folder.empty()) std::ofstream(options.run_folder + "/" + this_process() + what);
}

// Returns the paths of other loaded libraries with this name, except `driver`.
std::vector<std::string> other_drivers(const std::string &driver) {
  std::vector<std::string> paths;
  for_each_loaded_file([&](const dl_phdr_info &file) {
    const std::string_view path = file.dlpi_name;
    if (path.substr(path.rfind('/') + 1).starts_with("libcuda.so") && path != driver &&
        !contains(file, reinterpret_cast<const void *>(&other_drivers)))
      paths.emplace_back(path);
  });
  return paths;
}

Json head(const std::string &driver, bool has_ended) {
  return report_head(driver, getpid(), this_program(), has_ended);
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Json json_of(const check::CallStack &call_stack) {
  Json frames = Json::array();
  for (const std::string &line : lines_of(call_stack.to_text()))
    frames.push_back(line.substr(line.find('#')));
  return frames;
}

Json json_of(const check::Finding &finding) {
  Json calls = Json::array();
  for (const auto &[role, text, call_stack] : finding.calls)
    calls.push_back({{"role", role}, {"call", text}, {"call_stack", json_of(call_stack)}});
  return {{"checker", finding.checker}, {"rule", finding.rule},   {"what", finding.what},
          {"count", finding.count},     {"bytes", finding.bytes}, {"calls", std::move(calls)},
          {"advice", finding.advice}};
}

Json json_of(const std::string &driver, const Usage &usage, const std::vector<check::Finding> &findings,
             const std::vector<std::string> &others, bool has_findings) {
  Json json = head(driver, true);
  add_empty_usage(json, driver.empty());
  json["calls"] = usage.calls;
  for (const auto &[device, peak] : usage.devices)
    json["devices"].push_back({{"name", device}, {"peak_bytes", peak}});
  if (driver.empty()) {
    json["not_implemented"] = usage.not_implemented;
    json["not_found"] = usage.not_found;
    json["misuses"] = usage.misuses;
    for (const auto &[content, cubin] : usage.cubins)
      json["cubins"].push_back({{"content", content}, {"loads", cubin.loads}, {"ptx_from", cubin.ptx_from}});
    for (const auto &[kernel, launches] : usage.skipped_kernels)
      json["skipped_kernels"].push_back({{"kernel", kernel}, {"launches", launches}});
  }
  for (const mock::InjectedFault &fault : usage.faults)
    json["faults"].push_back({{"rule", fault.rule},
                              {"call", fault.call},
                              {"number", fault.number},
                              {"result", std::string(cushim::name_of(fault.result))},
                              {"late", fault.is_late},
                              {"returned_by", fault.returned_by},
                              {"call_stack", json_of(fault.call_stack)}});
  for (const auto &[what, count, bytes] : usage.alive)
    json["alive"].push_back({{"what", what}, {"count", count}, {"bytes", bytes}});
  for (const check::Finding &finding : findings) json["findings"].push_back(json_of(finding));
  json["other_drivers"] = others;
  json["has_findings"] = has_findings;
  return json;
}

std::string list(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string prefix_of_lines() { return "cushim[" + this_process() + "]: "; }

std::string text_of(const std::vector<mock::InjectedFault> &faults) {
  std::string text;
  for (const mock::InjectedFault &fault : faults)
    text += prefix_of_lines() + "injected: " + fault.to_text() + "\n" + fault.call_stack.to_text();
  return text;
}

std::string text_of(const std::vector<check::Finding> &findings) {
  std::string text;
  for (const check::Finding &finding : findings) {
    const char *mark = "FINDING: ";
    for (const std::string &line : lines_of(finding.to_text())) {
      text += prefix_of_lines() + mark + line + "\n";
      mark = "";
    }
  }
  return text;
}

std::string text_of(const std::string &driver, const Usage &usage,
                    const std::vector<check::Finding> &findings, const std::vector<std::string> &others) {
  const std::string prefix = prefix_of_lines();
  unsigned long total = 0;
  std::vector<std::pair<std::string, unsigned long>> calls(usage.calls.begin(), usage.calls.end());
  for (const auto &[symbol, count] : calls) total += count;
  std::ranges::stable_sort(calls, std::ranges::greater(), &std::pair<std::string, unsigned long>::second);
  std::string text = prefix + this_program() + " on " + (driver.empty() ? "the SIMULATED driver" : driver) +
                     ": " + std::to_string(total) + " calls of " + std::to_string(calls.size()) +
                     " functions\n";
  for (const auto &[symbol, count] : calls) text += prefix + std::to_string(count) + " " + symbol + "\n";
  for (std::size_t i = 0; i < usage.devices.size(); ++i)
    text += prefix + "device " + std::to_string(i) + ", " + usage.devices[i].device + ": at most " +
            std::to_string(usage.devices[i].peak) + " bytes in use\n";
  text += text_of(usage.faults);
  if (!usage.not_found.empty())
    text += prefix + std::to_string(usage.not_found.size()) + " names not found by cuGetProcAddress\n";
  if (!usage.not_implemented.empty())
    text += prefix + "FINDING: called, but not implemented: " + list(usage.not_implemented) + "\n";
  for (const auto &[content, cubin] : usage.cubins)
    text += prefix + "cubin " + content + ", loaded " + std::to_string(cubin.loads) + " times, " +
            (cubin.ptx_from.empty() ? "without PTX" : "runs as the PTX that " + cubin.ptx_from + " left") +
            "\n";
  for (const auto &[kernel, launches] : usage.skipped_kernels)
    text += prefix + "FINDING: kernel " + kernel + " is not registered: " + std::to_string(launches) +
            " launches did nothing\n";
  if (usage.misuses != 0)
    text += prefix + "FINDING: " + std::to_string(usage.misuses) +
            " uses of invalid handles that are undefined behaviour on the real driver\n";
  for (const auto &[what, count, bytes] : usage.alive)
    text += prefix + "FINDING: alive at the end: " + what + ", " + std::to_string(count) +
            (bytes != 0 ? " of " + std::to_string(bytes) + " bytes" : "") + "\n";
  text += text_of(findings);
  if (!others.empty())
    text += prefix + "FINDING: the program has also loaded another driver: " + list(others) + "\n";
  return text;
}

}  // namespace

ReportOptions report_options_from_environment() {
  ReportOptions options{.to = text_of("CUSHIM_REPORT"), .run_folder = text_of("CUSHIM_RUN_FOLDER")};
  const std::string code = text_of("CUSHIM_ERROR_EXITCODE");
  if (code.empty()) return options;
  const bool is_number =
      code.size() <= 3 && std::ranges::all_of(code, [](char c) { return c >= '0' && c <= '9'; });
  options.error_exit_code = is_number ? std::stoi(code) : 256;
  if (options.error_exit_code > 255)
    throw std::invalid_argument("CUSHIM_ERROR_EXITCODE must be a number from 0 to 255, not \"" + code + "\"");
  return options;
}

void begin_report(const ReportOptions &options, const std::string &driver) {
  mark(options, ".opened");
  // Written now, so that a process that is killed leaves a report too.
  if (!options.to.empty() && options.to != "stderr")
    write_report(report_file(options.to, getpid()), head(driver, false));
}

void end_report(const ReportOptions &options, const std::string &driver, const Usage &usage,
                const std::vector<check::Finding> &findings) {
  const std::vector<std::string> others = other_drivers(driver);
  const bool has_findings = usage.has_findings() || !findings.empty() || !others.empty();
  if (options.to.empty())
    std::fputs((text_of(usage.faults) + text_of(findings)).c_str(), stderr);
  else if (options.to == "stderr")
    std::fputs(text_of(driver, usage, findings, others).c_str(), stderr);
  else
    write_report(report_file(options.to, getpid()), json_of(driver, usage, findings, others, has_findings));
  if (!has_findings) return;
  mark(options, ".findings");
  if (options.error_exit_code == 0) return;
  std::fflush(nullptr);
  _exit(options.error_exit_code);
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// The text of `cushim check`: first the requirements of each file, then the findings.
#include <fmt/format.h>

#include "check/check.hpp"
#include "common/release.hpp"
#include "common/text.hpp"

namespace cushim::command {
namespace {

// The text lists at most this many names; JSON lists all.
constexpr std::size_t few = 6;

const char *kind_text(ElfFile::Kind kind) {
  switch (kind) {
    case ElfFile::Kind::program:
      return "program";
    case ElfFile::Kind::library:
      return "library";
    case ElfFile::Kind::other:
      return "other";
  }
  return "other";
}

// Returns the effect of a missing dependency.
const char *not_started(const FileFacts &facts) {
  return facts.kind == ElfFile::Kind::program ? "does not start" : "cannot be loaded";
}

const char *started(const FileFacts &facts) {
  return facts.kind == ElfFile::Kind::program ? "starts" : "can be loaded";
}

// Describes the file's behaviour on a machine without the driver or without a GPU, one sentence each.
std::vector<std::string> without_gpu(const FileFacts &facts) {
  std::vector<std::string> sentences;
  const auto say = [&sentences](std::string sentence) { sentences.push_back(std::move(sentence)); };
  if (facts.links_driver)
    say(fmt::format("It {} without the NVIDIA driver.", not_started(facts)));
  else if (!facts.imports.empty())
    say("The process that loads it must provide the driver's functions: it does not link libcuda.");
  if (!facts.runtime.shared.empty())
    say(fmt::format("It {} without {}.", not_started(facts), facts.runtime.shared));
  if (facts.runtime.is_carried()) {
    if (!facts.links_driver && facts.imports.empty())
      say(
          fmt::format("It {} without the driver; calls of the runtime library then return "
                      "cudaErrorInsufficientDriver (35).",
                      started(facts)));
    say("NVIDIA's runtime library works with NVIDIA's driver only, not with a mock or simulated driver.");
  } else if (!facts.links_driver && facts.imports.empty() &&
             (!facts.cushim.empty() || !facts.linked_cushim.empty())) {
    say(
        fmt::format("It {} without the driver if all its driver calls go through cushim. It can be tested "
                    "with a mock or simulated driver.",
                    started(facts)));
  }
  return sentences;
}

std::string some_of(const EntryList &entries) {
  std::string text;
  for (std::size_t i = 0; i < entries.size() && i < few; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", entries[i]->symbol);
  if (entries.size() > few) text += fmt::format(" and {} more", entries.size() - few);
  return text;
}

std::vector<std::string> sentences_about(const FileFacts &facts) {
  std::vector<std::string> lines;
  const auto say = [&lines](std::string line) { lines.push_back(std::move(line)); };
  if (facts.links_driver) say("Links libcuda.");
  if (!facts.imports.empty())
    say(fmt::format("Imports {} of the driver's functions: {}.", facts.imports.size(),
                    some_of(facts.imports)));
  if (const CushimEntryInfo *floor = facts.floor())
    say(fmt::format("Needs a driver of CUDA {} or later, for {}.", release_text(floor->version),
                    floor->symbol));
  if (!facts.weak_imports.empty())
    say(fmt::format("Imports weakly: {}. These may be missing.", some_of(facts.weak_imports)));
  if (!facts.unknown.empty())
    say(fmt::format(
        "Imports {} symbols with the driver's prefix that this version of cushim does not know: {}{}.",
        facts.unknown.size(), facts.unknown.front(), facts.unknown.size() > 1 ? ", ..." : ""));
  if (facts.exports != 0) say(fmt::format("Exports {} of the driver's functions itself.", facts.exports));
  if (!facts.links_driver && facts.names_library)
    say("Contains the name libcuda.so: it may open the driver at run time.");
  if (const CushimEntryInfo *newest = facts.would_use())
    say(
        fmt::format("Contains the names of {} of the driver's functions: it may look them up at run time. "
                    "The newest is {}, of CUDA {}.",
                    facts.names.size(), newest->symbol, release_text(newest->version)));
  if (facts.runtime.is_itself) say("Is NVIDIA's runtime library.");
  if (!facts.runtime.shared.empty())
    say(fmt::format("Links NVIDIA's runtime library, {}.", facts.runtime.shared));
  if (facts.runtime.is_static)
    say(fmt::format("Contains a copy of NVIDIA's runtime library{}.",
                    facts.runtime.is_hint ? " (detected by its strings)" : ""));
  if (facts.runtime.has_device_code) say("Contains device code that the runtime library registers.");
  if (!facts.cushim.empty()) say(fmt::format("Contains cushim {}.", facts.cushim));
  if (!facts.linked_cushim.empty()) say(fmt::format("Links cushim, {}.", facts.linked_cushim));
  if (facts.has_drop_in) say("Contains cushim's drop-in library, which defines the driver's functions.");
  for (const std::string &sentence : without_gpu(facts)) say(sentence);
  return lines;
}

std::string file_text(const FileFacts &facts) {
  std::string text = fmt::format("{} ({}, {}-bit {})\n", printable(facts.name), kind_text(facts.kind),
                                 facts.bits, facts.machine);
  for (const std::string &line : sentences_about(facts)) text += "  " + wrap(line, 2) + "\n";
  return text;
}

// ---- JSON -----------------------------------------------------------------------------------------

Json to_json(const CushimEntryInfo *entry) {
  if (entry == nullptr) return nullptr;
  return {{"symbol", entry->symbol}, {"release", release_text(entry->version)}};
}

Json to_json(const EntryList &entries) {
  Json json = Json::array();
  for (const CushimEntryInfo *entry : entries) json.push_back(to_json(entry));
  return json;
}

Json text_or_null(const std::string &text) { return text.empty() ? Json(nullptr) : Json(text); }

const char *copy_text(const RuntimeFacts &runtime) {
  return !runtime.is_static ? "no" : runtime.is_hint ? "detected by strings" : "detected by symbols";
}

Json to_json(const FileFacts &facts) {
  return {{"name", facts.name},
          {"kind", kind_text(facts.kind)},
          {"bits", facts.bits},
          {"machine", facts.machine},
          {"links_driver", facts.links_driver},
          {"floor", to_json(facts.floor())},
          {"imports", to_json(facts.imports)},
          {"weak_imports", to_json(facts.weak_imports)},
          {"unknown_imports", facts.unknown},
          {"exports", facts.exports},
          {"glibc", facts.glibc == 0
                        ? Json(nullptr)
                        : Json{{"version", glibc_text(facts.glibc)}, {"symbol", facts.glibc_symbol}}},
          {"hints",
           {{"names_library", facts.names_library},
            {"would_use", to_json(facts.would_use())},
            {"names", to_json(facts.names)}}},
          {"runtime",
           {{"links", text_or_null(facts.runtime.shared)},
            {"contains_copy", copy_text(facts.runtime)},
            {"is_itself", facts.runtime.is_itself},
            {"device_code", facts.runtime.has_device_code}}},
          {"cushim",
           {{"contains", text_or_null(facts.cushim)},
            {"links", text_or_null(facts.linked_cushim)},
            {"drop_in", facts.has_drop_in}}},
          {"without_gpu", without_gpu(facts)}};
}

Exit exit_of(const CheckReport &report) {
  if (report.has_unreadable_path) return Exit::usage;
  return report.findings.empty() && report.unchecked.empty() ? Exit::good : Exit::finding;
}

// Returns the file that needs the newest driver, or null if none needs a driver.
const FileFacts *most_demanding(const CheckReport &report) {
  const FileFacts *most = nullptr;
  for (const FileFacts &facts : report.files)
    if (facts.floor() != nullptr && (most == nullptr || facts.floor()->version > most->floor()->version))
      most = &facts;
  return most;
}

}  // namespace

Outcome report(const CheckReport &report) {
  Outcome outcome;
  outcome.exit = exit_of(report);
  outcome.json = {{"good", outcome.exit == Exit::good},
                  {"floor", nullptr},
                  {"findings", Json::array()},
                  {"unchecked", Json::array()},
                  {"files", Json::array()}};
  std::size_t concerned = 0;
  for (const FileFacts &facts : report.files) {
    outcome.json["files"].push_back(to_json(facts));
    if (!facts.uses_cuda()) continue;
    ++concerned;
    outcome.text += file_text(facts) + "\n";
  }
  for (const Unchecked &unchecked : report.unchecked) {
    outcome.json["unchecked"].push_back({{"name", unchecked.name}, {"why", unchecked.why}});
    outcome.text += fmt::format("unchecked: {} {}\n", printable(unchecked.name), printable(unchecked.why));
  }
  for (const Finding &finding : report.findings) {
    outcome.json["findings"].push_back(
        {{"name", finding.name}, {"rule", finding.rule}, {"text", finding.text}});
    outcome.text +=
        fmt::format("finding[{}]: {} {}\n", finding.rule, printable(finding.name), printable(finding.text));
  }
  outcome.text +=
      fmt::format("files checked: {}, files that use CUDA: {}, findings: {}, unchecked: {}\n",
                  report.files.size(), concerned, report.findings.size(), report.unchecked.size());
  if (const FileFacts *most = most_demanding(report)) {
    outcome.json["floor"] = to_json(most->floor());
    outcome.json["floor"]["name"] = most->name;
    outcome.text +=
        fmt::format("driver needed: CUDA {} or later ({}, for {})\n", release_text(most->floor()->version),
                    printable(most->name), most->floor()->symbol);
  }
  return outcome;
}

}  // namespace cushim::command

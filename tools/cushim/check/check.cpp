// SPDX-License-Identifier: Apache-2.0
// Implementation of `cushim check`, without the report (check_report.cpp).
#include "check/check.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "check/check_files.hpp"
#include "common/release.hpp"

namespace cushim::command {
namespace {

// A value of --forbid, and the function that describes its occurrence in a file; nullopt if there is none.
struct Forbidden {
  const char *name;
  std::optional<std::string> (*find)(const FileFacts &facts);
};

std::optional<std::string> count_of(std::string_view verb, const EntryList &entries) {
  if (entries.empty()) return {};
  return fmt::format("{} {} of the driver's functions, {} among them", verb, entries.size(),
                     entries.front()->symbol);
}

constexpr Forbidden all_forbidden[] = {
    {"links",
     [](const FileFacts &facts) -> std::optional<std::string> {
       if (!facts.links_driver) return {};
       return "links libcuda";
     }},
    {"imports", [](const FileFacts &facts) { return count_of("imports", facts.imports); }},
    {"names", [](const FileFacts &facts) { return count_of("contains the names of", facts.names); }},
    {"runtime",
     [](const FileFacts &facts) -> std::optional<std::string> {
       if (!facts.runtime.is_carried()) return {};
       return facts.runtime.is_static ? "contains a copy of NVIDIA's runtime library"
                                      : fmt::format("links {}", facts.runtime.shared);
     }},
    {"runtime-shared",
     [](const FileFacts &facts) -> std::optional<std::string> {
       if (facts.runtime.shared.empty()) return {};
       return fmt::format("links {}", facts.runtime.shared);
     }},
    {"runtime-static",
     [](const FileFacts &facts) -> std::optional<std::string> {
       if (!facts.runtime.is_static) return {};
       return "contains a copy of NVIDIA's runtime library";
     }},
    {"device-code",
     [](const FileFacts &facts) -> std::optional<std::string> {
       if (!facts.runtime.has_device_code) return {};
       return "contains device code";
     }},
    {"cushim",
     [](const FileFacts &facts) -> std::optional<std::string> {
       if (facts.cushim.empty()) return {};
       return fmt::format("contains cushim {}", facts.cushim);
     }},
};

void find_violations(const FileFacts &facts, const CheckOptions &options, CheckReport &report) {
  if (const CushimEntryInfo *floor = facts.floor();
      floor != nullptr && options.max_driver != 0 && floor->version > options.max_driver)
    report.findings.push_back(
        {facts.name, "max-driver",
         fmt::format("needs a CUDA {} driver for {}; the limit is {}", release_text(floor->version),
                     floor->symbol, release_text(options.max_driver))});
  if (options.max_glibc != 0 && facts.glibc > options.max_glibc)
    report.findings.push_back({facts.name, "max-glibc",
                               fmt::format("needs glibc {} for {}; the limit is {}", glibc_text(facts.glibc),
                                           facts.glibc_symbol, glibc_text(options.max_glibc))});
  for (const std::string &name : options.forbid)
    for (const Forbidden &forbidden : all_forbidden)
      if (name == forbidden.name)
        if (const std::optional<std::string> found = forbidden.find(facts))
          report.findings.push_back({facts.name, name, *found});
}

}  // namespace

std::string glibc_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000); }

std::optional<int> parse_glibc(std::string_view text) {
  constexpr std::string_view major = "2.";
  if (!text.starts_with(major)) return {};
  text.remove_prefix(major.size());
  if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != text.npos) return {};
  return 2000 + std::stoi(std::string(text));
}

const std::vector<std::string> &forbidden_properties() {
  static const auto *const names = [] {
    auto *const made = new std::vector<std::string>;
    for (const Forbidden &forbidden : all_forbidden) made->push_back(forbidden.name);
    return made;
  }();
  return *names;
}

CheckReport check(const CheckOptions &options) {
  CheckReport report;
  const FileVisitor visitor{[&](const std::string &name, std::string_view bytes) {
                              try {
                                const FileFacts facts = inspect(name, bytes);
                                if (facts.kind == ElfFile::Kind::other) return;
                                find_violations(facts, options, report);
                                report.files.push_back(facts);
                              } catch (const BrokenElf &broken) {
                                report.unchecked.push_back({name, broken.what()});
                              }
                            },
                            [&](const std::string &name, const std::string &why) {
                              report.unchecked.push_back({name, why});
                            }};
  for (const std::string &path : options.paths) {
    const std::size_t before = report.files.size() + report.unchecked.size();
    if (!visit_files(path, visitor)) report.has_unreadable_path = true;
    // Report a path without ELF files: checking nothing must not count as success.
    if (report.files.size() + report.unchecked.size() == before)
      report.unchecked.push_back({path, "contains no ELF program or library"});
  }
  return report;
}

}  // namespace cushim::command

// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/release.hpp"
#include "common/text.hpp"

namespace cushim::command {
namespace {

const char *presence_text(std::optional<bool> present) { return !present ? "?" : *present ? "yes" : "no"; }

Json to_json(const SymbolRow &row) {
  Json json{{"symbol", row.entry.symbol},
            {"base", row.entry.base},
            {"release", release_text(row.entry.version)},
            {"thread", row.entry.thread},
            {"present", nullptr}};
  if (row.present) json["present"] = *row.present;
  return json;
}

std::string to_text(const std::vector<SymbolRow> &rows) {
  std::size_t symbol_width = std::strlen("symbol");
  std::size_t base_width = std::strlen("base");
  for (const SymbolRow &row : rows) {
    symbol_width = std::max(symbol_width, std::strlen(row.entry.symbol));
    base_width = std::max(base_width, std::strlen(row.entry.base));
  }
  std::string text;
  const auto line = [&](const char *symbol, const char *base, const std::string &release, const char *thread,
                        const char *present) {
    text += fmt::format("{:<{}}  {:<{}}  {:<7}  {:<6}  {}\n", symbol, symbol_width, base, base_width, release,
                        thread, present);
  };
  line("symbol", "base", "release", "thread", "present");
  for (const SymbolRow &row : rows)
    line(row.entry.symbol, row.entry.base, release_text(row.entry.version),
         row.entry.thread[0] == '\0' ? "-" : row.entry.thread, presence_text(row.present));
  return text;
}

}  // namespace

std::vector<SymbolRow> find_symbols(const SymbolFilter &filter, Driver *driver) {
  std::vector<SymbolRow> rows;
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    const CushimEntryInfo &entry = *cushim_entry(slot);
    if (entry.version < filter.since) continue;
    if (filter.per_thread && entry.thread[0] == '\0') continue;
    if (!matches(filter.pattern, entry.symbol)) continue;
    std::optional<bool> present;
    if (driver != nullptr) present = cushim_supports(driver, slot);
    if (filter.present && present != filter.present) continue;
    rows.push_back({entry, present});
  }
  std::sort(rows.begin(), rows.end(), [](const SymbolRow &a, const SymbolRow &b) {
    return std::strcmp(a.entry.symbol, b.entry.symbol) < 0;
  });
  return rows;
}

Outcome symbols(const SymbolFilter &filter, const char *library) {
  const Loaded loaded = Driver::load({.library = library});
  Outcome outcome;
  outcome.json = {{"driver", nullptr}, {"entries", Json::array()}};
  if (loaded) outcome.json["driver"] = std::string(loaded->name());
  if (!loaded && filter.present) {
    outcome.exit = Exit::no_driver;
    outcome.json["diagnosis"] = loaded.diagnosis.text();
    outcome.text = loaded.diagnosis.text() + "\n";
    return outcome;
  }
  const std::vector<SymbolRow> rows = find_symbols(filter, loaded.driver);
  for (const SymbolRow &row : rows) outcome.json["entries"].push_back(to_json(row));
  if (rows.empty()) {
    outcome.exit = Exit::finding;
    outcome.text = "No entry point matches.\n";
    return outcome;
  }
  outcome.text = to_text(rows);
  outcome.text += loaded
                      ? fmt::format("{} entry points; present in {}\n", rows.size(), loaded->name())
                      : fmt::format("{} entry points; presence unknown: no driver was found\n", rows.size());
  return outcome;
}

}  // namespace cushim::command

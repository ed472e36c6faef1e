// SPDX-License-Identifier: Apache-2.0
// cushim symbols: the list of entry points, and which of them the driver has.
#pragma once

#include <cushim/driver.hpp>

#include <optional>
#include <string>
#include <vector>

#include "common/outcome.hpp"
#include "common/verb.hpp"

namespace cushim::command {

struct SymbolFilter {
  std::string pattern = {};          // see matches() in text.hpp; empty matches all
  int since = 0;                     // 12040: only entry points introduced in CUDA 12.4 or later
  bool per_thread = false;           // only the variants for per-thread default streams
  std::optional<bool> present = {};  // true: only those that the driver has; false: only those that it lacks
};

struct SymbolRow {
  CushimEntryInfo entry;
  std::optional<bool> present;  // nullopt without a driver
};

// Returns the matching entry points, sorted by symbol. With a null driver, a filter by presence matches none.
std::vector<SymbolRow> find_symbols(const SymbolFilter &filter, Driver *driver);

// Loads the driver (library may be null) without initializing it, and lists the entry points. Exit::finding
// if nothing matches, Exit::no_driver if the filter needs a driver and there is none.
Outcome symbols(const SymbolFilter &filter, const char *library);

// Adds the verb symbols.
Verb add_symbols(CLI::App &app);

}  // namespace cushim::command

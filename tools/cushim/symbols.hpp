// SPDX-License-Identifier: Apache-2.0
// cushim symbols: rows of the one list of entry points, and whether the driver at hand has them.
#pragma once

#include <cushim/driver.hpp>

#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace cushim::command {

struct SymbolFilter {
  std::string pattern = {};          // see matches() in words.hpp; empty for all
  int since = 0;                     // 12040: only what came with CUDA 12.4 or later
  bool per_thread = false;           // only the variants for per-thread default streams
  std::optional<bool> present = {};  // only what the driver has, or only what it lacks
};

struct SymbolRow {
  CushimEntryInfo entry;
  std::optional<bool> present;  // nothing if there is no driver to ask
};

// The rows that pass the filter, by symbol. driver may be null; then a filter by presence passes none.
std::vector<SymbolRow> find_symbols(const SymbolFilter &filter, Driver *driver);

// Loads the driver (library may be null) without initializing it, and lists. Exit::finding if nothing
// matches, Exit::no_driver if the filter asks what is present and there is no driver.
Outcome symbols(const SymbolFilter &filter, const char *library);

}  // namespace cushim::command

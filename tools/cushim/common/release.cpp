// SPDX-License-Identifier: Apache-2.0
#include "common/release.hpp"

#include <cushim/load.h>
#include <cushim/version.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cushim::command {

std::string release_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// Parses the whole text as a number from 0 to limit.
static std::optional<int> parse_number(std::string_view text, int limit) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > limit) return {};
  return number;
}

std::optional<int> parse_release(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::optional<int> major = parse_number(text.substr(0, dot), 999);
  const std::optional<int> minor = dot == std::string_view::npos ? 0 : parse_number(text.substr(dot + 1), 99);
  if (!major || !minor || *major == 0) return {};
  return *major * 1000 + *minor * 10;
}

int newest_known_release() {
  int newest = 0;
  for (int slot = 0; slot < cushim_entry_count(); ++slot)
    newest = std::max(newest, cushim_entry(slot)->version);
  return newest;
}

std::string cushim_version() {
  return fmt::format("{}.{}.{}", CUSHIM_VERSION_MAJOR, CUSHIM_VERSION_MINOR, CUSHIM_VERSION_PATCH);
}

std::string version_text() {
  return fmt::format("cushim {} ({} entry points of the CUDA driver, up to release {})", cushim_version(),
                     cushim_entry_count(), release_text(newest_known_release()));
}

}  // namespace cushim::command

// SPDX-License-Identifier: Apache-2.0
// Kernel profiles as JSON and as a page of HTML.
#include <cushim/sim/kernel_profile.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kernel_profile_page.hpp"

namespace cushim::sim {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ptx::AccessCounts &counts) {
  return {{"requests", counts.requests},         {"lanes", counts.lanes},
          {"read_bytes", counts.read_bytes},     {"written_bytes", counts.written_bytes},
          {"transactions", counts.transactions}, {"ideal", counts.ideal},
          {"collisions", counts.collisions}};
}

Json json_of(const std::array<ptx::AccessCounts, ptx::counted_spaces> &spaces) {
  Json json = Json::object();
  for (std::size_t i = 0; i < spaces.size(); ++i)
    if (spaces[i].requests != 0)
      json[std::string(ptx::name(static_cast<ptx::CountedSpace>(i)))] = json_of(spaces[i]);
  return json;
}

Json json_of(const KernelTotals &sums) {
  Json classes = Json::object();
  for (std::size_t i = 0; i < sums.by_class.size(); ++i)
    if (sums.by_class[i] != 0)
      classes[std::string(ptx::name(static_cast<ptx::InstructionClass>(i)))] = sums.by_class[i];
  return {{"warp_instructions", sums.warp_instructions},
          {"active_lanes", sums.active_lanes},
          {"thread_instructions", sums.thread_instructions},
          {"by_class", std::move(classes)},
          {"branches", sums.branches},
          {"divergent_branches", sums.divergent_branches},
          {"barriers", sums.barriers},
          {"spaces", json_of(sums.spaces)}};
}

Json json_of(const KernelProfile::Instruction &one) {
  Json json{{"function", one.function},
            {"line", one.line},
            {"class", ptx::name(one.kind)},
            {"executions", one.counts.executions},
            {"active_lanes", one.counts.active_lanes},
            {"thread_instructions", one.counts.guarded_lanes}};
  if (one.source_line != 0) json["source"] = one.source_file + ":" + std::to_string(one.source_line);
  if (one.is_branch) json["divergent"] = one.counts.divergent;
  if (Json spaces = json_of(one.counts.spaces); !spaces.empty()) json["spaces"] = std::move(spaces);
  return json;
}

Json json_of(const KernelProfile &profile) {
  Json json{{"kernel", profile.kernel},
            {"launches", profile.launches},
            {"blocks", profile.blocks},
            {"threads", profile.threads},
            {"is_counted", profile.text != nullptr},
            {"totals", json_of(totals(profile))},
            {"instructions", Json::array()}};
  for (const KernelProfile::Instruction &one : profile.instructions)
    json["instructions"].push_back(json_of(one));
  return json;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Returns the lines of the functions that the profile has, from the directive to the closing brace.
Json listing(const KernelProfile &profile) {
  Json listing = Json::array();
  if (profile.text == nullptr) return listing;
  const std::vector<std::string_view> lines = lines_of(*profile.text);
  std::map<std::string, std::pair<std::size_t, std::size_t>> extents;  // of instructions; from 0
  for (const KernelProfile::Instruction &one : profile.instructions) {
    auto &[first, last] = extents.try_emplace(one.function, one.line - 1, one.line - 1).first->second;
    first = std::min<std::size_t>(first, one.line - 1);
    last = std::max<std::size_t>(last, one.line - 1);
  }
  const auto has = [&](std::size_t line, std::string_view word) {
    return lines[line].find(word) != std::string_view::npos;
  };
  std::map<std::size_t, std::size_t> ranges;
  for (const auto &extent : extents) {
    auto [first, last] = extent.second;
    while (first > 0 && !has(first, ".entry") && !has(first, ".func")) --first;
    while (last + 1 < lines.size() && !has(last, "}")) ++last;
    ranges.emplace(first, last);
  }
  for (const auto &[first, last] : ranges)
    for (std::size_t i = first; i <= last && i < lines.size(); ++i)
      listing.push_back({i + 1, std::string(lines[i])});
  return listing;
}

std::string text_of(const Json &json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace

void write_json(const std::vector<KernelProfile> &profiles, const std::string &program, std::ostream &to) {
  Json json{{"program", program}, {"kernels", Json::array()}};
  for (const KernelProfile &profile : profiles) json["kernels"].push_back(json_of(profile));
  to << json.dump(1, ' ', true, Json::error_handler_t::replace) << '\n';
}

void write_html(const std::vector<KernelProfile> &profiles, const std::string &program, std::ostream &to) {
  constexpr std::string_view page = kKernelProfilePage, mark = "/*DATA*/null";
  constexpr std::size_t at = page.find(mark);
  static_assert(at != std::string_view::npos);
  Json json{{"program", program}, {"kernels", Json::array()}};
  for (const KernelProfile &profile : profiles) {
    Json kernel = json_of(profile);
    kernel["listing"] = listing(profile);
    json["kernels"].push_back(std::move(kernel));
  }
  std::string data = text_of(json);
  // No text of the program may end the page's script.
  for (std::size_t i = data.find('<'); i != std::string::npos; i = data.find('<', i + 1))
    data.replace(i, 1, "\\u003c");
  to << page.substr(0, at) << data << page.substr(at + mark.size());
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// The timeline as one page of HTML: page.html with the calls as data.
#include <cushim/driver.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "json_text.hpp"
#include "page.hpp"
#include "usage.hpp"

namespace cushim::trace {
namespace {

// Escapes "<", so that no text of the program ends the page's script.
std::string for_script(std::string json) {
  for (std::size_t at = json.find('<'); at != std::string::npos; at = json.find('<', at + 1))
    json.replace(at, 1, "\\u003c");
  return json;
}

}  // namespace

void write_html(const Trace &trace, std::ostream &to) {
  constexpr std::string_view page = kPage, mark = "/*DATA*/null";
  constexpr std::size_t at = page.find(mark);
  static_assert(at != std::string_view::npos);
  to << page.substr(0, at) << "{\"program\":" << for_script(json_string(trace.program()))
     << ",\"driver\":" << for_script(json_string(trace.driver())) << ",\"threads\":" << trace.threads()
     << ",\"calls\":[";
  std::map<int, std::size_t> indexes;  // of names, by slot
  std::string names;
  const char *separator = "\n";
  for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
    const auto [index, is_new] = indexes.emplace(call.slot, indexes.size());
    if (is_new) names.append(names.empty() ? "" : ",").append(json_string(cushim_entry(call.slot)->symbol));
    to << separator << '[' << microseconds(call.begin) << ',' << microseconds(duration(call)) << ','
       << call.thread << ',' << index->second << ",\"" << (call.end ? result_name(call.result) : "unfinished")
       << "\"," << for_script(json_arguments(words)) << ']';
    separator = ",\n";
  });
  to << "],\n\"names\":[" << names << "],\n\"memory\":[";
  separator = "";
  for (const MemoryChange &change : usage_of(trace).memory) {
    to << separator << '[' << microseconds(change.time) << ',' << change.in_use << ']';
    separator = ",";
  }
  to << "]}" << page.substr(at + mark.size());
}

}  // namespace cushim::trace

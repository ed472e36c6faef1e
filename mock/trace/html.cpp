// SPDX-License-Identifier: Apache-2.0
// Writes the timeline as one HTML page: page.html with the calls as data.
#include <cushim/driver.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "json_text.hpp"
#include "page.hpp"
#include "usage.hpp"
#include "virtual_time.hpp"

namespace cushim::trace {
namespace {

// Escapes "<", so that no string of the traced program can end the page's script element.
std::string for_script(std::string json) {
  for (std::size_t at = json.find('<'); at != std::string::npos; at = json.find('<', at + 1))
    json.replace(at, 1, "\\u003c");
  return json;
}

// The symbols of entry points in the page, by index.
class Symbols {
 public:
  std::size_t index_of(std::string_view name) {
    const auto [at, is_new] = indexes_.emplace(name, indexes_.size());
    if (is_new) json_.append(json_.empty() ? "" : ",").append(json_string(name));
    return at->second;
  }
  const std::string &json() const noexcept { return json_; }

 private:
  std::map<std::string, std::size_t, std::less<>> indexes_;
  std::string json_;
};

// The call stacks in the page, by index.
class CallStacks {
 public:
  // Returns -1 for null.
  std::ptrdiff_t index_of(const std::string *call_stack) {
    if (call_stack == nullptr) return -1;
    const auto [at, is_new] = indexes_.emplace(call_stack, static_cast<std::ptrdiff_t>(indexes_.size()));
    if (is_new) json_.append(json_.empty() ? "" : ",").append(for_script(json_string(*call_stack)));
    return at->second;
  }
  const std::string &json() const noexcept { return json_; }

 private:
  std::unordered_map<const std::string *, std::ptrdiff_t> indexes_;
  std::string json_;
};

// Writes rows in brackets, separated by commas.
class List {
 public:
  explicit List(std::ostream &to) : to_(to) { to_ << '['; }
  ~List() { to_ << ']'; }
  List(const List &) = delete;
  List &operator=(const List &) = delete;
  template <class... Values>
  void add(const Values &...values) {
    to_ << (is_empty_ ? "\n[" : ",\n[");
    const char *comma = "";
    ((to_ << comma << values, comma = ","), ...);
    to_ << ']';
    is_empty_ = false;
  }

 private:
  std::ostream &to_;
  bool is_empty_ = true;
};

// Writes calls (index in the page's calls, begin, duration), operations (begin, duration, stream, name, index
// of the call or -1, number) and the critical path (index in calls or in operations, whether it is an
// operation, gap) in virtual time.
void write_virtual_time(const Trace &trace, const std::unordered_map<std::uint64_t, std::size_t> &by_id,
                        Symbols &symbols, std::ostream &to) {
  const std::vector<TimedCall> calls = timed_calls(trace);
  to << "{\"calls\":";
  for (List list(to); const auto &[call, begin, end] : calls)
    list.add(call - trace.calls().data(), microseconds(begin), microseconds(end - begin));
  to << ",\n\"operations\":";
  for (List list(to); const Operation &one : trace.operations()) {
    const auto call = by_id.find(one.call);
    list.add(microseconds(one.begin), microseconds(one.end - one.begin), one.stream,
             symbols.index_of(one.slot ? cushim_entry(*one.slot)->symbol : "operation"),
             call != by_id.end() ? static_cast<std::ptrdiff_t>(call->second) : -1, one.number);
  }
  to << ",\n\"path\":";
  for (List list(to); const PathStep &step : critical_path(trace, calls))
    list.add(step.call != nullptr ? step.call - calls.data() : step.operation - trace.operations().data(),
             step.operation != nullptr, microseconds(step.gap));
  const Busy busy = busy_time(trace);
  to << ",\n\"busy\":" << microseconds(static_cast<std::int64_t>(busy.any))
     << ",\"overlap\":" << microseconds(static_cast<std::int64_t>(busy.several)) << '}';
}

}  // namespace

void write_html(const Trace &trace, std::ostream &to) {
  constexpr std::string_view page = kPageHtml, mark = "/*DATA*/null";
  constexpr std::size_t at = page.find(mark);
  static_assert(at != std::string_view::npos);
  to << page.substr(0, at) << "{\"program\":" << for_script(json_string(trace.program()))
     << ",\"driver\":" << for_script(json_string(trace.driver())) << ",\"threads\":" << trace.threads()
     << ",\"calls\":";
  Symbols symbols;
  CallStacks call_stacks;
  {
    List list(to);
    for_each_call(trace, [&](const Call &call, const std::vector<Word> &words) {
      list.add(microseconds(call.begin), microseconds(duration(call)), call.thread,
               symbols.index_of(cushim_entry(call.slot)->symbol),
               json_string(call.end ? result_name(call.result) : "unfinished"),
               for_script(json_arguments(words)), call_stacks.index_of(call.call_stack));
    });
  }
  std::unordered_map<std::uint64_t, std::size_t> by_id;
  for (std::size_t i = 0; i < trace.calls().size(); ++i) by_id.emplace(trace.calls()[i].id, i);
  to << ",\n\"notes\":";
  for (List list(to); const Note &note : trace.notes()) {
    const auto call = by_id.find(note.call);
    list.add(call != by_id.end() ? static_cast<std::ptrdiff_t>(call->second) : -1,
             for_script(json_string(note.text)));
  }
  to << ",\n\"memory\":";
  for (List list(to); const MemoryChange &change : usage_of(trace).memory)
    list.add(microseconds(change.time), change.in_use);
  to << ",\n\"virtual\":";
  if (trace.operations().empty())
    to << "null";
  else
    write_virtual_time(trace, by_id, symbols, to);
  to << ",\n\"stacks\":[" << call_stacks.json() << "],\n\"names\":[" << symbols.json() << "]}"
     << page.substr(at + mark.size());
}

}  // namespace cushim::trace

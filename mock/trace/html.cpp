// SPDX-License-Identifier: Apache-2.0
// Writes the timeline as one HTML page: page.html with the calls as data.
#include <cushim/driver.hpp>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "json_text.hpp"
#include "page.hpp"
#include "timeline.hpp"
#include "usage.hpp"

namespace cushim::trace {
namespace {

// Escapes "<", so that no string of the traced program can end the page's script element.
std::string for_script(std::string json) {
  for (std::size_t at = json.find('<'); at != std::string::npos; at = json.find('<', at + 1))
    json.replace(at, 1, "\\u003c");
  return json;
}

// The names of calls and operations in the page, by index.
class Symbols {
 public:
  std::size_t index_of(std::string_view name) {
    const auto [at, is_new] = indexes_.emplace(name, indexes_.size());
    if (is_new) json_.append(json_.empty() ? "" : ",").append(for_script(json_string(name)));
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

std::string json_strings(const std::vector<std::string> &texts) {
  std::string json = "[";
  for (const std::string &text : texts) json.append(json.size() > 1 ? "," : "").append(json_string(text));
  return json + "]";
}

std::vector<std::string> thread_names(const Trace &trace) {
  std::vector<std::string> names;
  for (unsigned thread = 1; thread <= trace.threads(); ++thread) names.push_back(trace.thread_name(thread));
  return names;
}

std::ptrdiff_t or_none(std::optional<std::size_t> index) {
  return index ? static_cast<std::ptrdiff_t>(*index) : -1;
}

// Writes the names of the streams and copy engines, calls (index in the page's calls, begin, duration),
// operations (begin, duration, stream, name, index of the call among all calls or -1, number, copy engine or
// -1), waits (operation, index of the waiting call in calls or -1, waiting operation or -1) and the critical
// path (index in calls or in operations, whether it is an operation, gap).
void write_timeline(const char *name, const Trace &trace, const Timeline &timeline,
                    const std::unordered_map<std::uint64_t, std::size_t> &by_id, Symbols &symbols,
                    std::ostream &to) {
  const std::vector<TimedCall> &calls = timeline.calls;
  to << "{\"name\":\"" << name << "\",\"streams\":" << for_script(json_strings(timeline.streams))
     << ",\"engines\":" << json_strings(timeline.engine_names) << ",\n\"calls\":";
  for (List list(to); const auto &[call, begin, end] : calls)
    list.add(call - trace.calls().data(), microseconds(begin), microseconds(end - begin));
  to << ",\n\"operations\":";
  {
    List list(to);
    for (std::size_t i = 0; i < timeline.operations.size(); ++i) {
      const Operation &one = timeline.operations[i];
      const auto call = by_id.find(one.call);
      list.add(microseconds(one.begin), microseconds(one.end - one.begin), one.stream,
               symbols.index_of(timeline.names[i]),
               call != by_id.end() ? static_cast<std::ptrdiff_t>(call->second) : -1, one.number,
               or_none(timeline.engines[i]));
    }
  }
  to << ",\n\"waits\":";
  for (List list(to); const Wait &wait : timeline.waits)
    list.add(wait.operation, or_none(wait.call), or_none(wait.waiting));
  to << ",\n\"path\":";
  for (List list(to); const PathStep &step : critical_path(timeline.operations, calls))
    list.add(step.call != nullptr ? step.call - calls.data() : step.operation - timeline.operations.data(),
             step.operation != nullptr, microseconds(step.gap));
  const Busy busy = busy_time(timeline.operations);
  to << ",\n\"busy\":" << microseconds(static_cast<std::int64_t>(busy.any))
     << ",\"overlap\":" << microseconds(static_cast<std::int64_t>(busy.several)) << '}';
}

}  // namespace

void write_html(const Trace &trace, std::ostream &to) {
  constexpr std::string_view page = kPageHtml, mark = "/*DATA*/null";
  constexpr std::size_t at = page.find(mark);
  static_assert(at != std::string_view::npos);
  to << page.substr(0, at) << "{\"program\":" << for_script(json_string(trace.program()))
     << ",\"driver\":" << for_script(json_string(trace.driver()))
     << ",\"threads\":" << for_script(json_strings(thread_names(trace))) << ",\"calls\":";
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
  const Usage usage = usage_of(trace);
  for (List list(to); const MemoryChange &change : usage.memory)
    list.add(microseconds(change.time), change.in_use);
  to << ",\n\"timelines\":[";
  const char *comma = "";
  if (const Timeline gpu = gpu_timeline(trace, usage); !gpu.operations.empty()) {
    write_timeline("of the host, with the GPU", trace, gpu, by_id, symbols, to);
    comma = ",\n";
  }
  if (!trace.operations().empty()) {
    to << comma;
    write_timeline("virtual", trace, virtual_timeline(trace), by_id, symbols, to);
  }
  to << "],\n\"stacks\":[" << call_stacks.json() << "],\n\"names\":[" << symbols.json() << "]}"
     << page.substr(at + mark.size());
}

}  // namespace cushim::trace

// SPDX-License-Identifier: Apache-2.0
// The text of hazard reports.
#include "hazards/hazard_model.hpp"

#include <iterator>

#include <cushim/detail/reference.hpp>

namespace cushim::check {
namespace {

using cushim::detail::hexadecimal;

std::string symbol(const Access &access) {
  const std::string call = cushim_entry(static_cast<int>(access.entry))->symbol;
  return access.work != nullptr ? call + " (" + access.work->name + ")" : call;
}

// The words for a kind of access: "the call reads memory", "read by the call".
struct Words {
  const char *verb, *role;
};
const Words &words_of(Access::Kind kind) {
  static constexpr Words words[] = {{"reads", "read by"},
                                    {"writes", "written by"},
                                    {"allocates", "allocated by"},
                                    {"frees", "freed by"},
                                    {"uses", "used by"}};
  static_assert(std::size(words) == static_cast<std::size_t>(Access::Kind::unknown) + 1);
  return words[static_cast<std::size_t>(kind)];
}

std::string rule(const Conflict &conflict) {
  if (conflict.first.kind == Access::Kind::free) return "use-after-free";
  if (conflict.first.kind == Access::Kind::allocation) return "use-before-allocation";
  if (conflict.second.kind == Access::Kind::free) return "free-while-used";
  return "unordered";
}

// Returns "stream 2" from "stream 2 (0x55d0)": a report has the handle only once.
std::string without_handle(std::string stream) {
  const std::size_t handle = stream.find(" (0x");
  return handle == std::string::npos ? stream : stream.erase(handle, stream.find(')', handle) + 1 - handle);
}

std::string count_of_bytes(ByteRange bytes) {
  const std::uint64_t count = bytes.end - bytes.begin;
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

std::string event_text(unsigned long number, std::uint64_t handle) {
  return "event " + std::to_string(number) + " (" + hexadecimal(handle) + ")";
}

std::string array_text(const Conflict &conflict) {
  const std::uint64_t begin = conflict.bytes.begin;
  return count_of_bytes(conflict.bytes) + " from byte " + std::to_string(begin % kRowOfArray) + " of row " +
         std::to_string(begin % kLayerOfArray / kRowOfArray) + " of layer " +
         std::to_string(begin / kLayerOfArray) + " of array " +
         hexadecimal(reinterpret_cast<std::uintptr_t>(conflict.array));
}

// Returns the condition of cuStreamWaitValue in C notation: "*0x7f10 >= 5".
std::string condition_text(const HazardModel::ValueWait &wait) {
  const std::string at = std::string("*").append(hexadecimal(wait.address)),
                    value = std::to_string(wait.value);
  switch (wait.flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return at + " >= " + value;
    case CU_STREAM_WAIT_VALUE_EQ:
      return at + " == " + value;
    case CU_STREAM_WAIT_VALUE_AND:
      return "(" + at + " & " + value + ") != 0";
    default:
      return "~(" + at + " | " + value + ") != 0";
  }
}

}  // namespace

std::string HazardModel::kind_text(std::uint64_t address) const {
  static constexpr const char *kKinds[] = {"device memory", "pinned memory", "registered memory",
                                           "managed memory"};
  const Memory *const memory = memory_at(address);
  return memory != nullptr ? std::string(" of ") + kKinds[static_cast<int>(memory->kind)] : "";
}

std::string HazardModel::bytes_text(ByteRange bytes) const {
  return count_of_bytes(bytes) + " from " + hexadecimal(bytes.begin) + " to " + hexadecimal(bytes.end - 1) +
         kind_text(bytes.begin);
}

std::string HazardModel::place_text(const Conflict &conflict) const {
  if (conflict.array != nullptr) return array_text(conflict);
  if (conflict.first.has_guessed_extent() || conflict.second.has_guessed_extent())
    return hexadecimal(conflict.bytes.begin) + kind_text(conflict.bytes.begin) +
           ", an address that the kernel gets";
  return bytes_text(conflict.bytes);
}

// Describes the event that comes closest to ordering the two accesses, and why it does not; empty if none
// does.
std::string HazardModel::ordering_event_text(const Conflict &conflict) const {
  const Access &first = conflict.first, &second = conflict.second;
  const auto waited =
      last_wait_.find(std::uint64_t{second.epoch.stream_index} << 32 | first.epoch.stream_index);
  const auto recorded = last_record_.find(first.epoch.stream_index);
  std::string text;
  if (recorded != last_record_.end() && recorded->second.sequence > first.epoch.sequence)
    text = event_text(recorded->second.event, recorded->second.handle) + " was recorded on " +
           without_handle(names_.text(first.stream)) + " after that, but " +
           without_handle(names_.text(second.stream)) + " does not wait for the event";
  else if (waited != last_wait_.end() && waited->second.sequence < first.epoch.sequence)
    text = without_handle(names_.text(second.stream)) + " waits for " +
           event_text(waited->second.event, waited->second.handle) + ", which was recorded before that";
  return text.empty() ? text : "; " + text;
}

std::vector<Finding::Call> HazardModel::open_waits() const {
  std::vector<Finding::Call> calls;
  for (const OpenWait &wait : open_waits_) {
    const ValueWait &word = wait.word;
    std::string text = symbol(word.access) + " in " + names_.text(word.access.stream);
    if (wait.address != 0)
      text += " until " + condition_text(word) +
              (words_.contains(wait.address) ? "" : "; no stream memory operation has written it");
    calls.push_back(
        {wait.address != 0 ? "waiting" : "host function of", std::move(text), word.access.call_stack});
  }
  return calls;
}

void HazardModel::report(const Conflict &given) {
  Conflict conflict = given;
  const Verdict verdict = confirm(conflict);
  if (verdict == Verdict::pending) unconfirmed_.push_back(given);
  if (verdict != Verdict::confirmed) return;
  if (report_conflict_) return report_conflict_(conflict);
  const Access &first = conflict.first, &second = conflict.second;
  const std::string one = names_.text(first.stream), other = names_.text(second.stream);
  const bool is_freed = first.kind == Access::Kind::free;
  std::string what = other + " " + words_of(second.kind).verb + " memory that " + one + " " +
                     (is_freed ? "has freed" : words_of(first.kind).verb) + ": ";
  what += place_text(conflict) + ordering_event_text(conflict);
  const std::string earlier = without_handle(one), later = without_handle(other);
  std::string advice;
  if (is_freed)
    advice = first.stream == second.stream
                 ? "free it after its last use: call " + symbol(first) + " after " + symbol(second)
                 : "free it after its last use: record an event on " + later + " after " + symbol(second) +
                       " and let " + earlier + " wait for it before " + symbol(first);
  else
    advice = "record an event on " + earlier + " after " + symbol(first) + " and let " + later +
             " wait for it before " + symbol(second) + " (cuEventRecord, cuStreamWaitEvent)";
  report_({.checker = "hazards",
           .rule = rule(conflict),
           .what = std::move(what),
           .calls = {{words_of(first.kind).role, symbol(first) + " in " + one, first.call_stack},
                     {words_of(second.kind).role, symbol(second) + " in " + other, second.call_stack}},
           .advice = std::move(advice)});
}

void HazardModel::report_in_graph(const Conflict &conflict, const Access &launch) {
  const Access &first = conflict.first, &second = conflict.second;
  const std::string &one = first.work->name, &other = second.work->name;
  const auto node_text = [](const NamedWork &node) {
    return node.made_by.empty() ? node.name : node.name + ", added by " + node.made_by;
  };
  const std::string stream = names_.text(launch.stream);
  report_({.checker = "hazards",
           .rule = rule(conflict),
           .what = other + " " + words_of(second.kind).verb + " memory that " + one + " " +
                   words_of(first.kind).verb + ", and no path of edges orders them: " + place_text(conflict),
           .calls = {{words_of(first.kind).role, node_text(*first.work), first.call_stack},
                     {words_of(second.kind).role, node_text(*second.work), second.call_stack},
                     {"launched by", symbol(launch) + " in " + stream, launch.call_stack}},
           .advice = "add a dependency between the two nodes (cuGraphAddDependencies); in a capture, let the "
                     "stream of the later one wait for an event that is recorded after the earlier one"});
}

}  // namespace cushim::check

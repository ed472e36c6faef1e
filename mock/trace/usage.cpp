// SPDX-License-Identifier: Apache-2.0
#include "usage.hpp"

#include <cushim/driver.hpp>

#include <iterator>
#include <optional>

#include "call_text.hpp"

namespace cushim::trace {
namespace {

using mock::EntryTraits;
using mock::MemoryUse;
using mock::Object;

// Memory that the program has at a moment.
class Memories {
 public:
  enum class Kind : std::uint8_t { device, pinned, managed };

  void add(std::uint64_t address, std::uint64_t bytes, Object object, std::size_t index) {
    const Kind kind = object == Object::pinned_memory || object == Object::registered_memory ? Kind::pinned
                      : object == Object::managed_memory                                     ? Kind::managed
                                                                                             : Kind::device;
    all_.insert_or_assign(address, Memory{bytes, kind, index});
  }
  struct Memory {
    std::uint64_t bytes = 0;
    Kind kind = Kind::device;
    std::size_t index = 0;  // of the allocation
  };
  std::optional<Memory> remove(std::uint64_t address) {
    const auto found = all_.find(address);
    if (found == all_.end()) return std::nullopt;
    const Memory memory = found->second;
    all_.erase(found);
    return memory;
  }
  // Returns the kind of memory that has this address; nullopt if it is pageable or unknown.
  std::optional<Kind> kind_of(std::uint64_t address) const {
    const auto next = all_.upper_bound(address);
    if (next == all_.begin()) return std::nullopt;
    const auto &[begin, memory] = *std::prev(next);
    return address - begin < memory.bytes ? std::optional(memory.kind) : std::nullopt;
  }

 private:
  std::map<std::uint64_t, Memory> all_;
};

// Follows the calls in order.
class Follower {
 public:
  void follow(const Call &call, const std::vector<Word> &words) {
    if (!has_succeeded(call)) return;
    const EntryTraits &traits = mock::traits_of(call.slot);
    const std::string_view base = traits.base;
    const bool only_waits = traits.lifetime == EntryTraits::Lifetime::none;
    if (traits.wait == EntryTraits::Wait::synchronizes && only_waits) usage_.waits.push_back(&call);
    // A damaged trace may name an entry point whose types the headers in use lack.
    if (row_of(call.slot).parameters.empty()) return;
    if (traits.queue != EntryTraits::Queue::none) follow_work(call, traits, words);
    if (mock::is_memory(traits.object)) follow_memory(call, traits);
    if (traits.object == Object::event || base.starts_with("cuEvent")) follow_event(call, base);
  }

  Usage take() { return std::move(usage_); }

 private:
  static std::uint64_t argument(const Call &call, mock::ArgumentIndex index) {
    return bits_of(call, mock::position(index, row_of(call.slot).parameters.size()));
  }

  void follow_work(const Call &call, const EntryTraits &traits, const std::vector<Word> &words) {
    ++usage_.operations;
    StreamUse &use = stream_of(stream_of_work(call, words));
    ++use.operations;
    if (use.first == nullptr) use.first = &call;
    follow_copy(call, traits);
  }

  StreamUse &stream_of(const std::string &name) {
    const auto [found, is_new] = streams_.emplace(without_given_name(name), usage_.streams.size());
    if (is_new) usage_.streams.emplace_back();
    StreamUse &use = usage_.streams[found->second];
    use.name = name;  // the program may name it later
    return use;
  }

  // Returns "host", "device" or "array" for one end of a copy. Notes whether it is pageable memory.
  std::string end_of_copy(const Call &call, const MemoryUse &use, bool &is_pageable) const {
    if (use.space == MemoryUse::Space::array) return "array";
    if (use.space == MemoryUse::Space::device) return "device";
    const auto kind = memories_.kind_of(argument(call, use.argument));
    if (kind && *kind != Memories::Kind::pinned) return "device";
    // An address of either space that is not known may be memory of the device that is older than the
    // recording.
    if (!kind && use.space == MemoryUse::Space::any) return "unknown memory";
    if (!kind) is_pageable = true;
    return "host";
  }

  void follow_copy(const Call &call, const EntryTraits &traits) {
    const MemoryUse *from = nullptr, *to = nullptr;
    for (const MemoryUse &use : traits.memory) {
      if (use.access == MemoryUse::Access::reads) from = &use;
      if (use.access == MemoryUse::Access::writes) to = &use;
    }
    if (from == nullptr || to == nullptr || to->size == mock::kNoArgument) return;
    Copy copy{.call = &call, .bytes = argument(call, to->size)};
    copy.direction = end_of_copy(call, *from, copy.is_pageable) + " to ";
    copy.direction += end_of_copy(call, *to, copy.is_pageable);
    copy.is_synchronous = traits.queue == EntryTraits::Queue::null_stream;
    usage_.copies.push_back(std::move(copy));
  }

  void follow_memory(const Call &call, const EntryTraits &traits) {
    if (traits.ends_lifetime()) {
      const auto freed = memories_.remove(argument(call, traits.subject));
      if (!freed) return;
      usage_.allocations[freed->index].freed = call.end;
      if (freed->kind != Memories::Kind::pinned) note(call, in_use_ - freed->bytes);
      return;
    }
    if (traits.bytes == mock::kNoArgument) return;
    const std::size_t subject = mock::position(traits.subject, row_of(call.slot).parameters.size());
    std::uint64_t bytes = argument(call, traits.bytes);
    if (traits.rows != mock::kNoArgument)
      bytes =
          bits_of(value_behind(call, static_cast<std::size_t>(traits.bytes))) * argument(call, traits.rows);
    const bool is_out = row_of(call.slot).parameters[subject].type->pointee != nullptr;
    const std::uint64_t address = is_out ? bits_of(value_behind(call, subject)) : bits_of(call, subject);
    memories_.add(address, bytes, traits.object, usage_.allocations.size());
    const bool is_of_device =
        traits.object != Object::pinned_memory && traits.object != Object::registered_memory;
    usage_.allocations.push_back({.call = &call, .bytes = bytes, .is_of_device = is_of_device});
    if (is_of_device) note(call, in_use_ + bytes);
  }

  void note(const Call &call, std::uint64_t in_use) {
    in_use_ = in_use;
    usage_.memory.push_back({*call.end, in_use});
  }

  void follow_event(const Call &call, std::string_view base) {
    if (base == "cuEventCreate") {
      const auto event = bits_of(value_behind(call, 0));
      events_[event] = usage_.events.size();
      usage_.events.push_back(
          {.created = &call, .is_timed = (bits_of(call, 1) & CU_EVENT_DISABLE_TIMING) == 0});
    } else if (base == "cuEventRecord" || base == "cuEventRecordWithFlags") {
      if (Event *const event = find(bits_of(call, 0))) ++event->records;
    } else if (base == "cuEventElapsedTime") {
      for (const std::size_t index : {std::size_t{1}, std::size_t{2}})
        if (Event *const event = find(bits_of(call, index))) event->is_read = true;
    } else if (base == "cuEventDestroy") {
      events_.erase(bits_of(call, 0));
    }
  }

  Event *find(std::uint64_t handle) {
    const auto found = events_.find(handle);
    return found != events_.end() ? &usage_.events[found->second] : nullptr;
  }

  Usage usage_;
  Memories memories_;
  std::uint64_t in_use_ = 0;
  std::map<std::string, std::size_t> streams_;
  std::map<std::uint64_t, std::size_t> events_;
};

}  // namespace

std::string stream_of_work(const Call &call, const std::vector<Word> &words) {
  const EntryTraits &traits = mock::traits_of(call.slot);
  std::string name = "null stream";
  if (traits.queue == EntryTraits::Queue::stream) {
    name = words[mock::position(traits.stream, words.size())].value;
  } else if (traits.queue == EntryTraits::Queue::described) {
    // The configuration of a launch has the stream in a field.
    const std::string &text = words[mock::position(traits.stream, words.size())].value;
    const std::size_t at = text.find("hStream=");
    if (at == std::string::npos) return "streams of structures";
    const std::size_t begin = at + std::string_view("hStream=").size();
    name = text.substr(begin, text.find_first_of(",}", begin) - begin);
  }
  return name_of_stream(name, call);
}

std::string name_of_stream(const std::string &argument, const Call &call) {
  if (argument != "null stream") return argument;
  return cushim_entry(call.slot)->thread[0] == '\0' ? "legacy stream" : "per-thread stream";
}

std::string_view without_given_name(std::string_view name) { return name.substr(0, name.find(" \"")); }

Usage usage_of(const Trace &trace) {
  Follower follower;
  for_each_call(trace,
                [&](const Call &call, const std::vector<Word> &words) { follower.follow(call, words); });
  return follower.take();
}

}  // namespace cushim::trace

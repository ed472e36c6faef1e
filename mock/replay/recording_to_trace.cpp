// SPDX-License-Identifier: Apache-2.0
// Converts recordings to traces, which other functions write as text.
#include <algorithm>

#include <cushim/replay/recording.hpp>
#include "../trace/trace_format.hpp"
#include "buffers.hpp"

namespace cushim::replay {
namespace {

// Appends the values of a call in the form of a trace: of an array its first element, of a text its
// beginning.
void append_values(const RecordedCall &call, std::vector<std::uint64_t> &storage) {
  for (const Item &item : call.after) {
    const Buffer *const buffer = buffer_of(call.slot, item.argument);
    const bool is_of_driver =
        buffer != nullptr && buffer->content == Buffer::Content::returned_array;  // its address is unknown
    if (buffer == nullptr || item.is_hash || buffer->is_data || is_of_driver) continue;
    const bool is_text = buffer->content == Buffer::Content::text ||
                         buffer->content == Buffer::Content::text_out ||
                         buffer->content == Buffer::Content::returned_text;
    const bool is_object = buffer->type != nullptr;
    if (!is_text && (!is_object || item.size < buffer->element)) continue;
    const std::string_view bytes =
        item.bytes.substr(0, is_text ? trace::kMostText : std::size_t{buffer->element});
    const trace::ValueHeader header{item.argument, static_cast<std::uint32_t>(bytes.size())};
    const std::size_t at = storage.size();
    storage.resize(at + 1 + trace::words_for(bytes.size()));
    std::memcpy(&storage[at], &header, sizeof header);
    if (!bytes.empty()) std::memcpy(&storage[at + 1], bytes.data(), bytes.size());
  }
}

}  // namespace

trace::Trace Recording::trace() const {
  trace::TraceParts parts{
      .process = process_, .program = program_, .driver = driver_, .system_threads = system_threads_};
  std::vector<std::size_t> ends;  // of each call's words and values
  for (const RecordedCall &call : calls_) {
    parts.storage.insert(parts.storage.end(), call.words.begin(), call.words.end());
    append_values(call, parts.storage);
    ends.push_back(parts.storage.size());
  }
  const std::span<const std::uint64_t> storage = parts.storage;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < calls_.size(); begin = ends[i++]) {
    const RecordedCall &call = calls_[i];
    trace::Call &to = parts.calls.emplace_back();
    to.slot = call.slot;
    to.thread = call.thread;
    to.begin = call.begin_time;
    if (call.has_ended()) to.end = call.end_time;
    to.result = call.result;
    to.words = storage.subspan(begin, call.words.size());
    to.values = storage.subspan(begin + call.words.size(), ends[i] - begin - call.words.size());
  }
  return trace::Trace(std::move(parts));
}

}  // namespace cushim::replay

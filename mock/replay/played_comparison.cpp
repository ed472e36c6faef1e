// SPDX-License-Identifier: Apache-2.0
// Compares a call that was replayed with the recording.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <cushim/detail/entry_traits.hpp>
#include "attribute_values.hpp"
#include "call_text.hpp"
#include "created_memory.hpp"
#include "played_call.hpp"

namespace cushim::replay {

using Content = Buffer::Content;
using mock::EntryTraits;

std::optional<Difference> PlayedCall::finish(CUresult result, bool compares_values) {
  const auto is_answer = [](CUresult code) { return code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_READY; };
  if (result != call_.result && !(entry_.polls && is_answer(result) && is_answer(call_.result)))
    return Difference{.what = "result",
                      .recorded = trace::result_name(call_.result),
                      .replayed = trace::result_name(result)};
  if (result != CUDA_SUCCESS) return compares_values ? compare_options_of_failure() : std::nullopt;
  if (entry_.exports_handle) keep_exported();
  // The call now owns it.
  if (entry_.imports_handle && cushim_entry(call_.slot)->base == std::string_view("cuImportExternalMemory"))
    replay_.descriptors.release(recorded_descriptor());
  if (entry_.creates_memory) add_memory();
  if (entry_.adds_node) add_memory_of_node();
  if (entry_.changes_parts) follow_parts();
  std::optional<Difference> first;
  for (const Buffer &buffer : buffers_of(call_.slot)) {
    if (buffer.is_async && buffer.is_written())
      mapping_.add_copy(call_.begin,
                        {reinterpret_cast<const char *>(argument_of(call_.slot, words_, buffer.argument)),
                         size_of_buffer(buffer)});
    const Item *const item = item_of(call_.after, buffer.argument);
    const bool was_passed = argument_of(call_.slot, words_, buffer.argument) != 0;
    if (!buffer.is_written() || item == nullptr || !was_passed) continue;
    auto difference = compare_buffer(buffer, *item, compares_values);
    if (difference && !first) first = std::move(difference);
  }
  if (auto difference = compare_handles_made(); difference && !first) first = std::move(difference);
  if (!first && compares_values) first = compare_rows();
  if (!first && compares_values) first = compare_completed_copies();
  if (!first && compares_values) first = compare_host_memory();
  return first;
}

std::optional<Difference> PlayedCall::compare_buffer(const Buffer &buffer, const Item &item,
                                                     bool compares_values) {
  if (entry_.exports_handle) return std::nullopt;  // a file descriptor
  const trace::Parameter &parameter = trace::row_of(call_.slot).parameters[buffer.argument];
  const auto difference = [&](std::string recorded, std::string replayed) {
    return Difference{.what = std::string(parameter.name),
                      .recorded = std::move(recorded),
                      .replayed = std::move(replayed)};
  };
  const char *replayed = reinterpret_cast<const char *>(words_[parameter.word]);
  std::uint64_t size = 0;
  if (buffer.content == Content::returned_array) {
    const char *array = nullptr;
    std::memcpy(static_cast<void *>(&array), replayed, sizeof(void *));
    replayed = array;
    size = replayed == nullptr
               ? 0
               : size_of(buffer, call_.slot, words_, [](void *to, std::uint64_t address, std::size_t bytes) {
                   std::memcpy(to, reinterpret_cast<const void *>(address), bytes);
                   return true;
                 });
    if (compares_values && size != item.size)
      return difference(std::to_string(item.size / buffer.element) + " elements",
                        std::to_string(size / buffer.element));
    size = std::min(size, item.size);
  } else if (buffer.content == Content::objects) {
    size = std::min(item.size, size_of_buffer(buffer));
  }
  if (buffer.content == Content::text_out || buffer.content == Content::returned_text) {
    std::string text;
    if (buffer.content == Content::text_out) {
      text.assign(replayed, strnlen(replayed, size_of_buffer(buffer)));
    } else {
      const char *returned = nullptr;
      std::memcpy(static_cast<void *>(&returned), replayed, sizeof returned);
      if (returned != nullptr) text = returned;
    }
    if (!compares_values || text == item.bytes) return std::nullopt;
    return difference('"' + std::string(item.bytes) + '"', '"' + text + '"');
  }
  if (buffer.content == Content::option_values) {
    auto unequal = compare_options(buffer, item);
    if (!compares_values || !unequal) return std::nullopt;
    return difference(unequal->recorded, unequal->replayed);
  }
  if (buffer.content == Content::attribute_values) {
    auto unequal = compare_attribute_values(item.bytes);
    if (!compares_values || !unequal) return std::nullopt;
    return difference(unequal->recorded, unequal->replayed);
  }
  if (buffer.size_of_attribute == size_of_pointer_attribute) {
    const std::uint64_t attribute = argument_of(call_.slot, call_.words, buffer.count) & 0xffffffff;
    const auto unequal = compare_pointer_attribute(attribute, item.bytes, {replayed, size}, mapping_);
    if (!compares_values || !unequal) return std::nullopt;
    return difference(unequal->recorded, unequal->replayed);
  }
  if (buffer.type != nullptr && !buffer.is_data) {
    const EntryTraits &traits = mock::traits_of(call_.slot);
    const bool creates =
        traits.lifetime == EntryTraits::Lifetime::creates &&
        mock::position(traits.subject, trace::row_of(call_.slot).parameters.size()) == buffer.argument;
    for (std::uint64_t at = 0; at + buffer.element <= std::min<std::uint64_t>(size, item.bytes.size());
         at += buffer.element) {
      if (is_opaque(*buffer.type))
        mapping_.add_opaque(item.bytes.substr(at, buffer.element), {replayed + at, buffer.element});
      if (auto unequal =
              compare(*buffer.type, item.bytes.data() + at, replayed + at, parameter.name, creates, mapping_);
          unequal && compares_values)
        return difference(unequal->recorded, unequal->replayed);
    }
    return std::nullopt;
  }
  const Mapping::Memory *const memory = mapping_.live_memory_at(call_.words[parameter.word]);
  if (!compares_values || (memory != nullptr && !memory->is_host_accessible)) return std::nullopt;
  const std::string_view bytes(replayed, size);
  if (auto unequal = compare_data(item, bytes)) return difference(unequal->recorded, unequal->replayed);
  return std::nullopt;
}

std::optional<Difference> PlayedCall::compare_completed_copies() const {
  for (const Item &item : call_.after) {
    const std::string_view replayed =
        item.completed != 0 ? mapping_.copy(item.completed) : std::string_view();
    if (replayed.data() == nullptr) continue;
    if (auto unequal = compare_data(item, replayed.substr(0, item.size)))
      return Difference{.what = "the destination of an asynchronous copy",
                        .recorded = std::move(unequal->recorded),
                        .replayed = std::move(unequal->replayed)};
  }
  return std::nullopt;
}

}  // namespace cushim::replay

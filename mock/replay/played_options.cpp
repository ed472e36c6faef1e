// SPDX-License-Identifier: Apache-2.0
// Provides and compares the options of the compiler, of linkers and of libraries, for a call that is
// replayed.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bits.hpp"
#include "created_memory.hpp"
#include "option_values.hpp"
#include "played_call.hpp"

namespace cushim::replay {
using Content = OptionValue::Content;

std::optional<std::string> PlayedCall::provide_options(const Buffer &buffer) {
  const std::size_t count = size_of_buffer(buffer) / buffer.element, names = buffer.argument - std::size_t{1};
  if (count == 0) {
    set(buffer.argument, kept_.allocate(0));
    return std::nullopt;
  }
  const auto values = recorded_option_values(call_, buffer.argument);
  if (!values || values->size() != count) return "its options were not recorded";
  const auto recorded = unpack_options(item_of(call_.before, buffer.argument)->bytes);
  // Linkers use the arrays until they are destroyed.
  char *const array = kept_.allocate(count * sizeof(std::uint64_t));
  char *const kept_names = kept_.allocate(count * sizeof(std::uint32_t));
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const OptionValue &value = (*values)[i];
    if (value.content == Content::unknown) {
      lacks_ = "the table of functions of the host, an option, was not recorded";
      continue;
    }
    std::uint64_t word = value.word;
    if (value.content == Content::log)
      word = reinterpret_cast<std::uint64_t>(kept_.allocate(value.count));
    else if (value.content == Content::texts)
      word = reinterpret_cast<std::uint64_t>(make_texts(recorded[i].rest, value.count));
    else if (value.content == Content::addresses)
      word = reinterpret_cast<std::uint64_t>(make_addresses(recorded[i].rest));
    std::memcpy(array + used * sizeof word, &word, sizeof word);
    std::memcpy(
        kept_names + used++ * sizeof(std::uint32_t),
        reinterpret_cast<const char *>(argument_of(call_.slot, words_, names)) + i * sizeof(std::uint32_t),
        sizeof(std::uint32_t));
  }
  set(buffer.argument, array);
  set(names, kept_names);
  words_[trace::row_of(call_.slot).parameters[buffer.count].word] = used;
  return std::nullopt;
}

char *PlayedCall::make_texts(std::string_view rest, std::uint64_t count) {
  const auto texts = texts_of(rest);
  char *const array = kept_.allocate(count * sizeof(char *));
  for (std::size_t i = 0; i < std::min<std::size_t>(texts.size(), count); ++i) {
    const char *const copy =
        std::ranges::copy(texts[i], kept_.allocate(texts[i].size() + 1)).out - texts[i].size();
    std::memcpy(array + i * sizeof copy, static_cast<const void *>(&copy), sizeof copy);
  }
  return array;
}

char *PlayedCall::make_addresses(std::string_view rest) {
  char *const array = kept_.allocate(rest.size());
  std::ranges::copy(rest, array);
  mapping_.replace_words({array, rest.size()});
  return array;
}

std::optional<Unequal> PlayedCall::compare_options(const Buffer &buffer, const Item &item) const {
  const auto values = recorded_option_values(call_, buffer.argument);
  const auto written = unpack_options(item.bytes);
  const char *const array = reinterpret_cast<const char *>(argument_of(call_.slot, words_, buffer.argument));
  // Not if an option was left out.
  if (!values || written.size() != values->size() ||
      size_of(buffer, call_.slot, words_, [](void *, std::uint64_t, std::size_t) { return false; }) !=
          values->size() * buffer.element)
    return std::nullopt;
  const auto word_at = [&](std::size_t i) { return bits_at(array + i * buffer.element, buffer.element); };
  for (std::size_t i = 0; i < values->size(); ++i) {
    const OptionValue &value = (*values)[i];
    if (value.content == Content::written_number && written[i].word != word_at(i))
      return Unequal{std::to_string(written[i].word), std::to_string(word_at(i))};
    if (value.content != Content::log) continue;
    const std::string_view log(reinterpret_cast<const char *>(word_at(i)), value.count),
        replayed = log.substr(0, log.find('\0'));
    if (!written[i].rest.empty() && !are_equal_logs(written[i].rest, replayed))
      return Unequal{'"' + std::string(written[i].rest) + '"', '"' + std::string(replayed) + '"'};
  }
  return std::nullopt;
}

std::optional<Difference> PlayedCall::compare_options_of_failure() const {
  for (const Buffer &buffer : buffers_of(call_.slot)) {
    const Item *const item = item_of(call_.after, buffer.argument);
    if (buffer.content != Buffer::Content::option_values || item == nullptr) continue;
    if (auto unequal = compare_options(buffer, *item))
      return Difference{.what = std::string(trace::row_of(call_.slot).parameters[buffer.argument].name),
                        .recorded = std::move(unequal->recorded),
                        .replayed = std::move(unequal->replayed)};
  }
  return std::nullopt;
}

}  // namespace cushim::replay

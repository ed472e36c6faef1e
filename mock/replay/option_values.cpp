// SPDX-License-Identifier: Apache-2.0
#include "option_values.hpp"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "attribute_values.hpp"
#include "bits.hpp"
#include "created_memory.hpp"

namespace cushim::replay {
namespace {

using Content = OptionValue::Content;

// Constants that older headers lack or call otherwise.
constexpr std::uint32_t kReferencedKernels = 25, kReferencedKernelCount = 26, kReferencedVariables = 27,
                        kReferencedVariableCount = 28, kHostTableOfLibrary = 0;

constexpr std::uint64_t kMostLog = std::uint64_t{1} << 20;  // bytes
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 12;

void append(std::string &to, std::uint64_t word) {
  to.append(reinterpret_cast<const char *>(&word), sizeof word);
}

// Returns whether a text could be appended with its NUL.
bool append_text(std::string &to, std::uint64_t address, OptionReader read) {
  for (char byte = 1; byte != 0; ++address) {
    if (!read(&byte, address, 1) || to.size() > kMostLog) return false;
    to += byte;
  }
  return true;
}

void append_value(std::string &item, std::string_view value) {
  const auto size = static_cast<std::uint32_t>(value.size());
  item.append(reinterpret_cast<const char *>(&size), sizeof size);
  item.append(value);
}

// The option that has the size or the number of elements of another one, and the other's content.
struct Counted {
  std::uint32_t name, count;
  Content content;
};
constexpr Counted kCounted[] = {
    {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, Content::log},
    {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, Content::log},
    {CU_JIT_GLOBAL_SYMBOL_NAMES, CU_JIT_GLOBAL_SYMBOL_COUNT, Content::texts},
    {CU_JIT_GLOBAL_SYMBOL_ADDRESSES, CU_JIT_GLOBAL_SYMBOL_COUNT, Content::addresses},
    {kReferencedKernels, kReferencedKernelCount, Content::texts},
    {kReferencedVariables, kReferencedVariableCount, Content::texts}};

Content content_of_number(std::uint32_t name) {
  if (name == CU_JIT_THREADS_PER_BLOCK) return Content::written_number;
  const bool varies = name == CU_JIT_WALL_TIME || name == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
                      name == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
  return varies ? Content::varying_number : Content::number;
}

}  // namespace

bool has_option_values(std::string_view parameter) {
  return parameter == "optionValues" || parameter == "jitOptionsValues" || are_of_library(parameter);
}

bool are_of_library(std::string_view parameter) { return parameter == "libraryOptionValues"; }

std::vector<OptionValue> option_values(bool are_of_library, std::span<const std::uint32_t> names,
                                       std::span<const std::uint64_t> words) {
  std::vector<OptionValue> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    OptionValue &value = values.emplace_back();
    value.word = words[i];
    if (are_of_library) {
      if (names[i] == kHostTableOfLibrary && value.word != 0) value.content = Content::unknown;
      continue;
    }
    value.content = content_of_number(names[i]);
    const auto counted = std::ranges::find(kCounted, names[i], &Counted::name);
    if (counted == std::end(kCounted) || value.word == 0) continue;
    value.content = counted->content;
    // The last option with a name holds: measured on an H200, driver 580.
    for (std::size_t other = names.size(); other-- != 0;) {
      if (names[other] != counted->count) continue;
      value.size_at = other;
      value.count = words[other] & 0xffffffff;
      break;
    }
  }
  return values;
}

std::optional<std::string> pack_options_read(const std::vector<OptionValue> &values, OptionReader read) {
  std::string item;
  for (const OptionValue &value : values) {
    std::string bytes;
    append(bytes, value.word);
    const bool is_array = value.content == Content::texts || value.content == Content::addresses;
    if (is_array && value.count > kMostElements) return std::nullopt;
    for (std::uint64_t i = 0; is_array && i < value.count; ++i) {
      std::uint64_t element = 0;
      if (!read(&element, value.word + i * sizeof element, sizeof element)) return std::nullopt;
      if (value.content == Content::addresses)
        append(bytes, element);
      else if (element == 0)
        bytes += '\0';
      else if (!append_text(bytes, element, read))
        return std::nullopt;
    }
    append_value(item, bytes);
  }
  return item;
}

std::optional<std::string> pack_options_written(const std::vector<OptionValue> &values,
                                                std::span<const std::uint64_t> words, bool has_logs,
                                                OptionReader read) {
  std::string item;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string bytes;
    append(bytes, words[i]);
    if (has_logs && values[i].content == Content::log) {
      // The call has replaced the size of the buffer by that of the text.
      const std::uint64_t size = words[values[i].size_at] & 0xffffffff;
      if (size < values[i].count && size <= kMostLog) {
        std::string log(size, '\0');
        if (!read(log.data(), values[i].word, size)) return std::nullopt;
        bytes += log;
      }
    }
    append_value(item, bytes);
  }
  return item;
}

std::vector<RecordedOption> unpack_options(std::string_view item) {
  std::vector<RecordedOption> values;
  for (const std::string_view value : unpack(item)) {
    if (value.size() < sizeof(std::uint64_t)) break;
    values.push_back({bits_at(value.data(), sizeof(std::uint64_t)), value.substr(sizeof(std::uint64_t))});
  }
  return values;
}

std::optional<std::vector<OptionValue>> recorded_option_values(const RecordedCall &call,
                                                               std::size_t argument) {
  const Item *const names_item = item_of(call.after, argument - 1), *const item =
                                                                        item_of(call.before, argument);
  if (names_item == nullptr || item == nullptr) return std::nullopt;
  std::vector<std::uint64_t> words;
  for (const RecordedOption &option : unpack_options(item->bytes)) words.push_back(option.word);
  std::vector<std::uint32_t> names(names_item->bytes.size() / sizeof(std::uint32_t));
  if (words.empty() || words.size() != names.size()) return std::nullopt;
  std::memcpy(names.data(), names_item->bytes.data(), words.size() * sizeof names[0]);
  return option_values(are_of_library(trace::row_of(call.slot).parameters[argument].name), names, words);
}

std::vector<std::string_view> texts_of(std::string_view rest) {
  std::vector<std::string_view> texts;
  for (std::size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
    texts.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return texts;
}

bool are_equal_logs(std::string_view recorded, std::string_view replayed) {
  const auto next_line = [](std::string_view &rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  while (!recorded.empty() || !replayed.empty()) {
    const std::string_view one = next_line(recorded), other = next_line(replayed);
    const bool tells_time = one.find("ime = ") != one.npos && other.find("ime = ") != other.npos;
    if (one != other && !tells_time) return false;
  }
  return true;
}

}  // namespace cushim::replay

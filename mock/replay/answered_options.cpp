// SPDX-License-Identifier: Apache-2.0
// Writes what a recorded call wrote to the options of the compiler, of linkers and of libraries.
#include <algorithm>
#include <cstring>
#include <vector>

#include "answers.hpp"
#include "bits.hpp"
#include "created_memory.hpp"
#include "option_values.hpp"

namespace cushim::replay {

void Answers::give_options(const RecordedCall &recorded, const GivenCall &call) {
  for (const Buffer &buffer : buffers_of(recorded.slot)) {
    const Item *const item = item_of(recorded.after, buffer.argument), *const names_item = item_of(
                                                                           recorded.after,
                                                                           buffer.argument - std::size_t{1});
    char *const array = reinterpret_cast<char *>(argument_of(call.slot, call.words, buffer.argument));
    if (buffer.content != Buffer::Content::option_values || item == nullptr || names_item == nullptr ||
        array == nullptr)
      continue;
    const auto written = unpack_options(item->bytes);
    std::vector<std::uint32_t> names(written.size());
    std::vector<std::uint64_t> words(written.size());
    if (names_item->bytes.size() < names.size() * sizeof(std::uint32_t)) continue;
    // Requires that the numbers of options are equal, which was compared.
    if (!names.empty()) {
      std::memcpy(names.data(), names_item->bytes.data(), names.size() * sizeof names[0]);
      std::memcpy(words.data(), array, words.size() * sizeof words[0]);
    }
    const auto given = option_values(
        are_of_library(trace::row_of(call.slot).parameters[buffer.argument].name), names, words);
    for (std::size_t i = 0; i < given.size(); ++i) {
      const OptionValue &value = given[i];
      if (value.content == OptionValue::Content::written_number ||
          value.content == OptionValue::Content::varying_number)
        std::memcpy(array + i * sizeof value.word, &written[i].word, sizeof value.word);
      if (value.content != OptionValue::Content::log || written[i].rest.empty() || value.count == 0) continue;
      char *const log = reinterpret_cast<char *>(value.word);
      *std::ranges::copy(written[i].rest.substr(0, value.count - 1), log).out = '\0';
    }
  }
}

}  // namespace cushim::replay

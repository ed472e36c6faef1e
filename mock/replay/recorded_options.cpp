// SPDX-License-Identifier: Apache-2.0
// Records the options of the compiler, of linkers and of libraries, images that a driver rejected, and the
// sources of batches of copies.
#include <algorithm>
#include <cstring>
#include <string>

#include "argument_recorder.hpp"
#include "batches.hpp"
#include "pointees.hpp"
#include "process.hpp"

namespace cushim::replay {
namespace {

constexpr auto &read = trace::copy_all_if_there;

template <class T>
std::optional<std::vector<T>> array_at(std::uint64_t address, std::uint64_t count) {
  std::vector<T> array(count);
  if (count != 0 && !read(array.data(), address, count * sizeof(T))) return std::nullopt;
  return array;
}

}  // namespace

std::optional<std::vector<OptionValue>> ArgumentRecorder::options_of(const Buffer &buffer,
                                                                     std::uint64_t address) const {
  const std::uint64_t count = size_of(buffer, slot_, words_, read) / buffer.element;
  if (count > kMostOptions) return std::nullopt;
  const std::size_t names_argument = buffer.argument - std::size_t{1};
  const auto names = array_at<std::uint32_t>(argument_of(slot_, words_, names_argument), count);
  const auto words = array_at<std::uint64_t>(address, count);
  if (!names || !words) return std::nullopt;
  return option_values(are_of_library(trace::row_of(slot_).parameters[buffer.argument].name), *names, *words);
}

void ArgumentRecorder::copy_options_read(const Buffer &buffer, std::uint64_t address) {
  stream_.options.erase(buffer.argument);
  const auto values = options_of(buffer, address);
  if (!values) return;
  if (const auto item = pack_options_read(*values, read)) put_item(buffer, *item);
  stream_.options.emplace(buffer.argument, *values);
}

void ArgumentRecorder::copy_options_written(const Buffer &buffer, std::uint64_t address) {
  const auto values = stream_.options.extract(buffer.argument);
  if (values.empty()) return;
  const auto words = array_at<std::uint64_t>(address, values.mapped().size());
  if (!words) return;
  // A linker writes logs in later calls, too.
  const bool has_logs = !std::string_view(cushim_entry(slot_)->base).starts_with("cuLink");
  if (const auto item = pack_options_written(values.mapped(), *words, has_logs, read))
    put_item(buffer, *item);
}

void ArgumentRecorder::copy_sources(const Buffer &buffer, std::uint64_t address) {
  constexpr std::uint64_t kMost = 4096;
  const std::uint64_t count = size_of(buffer, slot_, words_, read) / buffer.element;
  if (count > kMost) return;
  const auto sources = array_at<std::uint64_t>(address, count),
             sizes = array_at<std::uint64_t>(argument_of(slot_, words_, kSizesOfBatch), count);
  for (std::size_t i = 0; sources && sizes && i < count; ++i) {
    const HostRows bytes{.address = (*sources)[i], .width = (*sizes)[i], .rows = 1};
    if (bytes.address != 0 && bytes.are_there()) put_pointee(buffer, i * buffer.element, true, bytes.pack());
  }
}

void ArgumentRecorder::copy_rejected_image(const Buffer &buffer, std::uint64_t address) {
  if (data_ == RecordData::none) return;
  const std::string bytes = bytes_of_rejected_image(address);
  if (!bytes.empty()) put_item(buffer, bytes, true);
}

}  // namespace cushim::replay

// SPDX-License-Identifier: Apache-2.0
#include <cushim/trace/trace.hpp>

#include <cushim/driver.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

#include "format.hpp"
#include "type.hpp"

namespace cushim::trace {

namespace {

[[noreturn]] void refuse(const std::string &file, const char *why) {
  throw std::runtime_error(file + " " + why);
}

// Converts ticks to nanoseconds since the first moment.
class Clock {
 public:
  explicit Clock(const FileHeader &header) : first_(header.first.ticks) {
    const auto ticks = static_cast<double>(header.last.ticks - header.first.ticks);
    const auto nanoseconds = static_cast<double>(header.last.nanoseconds - header.first.nanoseconds);
    rate_ = ticks > 0 ? nanoseconds / ticks : 1;
  }
  std::int64_t operator()(std::uint64_t ticks) const {
    return static_cast<std::int64_t>(static_cast<double>(ticks - first_) * rate_);
  }

 private:
  std::uint64_t first_;
  double rate_;
};

// Returns the object at this word; all zero if the words end before.
template <class T>
T read_at(std::span<const std::uint64_t> words, std::size_t at) {
  T object{};
  if (at * sizeof(std::uint64_t) + sizeof object <= words.size_bytes())
    std::memcpy(static_cast<void *>(&object), words.data() + at, sizeof object);
  return object;
}

}  // namespace

Trace::Trace(const std::string &file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(stream.tellg(), 0));
  parts_.storage.resize(size / sizeof(std::uint64_t));
  stream.seekg(0);
  stream.read(reinterpret_cast<char *>(parts_.storage.data()),
              static_cast<std::streamsize>(parts_.storage.size() * sizeof(std::uint64_t)));
  if (!stream) refuse(file, "cannot be read");
  const std::span<const std::uint64_t> words = parts_.storage;
  const auto header = read_at<FileHeader>(words, 0);
  if (header.magic != kMagic) refuse(file, "is not a recording of cushim");
  if (header.cuda_version != CUDA_VERSION || header.entry_count != CUSHIM_ENTRY_COUNT)
    refuse(file, "was recorded by another version of cushim, or with other CUDA headers");

  parts_.process = header.process;
  parts_.program.assign(header.program, strnlen(header.program, sizeof header.program));
  parts_.driver.assign(header.driver, strnlen(header.driver, sizeof header.driver));

  const Clock clock(header);
  std::unordered_map<std::uint64_t, std::size_t> begun;  // index of a call, by the offset of its begin
  struct End {
    std::span<const std::uint64_t> words;
    std::uint64_t ticks;
  };
  std::vector<End> ends;
  constexpr std::size_t kRecord = sizeof(RecordHeader) / sizeof(std::uint64_t);
  for (std::size_t chunk = kPage; chunk + sizeof(ChunkHeader) <= size; chunk += kChunkSize) {
    const auto chunk_header = read_at<ChunkHeader>(words, chunk / sizeof(std::uint64_t));
    if (chunk_header.thread == 0) continue;
    if (chunk_header.thread > words.size()) refuse(file, "is damaged");
    if (chunk_header.thread > parts_.system_threads.size()) parts_.system_threads.resize(chunk_header.thread);
    parts_.system_threads[chunk_header.thread - 1] = chunk_header.system_thread;
    std::size_t at = (chunk + sizeof(ChunkHeader)) / sizeof(std::uint64_t);
    const std::size_t end =
        (chunk + std::min<std::uint64_t>(chunk_header.used, kChunkSize)) / sizeof(std::uint64_t);
    while (at + kRecord <= end && at + kRecord <= words.size()) {
      const auto record = read_at<RecordHeader>(words, at);
      if (record.words < kRecord || record.words > end - at || at + record.words > words.size())
        refuse(file, "is damaged");
      const auto content = words.subspan(at + kRecord, record.words - kRecord);
      if (record.kind == RecordKind::begin) {
        if (record.slot >= CUSHIM_ENTRY_COUNT || content.size() != row_of(record.slot).words)
          refuse(file, "is damaged");
        begun.emplace(at * sizeof(std::uint64_t), parts_.calls.size());
        parts_.calls.push_back({.slot = record.slot,
                                .thread = chunk_header.thread,
                                .begin = clock(record.ticks),
                                .words = content});
      } else if (record.kind == RecordKind::end) {
        ends.push_back({content, record.ticks});
      } else {
        refuse(file, "is damaged");
      }
      at += record.words;
    }
  }
  for (const End &end : ends) {
    const auto ended = read_at<EndHeader>(end.words, 0);
    const auto found = begun.find(ended.begin);
    constexpr std::size_t kEnd = sizeof(EndHeader) / sizeof(std::uint64_t);
    if (found == begun.end() || end.words.size() < kEnd) refuse(file, "is damaged");
    Call &call = parts_.calls[found->second];
    call.end = clock(end.ticks);
    call.result = static_cast<CUresult>(ended.result);
    if (ended.virtual_time >= 0) call.virtual_time = ended.virtual_time;
    call.values = end.words.subspan(kEnd);
  }
  std::ranges::stable_sort(parts_.calls, {}, &Call::begin);
}

}  // namespace cushim::trace

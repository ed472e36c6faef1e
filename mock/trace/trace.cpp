// SPDX-License-Identifier: Apache-2.0
#include <cushim/trace/trace.hpp>

#include <cushim/driver.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

#include "trace_format.hpp"
#include "type.hpp"

namespace cushim::trace {

namespace {

[[noreturn]] void refuse(const std::string &file, const char *why) {
  throw std::runtime_error(file + " " + why);
}

// Converts ticks to nanoseconds since the first moment. A thread on another processor may be a little
// earlier.
class Clock {
 public:
  Clock(const FileHeader &header, const std::string &file) : first_(header.first.ticks), file_(file) {
    const auto ticks = static_cast<double>(header.last.ticks - header.first.ticks);
    const auto nanoseconds =
        static_cast<double>(header.last.nanoseconds) - static_cast<double>(header.first.nanoseconds);
    rate_ = ticks > 0 ? nanoseconds / ticks : 1;
  }
  std::int64_t operator()(std::uint64_t ticks) const {
    const double nanoseconds = static_cast<double>(static_cast<std::int64_t>(ticks - first_)) * rate_;
    if (!(nanoseconds > -kMost && nanoseconds < kMost))
      refuse(file_, "is damaged: a time is beyond 146 years");
    return static_cast<std::int64_t>(nanoseconds);
  }

 private:
  static constexpr double kMost = 0x1p62;  // differences of times are in range
  std::uint64_t first_;
  const std::string &file_;
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

// Returns the offsets of the chunks, in the order of their places.
std::vector<std::size_t> chunks_in_order(std::span<const std::uint64_t> words) {
  std::vector<std::pair<std::uint64_t, std::size_t>> chunks;  // place, offset
  const auto header_at = [&](std::uint64_t offset) {
    return read_at<ChunkHeader>(words, offset / sizeof(std::uint64_t));
  };
  for (std::size_t at = kPage; at + sizeof(ChunkHeader) <= words.size_bytes(); at += kChunkSize) {
    const ChunkHeader header = header_at(at);
    if (header.thread == 0) continue;
    const bool has_place = header.place >= kPage && header.place < words.size_bytes() && header.place != at;
    // The chunk was copied to its place, and the process was killed before the thread used it again.
    if (has_place && header_at(header.place).place == header.place) continue;
    chunks.emplace_back(header.place, at);
  }
  std::ranges::sort(chunks);
  std::vector<std::size_t> offsets;
  for (const auto &[place, offset] : chunks) offsets.push_back(offset);
  return offsets;
}

// The times of work on the clocks of devices, and what they are on the clock of the host.
class WorkTimes {
 public:
  explicit WorkTimes(const std::string &file) : file_(file) {}

  void add(const GpuTimeRecord &record, std::int64_t asked) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;  // differences of times are in range
    if (record.begin < -kMost || record.end < record.begin || record.end > kMost)
      refuse(file_, "is damaged: a time of a device is beyond 36 years");
    const auto [first, is_new] = zeros_.emplace(record.clock, asked - record.begin);
    // No work began before its call: the latest of these moments is the best estimate.
    if (!is_new) first->second = std::max(first->second, asked - record.begin);
    times_.insert_or_assign(record.call, record);
  }

  void give(std::vector<Call> &calls) const {
    if (times_.empty()) return;
    for (Call &call : calls)
      if (const auto found = times_.find(call.id);
          found != times_.end() && !row_of(call.slot).parameters.empty()) {
        const std::int64_t zero = zeros_.at(found->second.clock);
        call.gpu = {zero + found->second.begin, zero + found->second.end};
      }
  }

 private:
  const std::string &file_;
  std::unordered_map<std::uint64_t, std::int64_t> zeros_;   // of each clock, on that of the host
  std::unordered_map<std::uint64_t, GpuTimeRecord> times_;  // by Call::id
};

}  // namespace

void Trace::name_threads() {
  std::unordered_map<std::uint64_t, std::string_view> last;  // name, by the system's number
  for (const GivenName &given : parts_.names)
    if (given.noun == "thread") last[given.object] = given.text;
  for (unsigned thread = 1; thread <= threads(); ++thread) {
    std::string &name = thread_names_.emplace_back("thread " + std::to_string(thread));
    if (const auto given = last.find(static_cast<std::uint64_t>(system_thread(thread))); given != last.end())
      name.append(" \"").append(given->second).append("\"");
  }
}

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
  if (header.magic != kMagic) refuse(file, "is not a trace of cushim");
  if (header.cuda_version != CUDA_VERSION || header.entry_count != CUSHIM_ENTRY_COUNT)
    refuse(file, "was recorded by another version of cushim, or with other CUDA headers");

  parts_.process = header.process;
  parts_.program.assign(header.program, strnlen(header.program, sizeof header.program));
  parts_.driver.assign(header.driver, strnlen(header.driver, sizeof header.driver));

  const Clock clock(header, file);
  std::unordered_map<std::uint64_t, std::size_t> begun;  // index of a call, by the offset of its begin
  struct End {
    std::span<const std::uint64_t> words;
    std::uint64_t ticks;
  };
  std::vector<End> ends;
  WorkTimes gpu_times(file);
  std::unordered_map<std::uint64_t, std::uint64_t> call_stacks;  // numbers, by the offset of the call's begin
  // Returns the text that follows a record of this size.
  const auto text_behind = [&](std::span<const std::uint64_t> content, std::size_t record,
                               std::uint64_t length) {
    const auto text =
        std::as_bytes(content.subspan(std::min(content.size(), record / sizeof(std::uint64_t))));
    if (length > text.size()) refuse(file, "is damaged");
    return std::string(reinterpret_cast<const char *>(text.data()), length);
  };
  constexpr std::size_t kRecord = sizeof(RecordHeader) / sizeof(std::uint64_t);
  const auto add_call = [&](const RecordHeader &record, std::span<const std::uint64_t> content,
                            unsigned thread, std::uint64_t id) {
    const bool has_time = record.kind == RecordKind::call_in_virtual_time;
    const std::size_t before = record.slot < CUSHIM_ENTRY_COUNT ? row_of(record.slot).words : content.size();
    const std::size_t values = before + sizeof(CallEnd) / sizeof(std::uint64_t) + (has_time ? 1 : 0);
    if (values > content.size()) refuse(file, "is damaged");
    const auto end = read_at<CallEnd>(content, before);
    Call call{.slot = record.slot,
              .thread = thread,
              .begin = clock(record.ticks),
              .end = clock(end.ticks),
              .result = static_cast<CUresult>(end.result),
              .words = content.first(before),
              .values = content.subspan(values),
              .id = id};
    if (has_time) call.virtual_time = static_cast<std::int64_t>(content[values - 1]);
    if (has_time && *call.virtual_time < 0) refuse(file, "is damaged");
    parts_.calls.push_back(call);
  };
  for (const std::size_t chunk : chunks_in_order(words)) {
    const auto chunk_header = read_at<ChunkHeader>(words, chunk / sizeof(std::uint64_t));
    if (chunk_header.thread != kNoThread) {
      if (chunk_header.thread > words.size()) refuse(file, "is damaged");
      if (chunk_header.thread > parts_.system_threads.size())
        parts_.system_threads.resize(chunk_header.thread);
      parts_.system_threads[chunk_header.thread - 1] = chunk_header.system_thread;
    }
    std::size_t at = (chunk + sizeof(ChunkHeader)) / sizeof(std::uint64_t);
    const std::size_t end =
        (chunk + std::min<std::uint64_t>(chunk_header.used, kChunkSize)) / sizeof(std::uint64_t);
    while (at + kRecord <= end && at + kRecord <= words.size()) {
      const auto record = read_at<RecordHeader>(words, at);
      const bool is_call = record.kind == RecordKind::call || record.kind == RecordKind::call_in_virtual_time;
      // A process that was killed may have made its last begin a call without counting the bytes that it
      // added.
      const bool is_last_begin =
          is_call && record.slot < CUSHIM_ENTRY_COUNT && at + kRecord + row_of(record.slot).words == end;
      const std::size_t most = is_last_begin ? (chunk + kChunkSize) / sizeof(std::uint64_t) - at : end - at;
      if (record.words < kRecord || record.words > most || at + record.words > words.size())
        refuse(file, "is damaged");
      const auto content = words.subspan(at + kRecord, record.words - kRecord);
      if ((record.kind == RecordKind::operation) != (chunk_header.thread == kNoThread))
        refuse(file, "is damaged");
      const std::uint64_t id = chunk_header.place + (at * sizeof(std::uint64_t) - chunk);
      if (record.kind == RecordKind::operation) {
        const auto operation = read_at<OperationRecord>(content, 0);
        if (operation.begin < 0 || operation.end < operation.begin ||
            operation.copy_engine > static_cast<std::uint32_t>(mock::CopyEngine::to_host))
          refuse(file, "is damaged");
        parts_.operations.push_back({.call = operation.call,
                                     .number = operation.number,
                                     .stream = operation.stream,
                                     .begin = operation.begin,
                                     .end = operation.end,
                                     .copy_engine = static_cast<mock::CopyEngine>(operation.copy_engine),
                                     .device = operation.device});
        if (record.slot < CUSHIM_ENTRY_COUNT) parts_.operations.back().slot = record.slot;
      } else if (record.kind == RecordKind::begin) {
        if (record.slot >= CUSHIM_ENTRY_COUNT || content.size() != row_of(record.slot).words)
          refuse(file, "is damaged");
        begun.emplace(id, parts_.calls.size());
        parts_.calls.push_back({.slot = record.slot,
                                .thread = chunk_header.thread,
                                .begin = clock(record.ticks),
                                .words = content,
                                .id = id});
      } else if (record.kind == RecordKind::note) {
        const auto note = read_at<NoteRecord>(content, 0);
        parts_.notes.push_back({.call = note.call,
                                .thread = chunk_header.thread,
                                .time = clock(record.ticks),
                                .text = text_behind(content, sizeof note, note.size)});
      } else if (record.kind == RecordKind::name) {
        const auto name = read_at<NameRecord>(content, 0);
        constexpr std::size_t kName = sizeof(NameRecord);
        const std::size_t text = kName + words_for(name.noun) * sizeof(std::uint64_t);
        parts_.names.push_back({.time = clock(record.ticks),
                                .noun = text_behind(content, kName, name.noun),
                                .object = name.object,
                                .text = text_behind(content, text, name.size)});
      } else if (record.kind == RecordKind::gpu_time) {
        gpu_times.add(read_at<GpuTimeRecord>(content, 0), clock(record.ticks));
      } else if (record.kind == RecordKind::call_stack) {
        const auto stack = read_at<CallStackRecord>(content, 0);
        parts_.call_stacks.insert_or_assign(stack.number, text_behind(content, sizeof stack, stack.size));
      } else if (record.kind == RecordKind::call_stack_of) {
        const auto stack = read_at<CallStackOfCall>(content, 0);
        call_stacks.insert_or_assign(stack.call, stack.number);
      } else if (is_call) {
        add_call(record, content, chunk_header.thread, id);
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
  gpu_times.give(parts_.calls);
  for (Call &call : parts_.calls)
    if (const auto number = call_stacks.find(call.id); number != call_stacks.end())
      if (const auto text = parts_.call_stacks.find(number->second); text != parts_.call_stacks.end())
        call.call_stack = &text->second;
  std::ranges::stable_sort(parts_.calls, {}, &Call::begin);
  std::ranges::stable_sort(parts_.notes, {}, &Note::time);
  std::ranges::stable_sort(parts_.names, {}, &GivenName::time);
  name_threads();
}

}  // namespace cushim::trace

// SPDX-License-Identifier: Apache-2.0
#include <cushim/replay/recording.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "buffers.hpp"
#include "recording_format.hpp"
#include "replayed_entry.hpp"
#include "zstd.hpp"

namespace cushim::replay {
namespace {

template <class Header>
std::optional<Header> header_at(std::string_view bytes, std::uint64_t offset) {
  if (bytes.size() < offset || bytes.size() - offset < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(static_cast<void *>(&header), bytes.data() + offset, sizeof header);
  return header;
}

template <std::size_t size>
std::string text_of(const char (&text)[size]) {
  return {text, strnlen(text, size)};
}

// The stream of one thread, and where its pieces are in the file.
struct Stream {
  std::vector<char> bytes{};
  struct Piece {
    std::size_t begin;
    std::uint64_t block;  // offset in the file
  };
  std::vector<Piece> pieces{};
};

// Reads the numbers of a stream.
class Cursor {
 public:
  explicit Cursor(const Stream &stream) : stream_(stream) {}

  bool is_at_end() const { return at_ == stream_.bytes.size(); }
  [[noreturn]] void refuse(const std::string &what) const {
    const auto next = std::ranges::upper_bound(stream_.pieces, at_, {}, &Stream::Piece::begin);
    throw RecordingError(what, std::prev(next)->block);
  }
  // Returns nullopt at the end of the stream.
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !is_at_end(); shift += 7) {
      const auto byte = static_cast<unsigned char>(stream_.bytes[at_]);
      if (shift == 63 && byte > 1) refuse("a number has more than 64 bits");
      ++at_;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }
  std::optional<std::string_view> bytes(std::uint64_t size) {
    if (size > stream_.bytes.size() - at_) return std::nullopt;
    const std::string_view found(stream_.bytes.data() + at_, size);
    at_ += size;
    return found;
  }

 private:
  const Stream &stream_;
  std::size_t at_ = 0;
};

}  // namespace

RecordingError::RecordingError(const std::string &what, std::uint64_t offset)
    : std::runtime_error(what + ", at offset " + std::to_string(offset)), offset_(offset) {}

class Recording::Reader {
 public:
  Reader(Recording &recording, std::string_view file, std::uint64_t most)
      : recording_(recording), file_(file), left_(most) {}

  void read() {
    read_header();
    read_blocks();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      read_calls(static_cast<unsigned>(i + 1), streams_[i]);
      // The items refer to these bytes, whose addresses a move of the vector does not change.
      recording_.streams_.push_back(std::move(streams_[i].bytes));
    }
    refer();
    // Calls of one thread are sorted, and sorting takes longer than reading.
    if (!std::ranges::is_sorted(recording_.calls_, {}, &RecordedCall::begin))
      std::ranges::stable_sort(recording_.calls_, {}, &RecordedCall::begin);
  }

 private:
  void read_header() {
    const auto header = header_at<FileHeader>(file_, 0);
    if (!header || header->magic != kMagic) throw RecordingError("the file is not a recording of cushim", 0);
    if (header->version != kVersion)
      throw RecordingError("the recording has version " + std::to_string(header->version) +
                               " of the format, and this is cushim for version " + std::to_string(kVersion),
                           offsetof(FileHeader, version));
    if (header->size != sizeof(FileHeader) || header->checksum != hash(checked_part(*header)) ||
        header->data > static_cast<std::uint32_t>(RecordData::full))
      throw RecordingError("the header is damaged", offsetof(FileHeader, checksum));
    if (header->cuda_version != CUDA_VERSION || header->entry_count != CUSHIM_ENTRY_COUNT)
      throw RecordingError("the recording was made by another version of cushim, or with other CUDA headers",
                           offsetof(FileHeader, cuda_version));
    recording_.process_ = header->process;
    recording_.parent_ = header->parent;
    recording_.program_ = text_of(header->program);
    recording_.driver_ = text_of(header->driver);
    recording_.data_ = static_cast<RecordData>(header->data);
  }

  void read_blocks() {
    std::uint64_t at = sizeof(FileHeader);
    while (at < file_.size()) {
      const auto header = header_at<BlockHeader>(file_, at);
      if (!header || (is_block(*header) && header->stored > file_.size() - at - sizeof *header)) {
        recording_.incomplete_block_ = at;
        recording_.is_complete_ = false;
        return;
      }
      if (!is_block(*header)) throw RecordingError("this is not a block", at);
      const std::string_view stored = file_.substr(at + sizeof *header, header->stored);
      if (header->checksum != hash(stored, hash(checked_part(*header))))
        throw RecordingError("the block is damaged", at);
      recording_.is_complete_ = header->magic == kEndMagic;
      if (!recording_.is_complete_) add(*header, stored, at);
      at += sizeof *header + stored.size();
    }
  }

  static bool is_block(const BlockHeader &header) {
    if (header.magic == kEndMagic) return header.size == 0 && header.stored == 0 && header.thread == 0;
    return header.magic == kBlockMagic && header.size != 0 && header.size <= kMostBlockSize &&
           header.stored != 0 && header.stored <= header.size && header.thread != 0;
  }

  void add(const BlockHeader &header, std::string_view stored, std::uint64_t offset) {
    if (header.thread > kMostThreads) throw RecordingError("the block is damaged", offset);
    if (header.size > left_) throw RecordingError("the recording is too large", offset);
    left_ -= header.size;
    if (header.thread > streams_.size()) {
      streams_.resize(header.thread);
      recording_.system_threads_.resize(header.thread);
    }
    recording_.system_threads_[header.thread - 1] = header.system_thread;
    Stream &stream = streams_[header.thread - 1];
    const std::size_t begin = stream.bytes.size();
    stream.pieces.push_back({begin, offset});
    if (header.codec == Codec::none && header.stored == header.size) {
      stream.bytes.insert(stream.bytes.end(), stored.begin(), stored.end());
      return;
    }
    if (header.codec != Codec::zstd) throw RecordingError("the block has an unknown compression", offset);
    const Zstd *const zstd = Zstd::get();
    if (zstd == nullptr)
      throw RecordingError("the block is compressed with zstd: install libzstd.so.1 (Debian: libzstd1)",
                           offset);
    stream.bytes.resize(begin + header.size);
    if (zstd->decompress(std::span<char>(stream.bytes).subspan(begin), stored) != header.size)
      throw RecordingError("the block is damaged", offset);
  }

  // Where a call's words and items begin in the vectors, which move while they grow.
  struct Ranges {
    std::size_t words, before, after, end;
  };

  void read_calls(unsigned thread, const Stream &stream) {
    Cursor cursor(stream);
    std::uint64_t sequence = 0;
    std::uint64_t time = 0;
    while (!cursor.is_at_end()) {
      RecordedCall call{.thread = thread};
      const std::size_t words = recording_.words_.size(), items = recording_.items_.size();
      Ranges ranges{words, items, items, items};
      const auto read = read_call(cursor, call, ranges, sequence, time);
      if (read == Read::nothing) {
        recording_.words_.resize(words);
        recording_.items_.resize(items);
        // Only the last block of a thread can end in a call, and only if the process did not end.
        if (recording_.is_complete_) cursor.refuse("a call ends too early");
        return;
      }
      recording_.has_export_tables_ |=
          call.result == CUDA_SUCCESS && replayed_entry(call.slot).is_export_table;
      recording_.calls_.push_back(call);
      ranges_.push_back(ranges);
      if (read == Read::begin && !cursor.is_at_end()) cursor.refuse("a call ends too early");
    }
  }

  enum class Read : std::uint8_t { nothing, begin, all };

  Read read_call(Cursor &cursor, RecordedCall &call, Ranges &ranges, std::uint64_t &sequence,
                 std::uint64_t &time) {
    const auto slot = cursor.number();
    if (!slot) return Read::nothing;
    if (*slot >= CUSHIM_ENTRY_COUNT) cursor.refuse("there is no entry point " + std::to_string(*slot));
    call.slot = static_cast<int>(*slot);
    const auto passed = cursor.number(), begin = cursor.number();
    if (!passed || !begin) return Read::nothing;
    sequence += *passed;
    time = later(cursor, time, *begin);
    call.begin = sequence;
    call.begin_time = static_cast<std::int64_t>(time);
    for (std::size_t i = 0; i < trace::row_of(call.slot).words; ++i) {
      const auto word = cursor.number();
      if (!word) return Read::nothing;
      recording_.words_.push_back(*word);
    }
    if (!read_items(cursor, call)) return Read::nothing;
    ranges.after = ranges.end = recording_.items_.size();
    const auto taken = cursor.number(), duration = cursor.number(), result = cursor.number();
    if (!result || !read_items(cursor, call)) {
      recording_.items_.resize(ranges.after);
      return cursor.is_at_end() ? Read::begin : Read::nothing;
    }
    sequence += *taken;
    call.end = sequence;
    call.end_time = static_cast<std::int64_t>(later(cursor, time, *duration));
    call.result = static_cast<CUresult>(*result & 0x7fffffff);
    ranges.end = recording_.items_.size();
    return Read::all;
  }

  static std::uint64_t later(const Cursor &cursor, std::uint64_t time, std::uint64_t nanoseconds) {
    if (nanoseconds > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - time)
      cursor.refuse("a time is beyond 292 years");
    return time + nanoseconds;
  }

  // Returns false if the stream ends before.
  bool read_items(Cursor &cursor, const RecordedCall &call) {
    while (true) {
      const auto tag = cursor.number();
      if (!tag) return false;
      if (*tag == 0) return true;
      const std::uint64_t argument = (*tag - 1) / 2;
      const bool is_special = argument >= kFirstSpecial && argument <= kCompletedCopy;
      if (argument >= trace::row_of(call.slot).parameters.size() && !is_special)
        cursor.refuse("the call has no argument " + std::to_string(argument));
      const auto size = cursor.number();
      if (!size) return false;
      Item item{
          .argument = static_cast<std::uint8_t>(argument), .is_hash = (*tag - 1) % 2 != 0, .size = *size};
      if (argument == kCompletedCopy) {
        const auto completed = cursor.number();
        if (!completed) return false;
        item.completed = *completed;
      }
      if (argument == kHostFunction) {
        recording_.has_host_functions_ = true;
        const auto function = cursor.number(), ended = cursor.number();
        if (!ended) return false;
        item.function = *function;
        item.function_end = *ended;
      }
      const bool has_address = argument == kHostMemory || argument == kHostFunction ||
                               argument == kReleasingWrite || argument == kWaitedWord;
      if (has_address) {
        const auto address = cursor.number();
        if (!address) return false;
        item.offset = *address;
      }
      if (argument == kPointee) {
        const auto structure = cursor.number(), offset = cursor.number();
        if (!offset) return false;
        if (*structure >= trace::row_of(call.slot).parameters.size())
          cursor.refuse("the call has no argument " + std::to_string(*structure));
        item.structure = static_cast<std::uint8_t>(*structure);
        item.offset = *offset;
      }
      const auto bytes = cursor.bytes(item.is_hash ? sizeof(std::uint64_t) : *size);
      if (!bytes) return false;
      item.bytes = *bytes;
      recording_.items_.push_back(item);
    }
  }

  void refer() {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const Ranges &ranges = ranges_[i];
      RecordedCall &call = recording_.calls_[i];
      call.words = std::span(recording_.words_).subspan(ranges.words, trace::row_of(call.slot).words);
      call.before = std::span(recording_.items_).subspan(ranges.before, ranges.after - ranges.before);
      call.after = std::span(recording_.items_).subspan(ranges.after, ranges.end - ranges.after);
    }
  }

  static constexpr std::uint32_t kMostThreads = 1 << 20;

  Recording &recording_;
  const std::string_view file_;
  std::uint64_t left_;
  std::vector<Stream> streams_;
  std::vector<Ranges> ranges_;
};

Recording Recording::from_bytes(std::string_view bytes, std::uint64_t most) {
  Recording recording;
  Reader(recording, bytes, most).read();
  return recording;
}

Recording Recording::read(const std::string &file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  std::string bytes(static_cast<std::size_t>(std::max<std::streamoff>(stream.tellg(), 0)), '\0');
  stream.seekg(0);
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw std::system_error(errno, std::generic_category(), "cannot read " + file);
  return from_bytes(bytes);
}

}  // namespace cushim::replay

// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of recorded calls (mock/replay). Mutations break the checksums, so each input is also
// read with correct ones, and as the stream of a thread.
#include <cushim/replay/recording.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>

#include "fuzz.hpp"
#include "objects.hpp"
#include "recording_format.hpp"

namespace {

using cushim::replay::BlockHeader;
using cushim::replay::FileHeader;
using cushim::replay::Recording;

void read(std::string_view bytes) {
  try {
    const Recording recording = Recording::from_bytes(bytes, 1 << 24);
    std::uint64_t last = 0;
    for (const auto &call : recording.calls()) {
      fuzz::promise(call.begin >= last, "calls are in order");
      last = call.begin;
    }
    std::ostringstream text;
    cushim::trace::write_text(recording.trace(), text);
    // The objects that a driver that answers from the recording knows.
    const cushim::replay::Objects objects(recording);
    for (const auto &call : recording.calls())
      for (const std::uint64_t word : call.words) static_cast<void>(objects.is_in_memory(word, call.begin));
  } catch (const cushim::replay::RecordingError &refusal) {
    fuzz::promise(refusal.offset() <= bytes.size(), "an error has an offset in the file");
  }
}

std::string header() {
  FileHeader header;
  header.size = sizeof header;
  header.cuda_version = CUDA_VERSION;
  header.entry_count = CUSHIM_ENTRY_COUNT;
  header.checksum = cushim::replay::hash(cushim::replay::checked_part(header));
  return {reinterpret_cast<const char *>(&header), sizeof header};
}

void append(std::string &bytes, BlockHeader header, std::string_view stored) {
  header.checksum = cushim::replay::hash(stored, cushim::replay::hash(cushim::replay::checked_part(header)));
  bytes.append(reinterpret_cast<const char *>(&header), sizeof header).append(stored);
}

// Corrects the checksums of a file.
std::string corrected(std::string_view file) {
  std::string bytes = header();
  for (std::size_t at = bytes.size(); at + sizeof(BlockHeader) <= file.size();) {
    BlockHeader block;
    std::memcpy(static_cast<void *>(&block), file.data() + at, sizeof block);
    at += sizeof block;
    const std::string_view stored = file.substr(at, block.stored);
    append(bytes, block, stored);
    at += stored.size();
  }
  return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  read(input);
  read(corrected(input));
  if (!input.empty()) {
    std::string stream = header();
    const auto length =
        static_cast<std::uint32_t>(std::min<std::size_t>(size, cushim::replay::kMostBlockSize));
    append(stream, {.magic = cushim::replay::kBlockMagic, .size = length, .stored = length, .thread = 1},
           input.substr(0, length));
    read(stream);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader and the writers of traces (mock/trace). The input is the file, and then the records of a
// chunk of a thread and of a chunk of operations: few mutations keep the headers of a whole file valid.
#include <cushim/trace/trace.hpp>

#include <cushim/table.h>

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

#include "file.hpp"
#include "fuzz.hpp"
#include "trace_format.hpp"

namespace {

using cushim::trace::ChunkHeader;
using cushim::trace::FileHeader;
using cushim::trace::Trace;

void read(std::string_view bytes) {
  static const fuzz::File file;
  file.set(bytes);
  try {
    const Trace trace(file.path());
    std::int64_t last = INT64_MIN;
    for (const auto &call : trace.calls()) {
      fuzz::promise(call.begin >= last, "calls are in order");
      last = call.begin;
    }
    for (const auto write :
         {cushim::trace::write_text, cushim::trace::write_json, cushim::trace::write_chrome,
          cushim::trace::write_html, cushim::trace::write_summary}) {
      std::ostringstream text;
      write(trace, text);
    }
  } catch (const std::runtime_error &refusal) {
    fuzz::promise(std::string_view(refusal.what()).find("/proc/self/fd/") != std::string_view::npos,
                  "an error names the file");
  }
}

template <class Header>
void put(std::string &bytes, std::size_t at, const Header &header) {
  std::memcpy(bytes.data() + at, &header, sizeof header);
}

// A trace with the records in a chunk of the first thread, and in a chunk of operations.
std::string trace_of(std::string_view records) {
  using cushim::trace::kChunkSize, cushim::trace::kPage;
  records = records.substr(0, kChunkSize - sizeof(ChunkHeader));
  std::string bytes(kPage + 2 * kChunkSize, '\0');
  FileHeader header;
  header.cuda_version = CUDA_VERSION;
  header.entry_count = CUSHIM_ENTRY_COUNT;
  put(bytes, 0, header);
  for (const std::size_t chunk : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t at = kPage + chunk * kChunkSize;
    ChunkHeader content;
    content.used = sizeof content + records.size();
    content.place = at;
    content.thread = chunk == 0 ? 1 : cushim::trace::kNoThread;
    put(bytes, at, content);
    bytes.replace(at + sizeof content, records.size(), records);
  }
  return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  read(input);
  // The records of each chunk: operations are damage in the chunk of a thread, and calls in that of
  // operations.
  const std::string both = trace_of(input);
  read(both);
  read(both.substr(0, cushim::trace::kPage + cushim::trace::kChunkSize));
  std::string operations = both;
  operations.erase(cushim::trace::kPage, cushim::trace::kChunkSize);
  read(operations);
  return 0;
}

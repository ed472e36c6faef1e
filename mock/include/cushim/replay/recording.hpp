// SPDX-License-Identifier: Apache-2.0
// Reads what a Recorder wrote. The format: docs/reference/recording.md.
#pragma once

#include <cuda.h>
#include <cushim/replay/recorder.hpp>
#include <cushim/trace/trace.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::replay {

// The recording is damaged, of another version, or no recording.
class RecordingError : public std::runtime_error {
 public:
  RecordingError(const std::string &what, std::uint64_t offset);
  // Where in the file.
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::uint64_t offset_;
};

// Memory that an argument points to.
struct Item {
  std::uint8_t argument = 0;
  bool is_hash = false;
  std::uint64_t size = 0;    // of the memory, in bytes
  std::string_view bytes{};  // the memory, or 8 bytes of its hash
  // RecordedCall::begin of the asynchronous copy whose destination this is, in a call that waited for it; 0
  // if the item belongs to an argument.
  std::uint64_t completed = 0;
  // If `argument` is 254 (memory behind a pointer in a structure): the argument that points to the structure,
  // and the offset of the pointer in the memory of that argument.
  std::uint8_t structure = 0;
  // If `argument` is 250 to 253 (pinned, registered or managed memory): the address as the host sees it.
  std::uint64_t offset = 0;
  // If `argument` is 252 (bytes that a host function wrote): RecordedCall::begin of the call that enqueued
  // the function, and the number of the function's end, counted like begins and ends of calls.
  std::uint64_t function = 0, function_end = 0;
};

// A call with its arguments and the memory that they point to.
struct RecordedCall {
  int slot = 0;         // of the entry point
  unsigned thread = 0;  // number in order of the threads' first calls, from 1
  // Begins and ends of all calls are numbered from 1, in their order. A call that had not returned has end 0.
  std::uint64_t begin = 0, end = 0;
  std::int64_t begin_time = 0, end_time = 0;  // nanoseconds since the recording began
  CUresult result = CUDA_SUCCESS;
  std::span<const std::uint64_t> words{};  // the arguments, each in whole words
  std::span<const Item> before{};          // read before the call: the program's data, and what it overwrote
  std::span<const Item> after{};           // read after the call

  bool has_ended() const noexcept { return end != 0; }
};

// A recording in memory. Calls are in order of their begin.
class Recording {
 public:
  // Throws RecordingError; std::system_error if the file cannot be read.
  static Recording read(const std::string &file);
  // Reads the bytes of a file. Refuses recordings that are larger than `most` when decompressed.
  static Recording from_bytes(std::string_view bytes, std::uint64_t most = std::uint64_t{16} << 30);
  Recording(Recording &&) = default;
  Recording &operator=(Recording &&) = default;

  const std::vector<RecordedCall> &calls() const noexcept { return calls_; }
  int process() const noexcept { return process_; }
  int parent() const noexcept { return parent_; }
  const std::string &program() const noexcept { return program_; }
  const std::string &driver() const noexcept { return driver_; }
  RecordData data() const noexcept { return data_; }
  // The system's number of each thread.
  const std::vector<int> &system_threads() const noexcept { return system_threads_; }
  // Returns whether any call has what a host function did.
  bool has_host_functions() const noexcept { return has_host_functions_; }
  // Returns whether any call found an export table.
  bool has_export_tables() const noexcept { return has_export_tables_; }
  // Returns whether the process ended normally: the file has its end mark. Otherwise the last calls of each
  // thread are missing.
  bool is_complete() const noexcept { return is_complete_; }
  // The offset of an incomplete last block; nullopt if there is none.
  std::optional<std::uint64_t> incomplete_block() const noexcept { return incomplete_block_; }

  // Returns the calls for the functions that write a trace as text.
  trace::Trace trace() const;

 private:
  class Reader;
  Recording() = default;

  int process_ = 0, parent_ = 0;
  std::string program_, driver_;
  RecordData data_ = RecordData::none;
  std::vector<int> system_threads_;
  bool is_complete_ = false, has_host_functions_ = false, has_export_tables_ = false;
  std::optional<std::uint64_t> incomplete_block_;
  std::vector<RecordedCall> calls_;
  // The data that the calls refer to.
  std::vector<std::vector<char>> streams_;  // of each thread
  std::vector<std::uint64_t> words_;
  std::vector<Item> items_;
};

}  // namespace cushim::replay

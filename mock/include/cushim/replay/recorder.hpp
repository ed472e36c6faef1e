// SPDX-License-Identifier: Apache-2.0
// Records every call of a driver, the real one included, with what is needed to make it again: arguments,
// host memory that the call read, results, and host memory that it wrote. The format:
// docs/reference/recording.md.
//
//   replay::Recorder recorder(driver, "program.record");
#pragma once

#include <cushim/driver.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cushim::replay {

// The part that a recording keeps of the program's data: copies from and to host memory, and images of
// modules. Arguments, structures, arrays of handles, texts and parameters of kernels are always recorded.
enum class RecordData : std::uint32_t {
  none,
  hashes,  // 64 bits a copy, to compare; calls that read the data cannot be replayed
  full,
};

// Returns none, hashes or full by its name. Throws std::invalid_argument.
RecordData record_data(std::string_view name);

// Records while it exists, on all threads, by a hook on each entry point. Makes two kinds of driver calls: it
// asks for the sizes of a kernel's parameters (cuFuncGetParamInfo, since CUDA 12.4) when the kernel is first
// launched, and for the context of a stream (cuStreamGetCtx, cuCtxGetCurrent) that works with memory of the
// host. Each thread buffers up to 128 KiB, which is compressed with zstd if libzstd.so.1 is installed and
// then written: a process that is killed loses the rest. A child of fork() records nothing.
class Recorder {
 public:
  // Creates the file, or truncates it. Throws std::system_error if that fails, and as
  // mock::DriverSlot::over(). If the file system is full later, recording stops with a message on stderr.
  Recorder(cushim::Driver &driver, const std::string &file, RecordData data = RecordData::full);
  ~Recorder();  // as flush()
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;

  // Writes all buffered calls to the file, and marks the recording as complete. Later calls are still
  // recorded.
  void flush();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cushim::replay

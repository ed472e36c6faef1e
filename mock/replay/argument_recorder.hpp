// SPDX-License-Identifier: Apache-2.0
// Copies the memory behind a call's arguments to a recording.
#pragma once

#include <cushim/replay/recorder.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buffers.hpp"
#include "host_visible_memory.hpp"
#include "kernel_parameters.hpp"
#include "option_values.hpp"
#include "recording_writer.hpp"
#include "stream_contexts.hpp"

namespace cushim::replay {

// One call. Requires the stream's mutex.
class ArgumentRecorder {
 public:
  ArgumentRecorder(ThreadStream &stream, int slot, std::span<const std::uint64_t> words, RecordData data,
                   StreamContexts &contexts)
      : stream_(stream), slot_(slot), words_(words), data_(data), contexts_(contexts) {}

  // Copies, before the call, what it may overwrite and what other threads may change: objects that it reads
  // and writes, and the program's data.
  // `begin` is RecordedCall::begin.
  void before(HostVisibleMemory &watched, KernelParameters &kernels, std::uint64_t begin);
  // Copies, after the call, the other arguments that it read, and what it wrote. Arguments of a successful
  // call exist; those of a failed one may not.
  void after(HostVisibleMemory &watched, KernelParameters &kernels, std::uint64_t begin, CUresult result);

 private:
  using Reader = bool (*)(void *to, std::uint64_t address, std::size_t size);
  void copy(const Buffer &buffer, std::uint64_t address, std::uint64_t size, Reader reader);
  void copy_data(const Buffer &buffer, std::uint64_t address, std::uint64_t size) {
    copy_data(buffer.argument, buffer.is_data, address, size, 0);
  }
  void copy_data(std::uint8_t argument, bool is_data, std::uint64_t address, std::uint64_t size,
                 std::uint64_t completed_call);
  // Copies what asynchronous copies have written, if the call waited for them.
  void copy_completed(std::uint64_t begin);
  // Returns the context for which cuCtxSynchronize waited; 0 if it is unknown.
  std::uint64_t waited_context() const;
  // Returns the handle of the stream in this argument; the legacy or per-thread stream for 0.
  std::uint64_t stream_in(std::size_t argument) const;
  // Copies what the values of options lead to, or what the call wrote there.
  void copy_options_read(const Buffer &buffer, std::uint64_t address);
  void copy_options_written(const Buffer &buffer, std::uint64_t address);
  std::optional<std::vector<OptionValue>> options_of(const Buffer &buffer, std::uint64_t address) const;
  // Copies the memory of the host that a batch of copies reads.
  void copy_sources(const Buffer &buffer, std::uint64_t address);
  void put_item(const Buffer &buffer, std::string_view bytes, bool is_data = false);
  // Writes bytes of an item, or only their hash.
  void put_bytes(std::string_view bytes, bool is_hash);
  // Copies an image that the driver rejected.
  void copy_rejected_image(const Buffer &buffer, std::uint64_t address);
  void copy_text(const Buffer &buffer, std::uint64_t address, std::uint64_t most);
  // Copies the memory that pointers in structures point to; before the call (`kernels` is null), only the
  // program's data.
  void copy_pointees(const Buffer &buffer, std::uint64_t address, KernelParameters *kernels,
                     bool has_succeeded);
  void put_pointee(const Buffer &buffer, std::uint64_t offset, bool is_data, std::string_view bytes);
  // Returns the parameters of the kernel that the call launches, as an item has them; nullopt if their sizes
  // are unknown.
  static std::optional<std::string> parameters_of(CUfunction kernel, std::uint64_t address,
                                                  KernelParameters &kernels, bool has_succeeded);
  CUfunction kernel_in_arguments() const;
  HostVisibleMemory::CallOfProgram call_of_program(std::uint64_t begin) const;
  void put_changes(const std::vector<HostVisibleMemory::Change> &changes);
  // Returns the parameters in the argument `extra` of a launch; empty if the memory does not exist, because a
  // driver does not read the options of a kernel without parameters.
  static std::string bytes_of_options(std::uint64_t address);

  ThreadStream &stream_;
  const int slot_;
  const std::span<const std::uint64_t> words_;
  const RecordData data_;
  StreamContexts &contexts_;
};

}  // namespace cushim::replay

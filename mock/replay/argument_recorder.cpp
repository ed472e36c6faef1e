// SPDX-License-Identifier: Apache-2.0
#include "argument_recorder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <cushim/detail/entry_traits.hpp>
#include "attribute_values.hpp"
#include "batches.hpp"
#include "pointees.hpp"
#include "process.hpp"

namespace cushim::replay {
namespace {

using Content = Buffer::Content;

constexpr auto &read = trace::copy_all_if_there;

bool read_valid(void *to, std::uint64_t address, std::size_t size) {
  std::memcpy(to, reinterpret_cast<const void *>(address), size);
  return true;
}

constexpr std::uint64_t kMostText = std::uint64_t{1} << 16;

}  // namespace

void ArgumentRecorder::before(HostVisibleMemory &watched, KernelParameters &kernels, std::uint64_t begin) {
  if (data_ == RecordData::full && !watched.ignores(slot_))
    put_changes(watched.before(call_of_program(begin), kernels));
  for (const Buffer &buffer : buffers_of(slot_)) {
    const std::uint64_t address = argument_of(slot_, words_, buffer.argument);
    if (address == 0 || !buffer.is_read()) continue;
    if (buffer.is_data && buffer.content == Content::objects)
      copy_data(buffer, address, size_of(buffer, slot_, words_, read));
    else if (buffer.direction == Buffer::Direction::both && buffer.content == Content::objects)
      copy(buffer, address, size_of(buffer, slot_, words_, read), read);
    if (buffer.content == Content::option_values) copy_options_read(buffer, address);
    if (is_source_of_batch(slot_, buffer.argument)) copy_sources(buffer, address);
    if (buffer.has_pointees) copy_pointees(buffer, address, nullptr, false);
  }
}

void ArgumentRecorder::after(HostVisibleMemory &watched, KernelParameters &kernels, std::uint64_t begin,
                             CUresult result) {
  const bool has_succeeded = result == CUDA_SUCCESS;
  // An array of unknown length may be empty.
  const bool are_arrays_known = !trace::row_of(slot_).has_arrays;
  for (const Buffer &buffer : buffers_of(slot_)) {
    std::uint64_t address = argument_of(slot_, words_, buffer.argument);
    if (address == 0 || (!has_succeeded && !buffer.is_read())) continue;
    switch (buffer.content) {
      case Content::text:
        copy_text(buffer, address, kMostText);
        break;
      case Content::text_out:
        copy_text(buffer, address, std::min(size_of(buffer, slot_, words_, read), kMostText));
        break;
      case Content::returned_text:
        read_valid(&address, address, sizeof address);
        if (address != 0) copy_text(buffer, address, kMostText);
        break;
      case Content::returned_array: {
        std::uint64_t array = 0;
        read_valid(&array, address, sizeof array);
        if (array != 0) copy(buffer, array, size_of(buffer, slot_, words_, read), read_valid);
        break;
      }
      case Content::image:
        if (has_succeeded) {
          const std::uint64_t size = size_of_image(address);
          copy_data(buffer, address, size);
        } else {
          copy_rejected_image(buffer, address);
        }
        break;
      case Content::option_values:
        copy_options_written(buffer, address);
        break;
      case Content::kernel_parameters:
        if (const auto parameters = parameters_of(kernel_in_arguments(), address, kernels, has_succeeded))
          put_item(buffer, *parameters);
        break;
      case Content::launch_options:
        if (has_succeeded) put_item(buffer, bytes_of_options(address));
        break;
      case Content::attribute_values:
        if (has_succeeded) put_item(buffer, pack(attribute_values(cushim_entry(slot_)->base, words_)));
        break;
      case Content::objects: {
        const bool is_data_of_before = buffer.is_data && !buffer.is_written();
        if (is_data_of_before) break;
        const bool is_valid = has_succeeded && (buffer.has_count || are_arrays_known);
        const auto reader = is_valid ? read_valid : read;
        const std::uint64_t size = size_of(buffer, slot_, words_, reader);
        if (buffer.is_async) {
          const std::uint64_t stream = stream_in(
              mock::position(mock::traits_of(slot_).stream, trace::row_of(slot_).parameters.size()));
          stream_.pending.add({stream, contexts_.of(stream), address, size, begin});
        } else if (buffer.is_data) {
          copy_data(buffer, address, size);
        } else {
          copy(buffer, address, size, reader);
        }
        if (buffer.has_pointees) copy_pointees(buffer, address, &kernels, has_succeeded);
        break;
      }
    }
  }
  if (!has_succeeded) return;
  if (!stream_.pending.is_empty()) copy_completed(begin);
  if (data_ == RecordData::full && !watched.ignores(slot_))
    put_changes(watched.after(call_of_program(begin)));
}

std::uint64_t ArgumentRecorder::stream_in(std::size_t argument) const {
  const std::uint64_t handle = argument_of(slot_, words_, argument);
  if (handle != 0) return handle;
  return reinterpret_cast<std::uint64_t>(*cushim_entry(slot_)->thread != 0 ? CU_STREAM_PER_THREAD
                                                                           : CU_STREAM_LEGACY);
}

std::uint64_t ArgumentRecorder::waited_context() const {
  // Since CUDA 13.0 there is a form that has the context as its argument.
  return words_.empty() ? contexts_.current() : words_[0];
}

void ArgumentRecorder::copy_completed(std::uint64_t begin) {
  const std::string_view base = cushim_entry(slot_)->base;
  // Captured copies run in launches of the graph, not in the stream.
  if (mock::traits_of(slot_).ends_capture) stream_.pending.clear();
  const HostRange created = host_memory_created_by(slot_, words_);
  stream_.pending.forget(created.address, created.size);
  if (base == "cuEventRecord") stream_.pending.record(words_[0], stream_in(1), begin);
  std::vector<PendingCopy> completed;
  if (base == "cuStreamSynchronize" || base == "cuStreamQuery")
    completed = stream_.pending.take(stream_in(0));
  else if (base == "cuEventSynchronize" || base == "cuEventQuery")
    completed = stream_.pending.take_before(words_[0]);
  else if (base == "cuCtxSynchronize")
    completed = stream_.pending.take_of_context(waited_context());
  for (const PendingCopy &copy : completed)
    copy_data(kCompletedCopy, true, copy.address, copy.size, copy.call);
}

void ArgumentRecorder::copy(const Buffer &buffer, std::uint64_t address, std::uint64_t size, Reader reader) {
  // Small objects are copied to the stream itself.
  if (size > kHashedPiece) return copy_data(buffer, address, size);
  if (size == 0) return;
  char *const begin = stream_.room(2 * kMostNumberSize + size);
  char *to = put_number(begin, item_tag(buffer.argument, false));
  to = put_number(to, size);
  if (reader(to, address, size)) stream_.commit(to + size);
}

void ArgumentRecorder::copy_data(std::uint8_t argument, bool is_data, std::uint64_t address,
                                 std::uint64_t size, std::uint64_t completed_call) {
  if (size == 0 || (is_data && data_ == RecordData::none)) return;
  const bool is_hash = is_data && data_ == RecordData::hashes;
  std::array<char, kHashedPiece> piece;
  // Records nothing for memory that is not mapped; if only its end is not mapped, zeros for the end.
  if (!read(piece.data(), address, std::min<std::uint64_t>(size, piece.size()))) return;
  stream_.put(item_tag(argument, is_hash));
  stream_.put(size);
  if (argument == kCompletedCopy) stream_.put(completed_call);
  std::uint64_t sum = 0;
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    const std::size_t bytes = std::min<std::uint64_t>(size - at, piece.size());
    if (at != 0 && !read(piece.data(), address + at, bytes)) piece.fill(0);
    if (is_hash)
      sum = hash({piece.data(), bytes}, sum);
    else
      stream_.put(std::string_view(piece.data(), bytes));
  }
  if (is_hash) stream_.put(std::string_view(reinterpret_cast<const char *>(&sum), sizeof sum));
}

void ArgumentRecorder::copy_text(const Buffer &buffer, std::uint64_t address, std::uint64_t most) {
  std::string text;
  std::array<char, 256> piece;
  while (text.size() < most) {
    // Reads up to the end of a page, because the next page may not be mapped.
    const std::uint64_t at = address + text.size();
    const std::size_t wanted = std::min<std::uint64_t>(
        {piece.size(), most - text.size(), std::uint64_t{4096} - at % std::uint64_t{4096}});
    if (!read(piece.data(), at, wanted)) break;
    const std::size_t length = strnlen(piece.data(), wanted);
    text.append(piece.data(), length);
    if (length < wanted) break;
  }
  put_item(buffer, text);
}

CUfunction ArgumentRecorder::kernel_in_arguments() const {
  const std::size_t kernel = kernel_argument_of(slot_);
  if (kernel == trace::row_of(slot_).parameters.size()) return nullptr;
  return reinterpret_cast<CUfunction>(argument_of(slot_, words_, kernel));
}

void ArgumentRecorder::put_changes(const std::vector<HostVisibleMemory::Change> &changes) {
  for (const HostVisibleMemory::Change &change : changes) {
    stream_.put(item_tag(change.item, false));
    stream_.put(change.bytes.size());
    stream_.put(change.address);
    stream_.put(std::string_view(change.bytes));
  }
}

HostVisibleMemory::CallOfProgram ArgumentRecorder::call_of_program(std::uint64_t begin) const {
  const mock::EntryTraits &traits = mock::traits_of(slot_);
  const std::string_view base = cushim_entry(slot_)->base;
  HostVisibleMemory::CallOfProgram call{.slot = slot_, .words = words_, .begin = begin};
  if (traits.queue == mock::EntryTraits::Queue::stream)
    call.stream = stream_in(mock::position(traits.stream, trace::row_of(slot_).parameters.size()));
  else if (traits.queue == mock::EntryTraits::Queue::null_stream)
    call.stream = reinterpret_cast<std::uint64_t>(CU_STREAM_LEGACY);
  else if (base == "cuStreamSynchronize" || base == "cuStreamQuery")
    call.stream = stream_in(0);
  if (call.stream != 0)
    call.context = contexts_.of(call.stream);
  else if (base == "cuCtxSynchronize")
    call.context = waited_context();
  return call;
}

std::optional<std::string> ArgumentRecorder::parameters_of(CUfunction kernel, std::uint64_t address,
                                                           KernelParameters &kernels, bool has_succeeded) {
  if (kernel == nullptr) return std::nullopt;
  // The kernel of a call that failed may be none: the driver is not asked about it.
  const auto sizes = has_succeeded ? kernels.sizes(kernel) : kernels.known_sizes(kernel);
  if (sizes == nullptr) return std::nullopt;
  const auto reader = has_succeeded ? read_valid : read;
  std::string all;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const auto size = static_cast<std::uint32_t>((*sizes)[i]);
    std::uint64_t from = 0;
    if (!reader(&from, address + i * sizeof from, sizeof from)) return std::nullopt;
    all.append(reinterpret_cast<const char *>(&size), sizeof size);
    all.resize(all.size() + size);
    if (!reader(all.data() + all.size() - size, from, size)) return std::nullopt;
  }
  return all;
}

std::string ArgumentRecorder::bytes_of_options(std::uint64_t address) {
  std::uint64_t bytes = 0, size = 0;
  // The address of an option, and that of its value. No driver knows more than two options.
  for (std::uint64_t option[2]; read(option, address, sizeof option); address += sizeof option) {
    if (option[0] == reinterpret_cast<std::uint64_t>(CU_LAUNCH_PARAM_BUFFER_POINTER))
      bytes = option[1];
    else if (option[0] != reinterpret_cast<std::uint64_t>(CU_LAUNCH_PARAM_BUFFER_SIZE) ||
             !read(&size, option[1], sizeof size))
      break;
  }
  // Parameters of kernels have at most 32764 bytes.
  std::string packed(std::min<std::uint64_t>(size, kBlockSize / 2), '\0');
  packed.resize(trace::copy_if_there(packed.data(), bytes, packed.size()));
  return packed;
}

void ArgumentRecorder::put_pointee(const Buffer &buffer, std::uint64_t offset, bool is_data,
                                   std::string_view bytes) {
  if (is_data && data_ == RecordData::none) return;
  const bool is_hash = is_data && data_ == RecordData::hashes;
  stream_.put(item_tag(kPointee, is_hash));
  stream_.put(bytes.size());
  stream_.put(std::uint64_t{buffer.argument});
  stream_.put(offset);
  put_bytes(bytes, is_hash);
}

void ArgumentRecorder::put_item(const Buffer &buffer, std::string_view bytes, bool is_data) {
  if (is_data && data_ == RecordData::none) return;
  const bool is_hash = is_data && data_ == RecordData::hashes;
  stream_.put(item_tag(buffer.argument, is_hash));
  stream_.put(bytes.size());
  put_bytes(bytes, is_hash);
}

void ArgumentRecorder::put_bytes(std::string_view bytes, bool is_hash) {
  if (!is_hash) return stream_.put(bytes);
  const std::uint64_t sum = hash_of_data(bytes);
  stream_.put(std::string_view(reinterpret_cast<const char *>(&sum), sizeof sum));
}

void ArgumentRecorder::copy_pointees(const Buffer &buffer, std::uint64_t address, KernelParameters *kernels,
                                     bool has_succeeded) {
  const bool is_before = kernels == nullptr;
  std::string object(buffer.element, '\0');
  const std::uint64_t size = size_of(buffer, slot_, words_, read);
  for (std::uint64_t at = 0; at + buffer.element <= size; at += buffer.element) {
    if (!read(object.data(), address + at, object.size())) return;
    for (const Pointee &pointee : pointees_of(*buffer.type, object.data())) {
      const std::uint64_t offset = at + pointee.offset;
      // An asynchronous copy writes after the call.
      const bool is_late = mock::traits_of(slot_).queue == mock::EntryTraits::Queue::stream;
      if (is_before != (pointee.content == Pointee::Content::rows_read)) continue;
      switch (pointee.content) {
        case Pointee::Content::handles_made:
          if (!has_succeeded) break;
          [[fallthrough]];
        case Pointee::Content::objects: {
          if (!has_succeeded && pointee.size > kHashedPiece) break;
          std::string bytes(pointee.size, '\0');
          const auto reader = has_succeeded ? read_valid : read;
          if (bytes.empty() || reader(bytes.data(), pointee.address, bytes.size()))
            put_pointee(buffer, offset, false, bytes);
          break;
        }
        case Pointee::Content::kernel_parameters:
          if (const auto parameters = parameters_of(pointee.kernel, pointee.address, *kernels, has_succeeded))
            put_pointee(buffer, offset, false, *parameters);
          break;
        case Pointee::Content::launch_options:
          if (has_succeeded) put_pointee(buffer, offset, false, bytes_of_options(pointee.address));
          break;
        case Pointee::Content::rows_read:
          if (pointee.rows.are_there()) put_pointee(buffer, offset, true, pointee.rows.pack());
          break;
        case Pointee::Content::rows_written:
          if (!is_late && has_succeeded && (!pointee.may_be_of_device || pointee.rows.are_there()))
            put_pointee(buffer, offset, true, pointee.rows.pack());
          break;
      }
    }
  }
}

}  // namespace cushim::replay

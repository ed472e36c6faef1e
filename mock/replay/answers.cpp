// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

#include <cushim/detail/entry_traits.hpp>
#include "argument_comparison.hpp"
#include "attribute_values.hpp"
#include "call_text.hpp"
#include "created_memory.hpp"
#include "name_pattern.hpp"
#include "pointees.hpp"
#include "process.hpp"
#include "recording_format.hpp"
#include "replayed_entry.hpp"

namespace cushim::replay {
namespace {

using Content = Buffer::Content;
using Kind = trace::Type::Kind;
using mock::EntryTraits;

// Calls that are not matched, because loaders make them at any time and any number of times.
bool is_lookup(std::string_view base) { return base == "cuGetProcAddress" || base == "cuDriverGetVersion"; }

std::string_view base_of(int slot) { return cushim_entry(slot)->base; }

std::string name_of_slot(int slot) { return cushim_entry(slot)->symbol; }

// Returns a call of a recording as text.
std::string text_of(const Recording &recording, std::size_t wanted) {
  std::string text;
  std::size_t number = 0;
  const trace::Trace all = recording.trace();
  trace::for_each_call(all, [&](const trace::Call &call, const std::vector<trace::Word> &words) {
    if (number++ != wanted) return;
    text = name_of_slot(call.slot) + "(";
    for (const trace::Word &word : words) {
      if (text.back() != '(') text += ", ";
      text.append(word.name).append(word.out ? " -> " + *word.out : "=" + word.value);
    }
    text += ") = " + trace::result_name(call.result);
  });
  return text;
}

// Returns the name of an argument through which a successful call wrote memory that the recording lacks;
// empty if there is none.
std::string_view unrecorded_output(const RecordedCall &call) {
  for (std::size_t i = 0; i < trace::row_of(call.slot).parameters.size(); ++i) {
    const trace::Parameter &parameter = trace::row_of(call.slot).parameters[i];
    const bool is_output = parameter.name == "data" || parameter.name == "value";
    if (is_output && parameter.type->kind == Kind::pointer && call.words[parameter.word] != 0 &&
        buffer_of(call.slot, i) == nullptr)
      return parameter.name;
  }
  return {};
}

}  // namespace

Answers::Answers(Recording recording, DriverOptions options)
    : recording_(std::move(recording)), options_(std::move(options)), objects_(recording_) {
  const auto &calls = recording_.calls();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const RecordedCall &call = calls[i];
    for (const Item &item : call.after)
      if (item.completed != 0 && !item.is_hash) copied_[item.completed] = &item;
    if (base_of(call.slot) == "cuDriverGetVersion")
      if (const Item *const version = item_of(call.after, 0))
        version_ = static_cast<int>(trace::bits_of(version->bytes));
    if (is_lookup(base_of(call.slot))) continue;
    threads_[call.thread].calls.push_back(i);
    ++left_;
  }
}

std::size_t Answers::calls_left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

std::optional<Deviation> Answers::deviation() const {
  const std::lock_guard lock(mutex_);
  return deviation_;
}

bool Answers::is_ignored(int slot) const { return matches_any(base_of(slot), options_.ignored); }

CUresult Answers::answer(const GivenCall &call) {
  std::unique_lock lock(mutex_);
  if (deviation_) return options_.answer;
  if (base_of(call.slot) == "cuDriverGetVersion") {
    if (call.words[0] == 0) return CUDA_ERROR_INVALID_VALUE;
    *reinterpret_cast<int *>(call.words[0]) = version_;
    return CUDA_SUCCESS;
  }
  Thread *const thread = thread_of(call);
  if (thread == nullptr)
    return report({.call = recording_.calls().size(),
                   .what = "recording",
                   .recorded = "the recording has " + std::to_string(threads_.size()) +
                               " threads, and the program has another one"},
                  call, lock);
  if (auto deviation = match(call, *thread)) return report(std::move(*deviation), call, lock);
  const RecordedCall &recorded = recording_.calls()[thread->calls[thread->next]];
  if (auto deviation = give(recorded, call)) return report(std::move(*deviation), call, lock);
  ++thread->next;
  --left_;
  lock.unlock();
  const EntryTraits::Wait wait = mock::traits_of(call.slot).wait;
  const bool has_waited = wait == EntryTraits::Wait::synchronizes || wait == EntryTraits::Wait::polls;
  if (has_waited && recorded.result == CUDA_SUCCESS) host_functions_.wait();
  return recorded.result;
}

// Returns the recorded thread that is matched with this thread; null if all recorded threads are matched with
// others. Of those that are not matched, takes the first whose next call is this one, else the first.
Answers::Thread *Answers::thread_of(const GivenCall &call) {
  Thread *&found = matched_[trace::number_of_this_thread()];
  if (found != nullptr) return found;
  for (auto &[number, thread] : threads_)
    if (!thread.is_matched && !match(call, thread)) {
      found = &thread;
      break;
    }
  for (auto &[number, thread] : threads_)
    if (found == nullptr && !thread.is_matched) found = &thread;
  if (found != nullptr) found->is_matched = true;
  return found;
}

Deviation Answers::end_of_recording() const {
  const bool is_complete = recording_.is_complete();
  return {.call = recording_.calls().size(),
          .what = "recording",
          .recorded = is_complete ? "the recording has no more calls of this thread"
                                  : "the recording ends before this call: it is not complete, because its "
                                    "process did not end normally"};
}

// Requires the mutex, as all below.
std::optional<Deviation> Answers::match(const GivenCall &call, const Thread &thread) {
  const unsigned number = thread.calls.empty() ? 0 : recording_.calls()[thread.calls.front()].thread;
  Deviation deviation;
  if (thread.next == thread.calls.size()) {
    deviation = end_of_recording();
    deviation.thread = number;
    return deviation;
  }
  const RecordedCall &recorded = recording_.calls()[thread.calls[thread.next]];
  deviation.call = thread.calls[thread.next];
  deviation.thread = number;
  if (recorded.slot != call.slot) {
    deviation.what = "entry point";
    deviation.recorded = name_of_slot(recorded.slot);
    deviation.given = name_of_slot(call.slot);
    return deviation;
  }
  if (!recorded.has_ended()) {
    deviation.what = "recording";
    deviation.recorded = "the call had not returned when the recording ended";
    return deviation;
  }
  if (is_ignored(call.slot)) return std::nullopt;
  auto unequal = ArgumentComparison(recorded, call.words, objects_).first();
  if (!unequal) return std::nullopt;
  deviation.what = unequal->argument;
  deviation.recorded = std::move(unequal->values.recorded);
  deviation.given = std::move(unequal->values.replayed);
  return deviation;
}

std::optional<Deviation> Answers::give(const RecordedCall &recorded, const GivenCall &call) {
  give_options(recorded, call);
  if (recorded.result != CUDA_SUCCESS) return std::nullopt;
  const auto index = static_cast<std::size_t>(&recorded - recording_.calls().data());
  const auto lacks = [&](std::string_view argument) {
    return Deviation{.call = index,
                     .thread = recorded.thread,
                     .what = std::string(argument),
                     .recorded = "what the call wrote was not recorded"};
  };
  if (base_of(recorded.slot) == "cuGetExportTable") {
    Deviation deviation = lacks(trace::row_of(call.slot).parameters[0].name);
    deviation.recorded = "the call returned functions of NVIDIA's driver, which no recording can answer";
    return deviation;
  }
  if (const auto argument = unrecorded_output(recorded); !argument.empty()) return lacks(argument);
  for (const Buffer &buffer : buffers_of(recorded.slot)) {
    const std::uint64_t to = argument_of(call.slot, call.words, buffer.argument);
    if (!buffer.is_written() || to == 0 || buffer.content == Content::option_values) continue;
    if (replayed_entry(recorded.slot).exports_handle) continue;  // a file descriptor of the recorded process
    const bool is_given = buffer.content == Content::attribute_values
                              ? give_attribute_values(buffer, recorded, call)
                              : give_buffer(buffer, recorded, to);
    if (!is_given) return lacks(trace::row_of(call.slot).parameters[buffer.argument].name);
  }
  for (const Buffer &buffer : buffers_of(recorded.slot))
    if (buffer.has_pointees && !give_rows(buffer, recorded, call))
      return lacks(trace::row_of(call.slot).parameters[buffer.argument].name);
  for (const Item &item : recorded.after)
    if (item.argument == kHostMemory && objects_.is_host_accessible(item.offset, recorded.end))
      std::ranges::copy(item.bytes, reinterpret_cast<char *>(*objects_.address(item.offset, recorded.end)));
  update_memory(recorded, call);
  run_host_function(recorded, call);
  return std::nullopt;
}

// Writes the array of the bodies of a conditional node, which is valid until the driver ends.
void Answers::give_handles_made(const Buffer &buffer, const RecordedCall &recorded, char *structure) {
  const Item *const written = item_of(recorded.after, buffer.argument);
  if (!buffer.is_written() || written == nullptr || written->bytes.size() < buffer.element) return;
  for (const Pointee &pointee : pointees_of(*buffer.type, written->bytes.data())) {
    const Item *const item = pointee_item_of(recorded.after, buffer.argument, pointee.offset);
    if (pointee.content != Pointee::Content::handles_made || item == nullptr) continue;
    std::string &handles = arrays_.emplace_back(item->bytes);
    for (std::size_t at = 0; at + pointee.type->size <= handles.size(); at += pointee.type->size)
      translate(*pointee.type, handles.data() + at, "", recorded.end);
    const char *const array = handles.data();
    std::memcpy(structure + pointee.offset, static_cast<const void *>(&array), sizeof array);
  }
}

// Writes rows of host memory to which a structure points. Returns false if they were not recorded.
bool Answers::give_rows(const Buffer &buffer, const RecordedCall &recorded, const GivenCall &call) {
  const std::uint64_t structure = argument_of(call.slot, call.words, buffer.argument);
  if (structure == 0 || buffer.has_count) return true;
  give_handles_made(buffer, recorded, reinterpret_cast<char *>(structure));
  for (const Pointee &pointee : pointees_of(*buffer.type, reinterpret_cast<const void *>(structure))) {
    // An asynchronous copy is not recorded.
    const bool is_late = mock::traits_of(call.slot).queue == EntryTraits::Queue::stream;
    if (pointee.content != Pointee::Content::rows_written || is_late || pointee.rows.size() == 0) continue;
    if (pointee.may_be_of_device && !pointee.rows.are_there()) continue;
    const Item *const item = pointee_item_of(recorded.after, buffer.argument, pointee.offset);
    if (item == nullptr || item->is_hash || item->bytes.size() != pointee.rows.size()) return false;
    pointee.rows.unpack(item->bytes);
  }
  return true;
}

// Returns false if what the call wrote was not recorded.
bool Answers::give_buffer(const Buffer &buffer, const RecordedCall &recorded, std::uint64_t to) {
  const Item *item = item_of(recorded.after, buffer.argument);
  char *const at = reinterpret_cast<char *>(to);
  if (buffer.is_data) {
    const std::uint64_t address = argument_of(recorded.slot, recorded.words, buffer.argument);
    const bool is_on_device = objects_.is_in_memory(address, recorded.begin) &&
                              !objects_.is_host_accessible(address, recorded.begin);
    const std::uint64_t size = size_of(buffer, recorded.slot, recorded.words,
                                       [](void *, std::uint64_t, std::size_t) { return false; });
    if (is_on_device || size == 0) return true;
    if (buffer.is_async) {
      const auto copied = copied_.find(recorded.begin);
      if (copied == copied_.end()) return true;  // the program may never read it
      item = copied->second;
    }
    if (item == nullptr || item->is_hash) return false;
    std::ranges::copy(item->bytes, at);
    return true;
  }
  if (item == nullptr) return true;  // an optional output that the recorded program did not ask for
  if (buffer.content == Content::text_out) {
    std::ranges::copy(item->bytes, at);
    const std::uint64_t size = size_of(buffer, recorded.slot, recorded.words,
                                       [](void *, std::uint64_t, std::size_t) { return false; });
    if (item->bytes.size() < size) at[item->bytes.size()] = '\0';
  } else if (buffer.content == Content::returned_text) {
    const char *const text = texts_.emplace(item->bytes).first->c_str();
    std::memcpy(at, static_cast<const void *>(&text), sizeof text);
  } else if (buffer.content == Content::returned_array) {
    std::string &array = arrays_.emplace_back(item->bytes);
    for (std::size_t i = 0; i + buffer.element <= array.size(); i += buffer.element)
      translate(*buffer.type, array.data() + i, "", recorded.end);
    const char *const first = array.data();
    std::memcpy(at, static_cast<const void *>(&first), sizeof first);
  } else {
    std::ranges::copy(item->bytes, at);
    const trace::Type &type = buffer.type != nullptr ? *buffer.type : trace::type_of<CUdeviceptr>();
    const bool may_be_address = buffer.type != nullptr || buffer.element == sizeof(CUdeviceptr);
    if (may_be_address)
      for (std::size_t i = 0; i + buffer.element <= item->bytes.size(); i += buffer.element)
        translate(type, at + i, trace::row_of(recorded.slot).parameters[buffer.argument].name, recorded.end);
  }
  return true;
}

// Writes the recorded values of cuPointerGetAttributes or cuMemRangeGetAttributes to the program's arrays.
bool Answers::give_attribute_values(const Buffer &buffer, const RecordedCall &recorded,
                                    const GivenCall &call) {
  const Item *const item = item_of(recorded.after, buffer.argument);
  if (item == nullptr) return false;
  const std::string_view base = base_of(call.slot);
  const auto values = attribute_values(base, call.words);
  const auto written = unpack(item->bytes);
  for (std::size_t i = 0; i < std::min(values.size(), written.size()); ++i) {
    std::string bytes(written[i]);
    const auto attribute = static_cast<CUpointer_attribute>(values[i].attribute);
    if (base == "cuPointerGetAttributes" && bytes.size() == sizeof(CUdeviceptr)) {
      const trace::Type &type = attribute == CU_POINTER_ATTRIBUTE_CONTEXT ? trace::type_of<CUcontext>()
                                : attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
                                    ? trace::type_of<CUmemoryPool>()
                                    : trace::type_of<CUdeviceptr>();
      translate(type, bytes.data(), "", recorded.end);
    }
    if (values[i].address != 0) std::ranges::copy(bytes, reinterpret_cast<char *>(values[i].address));
  }
  return true;
}

// Replaces the recorded handles and addresses in a value by those of the program.
void Answers::translate(const trace::Type &type, char *value, std::string_view name, std::uint64_t time) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, value, std::min(type.size, sizeof bits));
  switch (type.kind) {
    case Kind::handle:
      if (bits <= 2) return;
      bits = objects_.handle(type.name, bits, time);
      break;
    case Kind::address:
      if (is_number_name(name)) return;
      [[fallthrough]];
    case Kind::pointer:
      if (bits == 0) return;
      if (const auto address = objects_.address(bits, time))
        bits = *address;
      else
        bits = objects_.handle("", bits, time);
      break;
    case Kind::structure:
      for (const trace::Field &field : *type.fields)
        translate(*field.type, value + field.offset, field.name, time);
      return;
    default:
      return;
  }
  std::memcpy(value, &bits, std::min(type.size, sizeof bits));
}

void Answers::update_memory(const RecordedCall &recorded, const GivenCall &call) {
  const EntryTraits &traits = mock::traits_of(recorded.slot);
  if (const auto memory = memory_created_by(recorded); memory && !memory->is_written_address)
    objects_.set_address(memory->address, recorded.end, argument_of(call.slot, call.words, memory->argument));
  if (traits.ends_lifetime() && mock::is_memory(traits.object))
    objects_.remove_memory(
        argument_of(recorded.slot, recorded.words,
                    mock::position(traits.subject, trace::row_of(recorded.slot).parameters.size())),
        recorded.begin);
}

// Host functions that are captured become nodes of a graph, which does not run.
void Answers::run_host_function(const RecordedCall &recorded, const GivenCall &call) {
  const std::string_view base = base_of(call.slot);
  const auto &words = call.words;
  if (base.starts_with("cuStreamBeginCapture")) capturing_.insert(words[0]);
  if (mock::traits_of(call.slot).ends_capture) capturing_.erase(words[0]);
  if ((base != "cuLaunchHostFunc" && base != "cuStreamAddCallback") || capturing_.contains(words[0])) return;
  if (words[1] == 0 || recorded.result != CUDA_SUCCESS) return;
  void *const data = reinterpret_cast<void *>(words[2]);
  if (base == "cuLaunchHostFunc")
    host_functions_.add([function = reinterpret_cast<CUhostFn>(words[1]), data] { function(data); });
  else
    host_functions_.add([function = reinterpret_cast<CUstreamCallback>(words[1]),
                         stream = reinterpret_cast<CUstream>(words[0]),
                         data] { function(stream, CUDA_SUCCESS, data); });
}

CUresult Answers::report(Deviation deviation, const GivenCall &call, std::unique_lock<std::mutex> &lock) {
  if (deviation.call < recording_.calls().size())
    deviation.recorded_call = text_of(recording_, deviation.call);
  deviation.given_call = call.text();
  deviation_ = deviation;
  lock.unlock();
  options_.on_deviation(deviation);
  return options_.answer;
}

}  // namespace cushim::replay

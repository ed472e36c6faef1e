// SPDX-License-Identifier: Apache-2.0
#include "host_visible_memory.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include <cushim/detail/entry_traits.hpp>
#include "bits.hpp"
#include "buffers.hpp"
#include "pointees.hpp"
#include "process.hpp"
#include "recording_format.hpp"
#include "stream_contexts.hpp"

namespace cushim::replay {
namespace {

using mock::EntryTraits;
using mock::Object;

bool is_host_accessible(Object object) {
  return object == Object::pinned_memory || object == Object::registered_memory ||
         object == Object::managed_memory;
}

std::size_t subject_of(int slot) {
  return mock::position(mock::traits_of(slot).subject, trace::row_of(slot).parameters.size());
}

std::string_view base_of(int slot) { return cushim_entry(slot)->base; }

// Returns the operations of a batch; none of other calls.
std::vector<CUstreamBatchMemOpParams> operations_of(int slot, std::span<const std::uint64_t> words) {
  std::vector<CUstreamBatchMemOpParams> operations;
  if (base_of(slot) != "cuStreamBatchMemOp") return operations;
  operations.resize(std::min<std::uint64_t>(words[1] & 0xffffffff, 256));
  const std::size_t size = operations.size() * sizeof operations[0];
  if (trace::copy_if_there(operations.data(), words[2], size) != size) operations.clear();
  return operations;
}

// Returns whether an argument of a call that makes a batch of copies leads to an address in this memory: as
// an element of an array, or in a structure.
bool has_address_in_batch(int slot, std::span<const std::uint64_t> words, std::uint64_t base,
                          std::uint64_t size) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 16;
  if (base_of(slot).find("Batch") == std::string_view::npos) return false;
  std::vector<char> bytes;
  for (const Buffer &buffer : buffers_of(slot)) {
    const std::uint64_t address = argument_of(slot, words, buffer.argument);
    if (address == 0 || !buffer.is_read() || buffer.content != Buffer::Content::objects) continue;
    bytes.resize(std::min<std::uint64_t>(kMostBytes, size_of(buffer, slot, words, trace::copy_if_there)));
    bytes.resize(trace::copy_if_there(bytes.data(), address, bytes.size()));
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t))
      if (bits_at(bytes.data() + at, sizeof(std::uint64_t)) - base < size) return true;
  }
  return false;
}

bool is_wait(const CUstreamBatchMemOpParams &operation) {
  return operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
         operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

// Returns 0 if the word does not exist.
std::uint64_t value_at(std::uint64_t address, std::size_t size) {
  std::uint64_t value = 0;
  trace::copy_if_there(&value, address, size);
  return value;
}

// Returns whether the call waited for earlier work: because it must, or for the data that it wrote to the
// host.
bool has_waited(int slot) {
  const EntryTraits::Wait wait = mock::traits_of(slot).wait;
  return wait == EntryTraits::Wait::synchronizes || wait == EntryTraits::Wait::polls ||
         std::ranges::any_of(buffers_of(slot), [](const Buffer &buffer) {
           return buffer.is_data && buffer.is_written() && !buffer.is_async;
         });
}

}  // namespace

bool HostVisibleMemory::ignores(int slot) const {
  if (!is_empty_.load(std::memory_order_relaxed)) return false;
  const EntryTraits &traits = mock::traits_of(slot);
  return !is_host_accessible(traits.object) || !traits.begins_lifetime();
}

void HostVisibleMemory::create(const CallOfProgram &call) {
  const EntryTraits &traits = mock::traits_of(call.slot);
  const std::size_t subject = subject_of(call.slot);
  std::uint64_t base = argument_of(call.slot, call.words, subject);
  if (buffer_of(call.slot, subject) != nullptr && base != 0)
    base = bits_at(reinterpret_cast<const void *>(base), sizeof base);
  const std::uint64_t size =
      traits.bytes == mock::kNoArgument
          ? 0
          : argument_of(call.slot, call.words,
                        mock::position(traits.bytes, trace::row_of(call.slot).parameters.size()));
  if (base == 0 || size == 0 || size > kMostSize) return;
  const std::lock_guard lock(mutex_);
  memory_[base] = {.base = base, .size = size, .hash = hash_of_data(std::string(size, '\0'))};
  is_empty_ = false;
}

// Returns whether the call may let a device use the memory; true if that is unknown. Requires the mutex.
bool HostVisibleMemory::may_use(const CallOfProgram &call, std::uint64_t base, const Memory &memory,
                                KernelParameters &kernels) {
  const auto is_inside = [&](std::uint64_t word) { return word - base < memory.size; };
  const auto &parameters = trace::row_of(call.slot).parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // Copies from and to the host have their data in the recording.
    const Buffer *const buffer = buffer_of(call.slot, i);
    if ((buffer == nullptr || !buffer->is_data) && is_inside(call.words[parameters[i].word])) return true;
  }
  if (base_of(call.slot).starts_with("cuGraphLaunch")) return true;
  for (const CUstreamBatchMemOpParams &operation : operations_of(call.slot, call.words))
    if (is_inside(operation.waitValue.address)) return true;
  if (has_address_in_batch(call.slot, call.words, base, memory.size)) return true;
  for (const Buffer &buffer : buffers_of(call.slot)) {
    const std::uint64_t address = argument_of(call.slot, call.words, buffer.argument);
    if (address == 0) continue;
    if (buffer.content == Buffer::Content::launch_options) return true;
    if (buffer.content != Buffer::Content::kernel_parameters) continue;
    const auto sizes = kernels.known_sizes(
        reinterpret_cast<CUfunction>(argument_of(call.slot, call.words, kernel_argument_of(call.slot))));
    if (sizes == nullptr) return true;
    for (std::size_t i = 0; i < sizes->size(); ++i) {
      const auto from = reinterpret_cast<const char *>(
          bits_at(reinterpret_cast<const char *>(address) + i * sizeof(void *), sizeof(void *)));
      for (std::size_t at = 0; at + sizeof(std::uint64_t) <= (*sizes)[i]; at += sizeof(std::uint64_t))
        if (is_inside(bits_at(from + at, sizeof(std::uint64_t)))) return true;
    }
  }
  return false;
}

void HostVisibleMemory::add_if_changed(Memory &memory, std::vector<Change> &changes) {
  std::string bytes(memory.size, '\0');
  if (trace::copy_if_there(bytes.data(), memory.base, bytes.size()) != bytes.size()) return;
  const std::uint64_t hash = hash_of_data(bytes);
  if (hash == memory.hash) return;
  memory.hash = hash;
  changes.push_back({.address = memory.base, .bytes = std::move(bytes)});
}

bool HostVisibleMemory::Memory::has_words() const {
  return std::ranges::any_of(uses, [](const Use &use) { return use.word != 0; });
}

bool HostVisibleMemory::Memory::is_only_source() const {
  return std::ranges::all_of(uses, [](const Use &use) { return use.is_source; });
}

// Returns whether an asynchronous copy reads the memory. Its data is in the recording, but the host may write
// other data until the copy runs.
bool HostVisibleMemory::is_source(const CallOfProgram &call, std::uint64_t base, const Memory &memory) {
  const auto is_inside = [&](std::uint64_t address) { return address - base < memory.size; };
  for (const Buffer &buffer : buffers_of(call.slot)) {
    const std::uint64_t address = argument_of(call.slot, call.words, buffer.argument);
    if (buffer.is_data && buffer.is_async && buffer.is_read() && is_inside(address)) return true;
    if (!buffer.has_pointees || buffer.has_count || address == 0) continue;
    std::string structure(buffer.element, '\0');
    if (trace::copy_if_there(structure.data(), address, structure.size()) != structure.size()) continue;
    for (const Pointee &pointee : pointees_of(*buffer.type, structure.data()))
      if (pointee.content == Pointee::Content::rows_read && is_inside(pointee.address)) return true;
  }
  return false;
}

// Returns whether a wait for a value comes before the use in its stream. Requires the mutex.
bool HostVisibleMemory::is_held(const Use &use) const {
  return std::ranges::any_of(memory_, [&](const auto &one) {
    return std::ranges::any_of(one.second.uses, [&](const Use &wait) {
      return wait.word != 0 && wait.stream == use.stream && wait.begin < use.begin;
    });
  });
}

// Returns whether streams wait for values here, and no device writes the memory before they are released.
// Requires the mutex.
bool HostVisibleMemory::is_only_waited_for(const Memory &memory) const {
  const auto is_behind_a_wait = [&](const Use &use) {
    if (use.is_source) return is_held(use);
    return std::ranges::any_of(memory.uses, [&](const Use &wait) {
      return wait.word != 0 && wait.stream == use.stream && wait.begin < use.begin;
    });
  };
  return !memory.uses.empty() && std::ranges::all_of(memory.uses, [&](const Use &use) {
    return use.word != 0 || is_behind_a_wait(use);
  });
}

// Returns the memory that is only waited for. The words for which streams wait come last: they are written
// when everything else is. Requires the mutex.
std::vector<HostVisibleMemory::Memory *> HostVisibleMemory::waiting_memory() {
  std::vector<Memory *> all;
  for (auto &[base, memory] : memory_)
    if (is_only_waited_for(memory)) all.push_back(&memory);
  std::stable_partition(all.begin(), all.end(), [](const Memory *memory) { return !memory->has_words(); });
  return all;
}

// Returns how the call, which enqueues work, uses memory.
std::vector<HostVisibleMemory::Use> HostVisibleMemory::uses_of(const CallOfProgram &call) {
  Use use{.stream = call.stream, .context = call.context, .begin = call.begin};
  std::vector<Use> uses;
  const auto wait_for = [&](std::uint64_t word, bool is_long) {
    use.word = word;
    use.word_size = is_long ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
    use.value = use.recorded = value_at(word, use.word_size);
    uses.push_back(use);
  };
  const auto operations = operations_of(call.slot, call.words);
  if (base_of(call.slot).starts_with("cuStreamWaitValue"))
    wait_for(call.words[1], base_of(call.slot) == "cuStreamWaitValue64");
  else if (!operations.empty() && std::ranges::all_of(operations, is_wait))
    for (const CUstreamBatchMemOpParams &operation : operations)
      wait_for(operation.waitValue.address, operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64);
  else
    uses.push_back(use);
  return uses;
}

// Returns whether a word that a stream waits for has changed, and notes its value.
bool HostVisibleMemory::has_released(Memory &memory) {
  bool has_changed = false;
  for (Use &use : memory.uses)
    if (const std::uint64_t value = use.word != 0 ? value_at(use.word, use.word_size) : use.value;
        value != use.value) {
      use.value = value;
      has_changed = true;
    }
  return has_changed;
}

// Adds the words that streams wait for, or waited for until now, and that have changed since they were
// recorded.
void HostVisibleMemory::add_changed_words(Memory &memory, std::vector<Change> &changes) {
  for (Use &use : memory.uses) {
    if (use.word == 0) continue;
    const std::uint64_t value = value_at(use.word, use.word_size);
    if (value == use.recorded) continue;
    use.recorded = value;
    changes.push_back({.address = use.word,
                       .bytes{reinterpret_cast<const char *>(&value), use.word_size},
                       .item = kWaitedWord});
  }
}

std::vector<HostVisibleMemory::Change> HostVisibleMemory::before(const CallOfProgram &call,
                                                                 KernelParameters &kernels) {
  std::vector<Change> changes;
  const bool enqueues = mock::traits_of(call.slot).queue != EntryTraits::Queue::none;
  const std::lock_guard lock(mutex_);
  if (const auto waiting = waiting_memory(); !waiting.empty()) {
    bool is_released = false;
    for (Memory *const memory : waiting) is_released |= has_released(*memory);
    if (is_released)
      for (Memory *const memory : waiting) add_if_changed(*memory, changes);
  }
  const bool is_held_copy =
      enqueues && is_held({.stream = call.stream, .begin = call.begin}) && !has_waited(call.slot);
  for (auto &[base, memory] : memory_) {
    if (!enqueues) break;
    const bool is_source_of_copy = is_held_copy && is_source(call, base, memory);
    if (!is_source_of_copy && !may_use(call, base, memory, kernels)) continue;
    if (memory.uses.empty() || is_only_waited_for(memory)) add_if_changed(memory, changes);
    // A call that waits has ended its use when it returns.
    if (has_waited(call.slot)) continue;
    auto uses = uses_of(call);
    for (Use &use : uses) use.is_source = is_source_of_copy;
    memory.uses.insert(memory.uses.end(), uses.begin(), uses.end());
  }
  return changes;
}

// Returns whether the use is complete when the call has waited. `recorded` is where the event was recorded
// for which the call waited.
bool HostVisibleMemory::waits_for(const CallOfProgram &call, const Use &use, const Use &recorded) {
  const std::string_view base = base_of(call.slot);
  if (base == "cuCtxSynchronize") return waits_for_context(call.context, use.context);
  if (base.starts_with("cuEvent")) return use.stream == recorded.stream && use.begin < recorded.begin;
  return call.stream != 0 && use.stream == call.stream;
}

std::vector<HostVisibleMemory::Change> HostVisibleMemory::after(const CallOfProgram &call) {
  std::vector<Change> changes;
  const EntryTraits &traits = mock::traits_of(call.slot);
  if (is_host_accessible(traits.object) && traits.begins_lifetime()) create(call);
  const std::string_view base = base_of(call.slot);
  const std::lock_guard lock(mutex_);
  if (traits.ends_lifetime() && mock::is_memory(traits.object))
    memory_.erase(argument_of(call.slot, call.words, subject_of(call.slot)));
  if (base.starts_with("cuEventRecord"))
    events_[call.words[0]] = {.stream = call.stream, .context = call.context, .begin = call.begin};
  // Any call may have waited for the work of other threads or streams.
  if (!has_waited(call.slot)) {
    for (auto &[address, memory] : memory_) add_changed_words(memory, changes);
    return changes;
  }
  const auto event = base.starts_with("cuEvent") ? events_.find(call.words[0]) : events_.end();
  const Use recorded = event != events_.end() ? event->second : Use{};
  // Before any use ends.
  const std::vector<Memory *> waiting = waiting_memory();
  std::vector<Memory *> all;
  for (auto &[address, memory] : memory_)
    if (std::ranges::find(waiting, &memory) == waiting.end()) all.push_back(&memory);
  all.insert(all.end(), waiting.begin(), waiting.end());
  for (Memory *const memory : all) {
    const bool is_waiting = std::ranges::find(waiting, memory) != waiting.end();
    if (!is_waiting) add_changed_words(*memory, changes);
    const bool is_only_source = memory->is_only_source();
    if (std::erase_if(memory->uses, [&](const Use &use) { return waits_for(call, use, recorded); }) == 0 ||
        !memory->uses.empty())
      continue;
    const std::size_t others = changes.size();
    add_if_changed(*memory, changes);
    if (changes.size() != others && (is_waiting || is_only_source)) changes.back().item = kReleasingWrite;
  }
  return changes;
}

std::vector<HostVisibleMemory::Change> HostVisibleMemory::copy() {
  std::vector<Change> all;
  std::uint64_t copied = 0;
  const std::lock_guard lock(mutex_);
  for (const auto &[base, memory] : memory_) {
    if (copied + memory.size > kMostCopied) continue;
    std::string bytes(memory.size, '\0');
    if (trace::copy_if_there(bytes.data(), base, bytes.size()) != bytes.size()) continue;
    copied += memory.size;
    all.push_back({base, std::move(bytes)});
  }
  return all;
}

std::vector<HostVisibleMemory::Change> HostVisibleMemory::changes_since(const std::vector<Change> &copy) {
  // Ranges with fewer equal bytes between them are merged.
  constexpr std::size_t kGap = 32;
  std::vector<Change> changes;
  for (const auto &[address, before, item] : copy) {
    std::string now(before.size(), '\0');
    if (trace::copy_if_there(now.data(), address, now.size()) != now.size() || now == before) continue;
    std::size_t begin = 0, end = 0;  // of the current range
    for (std::size_t at = 0; at < now.size(); ++at) {
      if (now[at] == before[at]) continue;
      if (end != 0 && at - end >= kGap) {
        changes.push_back({address + begin, now.substr(begin, end - begin)});
        end = 0;
      }
      if (end == 0) begin = at;
      end = at + 1;
    }
    changes.push_back({address + begin, now.substr(begin, end - begin)});
  }
  return changes;
}

}  // namespace cushim::replay

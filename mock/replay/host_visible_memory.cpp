// SPDX-License-Identifier: Apache-2.0
#include "host_visible_memory.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include <cushim/detail/entry_traits.hpp>
#include "bits.hpp"
#include "buffers.hpp"
#include "given_addresses.hpp"
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

HostRange host_memory_created_by(int slot, std::span<const std::uint64_t> words) {
  const EntryTraits &traits = mock::traits_of(slot);
  if (!is_host_accessible(traits.object) || !traits.begins_lifetime()) return {};
  const std::size_t subject = subject_of(slot);
  std::uint64_t base = argument_of(slot, words, subject);
  if (buffer_of(slot, subject) != nullptr && base != 0)
    base = bits_at(reinterpret_cast<const void *>(base), sizeof base);
  if (traits.bytes == mock::kNoArgument) return {.address = base};
  const std::size_t bytes = mock::position(traits.bytes, trace::row_of(slot).parameters.size());
  return {.address = base, .size = argument_of(slot, words, bytes)};
}

void HostVisibleMemory::create(const CallOfProgram &call) {
  const auto [base, size] = host_memory_created_by(call.slot, call.words);
  if (base == 0 || size == 0 || size > kMostSize) return;
  const std::lock_guard lock(mutex_);
  forget(base);
  memory_[base] = {.base = base, .size = size, .hash = hash_of_data(std::string(size, '\0'))};
  is_empty_ = false;
}

// Requires the mutex.
void HostVisibleMemory::forget(std::uint64_t base) {
  const auto found = memory_.find(base);
  if (found == memory_.end()) return;
  waits_ -= static_cast<std::size_t>(
      std::ranges::count_if(found->second.uses, [](const Use &use) { return use.word != 0; }));
  used_.erase(base);
  memory_.erase(found);
}

// Returns the memory that contains the address, or the end. Requires the mutex.
std::map<std::uint64_t, HostVisibleMemory::Memory>::iterator HostVisibleMemory::memory_at(
    std::uint64_t address) {
  if (memory_.empty() ||
      address - memory_.begin()->first > memory_.rbegin()->first - memory_.begin()->first + kMostSize)
    return memory_.end();  // most words are no addresses
  const auto next = memory_.upper_bound(address);
  const auto found = std::prev(next);
  return address - found->first < found->second.size ? found : memory_.end();
}

// Returns the bases of the memory that the call may let a device use, and whether it is the source of a copy
// that waits. Requires the mutex.
std::map<std::uint64_t, bool> HostVisibleMemory::memory_used_by(const CallOfProgram &call, bool is_held_copy,
                                                                KernelParameters &kernels) {
  std::map<std::uint64_t, bool> used;
  const GivenAddresses given = addresses_given_by(call.slot, call.words, kernels);
  if (given.all)
    for (const auto &[base, memory] : memory_) used.emplace(base, false);
  for (const std::uint64_t address : given.addresses)
    if (const auto found = memory_at(address); found != memory_.end()) used.emplace(found->first, false);
  if (!is_held_copy) return used;
  for (const std::uint64_t address : addresses_copied_from(call.slot, call.words))
    if (const auto found = memory_at(address); found != memory_.end()) used[found->first] = true;
  return used;
}

void HostVisibleMemory::add_if_changed(Memory &memory, std::vector<Change> &changes) {
  std::string bytes(memory.size, '\0');
  if (!trace::copy_all_if_there(bytes.data(), memory.base, bytes.size())) return;
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

// Returns whether a wait for a value comes before the use in its stream. Requires the mutex.
bool HostVisibleMemory::is_held(const Use &use) const {
  return waits_ != 0 && std::ranges::any_of(used_, [&](const auto &one) {
           return std::ranges::any_of(one.second->uses, [&](const Use &wait) {
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
  if (waits_ == 0) return all;
  for (const auto &[base, memory] : used_)
    if (is_only_waited_for(*memory)) all.push_back(memory);
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
  if (!enqueues) return changes;
  // A call that waits has ended its use when it returns.
  const bool has_ended = has_waited(call.slot);
  const bool is_held_copy = is_held({.stream = call.stream, .begin = call.begin}) && !has_ended;
  for (const auto &[base, is_source] : memory_used_by(call, is_held_copy, kernels)) {
    Memory &memory = memory_.at(base);
    if (memory.uses.empty() || is_only_waited_for(memory)) add_if_changed(memory, changes);
    if (has_ended) continue;
    for (Use &use : uses_of(call)) {
      use.is_source = is_source;
      add_use(memory, use);
    }
  }
  return changes;
}

// Requires the mutex.
void HostVisibleMemory::add_use(Memory &memory, const Use &use) {
  used_[memory.base] = &memory;
  if (use.word != 0) {
    ++waits_;
  } else if (waits_ == 0) {
    // All earlier uses in the stream end before this one, and no wait will come before any of them.
    const auto earlier = std::ranges::find_if(memory.uses, [&](const Use &one) {
      return one.stream == use.stream && one.context == use.context && !one.is_source;
    });
    if (earlier != memory.uses.end()) {
      *earlier = use;
      return;
    }
  }
  memory.uses.push_back(use);
}

// Removes the uses for which the call has waited, and returns their number. Requires the mutex.
std::size_t HostVisibleMemory::end_uses(Memory &memory, const CallOfProgram &call, const Use &recorded) {
  const std::size_t ended = std::erase_if(memory.uses, [&](const Use &use) {
    const bool has_ended = waits_for(call, use, recorded);
    if (has_ended && use.word != 0) --waits_;
    return has_ended;
  });
  if (memory.uses.empty()) used_.erase(memory.base);
  return ended;
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
  create(call);
  const std::string_view base = base_of(call.slot);
  const std::lock_guard lock(mutex_);
  if (traits.ends_lifetime() && mock::is_memory(traits.object))
    forget(argument_of(call.slot, call.words, subject_of(call.slot)));
  if (base.starts_with("cuEventRecord"))
    events_[call.words[0]] = {.stream = call.stream, .context = call.context, .begin = call.begin};
  // Any call may have waited for the work of other threads or streams.
  if (!has_waited(call.slot)) {
    if (waits_ != 0)
      for (const auto &[base, memory] : used_) add_changed_words(*memory, changes);
    return changes;
  }
  const auto event = base.starts_with("cuEvent") ? events_.find(call.words[0]) : events_.end();
  const Use recorded = event != events_.end() ? event->second : Use{};
  // Before any use ends.
  const std::vector<Memory *> waiting = waiting_memory();
  std::vector<Memory *> all;
  for (const auto &[base_of_memory, memory] : used_)
    if (waits_ == 0 || !is_only_waited_for(*memory)) all.push_back(memory);
  const std::size_t others = all.size();
  all.insert(all.end(), waiting.begin(), waiting.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Memory &memory = *all[i];
    const bool is_waiting = i >= others;
    if (!is_waiting) add_changed_words(memory, changes);
    const bool is_only_source = memory.is_only_source();
    if (end_uses(memory, call, recorded) == 0 || !memory.uses.empty()) continue;
    const std::size_t before = changes.size();
    add_if_changed(memory, changes);
    if (changes.size() != before && (is_waiting || is_only_source)) changes.back().item = kReleasingWrite;
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
    if (!trace::copy_all_if_there(bytes.data(), base, bytes.size())) continue;
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
    if (!trace::copy_all_if_there(now.data(), address, now.size()) || now == before) continue;
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

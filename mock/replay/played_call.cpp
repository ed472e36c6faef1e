// SPDX-License-Identifier: Apache-2.0
#include "played_call.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <cushim/detail/entry_traits.hpp>
#include "attribute_values.hpp"
#include "batches.hpp"
#include "bits.hpp"
#include "call_text.hpp"
#include "created_memory.hpp"
#include "host_visible_memory.hpp"
#include "invoke.hpp"
#include "recording_format.hpp"
#include "unions.hpp"
#include "write_host_memory.hpp"

namespace cushim::replay {
namespace {

using Content = Buffer::Content;
using Kind = trace::Type::Kind;
using mock::EntryTraits;
using mock::Object;

constexpr std::size_t kPage = 4096, kChunk = 65536;
// Behind each buffer: an entry point may write more than its type says.
constexpr std::size_t kSlack = 256;
// The alignment that tensor maps need: no other structure of a call needs a higher one.
constexpr std::size_t kAlignment = 64;

}  // namespace

bool is_opaque([[maybe_unused]] const trace::Type &type) {
#if CUDA_VERSION >= 12040
  return &type == &trace::type_of<CUdevResource>();
#else
  return false;
#endif
}

bool PlayedCall::replace_opaque(std::span<char> object) const {
  if (mapping_.replace_opaque(object)) return true;
#if CUDA_VERSION >= 12040
  // The driver finds no address in a resource that a program has made, unless the program copied one.
  constexpr std::size_t kBegin = offsetof(CUdevResource, _internal_padding),
                        kEnd = kBegin + sizeof CUdevResource::_internal_padding;
  const auto padding = object.subspan(kBegin, kEnd - kBegin);
  return std::ranges::all_of(padding, [](char byte) { return byte == 0; });
#else
  return false;
#endif
}

char *HostMemory::allocate(std::uint64_t size) {
  std::uint64_t whole = 0;
  if (__builtin_add_overflow(size, std::uint64_t{kSlack + kAlignment}, &whole)) throw std::bad_alloc();
  char *memory = nullptr;
  if (whole > kChunk / 4) {
    // Large memory takes no pages before it is used.
    memory = others_.emplace_back(static_cast<char *>(std::calloc(whole, 1))).get();
    if (memory == nullptr) throw std::bad_alloc();
  } else {
    if (chunk_ == nullptr || kChunk - used_ < whole) {
      if (chunk_ != nullptr) others_.push_back(std::move(chunk_));
      chunk_.reset(static_cast<char *>(std::calloc(kChunk, 1)));
      if (chunk_ == nullptr) throw std::bad_alloc();
      used_ = 0;
    }
    memory = chunk_.get() + used_;
    std::memset(memory, 0, whole);
    used_ += whole;
  }
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  return memory + (kAlignment - begin % kAlignment) % kAlignment;
}

void HostMemory::reset() {
  used_ = 0;
  if (!others_.empty()) others_.clear();
}

char *HostMemory::allocate_like(std::uint64_t address, std::uint64_t size) {
  std::uint64_t whole = 0;
  if (__builtin_add_overflow(size, std::uint64_t{2 * kPage}, &whole)) throw std::bad_alloc();
  char *const memory = allocate(whole);
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  return memory + ((kPage - begin % kPage) % kPage + address % kPage);
}

std::optional<std::string> PlayedCall::prepare() {
  if (!call_.has_ended()) return "it had not returned when the recording ended";
  if (entry_.why_not != nullptr) return entry_.why_not;
  try {
    for (const ReplayedEntry::Argument &argument : entry_.arguments)
      if (auto reason = prepare_argument(argument)) return reason;
    if (entry_.imports_handle)
      if (auto reason = replace_imported()) return reason;
    set_host_memory();
    if (entry_.adds_host_node) lacks_ = kLacksHostNode;
    if (entry_.enqueues_host_function) set_host_function();
  } catch (const std::bad_alloc &) {
    return "there is not enough memory";
  }
  return std::nullopt;
}

std::optional<std::string> PlayedCall::prepare_argument(const ReplayedEntry::Argument &argument) {
  using ArgumentKind = ReplayedEntry::Argument::Kind;
  std::uint64_t &word = words_[argument.word];
  const trace::Parameter &parameter = *argument.parameter;
  switch (argument.kind) {
    case ArgumentKind::exported:
      if (word != 0) set(argument.index, allocate(0));
      return std::nullopt;
    case ArgumentKind::process:  // checkpoints name one
      if (static_cast<std::int32_t>(word) == replay_.recorded_process)
        word = static_cast<std::uint64_t>(getpid());
      return std::nullopt;
    case ArgumentKind::buffer:
      return word != 0 ? provide(*argument.buffer, word) : std::nullopt;
    case ArgumentKind::registered:
      if (mapping_.live_memory_at(word) != nullptr)  // which makes the call fail
        word = *mapping_.address(word);
      else if (word != 0)
        set(argument.index, kept_.allocate_like(word, size_of_created_memory(call_)));
      return std::nullopt;
    case ArgumentKind::address:
      return mapping_.replace_address(word, parameter.name, accesses_memory());
    case ArgumentKind::other:
      break;
  }
  return mapping_.replace(*parameter.type, &word, parameter.name, accesses_memory());
}

void PlayedCall::set_host_function() {
  if (call_.result != CUDA_SUCCESS) return;
  const auto recorded = replay_.recorded_functions.find(call_.begin);
  if (recorded == replay_.recorded_functions.end()) {
    lacks_ = "what its host function did was not recorded";
    return;
  }
  PlayedFunctions::Writes writes;
  for (const Item *const item : recorded->second) {
    if (item->bytes.empty()) continue;
    if (char *const to = mapping_.host_memory(item->offset, item->bytes.size()))
      writes.push_back({to, item->bytes});
    else
      lacks_ = "the memory that its host function wrote is unknown";
  }
  // A host function that writes nothing need not run in the recorded order.
  if (writes.empty()) return;
  words_[1] = cushim_entry(call_.slot)->base == std::string_view("cuLaunchHostFunc")
                  ? reinterpret_cast<std::uint64_t>(&PlayedFunctions::run)
                  : reinterpret_cast<std::uint64_t>(&PlayedFunctions::run_in_stream);
  const std::uint64_t end = recorded->second.front()->function_end;
  words_[2] = replay_.functions.add(std::move(writes), [wait = replay_.wait_for, end] { wait(end); });
}

void PlayedCall::set(std::size_t argument, const void *address) {
  words_[trace::row_of(call_.slot).parameters[argument].word] = reinterpret_cast<std::uint64_t>(address);
}

// Requires the recorded words of the count.
std::uint64_t PlayedCall::size_of_buffer(const Buffer &buffer) const {
  return size_of(buffer, call_.slot, call_.words, [&](void *to, std::uint64_t, std::size_t size) {
    const Item *const item = item_of(call_.before, buffer.count);
    if (item == nullptr || item->bytes.size() < size) return false;
    std::memcpy(to, item->bytes.data(), size);
    return true;
  });
}

std::optional<std::string> PlayedCall::provide(const Buffer &buffer, std::uint64_t address) {
  const Item *const after = item_of(call_.after, buffer.argument);
  switch (buffer.content) {
    case Content::text:
    case Content::image: {
      if (after == nullptr || after->is_hash) return "what it read was not recorded";
      char *const to = allocate(after->bytes.size() + 1);
      std::ranges::copy(after->bytes, to);
      set(buffer.argument, to);
      return std::nullopt;
    }
    case Content::kernel_parameters:
    case Content::launch_options: {
      if (after == nullptr) return "the kernel's parameters were not recorded";
      const bool is_array = buffer.content == Content::kernel_parameters;
      char *const made = is_array ? make_parameters(after->bytes) : make_launch_options(after->bytes);
      if (made == nullptr) return "the kernel's parameters are damaged";
      set(buffer.argument, made);
      return std::nullopt;
    }
    case Content::text_out:
      set(buffer.argument, allocate(size_of_buffer(buffer)));
      return std::nullopt;
    case Content::returned_text:
    case Content::returned_array:
      set(buffer.argument, allocate(sizeof(void *)));
      return std::nullopt;
    case Content::attribute_values:
      if (after == nullptr && call_.result != CUDA_SUCCESS) {
        set(buffer.argument,
            make_unread_values(count_of_attribute_values(cushim_entry(call_.slot)->base, words_)));
        return std::nullopt;
      }
      if (after == nullptr) return "the values that it wrote were not recorded";
      if (unpack(after->bytes).size() != count_of_attribute_values(cushim_entry(call_.slot)->base, words_))
        return "the values that it wrote are damaged";
      set(buffer.argument, make_attribute_values(after->bytes));
      return std::nullopt;
    case Content::option_values:
      return provide_options(buffer);
    case Content::objects:
      break;
  }
  const std::uint64_t size = size_of_buffer(buffer);
  return buffer.is_data ? provide_data(buffer, address, size) : provide_objects(buffer, size);
}

std::optional<std::string> PlayedCall::provide_data(const Buffer &buffer, std::uint64_t address,
                                                    std::uint64_t size) {
  const Item *const item = item_of(call_.before, buffer.argument);
  const bool has_bytes = item != nullptr && !item->is_hash;
  const Mapping::Memory *memory = mapping_.live_memory_at(address);
  const bool is_device_address =
      trace::row_of(call_.slot).parameters[buffer.argument].type->kind == Kind::address;
  // A call that failed because its memory had been freed.
  if (memory == nullptr && is_device_address && call_.result != CUDA_SUCCESS)
    memory = mapping_.memory_at(address);
  if (memory != nullptr) {
    char *const to = reinterpret_cast<char *>(*mapping_.address(address));
    set(buffer.argument, to);
    if (!buffer.is_read() || !memory->is_host_accessible || size == 0) return std::nullopt;
    if (!has_bytes) return "the memory that it read was not recorded";
    const std::uint64_t room = mapping_.room_at(address);
    write_host_memory(std::string_view(item->bytes).substr(0, room), to);
    return std::nullopt;
  }
  if (buffer.is_read() && size != 0 && !has_bytes) return "the memory that it read was not recorded";
  // An asynchronous copy uses the memory after the call.
  char *const to = kept_.allocate(size);
  if (buffer.is_read() && size != 0) std::ranges::copy(item->bytes.substr(0, size), to);
  set(buffer.argument, to);
  return std::nullopt;
}

std::optional<std::string> PlayedCall::provide_objects(const Buffer &buffer, std::uint64_t size) {
  char *const to = allocate(size);
  set(buffer.argument, to);
  if (!buffer.is_read() || size == 0) return std::nullopt;
  const auto items = buffer.direction == Buffer::Direction::both ? call_.before : call_.after;
  const Item *const item = item_of(items, buffer.argument);
  if (item == nullptr || item->is_hash || item->bytes.size() < size) return "what it read was not recorded";
  std::ranges::copy(item->bytes.substr(0, size), to);
  const std::string_view name = trace::row_of(call_.slot).parameters[buffer.argument].name;
  if (buffer.type == nullptr) {
    if (entry_.sets_parameters) mapping_.replace_words({to, size});
    return std::nullopt;
  }
  const bool is_operand =
      is_source_of_batch(call_.slot, buffer.argument) || is_destination_of_batch(call_.slot, buffer.argument);
  for (std::uint64_t at = 0; at + buffer.element <= size; at += buffer.element) {
    if (call_.result == CUDA_SUCCESS) clear_unused_operands(*buffer.type, to + at);
    if (auto reason = provide_pointees(buffer, to + at, at)) return reason;
    if (is_operand && accesses_memory() &&
        mapping_.live_memory_at(bits_at(to + at, buffer.element)) == nullptr) {
      if (auto reason = provide_operand(buffer, at, to + at)) return reason;
      continue;
    }
    if (is_opaque(*buffer.type)) {
      if (!replace_opaque({to + at, buffer.element}))
        return "no recorded call returned its resource of a device";
      continue;
    }
    if (auto reason = mapping_.replace(*buffer.type, to + at, name, accesses_memory())) return reason;
    if (auto reason = replace_unions(*buffer.type, item->bytes.data() + at, to + at, mapping_)) return reason;
    replace_node(*buffer.type, to + at);
  }
  set_pointers();
  return std::nullopt;
}

CUresult PlayedCall::make(cushim::Driver &driver) const { return invoke(driver, call_.slot, words_.data()); }

bool PlayedCall::lacks_context(CUresult result) const {
  if (result == CUDA_ERROR_INVALID_CONTEXT) return call_.result != CUDA_ERROR_INVALID_CONTEXT;
  const Item *const item = item_of(call_.after, 0);
  if (!entry_.gets_context || item == nullptr) return false;
  std::uint64_t replayed = 0;
  std::memcpy(&replayed, reinterpret_cast<const void *>(words_[0]), sizeof replayed);
  return replayed == 0 && trace::bits_of(item->bytes) != 0;
}

void PlayedCall::add_memory() {
  const auto memory = memory_created_by(call_);
  if (!memory) return;
  std::uint64_t replayed = argument_of(call_.slot, words_, memory->argument);
  if (memory->is_written_address) {
    if (replayed == 0) return;
    std::memcpy(&replayed, reinterpret_cast<const void *>(replayed), sizeof replayed);
  }
  // Its first bytes are recorded if they are not 0.
  if (mock::traits_of(call_.slot).object == mock::Object::pinned_memory &&
      memory->size <= HostVisibleMemory::kMostSize)
    std::memset(reinterpret_cast<void *>(replayed), 0, memory->size);
  mapping_.add_memory(memory->address, {.size = memory->size,
                                        .replayed = replayed,
                                        .is_host_accessible = memory->is_host_accessible,
                                        .is_reservation = memory->is_reservation});
}

void PlayedCall::add_memory_of_node() {
  const std::string_view base = cushim_entry(call_.slot)->base;
  const bool is_own = base == "cuGraphAddMemAllocNode";
  if (!is_own && base != "cuGraphAddNode") return;
  const std::size_t argument = trace::row_of(call_.slot).parameters.size() - 1;
  const Item *const item = item_of(call_.after, argument);
  const char *const replayed = reinterpret_cast<const char *>(argument_of(call_.slot, words_, argument));
  CUDA_MEM_ALLOC_NODE_PARAMS_v1 before{}, now{};
  std::size_t at = 0;
#if CUDA_VERSION >= 12020
  if (!is_own) {
    at = offsetof(CUgraphNodeParams, alloc);
    CUgraphNodeType type{};
    if (item == nullptr || item->bytes.size() < sizeof type) return;
    std::memcpy(&type, item->bytes.data(), sizeof type);
    if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return;
  }
#endif
  if (item == nullptr || item->bytes.size() < at + sizeof before) return;
  std::memcpy(&before, item->bytes.data() + at, sizeof before);
  std::memcpy(&now, replayed + at, sizeof now);
  if (before.dptr != 0) mapping_.add_memory(before.dptr, {.size = before.bytesize, .replayed = now.dptr});
}

void PlayedCall::end_memory() {
  const EntryTraits &traits = mock::traits_of(call_.slot);
  // Earlier work in the stream, or a graph, may still use it.
  if (traits.object == Object::stream_ordered_memory) return;
  const std::size_t subject = mock::position(traits.subject, trace::row_of(call_.slot).parameters.size());
  mapping_.end_memory(argument_of(call_.slot, call_.words, subject), traits.object == Object::address_range);
}

void PlayedCall::follow_parts() {
  const trace::Row &row = trace::row_of(call_.slot);
  const EntryTraits &traits = mock::traits_of(call_.slot);
  if (traits.ends_lifetime()) {
    if (traits.lifetime == EntryTraits::Lifetime::destroys && row.parameters[0].type->kind == Kind::handle)
      mapping_.end_handle(row.parameters[0].type->name, argument_of(call_.slot, call_.words, 0));
    if (traits.object == Object::context || traits.object == Object::primary_context)
      mapping_.end_all_parts();
    else if (traits.object == Object::graph)
      mapping_.end_graph();
    else if (traits.object == Object::texture_object || traits.object == Object::surface_object)
      mapping_.end_texture(argument_of(call_.slot, call_.words, 0));
    else if (mock::is_memory(traits.object) || traits.object == Object::address_range)
      end_memory();
    else if (traits.object == Object::module || traits.object == Object::library ||
             traits.object == Object::mipmapped_array)
      mapping_.end_parts(row.parameters[0].type->name, argument_of(call_.slot, call_.words, 0));
    return;
  }
  if (traits.object == Object::texture_object || traits.object == Object::surface_object) {
    if (const Item *const made = item_of(call_.after, 0); made != nullptr && traits.begins_lifetime())
      mapping_.add_texture(trace::bits_of(made->bytes));
    return;
  }
  // cuModuleGetFunction(found, module, name), cuMipmappedArrayGetLevel(found, array, level)
  if (row.parameters.size() < 2 || traits.begins_lifetime()) return;
  const trace::Type *const found = row.parameters[0].type->pointee;
  const trace::Type &whole = *row.parameters[1].type;
  const Item *const item = item_of(call_.after, 0);
  if (found == nullptr || found->kind != Kind::handle || whole.kind != Kind::handle || item == nullptr)
    return;
  const std::string_view kind = whole.name;
  if (kind == "module" || kind == "library" || kind == "kernel" || kind == "mipmapped array")
    mapping_.add_part(found->name, trace::bits_of(item->bytes), kind,
                      argument_of(call_.slot, call_.words, 1));
}

}  // namespace cushim::replay

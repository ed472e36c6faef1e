// SPDX-License-Identifier: Apache-2.0
// Provides the memory behind pointers in structures and in arrays, for a call that is replayed.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "attribute_values.hpp"
#include "batches.hpp"
#include "bits.hpp"
#include "compare.hpp"
#include "created_memory.hpp"
#include "played_call.hpp"
#include "recording_format.hpp"
#include "unions.hpp"
#include "write_host_memory.hpp"

namespace cushim::replay {

using Content = Pointee::Content;

char *PlayedCall::make_parameters(std::string_view rest) {
  std::vector<const char *> pointers;
  while (!rest.empty()) {
    std::uint32_t size = 0;
    if (rest.size() < sizeof size) return nullptr;
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (rest.size() < size) return nullptr;
    char *const to = allocate(size);
    std::ranges::copy(rest.substr(0, size), to);
    mapping_.replace_parameter({to, size});
    pointers.push_back(to);
    rest.remove_prefix(size);
  }
  char *const array = allocate(pointers.size() * sizeof(char *));
  std::ranges::copy(pointers, reinterpret_cast<const char **>(array));
  return array;
}

char *PlayedCall::make_launch_options(std::string_view recorded) {
  char *const bytes = allocate(recorded.size());
  std::ranges::copy(recorded, bytes);
  mapping_.replace_words({bytes, recorded.size()});
  char *const size = allocate(sizeof(std::size_t));
  const std::size_t number = recorded.size();
  std::memcpy(size, &number, sizeof number);
  void *const options[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, size,
                           CU_LAUNCH_PARAM_END};
  char *const array = allocate(sizeof options);
  std::memcpy(array, static_cast<const void *>(options), sizeof options);
  return array;
}

char *PlayedCall::make_attribute_values(std::string_view item) {
  std::vector<const char *> pointers;
  for (const std::string_view value : unpack(item)) pointers.push_back(allocate(value.size()));
  char *const array = allocate(pointers.size() * sizeof(char *));
  std::ranges::copy(pointers, reinterpret_cast<const char **>(array));
  return array;
}

char *PlayedCall::make_unread_values(std::uint64_t count) {
  constexpr std::uint64_t kMost = 256, kSize = 4096;
  char *const array = allocate(std::min(count, kMost) * sizeof(char *)), *const value = allocate(kSize);
  for (std::uint64_t i = 0; i < std::min(count, kMost); ++i)
    std::memcpy(array + i * sizeof value, static_cast<const void *>(&value), sizeof value);
  return array;
}

std::optional<Unequal> PlayedCall::compare_attribute_values(std::string_view item) {
  const std::string_view base = cushim_entry(call_.slot)->base;
  const auto recorded = unpack(item);
  std::optional<Unequal> first;
  std::size_t i = 0;
  for (const AttributeValue &value : attribute_values(base, words_)) {
    if (i == recorded.size()) break;
    const std::string_view before = recorded[i++];
    const std::string_view now(reinterpret_cast<const char *>(value.address), before.size());
    std::optional<Unequal> unequal;
    if (base == "cuPointerGetAttributes")
      unequal = compare_pointer_attribute(value.attribute, before, now, mapping_);
    else if (before != now)
      unequal = Unequal{"other bytes", "these"};
    if (!unequal || first) continue;
    const std::string name = "value " + std::to_string(i - 1) + ": ";
    first = Unequal{name + unequal->recorded, name + unequal->replayed};
  }
  return first;
}

std::optional<std::string> PlayedCall::provide_pointees(const Buffer &buffer, char *structure,
                                                        std::uint64_t offset) {
  if (!buffer.has_pointees) return std::nullopt;
  for (const Pointee &pointee : pointees_of(*buffer.type, structure)) {
    if (pointee.content == Content::handles_made) continue;
    const bool is_before = pointee.content == Content::rows_read;
    const Item *const item =
        pointee_item_of(is_before ? call_.before : call_.after, buffer.argument, offset + pointee.offset);
    // A call that failed may name other memory than that which it would copy.
    const bool lacks_rows = pointee.is_data() && item == nullptr && call_.result != CUDA_SUCCESS;
    if (lacks_rows && (pointee.may_be_of_device || mapping_.live_memory_at(pointee.address) == nullptr))
      continue;
    char *to = nullptr;
    if (auto reason = provide_pointee(pointee, item, to)) return reason;
    std::memset(structure + pointee.offset, 0, sizeof(const char *));
    pointers_.push_back({structure + pointee.offset, to});
  }
  return std::nullopt;
}

std::optional<std::string> PlayedCall::provide_pointee(const Pointee &pointee, const Item *item, char *&to) {
  const bool has_bytes = item != nullptr && !item->is_hash;
  if (pointee.is_data()) {
    HostRows rows = pointee.rows;
    const std::uint64_t extent = rows.extent();
    const Mapping::Memory *const memory = mapping_.live_memory_at(pointee.address);
    if (memory != nullptr && mapping_.room_at(pointee.address) >= extent) {
      to = reinterpret_cast<char *>(*mapping_.address(pointee.address));
      if (!memory->is_host_accessible) return std::nullopt;
    } else {
      // An asynchronous copy uses the memory after the call.
      to = kept_.allocate(extent);
    }
    rows.address = reinterpret_cast<std::uint64_t>(to);
    if (pointee.content == Content::rows_written) {
      if (item != nullptr) rows_.push_back({rows, item});
      return std::nullopt;
    }
    if (extent == 0) return std::nullopt;
    if (!has_bytes || item->bytes.size() != rows.size()) return "the memory that it read was not recorded";
    rows.unpack(item->bytes);
    return std::nullopt;
  }
  if (!has_bytes) return "what its structure leads to was not recorded";
  if (pointee.content == Content::kernel_parameters) {
    to = make_parameters(item->bytes);
  } else if (pointee.content == Content::launch_options) {
    to = make_launch_options(item->bytes);
  } else {
    to = allocate(item->bytes.size());
    std::ranges::copy(item->bytes, to);
    for (std::uint64_t at = 0; at + pointee.type->size <= item->bytes.size(); at += pointee.type->size) {
      if (auto reason = mapping_.replace(*pointee.type, to + at, "", accesses_memory())) return reason;
      if (auto reason = replace_unions(*pointee.type, item->bytes.data() + at, to + at, mapping_))
        return reason;
    }
  }
  if (to == nullptr) return "what its structure leads to is damaged";
  return std::nullopt;
}

#if CUDA_VERSION >= 12020
namespace {

// A handle in the parameters of a node of a graph.
struct NodeHandle {
  CUgraphNodeType node;
  std::string_view kind;
  std::size_t offset;
};
constexpr NodeHandle kNodeHandles[] = {
    {CU_GRAPH_NODE_TYPE_KERNEL, "function", offsetof(CUgraphNodeParams, kernel.func)},
    {CU_GRAPH_NODE_TYPE_KERNEL, "kernel", offsetof(CUgraphNodeParams, kernel.kern)},
    {CU_GRAPH_NODE_TYPE_KERNEL, "context", offsetof(CUgraphNodeParams, kernel.ctx)},
    {CU_GRAPH_NODE_TYPE_MEMCPY, "array", offsetof(CUgraphNodeParams, memcpy.copyParams.srcArray)},
    {CU_GRAPH_NODE_TYPE_MEMCPY, "array", offsetof(CUgraphNodeParams, memcpy.copyParams.dstArray)},
    {CU_GRAPH_NODE_TYPE_MEMCPY, "context", offsetof(CUgraphNodeParams, memcpy.copyCtx)},
    {CU_GRAPH_NODE_TYPE_MEMSET, "context", offsetof(CUgraphNodeParams, memset.ctx)},
    {CU_GRAPH_NODE_TYPE_GRAPH, "graph", offsetof(CUgraphNodeParams, graph.graph)},
    {CU_GRAPH_NODE_TYPE_WAIT_EVENT, "event", offsetof(CUgraphNodeParams, eventWait.event)},
    {CU_GRAPH_NODE_TYPE_EVENT_RECORD, "event", offsetof(CUgraphNodeParams, eventRecord.event)},
    {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "context", offsetof(CUgraphNodeParams, memOp.ctx)},
#if CUDA_VERSION >= 12030
    {CU_GRAPH_NODE_TYPE_CONDITIONAL, "context", offsetof(CUgraphNodeParams, conditional.ctx)},
    {CU_GRAPH_NODE_TYPE_CONDITIONAL, kConditionalHandle, offsetof(CUgraphNodeParams, conditional.handle)},
#endif
};

}  // namespace
#endif

std::optional<std::string> PlayedCall::provide_operand(const Buffer &buffer, std::uint64_t offset,
                                                       char *address) {
  const Item *const sizes = item_of(call_.after, kSizesOfBatch);
  if (sizes == nullptr || sizes->bytes.size() < offset + sizeof(std::uint64_t))
    return "what it read was not recorded";
  const std::uint64_t size = bits_at(sizes->bytes.data() + offset, sizeof size);
  char *const to = kept_.allocate(size);
  if (is_source_of_batch(call_.slot, buffer.argument)) {
    const Item *const item = pointee_item_of(call_.before, buffer.argument, offset);
    if (item == nullptr || item->is_hash || item->bytes.size() != size)
      return "the memory that it read was not recorded";
    std::ranges::copy(item->bytes, to);
  }
  std::memcpy(address, static_cast<const void *>(&to), sizeof to);
  return std::nullopt;
}

void PlayedCall::replace_node(const trace::Type &type, char *object) {
#if CUDA_VERSION >= 12020
  if (&type != &trace::type_of<CUgraphNodeParams>()) return;
  CUgraphNodeParams node;
  std::memcpy(&node, object, sizeof node);
  for (const NodeHandle &one : kNodeHandles) {
    if (one.node != node.type) continue;
    std::uint64_t handle = 0;
    std::memcpy(&handle, object + one.offset, sizeof handle);
    if (const auto replayed = mapping_.handle(one.kind, handle))
      std::memcpy(object + one.offset, &*replayed, sizeof *replayed);
  }
  if (node.type != CU_GRAPH_NODE_TYPE_HOST) return;
  node.host.fn = [](void *) {};
  node.host.userData = nullptr;
  lacks_ = kLacksHostNode;
  std::memcpy(object, &node, sizeof node);
#else
  static_cast<void>(type);
  static_cast<void>(object);
#endif
}

void PlayedCall::set_pointers() {
  for (const Pointer &pointer : pointers_)
    std::memcpy(pointer.at, static_cast<const void *>(&pointer.value), sizeof pointer.value);
}

std::optional<Difference> PlayedCall::compare_handles_made() {
  for (const Buffer &buffer : buffers_of(call_.slot)) {
    if (!buffer.has_pointees || !buffer.is_written() || buffer.has_count) continue;
    const auto *const structure =
        reinterpret_cast<const char *>(argument_of(call_.slot, words_, buffer.argument));
    if (structure == nullptr) continue;
    for (const Pointee &pointee : pointees_of(*buffer.type, structure)) {
      const Item *const item = pointee_item_of(call_.after, buffer.argument, pointee.offset);
      if (pointee.content != Content::handles_made || item == nullptr) continue;
      const std::uint64_t size = std::min<std::uint64_t>(item->bytes.size(), pointee.size);
      for (std::uint64_t at = 0; at + pointee.type->size <= size; at += pointee.type->size)
        if (auto unequal = compare(*pointee.type, item->bytes.data() + at,
                                   reinterpret_cast<const char *>(pointee.address) + at, "", true, mapping_))
          return Difference{.what = "a handle that it made",
                            .recorded = std::move(unequal->recorded),
                            .replayed = std::move(unequal->replayed)};
    }
  }
  return std::nullopt;
}

std::optional<Difference> PlayedCall::compare_rows() const {
  for (const auto &[rows, item] : rows_)
    if (auto unequal = compare_data(*item, rows.pack()))
      return Difference{.what = "the host memory that it copied to",
                        .recorded = std::move(unequal->recorded),
                        .replayed = std::move(unequal->replayed)};
  return std::nullopt;
}

// Returns the memory that an item is about; null if it is about none.
char *PlayedCall::host_memory_of(const Item &item) const {
  return item.argument == kHostMemory ? mapping_.host_memory(item.offset, item.bytes.size()) : nullptr;
}

void PlayedCall::set_host_memory() const {
  for (const Item &item : call_.before)
    if (char *const to = host_memory_of(item)) write_host_memory(item.bytes, to);
}

std::optional<Difference> PlayedCall::compare_host_memory() const {
  for (const Item &item : call_.after)
    if (const char *const replayed = host_memory_of(item))
      if (auto unequal = compare_data(item, {replayed, item.bytes.size()}))
        return Difference{.what = "memory of the host that a device wrote",
                          .recorded = std::move(unequal->recorded),
                          .replayed = std::move(unequal->replayed)};
  return std::nullopt;
}

}  // namespace cushim::replay

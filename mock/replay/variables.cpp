// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "test_writer.hpp"

namespace cushim::replay {

void Variables::add_memory(std::uint64_t recorded, std::uint64_t size, bool is_host_accessible,
                           std::string expression) {
  auto next = memory_.lower_bound(recorded);
  if (next != memory_.begin() && std::prev(next)->first + std::prev(next)->second.size > recorded) --next;
  while (next != memory_.end() && next->first < recorded + size) next = memory_.erase(next);
  memory_.insert_or_assign(recorded, Memory{recorded, size, is_host_accessible, std::move(expression)});
}

const Variables::Memory *Variables::find(std::uint64_t recorded) const {
  const auto next = memory_.upper_bound(recorded);
  if (next == memory_.begin()) return nullptr;
  const Memory &memory = std::prev(next)->second;
  return recorded - memory.base < memory.size ? &memory : nullptr;
}

std::optional<std::string> Variables::handle(std::string_view kind, std::uint64_t recorded) const {
  const auto found = handles_.find({std::string(kind), recorded});
  if (found != handles_.end()) return found->second;
  if (kind == "function")
    if (const auto kernel = handle("kernel", recorded))
      return "reinterpret_cast<CUfunction>(" + *kernel + ")";
  return std::nullopt;
}

std::optional<std::string> Variables::address(std::uint64_t recorded) const {
  const Memory *const memory = find(recorded);
  if (memory == nullptr) return std::nullopt;
  if (recorded == memory->base) return memory->expression;
  return memory->expression + " + " + std::to_string(recorded - memory->base);
}

bool Variables::is_host_accessible(std::uint64_t recorded) const {
  const Memory *const memory = find(recorded);
  return memory != nullptr && memory->is_host_accessible;
}

}  // namespace cushim::replay

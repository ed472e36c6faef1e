// SPDX-License-Identifier: Apache-2.0
// Replaces file descriptors that a replayed process exports and imports again.
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "bits.hpp"
#include "created_memory.hpp"
#include "played_call.hpp"

namespace cushim::replay {

void PlayedCall::keep_exported() const {
  if (static_cast<std::uint32_t>(words_[2]) != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return;
  const Item *const item = item_of(call_.after, 0);
  const auto descriptor = static_cast<int>(bits_at(reinterpret_cast<const char *>(words_[0]), sizeof(int)));
  if (item != nullptr && item->bytes.size() >= sizeof(int))
    replay_.descriptors.add(static_cast<int>(bits_at(item->bytes.data(), sizeof(int))), descriptor);
  else
    close(descriptor);
}

int PlayedCall::recorded_descriptor() const {
  if (cushim_entry(call_.slot)->base != std::string_view("cuImportExternalMemory"))
    return static_cast<int>(call_.words[1]);
  const Item *const item = item_of(call_.after, 1);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  if (item == nullptr || item->bytes.size() < sizeof description) return -1;
  std::memcpy(&description, item->bytes.data(), sizeof description);
  return description.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ? description.handle.fd : -1;
}

std::optional<std::string> PlayedCall::replace_imported() {
  const auto descriptor = replay_.descriptors.find(recorded_descriptor());
  const bool is_external = cushim_entry(call_.slot)->base == std::string_view("cuImportExternalMemory");
  if (!descriptor && words_[1] == 0) return std::nullopt;
  if (!descriptor) return is_external ? kLacksOtherInterface : "it needs an object of another process";
  if (is_external)
    std::memcpy(reinterpret_cast<char *>(words_[1]) + offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle.fd),
                &*descriptor, sizeof *descriptor);
  else
    words_[1] = static_cast<std::uint64_t>(*descriptor);
  return std::nullopt;
}

}  // namespace cushim::replay

// SPDX-License-Identifier: Apache-2.0
// The headers of fat binaries, measured on output of nvcc 11.8 to 13.0.
#pragma once

#include <cstdint>

namespace cushim::fat_binary {

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void *data;   // version 1: the container; version 2: the container of the linked cubin
  const void *extra;  // version 2: the containers of the linker's inputs, terminated by null
};
inline constexpr std::uint32_t kWrapperMagic = 0x466243B1;

struct Container {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_size;
  std::uint64_t size;  // without the header
};
inline constexpr std::uint32_t kContainerMagic = 0xBA55ED50;

}  // namespace cushim::fat_binary

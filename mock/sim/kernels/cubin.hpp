// SPDX-License-Identifier: Apache-2.0
// Cubins: GPU machine code in ELF files. Reads only what the ELF format itself defines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cushim::sim {

inline constexpr std::uint16_t kCudaMachine = 190;

// Returns whether the data begins as an ELF file of the CUDA machine type. Reads at most 20 bytes, and
// at most `size`.
bool is_cubin(const void *data, std::optional<std::size_t> size = {});

// Returns the bytes of a cubin. Its headers determine where it ends. Returns nothing if the data is not a
// cubin or ends before it, and reads at most `size` bytes. Without `size`, trusts the headers, as the driver
// must.
std::optional<std::string_view> cubin_at(const void *data, std::optional<std::size_t> size = {});

// Returns the names of the functions with machine code, kernels and others: the sections .text.NAME.
std::vector<std::string> functions_of(std::string_view cubin);

// Returns a name for the content: a hash (FNV-1a, 128 bits) and the size. Not safe against forgery.
std::string content_key(std::string_view bytes);

}  // namespace cushim::sim

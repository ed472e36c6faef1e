// SPDX-License-Identifier: Apache-2.0
// The inputs of cuModuleLoadData, cuLibraryLoadData and cuLinkAddData: PTX text, a fat binary or a cubin.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cushim::sim {

struct Image {
  std::optional<std::string> ptx;    // empty if this device can run none
  std::optional<std::string> cubin;  // without `ptx`: the machine code that this device runs
  CUresult error = CUDA_SUCCESS;     // the reason for a missing `ptx`
  std::string log;                   // the reason as text, for the call's error log and for the user
};

// Returns the PTX of an image for a device of this compute capability (90 is 9.0); of a fat binary, the entry
// with the highest target that the device runs, and machine code only if there is no PTX. Reads at most
// `size` bytes; without it, text ends with a NUL, and fat binaries and cubins have it in their headers.
// Machine code alone: NO_BINARY_FOR_GPU.
Image read_image(const void *data, int capability, std::optional<std::size_t> size = {});

// Returns whether a device of this compute capability runs machine code for a target: that of its major
// version, of the same or a lower minor version.
bool runs_machine_code(int target, int capability);

// Returns whether a fat binary has code for link-time optimization (LTO IR) for a device of this compute
// capability.
bool has_lto_ir(std::string_view fat_binary, int capability);

}  // namespace cushim::sim

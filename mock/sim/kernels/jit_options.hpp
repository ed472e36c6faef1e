// SPDX-License-Identifier: Apache-2.0
// The options of calls that compile PTX; only those for logs and the limit of registers are used.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cushim::sim {

// The option arrays of cuModuleLoadDataEx, cuLibraryLoadData and cuLink*.
struct JitOptions {
  unsigned count = 0;
  CUjit_option *names = nullptr;
  void **values = nullptr;

  // Returns whether the option arrays are plausible. A count above 64 is taken for an uninitialized value.
  bool are_valid() const { return count == 0 || (count <= 64 && names != nullptr && values != nullptr); }

  // Returns CU_JIT_MAX_REGISTERS; 0 if it is not set.
  unsigned max_registers() const {
    void **const value = find(CU_JIT_MAX_REGISTERS);
    return value != nullptr ? static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*value)) : 0;
  }

  // Writes the error log, truncated to fit, and an empty information log to the program's buffers. Replaces
  // each buffer's size by the number of bytes written, without the final NUL. Measured, driver 580.
  void write_error_log(std::string_view log) const {
    write(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, log);
    write(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
  }

 private:
  void **find(CUjit_option name) const {
    if (names == nullptr || values == nullptr) return nullptr;
    CUjit_option *const place = std::find(names, names + count, name);
    return place != names + count ? values + (place - names) : nullptr;
  }

  void write(CUjit_option buffer_name, CUjit_option size_name, std::string_view log) const {
    void **const buffer = find(buffer_name), **const size = find(size_name);
    if (size == nullptr) return;
    const std::size_t room = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*size));
    std::size_t written = 0;
    if (buffer != nullptr && *buffer != nullptr && room != 0) {
      written = std::min(log.size(), room - 1);
      auto *const to = static_cast<char *>(*buffer);
      std::memcpy(to, log.data(), written);
      to[written] = '\0';
    }
    *size = reinterpret_cast<void *>(static_cast<std::uintptr_t>(written));
  }
};

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// The options of calls that compile PTX; those without an effect on the result are ignored.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace cushim::sim {

// The user of the options: a call that loads a module or a library, a link, or an input of a link.
enum class JitUse : std::uint8_t { load, link, link_input };

// The option arrays of cuModuleLoadDataEx, cuLibraryLoadData and cuLink*.
struct JitOptions {
  unsigned count = 0;
  CUjit_option *names = nullptr;
  void **values = nullptr;

  // Returns whether the option arrays are plausible. A count above 64 is taken for an uninitialized value.
  bool are_valid() const { return count == 0 || (count <= 64 && names != nullptr && values != nullptr); }

  // Returns whether a call takes the options: the driver knows each of them and accepts its value, and a log
  // has a buffer and a size. Measured on an H200, driver 580.
  bool are_accepted(JitUse use) const {
    if (!are_valid()) return false;
    for (unsigned i = 0; i < count; ++i)
      if (!is_accepted(use, names[i], reinterpret_cast<std::uintptr_t>(values[i]))) return false;
    return has_whole_log(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) &&
           has_whole_log(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
  }

  // Returns whether the compiler adds debug information.
  bool has_debug_info() const { return number_of(CU_JIT_GENERATE_DEBUG_INFO).value_or(0) != 0; }

  // Returns CU_JIT_OPTIMIZATION_LEVEL; 0 if it is not set.
  unsigned optimization_level() const { return number_of(CU_JIT_OPTIMIZATION_LEVEL).value_or(0); }

  // Returns whether CU_JIT_NEW_SM3X_OPT is set, with any value.
  bool has_sm3x_option() const { return find(CU_JIT_NEW_SM3X_OPT) != nullptr; }

  // Returns the compute capability of CU_JIT_TARGET: 90 for CU_TARGET_COMPUTE_90A, too. Nothing if it is not
  // set.
  std::optional<int> target() const {
    const auto target = number_of(CU_JIT_TARGET);
    return target ? std::optional(capability_of(*target)) : std::nullopt;
  }

  // Returns CU_JIT_MAX_REGISTERS; 0 if it is not set or larger than 255. A limit below 24 is taken for 24.
  // Measured, driver 580.
  unsigned max_registers() const {
    void **const value = find(CU_JIT_MAX_REGISTERS);
    const std::size_t limit = value != nullptr ? reinterpret_cast<std::uintptr_t>(*value) : 0;
    return limit == 0 || limit > 255 ? 0 : std::max(static_cast<unsigned>(limit), 24u);
  }

  // The sizes of the buffers for logs.
  struct LogSizes {
    std::size_t error = 0, info = 0;
  };
  LogSizes log_sizes() const {
    return {size_of(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES), size_of(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)};
  }

  // Writes the logs, truncated to fit, to the program's buffers. Replaces each buffer's size by the number of
  // bytes written, without the final NUL. Measured, driver 580. `sizes` are those before the first such call.
  void write_logs(std::string_view error, std::string_view info, const LogSizes &sizes) const {
    write(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, error, sizes.error);
    write(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, info, sizes.info);
  }
  void write_error_log(std::string_view log) const { write_logs(log, "", log_sizes()); }

 private:
  // Removes CU_COMPUTE_ACCELERATED_TARGET_BASE and CU_COMPUTE_FAMILY_TARGET_BASE.
  static int capability_of(unsigned target) { return static_cast<int>(target & 0xffff); }

  static bool is_accepted(JitUse use, int name, std::uintptr_t value) {
    // Constants that older headers lack or call otherwise.
    constexpr int kLinkTimeOptimization = 20, kReferencedKernels = 25, kReferencedVariables = 27,
                  kUnusedVariables = 29;
    constexpr int kLast = 34;  // CU_JIT_SPLIT_COMPILE, CUDA 13.0
    if (name < 0 || name > kLast) return false;
    const bool is_list = (name >= CU_JIT_GLOBAL_SYMBOL_NAMES && name <= CU_JIT_GLOBAL_SYMBOL_COUNT) ||
                         name == kReferencedKernels || name == kReferencedVariables;
    if (is_list && value == 0) return false;
    if (name == CU_JIT_MAX_REGISTERS && static_cast<unsigned>(value) == 0) return false;
    if (name == CU_JIT_CACHE_MODE && static_cast<unsigned>(value) > CU_JIT_CACHE_OPTION_CA) return false;
    if (name == CU_JIT_TARGET && !is_target(static_cast<unsigned>(value))) return false;
    if (name == CU_JIT_FALLBACK_STRATEGY) return use == JitUse::load;
    const bool is_of_a_whole_link = name == CU_JIT_WALL_TIME || name == CU_JIT_TARGET_FROM_CUCONTEXT ||
                                    name == CU_JIT_TARGET ||
                                    (name >= kLinkTimeOptimization && name <= kUnusedVariables);
    return use != JitUse::link_input || !is_of_a_whole_link;
  }

  // Returns whether the driver knows a value of CU_JIT_TARGET. The first releases numbered the targets from 0
  // on. Measured on an H200, driver 580: of those below 10 only 0 and 7.
  static bool is_target(unsigned value) {
    constexpr int kTargets[] = {30, 32, 35, 37, 50, 52, 53,  60,  61,  62,  70,  72,
                                75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121};
    return value < 10 || std::ranges::find(kTargets, capability_of(value)) != std::end(kTargets);
  }

  bool has_whole_log(CUjit_option buffer, CUjit_option size) const {
    return (find(buffer) == nullptr) == (find(size) == nullptr);
  }

  std::size_t size_of(CUjit_option name) const {
    void **const size = find(name);
    return size != nullptr ? static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*size)) : 0;
  }

  std::optional<unsigned> number_of(CUjit_option name) const {
    void **const value = find(name);
    if (value == nullptr) return {};
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*value));
  }

  // Returns the value of the last option with this name. Measured, driver 580.
  void **find(CUjit_option name) const {
    if (names == nullptr || values == nullptr) return nullptr;
    for (unsigned i = count; i-- != 0;)
      if (names[i] == name) return values + i;
    return nullptr;
  }

  void write(CUjit_option buffer_name, CUjit_option size_name, std::string_view log, std::size_t room) const {
    void **const buffer = find(buffer_name), **const size = find(size_name);
    if (size == nullptr) return;
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

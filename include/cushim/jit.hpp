// SPDX-License-Identifier: Apache-2.0
// Code for the driver to load, and the options and logs of its compiler.
#pragma once

#include <cushim/detail/reference.hpp>

#include <chrono>
#include <cstring>
#include <span>
#include <vector>

namespace cushim {
inline namespace v1 {

// PTX text, a cubin or a fat binary. Owns nothing; the bytes must outlive the call that loads them.
class CodeImage {
 public:
  // PTX text that ends with NUL.
  CodeImage(const char *ptx) noexcept : address_(ptx) {}
  CodeImage(const std::string &ptx) noexcept : address_(ptx.c_str()) {}
  CodeImage(std::string_view) = delete;  // may lack the NUL that the driver needs
  // A cubin or a fat binary, which contain their size.
  CodeImage(std::span<const std::byte> binary) noexcept : address_(binary.data()) {}
  // Any of these: for arrays that a build embeds.
  static CodeImage from_address(const void *address) noexcept { return CodeImage(address, 0); }

  const void *address() const noexcept { return address_; }

 private:
  CodeImage(const void *address, int) noexcept : address_(address) {}

  const void *address_;
};

// The logs of the driver's compiler or linker.
struct JitLog {
  std::string info;
  std::string errors;
  std::chrono::duration<float, std::milli> time{};  // spent in the compiler
};

// Options of the driver's compiler: JitOptions().max_registers(32).line_info(). Apply to PTX only. Unset
// options have the driver's defaults.
class JitOptions {
 public:
  // Limits the registers of a thread.
  JitOptions &max_registers(unsigned count) { return add(CU_JIT_MAX_REGISTERS, count); }
  // Limits the registers so that blocks of this size can be launched. Not together with target().
  JitOptions &threads_per_block(unsigned least) { return add(CU_JIT_THREADS_PER_BLOCK, least); }
  // 0 to 4; the driver's default is 4.
  JitOptions &optimization_level(unsigned level) { return add(CU_JIT_OPTIMIZATION_LEVEL, level); }
  // The compute capability to compile for: target(9, 0). The driver's default is that of the context.
  JitOptions &target(unsigned major, unsigned minor) { return add(CU_JIT_TARGET, major * 10 + minor); }
  JitOptions &debug_info(bool on = true) { return add(CU_JIT_GENERATE_DEBUG_INFO, on ? 1 : 0); }
  JitOptions &line_info(bool on = true) { return add(CU_JIT_GENERATE_LINE_INFO, on ? 1 : 0); }
  JitOptions &verbose_log(bool on = true) { return add(CU_JIT_LOG_VERBOSE, on ? 1 : 0); }
  JitOptions &cache_mode(CUjit_cacheMode mode) { return add(CU_JIT_CACHE_MODE, mode); }
  // An option without a function of its own, with a value as the driver takes it. Not for logs.
  JitOptions &raw(CUjit_option option, void *value) {
    names_.push_back(option);
    values_.push_back(value);
    return *this;
  }

  // Sets the longest log in bytes. Default: 8192. The driver truncates longer logs.
  JitOptions &log_size(unsigned bytes) {
    log_size_ = bytes;
    return *this;
  }

  // The arguments of the driver's call.
  const std::vector<CUjit_option> &names() const noexcept { return names_; }
  const std::vector<void *> &values() const noexcept { return values_; }
  unsigned log_size() const noexcept { return log_size_; }

 private:
  JitOptions &add(CUjit_option option, unsigned value) {
    return raw(option, reinterpret_cast<void *>(std::uintptr_t{value}));
  }

  std::vector<CUjit_option> names_;
  std::vector<void *> values_;
  unsigned log_size_ = 8192;
};

// Code that does not compile, load or link. what() ends with the compiler's log.
class JitError : public Error {
 public:
  JitError(const Error &error, const std::string &log) : Error(error), log_(log) {}

  // Returns the compiler's error log; may be empty.
  const char *log() const noexcept { return log_.what(); }

 private:
  std::runtime_error log_;  // because its copies do not throw
};

namespace detail {

// The option arrays of one call or one linker, with room for the logs. The driver writes to it, so its
// address must not change.
class JitCall {
 public:
  explicit JitCall(const JitOptions &options)
      : names_(options.names()),
        values_(options.values()),
        info_(options.log_size(), '\0'),
        errors_(options.log_size(), '\0') {
    time_ = names_.size();
    add(CU_JIT_WALL_TIME, nullptr);
    add(CU_JIT_INFO_LOG_BUFFER, info_.data());
    add(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size_of(info_));
    add(CU_JIT_ERROR_LOG_BUFFER, errors_.data());
    add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size_of(errors_));
  }
  JitCall(const JitCall &) = delete;
  JitCall &operator=(const JitCall &) = delete;

  unsigned count() const noexcept { return static_cast<unsigned>(names_.size()); }
  CUjit_option *names() noexcept { return names_.data(); }
  void **values() noexcept { return values_.data(); }

  // Returns the logs up to their NUL.
  JitLog log() const {
    JitLog log{text(info_), text(errors_)};
    float milliseconds = 0;
    std::memcpy(&milliseconds, &values_[time_], sizeof milliseconds);  // in the first bytes of the value
    log.time = std::chrono::duration<float, std::milli>(milliseconds);
    return log;
  }

  // Throws JitError if a call failed.
  template <class... Things>
  void check(CUresult result, const char *routine, Where where, const Things &...things) const {
    if (result == CUDA_SUCCESS) return;
    const std::string errors = log().errors;
    throw JitError(make_error(result, routine, where, things..., Remark{errors.c_str()}), errors);
  }

 private:
  void add(CUjit_option name, void *value) {
    names_.push_back(name);
    values_.push_back(value);
  }
  static void *size_of(const std::string &buffer) {
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(buffer.size()));
  }
  static std::string text(const std::string &buffer) {
    std::string text(buffer, 0, buffer.find('\0'));
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  std::vector<CUjit_option> names_;
  std::vector<void *> values_;
  std::string info_;
  std::string errors_;
  std::size_t time_ = 0;  // the index of the wall time
};

}  // namespace detail
}  // namespace v1
}  // namespace cushim

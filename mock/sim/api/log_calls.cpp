// SPDX-License-Identifier: Apache-2.0
// The error log. Measured on an H200, driver 580.
#include <cstdio>
#include <cstring>
#include <string_view>

#include "api/service.hpp"

#if CUDA_VERSION >= 12090

namespace cushim::sim {
namespace {

CUresult register_function(Call &call, CUlogsCallback function, void *data, CUlogsCallbackHandle *out) {
  require(function != nullptr);
  const unsigned long registration =
      call.system.errors.call_on_error([function, data](char *message, std::size_t length) {
        function(data, CU_LOG_LEVEL_ERROR, message, length);
      });
  if (out != nullptr) *out = reinterpret_cast<CUlogsCallbackHandle>(std::uintptr_t{registration});
  return CUDA_SUCCESS;
}

// The real driver crashes for a function that is not registered any more.
CUresult unregister_function(Call &call, CUlogsCallbackHandle handle) {
  require(call.system.errors.forget(reinterpret_cast<std::uintptr_t>(handle)));
  return CUDA_SUCCESS;
}

// The driver ignores the flags, here and below. The documentation requires 0.
CUresult get_position(Call &call, CUlogIterator *position, unsigned) {
  require(position != nullptr);
  *position = static_cast<CUlogIterator>(call.system.errors.position());
  return CUDA_SUCCESS;
}

ErrorLog::Dump messages_since(Call &call, const CUlogIterator *position) {
  return call.system.errors.messages_since(position != nullptr ? *position : 0);
}

// Returns the newest lines that fit into `size` bytes.
std::string_view newest(std::string_view lines, std::size_t size) {
  while (lines.size() > size) lines.remove_prefix(lines.find('\n') + 1);
  return lines;
}

CUresult dump_to_memory(Call &call, CUlogIterator *position, char *buffer, std::size_t *size, unsigned) {
  constexpr std::string_view kTooSmall =
      "The provided buffer is not large enough to hold all messages. Some messages will be missing\n";
  require(buffer != nullptr && size != nullptr);
  const ErrorLog::Dump dump = messages_since(call, position);
  std::string text = dump.notice + dump.lines;
  if (text.size() >= *size && !text.empty()) {
    // The real driver writes beyond the buffer here, by the length of this notice.
    if (*size <= kTooSmall.size()) {
      *size = 0;
      fail(CUDA_ERROR_INVALID_VALUE);
    }
    text = std::string(kTooSmall);
    text += newest(dump.lines, *size - kTooSmall.size() - 1);
  }
  if (!text.empty()) std::memcpy(buffer, text.c_str(), text.size() + 1);
  *size = text.size();
  if (position != nullptr) *position = static_cast<CUlogIterator>(dump.position);
  return CUDA_SUCCESS;
}

CUresult dump_to_file(Call &call, CUlogIterator *position, const char *path, unsigned) {
  require(path != nullptr);
  std::FILE *const file = std::fopen(path, "we");
  require(file != nullptr);
  const ErrorLog::Dump dump = messages_since(call, position);
  const std::string text = dump.notice + dump.lines;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool is_closed = std::fclose(file) == 0;
  require(is_written && is_closed, CUDA_ERROR_OPERATING_SYSTEM);  // not measured
  if (position != nullptr) *position = static_cast<CUlogIterator>(dump.position);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_logs = {
    entry<"cuLogsRegisterCallback", register_function>,
    entry<"cuLogsUnregisterCallback", unregister_function>,
    entry<"cuLogsCurrent", get_position>,
    entry<"cuLogsDumpToMemory", dump_to_memory>,
    entry<"cuLogsDumpToFile", dump_to_file>,
};

}  // namespace cushim::sim

#endif

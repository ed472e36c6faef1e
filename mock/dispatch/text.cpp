// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/text.hpp>

#include <cushim/error.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

#include <cushim/detail/reference.hpp>

namespace cushim::mock {
namespace {

using cushim::detail::hexadecimal;

struct Flag {
  unsigned value;
  const char *name;
};
#define CUSHIM_FLAG(name) \
  { static_cast<unsigned>(name), #name }

constexpr Flag kEvent[] = {CUSHIM_FLAG(CU_EVENT_DEFAULT), CUSHIM_FLAG(CU_EVENT_BLOCKING_SYNC),
                           CUSHIM_FLAG(CU_EVENT_DISABLE_TIMING), CUSHIM_FLAG(CU_EVENT_INTERPROCESS)};
constexpr Flag kRecord[] = {CUSHIM_FLAG(CU_EVENT_RECORD_DEFAULT), CUSHIM_FLAG(CU_EVENT_RECORD_EXTERNAL)};
constexpr Flag kWaitEvent[] = {CUSHIM_FLAG(CU_EVENT_WAIT_DEFAULT), CUSHIM_FLAG(CU_EVENT_WAIT_EXTERNAL)};
constexpr Flag kStream[] = {CUSHIM_FLAG(CU_STREAM_DEFAULT), CUSHIM_FLAG(CU_STREAM_NON_BLOCKING)};
// NOR has the bits of EQ and AND.
constexpr Flag kWaitValue[] = {CUSHIM_FLAG(CU_STREAM_WAIT_VALUE_GEQ), CUSHIM_FLAG(CU_STREAM_WAIT_VALUE_EQ),
                               CUSHIM_FLAG(CU_STREAM_WAIT_VALUE_AND), CUSHIM_FLAG(CU_STREAM_WAIT_VALUE_NOR),
                               CUSHIM_FLAG(CU_STREAM_WAIT_VALUE_FLUSH)};
constexpr Flag kWriteValue[] = {CUSHIM_FLAG(CU_STREAM_WRITE_VALUE_DEFAULT),
                                CUSHIM_FLAG(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)};
constexpr Flag kHostAlloc[] = {CUSHIM_FLAG(CU_MEMHOSTALLOC_PORTABLE), CUSHIM_FLAG(CU_MEMHOSTALLOC_DEVICEMAP),
                               CUSHIM_FLAG(CU_MEMHOSTALLOC_WRITECOMBINED)};
constexpr Flag kHostRegister[] = {
    CUSHIM_FLAG(CU_MEMHOSTREGISTER_PORTABLE), CUSHIM_FLAG(CU_MEMHOSTREGISTER_DEVICEMAP),
    CUSHIM_FLAG(CU_MEMHOSTREGISTER_IOMEMORY), CUSHIM_FLAG(CU_MEMHOSTREGISTER_READ_ONLY)};
constexpr Flag kIpc[] = {CUSHIM_FLAG(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)};
constexpr Flag kAttach[] = {CUSHIM_FLAG(CU_MEM_ATTACH_GLOBAL), CUSHIM_FLAG(CU_MEM_ATTACH_HOST),
                            CUSHIM_FLAG(CU_MEM_ATTACH_SINGLE)};
constexpr Flag kContext[] = {CUSHIM_FLAG(CU_CTX_SCHED_AUTO),  CUSHIM_FLAG(CU_CTX_SCHED_BLOCKING_SYNC),
                             CUSHIM_FLAG(CU_CTX_SCHED_YIELD), CUSHIM_FLAG(CU_CTX_SCHED_SPIN),
                             CUSHIM_FLAG(CU_CTX_MAP_HOST),    CUSHIM_FLAG(CU_CTX_LMEM_RESIZE_TO_MAX)};
#undef CUSHIM_FLAG

struct FlagsOfCall {
  const char *base;
  std::span<const Flag> flags;
};
constexpr FlagsOfCall kFlags[] = {
    {"cuCtxCreate", kContext},
    {"cuDevicePrimaryCtxSetFlags", kContext},
    {"cuEventCreate", kEvent},
    {"cuEventRecordWithFlags", kRecord},
    {"cuIpcOpenMemHandle", kIpc},
    {"cuMemAllocManaged", kAttach},
    {"cuMemHostAlloc", kHostAlloc},
    {"cuMemHostRegister", kHostRegister},
    {"cuStreamAttachMemAsync", kAttach},
    {"cuStreamCreate", kStream},
    {"cuStreamCreateWithPriority", kStream},
    {"cuStreamWaitEvent", kWaitEvent},
    {"cuStreamWaitValue32", kWaitValue},
    {"cuStreamWaitValue64", kWaitValue},
    {"cuStreamWriteValue32", kWriteValue},
    {"cuStreamWriteValue64", kWriteValue},
};

// The parameter names of each entry point: "(hEvent, hStream)".
constexpr std::string_view kParameters[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) #arguments,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
    // clang-format on
};

std::string formatted(const char *format, auto value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

bool is_flags(std::string_view name) { return name == "flags" || name == "Flags"; }

}  // namespace

std::string result_text(CUresult result) {
  const std::string number = std::to_string(static_cast<int>(result));
  const std::string name(name_of(result));
  if (name.empty()) return "unknown result " + number;
  return name + " (" + number + (result == CUDA_SUCCESS ? "" : ", " + text_of(result)) + ")";
}

std::string handle_text(const char *noun, const void *handle) {
  const std::string name = noun;
  if (name == noun_of<CUstream> && handle == CU_STREAM_LEGACY) return "legacy stream";
  if (name == noun_of<CUstream> && handle == CU_STREAM_PER_THREAD) return "per-thread stream";
  if (handle == nullptr) return "null " + name;
  return name + " " + hexadecimal(reinterpret_cast<std::uintptr_t>(handle));
}

std::string flags_text(const char *base, unsigned flags) {
  const auto call = std::ranges::find(kFlags, std::string_view(base), &FlagsOfCall::base);
  if (call == std::end(kFlags)) return std::to_string(flags);
  std::string text;
  const auto add = [&text](const std::string &word) { text += (text.empty() ? "" : " | ") + word; };
  unsigned rest = flags;
  // In reverse order, so that NOR comes before its bits.
  for (auto flag = call->flags.rbegin(); flag != call->flags.rend(); ++flag)
    if (flag->value != 0 && (rest & flag->value) == flag->value) {
      add(flag->name);
      rest &= ~flag->value;
    }
  if (rest != 0) add(hexadecimal(rest));
  if (!text.empty()) return text;
  return call->flags.front().value == 0 ? call->flags.front().name : "0";
}

std::string Value::to_text(const char *base, std::string_view name) const {
  switch (kind_) {
    case Kind::address:
      return bits_ == 0 ? "null" : hexadecimal(bits_);
    case Kind::handle:
      return handle_text(noun_, reinterpret_cast<const void *>(bits_));
    case Kind::text:
      return bits_ == 0 ? "null" : "\"" + std::string(reinterpret_cast<const char *>(bits_)) + "\"";
    case Kind::result:
      return result_text(static_cast<CUresult>(bits_));
    case Kind::signed_number:
      return std::to_string(static_cast<std::int64_t>(bits_));
    case Kind::unsigned_number:
      return is_flags(name) ? flags_text(base, static_cast<unsigned>(bits_)) : std::to_string(bits_);
    case Kind::real:
      return formatted("%g", real_);
    case Kind::structure:
      break;
  }
  return "{" + std::to_string(bits_) + " bytes}";
}

std::string Call::to_text() const {
  const int slot = static_cast<int>(entry);
  const CushimEntryInfo &row = *cushim_entry(slot);
  std::string_view names = kParameters[slot];
  names.remove_prefix(1);
  std::string text = std::string(row.symbol) + "(";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t length = names.find_first_of(",)");
    const std::string_view name = names.substr(0, length);
    names.remove_prefix(std::min(names.size(), length + 2));
    text += (i == 0 ? "" : ", ") + std::string(name) + " = " + values[i].to_text(row.base, name);
  }
  return text + ")";
}

}  // namespace cushim::mock

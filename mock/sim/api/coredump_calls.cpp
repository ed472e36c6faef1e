// SPDX-License-Identifier: Apache-2.0
// Attributes of coredumps, of the process and of a context, and callbacks. No coredump is written, so no
// callback is called. Measured on an H200, driver 580, except where noted.
#include <algorithm>
#include <cstring>

#include "api/service.hpp"

#if CUDA_VERSION >= 12010

namespace cushim::sim {
namespace {

// CUCoredumpGenerationFlags, unnamed before 12.5.
constexpr int kSkipAbort = 16;
constexpr int kLightweight = 0x2f;
constexpr int kFlagsAttribute = 7;        // CU_COREDUMP_GENERATION_FLAGS, unnamed before 12.5
constexpr int kUserTriggerAttribute = 4;  // CU_COREDUMP_ENABLE_USER_TRIGGER
constexpr std::size_t kNameSize = 1024;   // with the terminating zero

std::size_t size_of(int attribute) {
  switch (attribute) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
    case CU_COREDUMP_TRIGGER_HOST:
    case CU_COREDUMP_LIGHTWEIGHT:
    case kUserTriggerAttribute:
      return sizeof(bool);
    case CU_COREDUMP_FILE:
    case CU_COREDUMP_PIPE:
      return kNameSize;
    case kFlagsAttribute:
      return sizeof(int);
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

template <class T>
void store(void *out, T value) {
  std::memcpy(out, &value, sizeof value);
}
template <class T>
T load(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void store_name(void *out, const std::string &name) {
  std::memset(out, 0, kNameSize);
  std::memcpy(out, name.data(), name.size());
}

bool is_lightweight(const CoredumpSettings &settings) {
  return (settings.flags & kLightweight) == kLightweight;
}

// Without a value, only returns the size that it needs.
CUresult read(const CoredumpSettings &settings, int attribute, void *value, std::size_t *size) {
  require(size != nullptr);
  const std::size_t needed = size_of(attribute);
  if (value != nullptr) {
    require(needed == kNameSize ? *size >= needed : *size == needed);
    switch (attribute) {
      case CU_COREDUMP_ENABLE_ON_EXCEPTION:
        store(value, settings.on_exception);
        break;
      case CU_COREDUMP_TRIGGER_HOST:
        store(value, (settings.flags & kSkipAbort) == 0);
        break;
      case CU_COREDUMP_LIGHTWEIGHT:
        store(value, is_lightweight(settings));
        break;
      case kUserTriggerAttribute:
        store(value, settings.user_trigger);
        break;
      case CU_COREDUMP_FILE:
        store_name(value, settings.file);
        break;
      case CU_COREDUMP_PIPE:
        store_name(value, settings.pipe);
        break;
      default:
        store(value, settings.flags);
    }
  }
  *size = needed;
  return CUDA_SUCCESS;
}

void set_bits(int &flags, int bits, bool are_set) { flags = are_set ? flags | bits : flags & ~bits; }

// Without a value, only returns the size that it needs. A name may be shorter than its attribute.
CUresult write(CoredumpSettings &settings, int attribute, const void *value, std::size_t *size) {
  require(size != nullptr);
  const std::size_t needed = size_of(attribute);
  if (value == nullptr) return *size = needed, CUDA_SUCCESS;
  require(needed == kNameSize ? *size <= needed : *size == needed);
  const auto name = [&] {
    const auto *const text = static_cast<const char *>(value);
    return std::string(text, strnlen(text, std::min(*size, kNameSize - 1)));
  };
  switch (attribute) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
      settings.on_exception = load<unsigned char>(value) != 0;
      break;
    case CU_COREDUMP_TRIGGER_HOST:
      set_bits(settings.flags, kSkipAbort, load<unsigned char>(value) == 0);
      break;
    case CU_COREDUMP_LIGHTWEIGHT:
      set_bits(settings.flags, kLightweight, load<unsigned char>(value) != 0);
      break;
    case kUserTriggerAttribute:
      settings.user_trigger = load<unsigned char>(value) != 0;
      break;
    case CU_COREDUMP_FILE:
      settings.file = name();
      break;
    case CU_COREDUMP_PIPE:
      settings.pipe = name();
      break;
    default:
      settings.flags = load<int>(value);
  }
  return CUDA_SUCCESS;
}

CUresult get_global(Call &call, CUcoredumpSettings attribute, void *value, std::size_t *size) {
  return read(call.system.coredump, attribute, value, size);
}

CUresult set_global(Call &call, CUcoredumpSettings attribute, void *value, std::size_t *size) {
  bool has_context = false;
  call.system.handles.for_each<Context>([&](const Context &) { has_context = true; });
  // The pipe is open then.
  const bool is_open = has_context && call.system.coredump.user_trigger;
  require(attribute != CU_COREDUMP_PIPE || value == nullptr || !is_open, CUDA_ERROR_NOT_SUPPORTED);
  return write(call.system.coredump, attribute, value, size);
}

// The pipe, and whether users may trigger a coredump, are attributes of the process only.
CoredumpSettings &settings_of_context(Call &call, CUcoredumpSettings attribute) {
  CoredumpSettings &settings = call.context().coredump;
  require(static_cast<int>(attribute) != kUserTriggerAttribute && attribute != CU_COREDUMP_PIPE);
  return settings;
}

// ---- Callbacks: documentation ----

using CallbackHandle = struct CUcoredumpCallbackEntry_st *;

template <CoredumpMoment moment>
CUresult register_callback(Call &call, CushimCoredumpStatusCallback function, void *, CallbackHandle *out) {
  require(function != nullptr);
  System &system = call.system;
  system.coredump_callbacks.emplace(++system.last_registration, moment);
  if (out != nullptr) *out = reinterpret_cast<CallbackHandle>(std::uintptr_t{system.last_registration});
  return CUDA_SUCCESS;
}

template <CoredumpMoment moment>
CUresult deregister_callback(Call &call, CallbackHandle handle) {
  auto &registered = call.system.coredump_callbacks;
  const auto found = registered.find(reinterpret_cast<std::uintptr_t>(handle));
  require(found != registered.end() && found->second == moment);
  registered.erase(found);
  return CUDA_SUCCESS;
}

CUresult get(Call &call, CUcoredumpSettings attribute, void *value, std::size_t *size) {
  require(size != nullptr && size_of(attribute) != 0);  // also without a current context
  return read(settings_of_context(call, attribute), attribute, value, size);
}

CUresult set(Call &call, CUcoredumpSettings attribute, void *value, std::size_t *size) {
  return write(settings_of_context(call, attribute), attribute, value, size);
}

}  // namespace

constinit const Entries entries_of_coredumps = {
    entry<"cuCoredumpGetAttribute", get>,
    entry<"cuCoredumpGetAttributeGlobal", get_global>,
    entry<"cuCoredumpSetAttribute", set>,
    entry<"cuCoredumpSetAttributeGlobal", set_global>,
    entry<"cuCoredumpRegisterStartCallback", register_callback<CoredumpMoment::start>>,
    entry<"cuCoredumpDeregisterStartCallback", deregister_callback<CoredumpMoment::start>>,
    entry<"cuCoredumpRegisterCompleteCallback", register_callback<CoredumpMoment::complete>>,
    entry<"cuCoredumpDeregisterCompleteCallback", deregister_callback<CoredumpMoment::complete>>,
};

}  // namespace cushim::sim

#endif

// SPDX-License-Identifier: Apache-2.0
#include "recording_driver.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace cushim::test {
namespace {

Recording *active_recording = nullptr;

template <class T>
concept Complete = requires {
  sizeof(T);
};

template <class T>
std::string render(T value) {
  if constexpr (std::is_pointer_v<T>) {
    using Target = std::remove_pointer_t<T>;
    if (value == nullptr) return "null";
    if constexpr (std::is_function_v<Target>)
      return "function";
    else if constexpr (std::is_same_v<Target, const char>)
      return '"' + std::string(value) + '"';
    else if constexpr (!std::is_void_v<Target> && Complete<Target>)
      return "&";
    else
      return detail::hexadecimal(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_same_v<T, unsigned long long>) {  // CUdeviceptr
    return detail::hexadecimal(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return "{}";
  }
}

template <int slot, class Signature>
struct FakeEntry;

template <int slot, class... Arguments>
struct FakeEntry<slot, CUresult(Arguments...)> {
  static CUresult CUDAAPI call(Arguments... arguments) {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + render(arguments)), ...);
    const auto [answer, behaviour] =
        Recording::active().enter(slot, cushim_entry(slot)->symbol + ("(" + text + ")"));
    const auto *const function = std::any_cast<std::function<CUresult(Arguments...)>>(behaviour);
    const CUresult code = function == nullptr ? CUDA_SUCCESS : (*function)(arguments...);
    return answer.value_or(code);
  }
};

void (*resolve(void *, const char *name))() {
  const std::string_view wanted = name;
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  if (wanted == #symbol) return reinterpret_cast<void (*)()>(&FakeEntry<slot, CUresult parameters>::call);
#include <cushim/entry_points.inc>
  // clang-format on
  return nullptr;
}

bool gives_back(std::string_view base) {
  for (const char *word :
       {"Destroy", "Free", "Release", "Pop", "Close", "Unregister", "Disable", "Unmap", "Unload"})
    if (base.find(word) != base.npos) return true;
  return false;
}

void keep_unreported(const std::exception &exception) noexcept {
  Recording::unreported().emplace_back(exception.what());
}

std::string words(const char *what, const void *handle) {
  return std::string(what) + " " + detail::hexadecimal(reinterpret_cast<std::uintptr_t>(handle));
}
std::string words(const char *what, CUdeviceptr address) {
  return std::string(what) + " " + detail::hexadecimal(address);
}

}  // namespace

Driver &Recording::driver() {
  static Driver &driver = Driver::from_functions("recording", 13050, &resolve);
  return driver;
}

Recording &Recording::active() { return *active_recording; }

std::vector<std::string> &Recording::unreported() {
  static std::vector<std::string> texts;
  return texts;
}

Recording::Recording() : scope_(driver()), handler_before_(set_unreported_handler(&keep_unreported)) {
  active_recording = this;
  unreported().clear();
  behave();
  behave_graphs();
}

Recording::~Recording() {
  set_unreported_handler(handler_before_);
  active_recording = nullptr;
}

std::vector<std::string> Recording::live() const {
  std::vector<std::string> all;
  for (const auto &[what, count] : live_)
    for (int i = 0; i < count; ++i) all.push_back(what);
  for (CUcontext context : stack_) all.push_back(words("pushed", context));
  return all;
}

Recording::Entered Recording::enter(int slot, std::string call) {
  calls_.push_back(std::move(call));
  const std::string base = cushim_entry(slot)->base;
  const std::any *const behaviour = &behaviours_[static_cast<std::size_t>(slot)];
  if (countdown_ > 0) {
    --countdown_;
    if (countdown_ == 0) {
      failed_ = base;
      return {failure_, gives_back(base) ? behaviour : nullptr};
    }
  }
  if (const auto answer = answers_.find(slot); answer != answers_.end()) return {answer->second, nullptr};
  return {std::nullopt, behaviour};
}

CUresult Recording::give_back(const std::string &what) {
  const auto found = live_.find(what);
  if (found == live_.end()) {
    wrong_releases_.push_back(what);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (--found->second == 0) live_.erase(found);
  return CUDA_SUCCESS;
}

// Sets the behaviour of all entry points that hand out or release objects, as of a real driver.
void Recording::behave() {
  on<Entry::cuEventCreate_v2000>([this](CUevent *event, unsigned) {
    *event = acquire<CUevent>("event");
    return CUDA_SUCCESS;
  });
  on<Entry::cuIpcOpenEventHandle_v4010>([this](CUevent *event, CUipcEventHandle) {
    *event = acquire<CUevent>("event");
    return CUDA_SUCCESS;
  });
  on<Entry::cuEventDestroy_v4000>([this](CUevent event) { return give_back(words("event", event)); });

  on<Entry::cuStreamCreate_v2000>([this](CUstream *stream, unsigned) {
    *stream = acquire<CUstream>("stream");
    return CUDA_SUCCESS;
  });
  on<Entry::cuStreamCreateWithPriority_v5050>([this](CUstream *stream, unsigned, int) {
    *stream = acquire<CUstream>("stream");
    return CUDA_SUCCESS;
  });
  on<Entry::cuStreamDestroy_v4000>([this](CUstream stream) { return give_back(words("stream", stream)); });
  const auto stream_context = [](CUstream, CUcontext *context) {
    *context = kStreamContext;
    return CUDA_SUCCESS;
  };
  on<Entry::cuStreamGetCtx_v9020>(stream_context);
  on<Entry::cuStreamGetCtx_v9020_ptsz>(stream_context);

  on<Entry::cuCtxPushCurrent_v4000>([this](CUcontext context) {
    stack_.push_back(context);
    return CUDA_SUCCESS;
  });
  on<Entry::cuCtxPopCurrent_v4000>([this](CUcontext *context) {
    if (stack_.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack_.back();
    stack_.pop_back();
    return CUDA_SUCCESS;
  });
  on<Entry::cuCtxGetCurrent_v4000>([this](CUcontext *context) {
    *context = stack_.empty() ? nullptr : stack_.back();
    return CUDA_SUCCESS;
  });
  on<Entry::cuCtxCreate_v3020>([this](CUcontext *context, unsigned, CUdevice) {
    *context = acquire<CUcontext>("context");
    stack_.push_back(*context);
    return CUDA_SUCCESS;
  });
  on<Entry::cuCtxDestroy_v4000>([this](CUcontext context) { return give_back(words("context", context)); });
  on<Entry::cuDevicePrimaryCtxRetain_v7000>([this](CUcontext *context, CUdevice device) {
    acquire("primary context of device " + std::to_string(device));
    *context = kPrimary;
    return CUDA_SUCCESS;
  });
  on<Entry::cuDevicePrimaryCtxRelease_v11000>(
      [this](CUdevice device) { return give_back("primary context of device " + std::to_string(device)); });
  on<Entry::cuCtxEnablePeerAccess_v4000>([this](CUcontext peer, unsigned) {
    acquire(words("access to", peer));
    return CUDA_SUCCESS;
  });
  on<Entry::cuCtxDisablePeerAccess_v4000>(
      [this](CUcontext peer) { return give_back(words("access to", peer)); });
  on<Entry::cuDeviceGet_v2000>([](CUdevice *device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
  });

  on<Entry::cuMemAlloc_v3020>([this](CUdeviceptr *address, std::size_t) {
    *address = reinterpret_cast<CUdeviceptr>(acquire<void *>("memory"));
    return CUDA_SUCCESS;
  });
  on<Entry::cuExternalMemoryGetMappedBuffer_v10000>([this](CUdeviceptr *address, auto...) {
    *address = reinterpret_cast<CUdeviceptr>(acquire<void *>("memory"));
    return CUDA_SUCCESS;
  });
  on<Entry::cuMemAllocManaged_v6000>([this](CUdeviceptr *address, std::size_t, unsigned) {
    *address = reinterpret_cast<CUdeviceptr>(acquire<void *>("memory"));
    return CUDA_SUCCESS;
  });
  on<Entry::cuMemAllocPitch_v3020>(
      [this](CUdeviceptr *address, std::size_t *pitch, std::size_t, std::size_t, unsigned) {
        *address = reinterpret_cast<CUdeviceptr>(acquire<void *>("memory"));
        *pitch = 512;
        return CUDA_SUCCESS;
      });
  on<Entry::cuMemFree_v3020>([this](CUdeviceptr address) { return give_back(words("memory", address)); });
  on<Entry::cuMemHostAlloc_v2020>([this](void **pointer, std::size_t, unsigned) {
    *pointer = acquire<void *>("pinned");
    return CUDA_SUCCESS;
  });
  on<Entry::cuMemFreeHost_v2000>([this](void *pointer) { return give_back(words("pinned", pointer)); });
  on<Entry::cuMemHostRegister_v6050>([this](void *pointer, std::size_t, unsigned) {
    acquire(words("registered", pointer));
    return CUDA_SUCCESS;
  });
  on<Entry::cuMemHostUnregister_v4000>(
      [this](void *pointer) { return give_back(words("registered", pointer)); });
  const auto allocate_in_order = [this](CUdeviceptr *address, std::size_t, CUstream) {
    *address = reinterpret_cast<CUdeviceptr>(acquire<void *>("pool memory"));
    return CUDA_SUCCESS;
  };
  on<Entry::cuMemAllocAsync_v11020>(allocate_in_order);
  on<Entry::cuMemAllocFromPoolAsync_v11020>(
      [allocate_in_order](CUdeviceptr *address, std::size_t size, CUmemoryPool, CUstream stream) {
        return allocate_in_order(address, size, stream);
      });
  on<Entry::cuMemPoolCreate_v11020>([this](CUmemoryPool *pool, const CUmemPoolProps *) {
    *pool = acquire<CUmemoryPool>("pool");
    return CUDA_SUCCESS;
  });
  on<Entry::cuMemPoolDestroy_v11020>([this](CUmemoryPool pool) { return give_back(words("pool", pool)); });
  on<Entry::cuMemFreeAsync_v11020>(
      [this](CUdeviceptr address, CUstream) { return give_back(words("pool memory", address)); });
  const auto physical = [this](CUmemGenericAllocationHandle *handle) {
    *handle = reinterpret_cast<CUdeviceptr>(acquire<void *>("physical memory"));
    return CUDA_SUCCESS;
  };
  on<Entry::cuMemCreate_v10020>([physical](CUmemGenericAllocationHandle *handle, std::size_t,
                                           const CUmemAllocationProp *,
                                           unsigned long long) { return physical(handle); });
  on<Entry::cuMemRetainAllocationHandle_v11000>(
      [physical](CUmemGenericAllocationHandle *handle, void *) { return physical(handle); });
  on<Entry::cuMemImportFromShareableHandle_v10020>(
      [physical](CUmemGenericAllocationHandle *handle, void *, CUmemAllocationHandleType) {
        return physical(handle);
      });
  on<Entry::cuMemRelease_v10020>(
      [this](CUmemGenericAllocationHandle handle) { return give_back(words("physical memory", handle)); });
  on<Entry::cuMemGetAllocationGranularity_v10020>(
      [](std::size_t *granularity, const CUmemAllocationProp *, CUmemAllocationGranularity_flags) {
        *granularity = 0x1000;
        return CUDA_SUCCESS;
      });
  on<Entry::cuMemAddressReserve_v10020>(
      [this](CUdeviceptr *base, std::size_t, std::size_t, CUdeviceptr, unsigned long long) {
        *base = reinterpret_cast<CUdeviceptr>(acquire<void *>("addresses"));
        return CUDA_SUCCESS;
      });
  on<Entry::cuMemAddressFree_v10020>(
      [this](CUdeviceptr base, std::size_t) { return give_back(words("addresses", base)); });
  on<Entry::cuMemMap_v10020>([this](CUdeviceptr address, std::size_t, std::size_t,
                                    CUmemGenericAllocationHandle, unsigned long long) {
    acquire(words("mapping", address));
    return CUDA_SUCCESS;
  });
  on<Entry::cuMemUnmap_v10020>(
      [this](CUdeviceptr address, std::size_t) { return give_back(words("mapping", address)); });
  on<Entry::cuMemGetAddressRange_v3020>([](CUdeviceptr *base, std::size_t *size, CUdeviceptr address) {
    *base = address & ~CUdeviceptr{0xfff};
    *size = 0x1000;
    return CUDA_SUCCESS;
  });
  on<Entry::cuIpcOpenMemHandle_v11000>([this](CUdeviceptr *address, CUipcMemHandle, unsigned) {
    acquire("mapping 0xa000");  // the same address each time, as on the real driver
    *address = 0xa000;
    return CUDA_SUCCESS;
  });
  on<Entry::cuIpcCloseMemHandle_v4010>(
      [this](CUdeviceptr address) { return give_back(words("mapping", address)); });

  on<Entry::cuModuleLoadDataEx_v2010>(
      [this](CUmodule *module, const void *, unsigned, CUjit_option *, void **) {
        *module = acquire<CUmodule>("module");
        return CUDA_SUCCESS;
      });
  on<Entry::cuModuleLoad_v2000>([this](CUmodule *module, const char *) {
    *module = acquire<CUmodule>("module");
    return CUDA_SUCCESS;
  });
  on<Entry::cuModuleUnload_v2000>([this](CUmodule module) { return give_back(words("module", module)); });
  on<Entry::cuModuleGetFunction_v2000>([](CUfunction *function, CUmodule, const char *) {
    *function = reinterpret_cast<CUfunction>(0xf0);
    return CUDA_SUCCESS;
  });
  on<Entry::cuModuleGetGlobal_v3020>([](CUdeviceptr *address, std::size_t *size, CUmodule, const char *) {
    *address = 0x8000;
    *size = 64;
    return CUDA_SUCCESS;
  });
  on<Entry::cuFuncGetName_v12030>([](const char **name, CUfunction) {
    *name = "function";
    return CUDA_SUCCESS;
  });
  on<Entry::cuFuncGetParamInfo_v12040>(
      [](CUfunction, std::size_t, std::size_t *, std::size_t *) { return CUDA_ERROR_INVALID_VALUE; });
  on<Entry::cuLinkCreate_v6050>([this](unsigned, CUjit_option *, void **, CUlinkState *link) {
    *link = acquire<CUlinkState>("link");
    return CUDA_SUCCESS;
  });
  on<Entry::cuLinkComplete_v5050>([](CUlinkState, void **image, std::size_t *size) {
    static char linked[] = "linked";
    *image = linked;
    *size = sizeof linked;
    return CUDA_SUCCESS;
  });
  on<Entry::cuLinkDestroy_v5050>([this](CUlinkState link) { return give_back(words("link", link)); });
#if CUDA_VERSION >= 12000
  const auto load = [this](CUlibrary *library, auto...) {
    *library = acquire<CUlibrary>("library");
    return CUDA_SUCCESS;
  };
  on<Entry::cuLibraryLoadData_v12000>(load);
  on<Entry::cuLibraryLoadFromFile_v12000>(load);
  on<Entry::cuLibraryUnload_v12000>(
      [this](CUlibrary library) { return give_back(words("library", library)); });
  on<Entry::cuLibraryGetKernel_v12000>([](CUkernel *kernel, CUlibrary, const char *) {
    *kernel = reinterpret_cast<CUkernel>(0xf8);
    return CUDA_SUCCESS;
  });
  const auto variable = [](CUdeviceptr *address, std::size_t *size, CUlibrary, const char *) {
    *address = 0x8000;
    *size = 64;
    return CUDA_SUCCESS;
  };
  on<Entry::cuLibraryGetGlobal_v12000>(variable);
  on<Entry::cuLibraryGetManaged_v12000>(variable);
  on<Entry::cuKernelGetName_v12030>([](const char **name, CUkernel) {
    *name = "kernel";
    return CUDA_SUCCESS;
  });
  on<Entry::cuKernelGetParamInfo_v12040>(
      [](CUkernel, std::size_t, std::size_t *, std::size_t *) { return CUDA_ERROR_INVALID_VALUE; });
#endif

  const auto launch = [this](CUstream, CUhostFn function, void *data) {
    launched.push_back([=] { function(data); });
    return CUDA_SUCCESS;
  };
  on<Entry::cuLaunchHostFunc_v10000>(launch);
  on<Entry::cuLaunchHostFunc_v10000_ptsz>(launch);
  on<Entry::cuStreamAddCallback_v5000>(
      [this](CUstream stream, CUstreamCallback function, void *data, unsigned) {
        launched.push_back([=] { function(stream, CUDA_ERROR_LAUNCH_FAILED, data); });
        return CUDA_SUCCESS;
      });
}

std::optional<Error> thrown_by(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error;
  }
  return std::nullopt;
}

Error error_of(const std::function<void()> &action) {
  if (const std::optional<Error> error = thrown_by(action)) return *error;
  ADD_FAILURE() << "nothing was thrown";
  return Error(CUDA_SUCCESS, "", "nothing was thrown");
}

}  // namespace cushim::test

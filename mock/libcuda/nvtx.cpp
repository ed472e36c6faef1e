// SPDX-License-Identifier: Apache-2.0
// Receives the names that a program gives to objects and threads by NVTX, NVIDIA's annotation library: NVTX
// loads the library that NVTX_INJECTION64_PATH names, and calls its InitializeInjectionNvtx2. The
// declarations are those of nvtx3/nvtxDetail/nvtxTypes.h, which some packages of the CUDA headers lack.
#include <cushim/trace/tracer.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "nvtx.hpp"

namespace cushim::sim {
namespace {

trace::Tracer *named_by_nvtx = nullptr;

// Returns the text in UTF-8.
std::string utf8(const wchar_t *text) {
  std::string bytes;
  for (; *text != 0; ++text) {
    const auto code = std::bit_cast<std::uint32_t>(*text);
    const auto add = [&](std::uint32_t byte) { bytes.push_back(static_cast<char>(byte)); };
    const auto add_rest = [&](int shift) { add(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xc0 | (code >> 6)), add_rest(0);
    } else if (code < 0x10000) {
      add(0xe0 | (code >> 12)), add_rest(6), add_rest(0);
    } else {
      add(0xf0 | ((code >> 18) & 7)), add_rest(12), add_rest(6), add_rest(0);
    }
  }
  return bytes;
}

void set_name(std::string_view noun, std::uint64_t object, std::string_view text) {
  // NVTX has no length, so a long text is cut off by the tracer.
  if (object != 0) named_by_nvtx->name(noun, object, text);
}

template <class Handle>
void name(Handle handle, const char *text) {
  if (text != nullptr) set_name(mock::noun_of<Handle>, reinterpret_cast<std::uint64_t>(handle), text);
}
template <class Handle>
void name_wide(Handle handle, const wchar_t *text) {
  if (text != nullptr) set_name(mock::noun_of<Handle>, reinterpret_cast<std::uint64_t>(handle), utf8(text));
}
void name_thread(std::uint32_t thread, const char *text) {
  if (text != nullptr) set_name("thread", thread, text);
}
void name_thread_wide(std::uint32_t thread, const wchar_t *text) {
  if (text != nullptr) set_name("thread", thread, utf8(text));
}

using Function = void (*)();

template <class Signature>
Function as_function(Signature *function) {
  return reinterpret_cast<Function>(function);
}

// A function that this library provides: NvtxCallbackModule, and its index in the module's table.
struct Provided {
  int module;
  unsigned index;
  Function function;
};
constexpr int kCore = 1, kCuda = 2, kRuntime = 4;

struct Callbacks {  // NvtxExportTableCallbacks
  std::size_t size;
  int (*module_table)(int module, Function ***table, unsigned *size);
};
constexpr std::uint32_t kCallbacks = 1;  // NVTX_ETID_CALLBACKS

}  // namespace

void receive_names_of_nvtx(trace::Tracer *tracer) { named_by_nvtx = tracer; }

}  // namespace cushim::sim

// Called by each copy of NVTX in the process at its first use. Returns 0 if names are not wanted.
int InitializeInjectionNvtx2(const void *(*export_table)(std::uint32_t)) {
  using namespace cushim::sim;
  if (named_by_nvtx == nullptr || export_table == nullptr) return 0;
  const auto *const callbacks = static_cast<const Callbacks *>(export_table(kCallbacks));
  if (callbacks == nullptr || callbacks->size < sizeof(Callbacks)) return 0;
  const Provided all[] = {
      {kCore, 14, as_function(name_thread)},          // NVTX_CBID_CORE_NameOsThreadA
      {kCore, 15, as_function(name_thread_wide)},     // ...W
      {kCuda, 3, as_function(name<CUcontext>)},       // NVTX_CBID_CUDA_NameCuContextA
      {kCuda, 4, as_function(name_wide<CUcontext>)},  // ...W
      {kCuda, 5, as_function(name<CUstream>)},        // NVTX_CBID_CUDA_NameCuStreamA
      {kCuda, 6, as_function(name_wide<CUstream>)},
      {kCuda, 7, as_function(name<CUevent>)},  // NVTX_CBID_CUDA_NameCuEventA
      {kCuda, 8, as_function(name_wide<CUevent>)},
      {kRuntime, 3, as_function(name<CUstream>)},  // NVTX_CBID_CUDART_NameCudaStreamA: the same handle
      {kRuntime, 4, as_function(name_wide<CUstream>)},
      {kRuntime, 5, as_function(name<CUevent>)},  // NVTX_CBID_CUDART_NameCudaEventA
      {kRuntime, 6, as_function(name_wide<CUevent>)}};
  for (const auto &[module, index, function] : all) {
    Function **table = nullptr;
    unsigned size = 0;
    if (callbacks->module_table(module, &table, &size) != 0 && table != nullptr && index < size &&
        table[index] != nullptr)
      *table[index] = function;
  }
  return 1;
}

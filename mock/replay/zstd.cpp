// SPDX-License-Identifier: Apache-2.0
#include "zstd.hpp"

#include <dlfcn.h>

#include <memory>
#include <mutex>

namespace cushim::replay {
namespace {

constexpr int kLevel = 1;

template <class Function>
bool find(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

const Zstd *Zstd::get() {
  static const Zstd *const zstd = []() -> const Zstd * {
    void *const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    std::unique_ptr<Zstd> found(new Zstd);
    void *(*create)() = nullptr;
    if (!find(library, "ZSTD_compressCCtx", found->compress_) ||
        !find(library, "ZSTD_decompress", found->decompress_) ||
        !find(library, "ZSTD_isError", found->is_error_) || !find(library, "ZSTD_createCCtx", create))
      return nullptr;
    found->context_ = create();
    return found.release();
  }();
  return zstd;
}

std::size_t Zstd::compress(std::span<char> to, std::span<const char> from) const {
  const std::lock_guard lock(mutex_);
  const std::size_t size = compress_(context_, to.data(), to.size(), from.data(), from.size(), kLevel);
  return is_error_(size) == 0 ? size : 0;
}

std::size_t Zstd::decompress(std::span<char> to, std::span<const char> from) const {
  const std::size_t size = decompress_(to.data(), to.size(), from.data(), from.size());
  return is_error_(size) == 0 ? size : 0;
}

}  // namespace cushim::replay

// SPDX-License-Identifier: Apache-2.0
#include "invoke.hpp"

#include <cstring>
#include <tuple>

namespace cushim::replay {
namespace {

template <class T>
T take(const std::uint64_t *&words) {
  T value;
  std::memcpy(static_cast<void *>(&value), words, sizeof value);
  words += (sizeof value + sizeof *words - 1) / sizeof *words;
  return value;
}

template <class Signature>
struct Call;
template <class... Arguments>
struct Call<CUresult(Arguments...)> {
  template <class Function>
  static CUresult make(const Function &function, const std::uint64_t *words) {
    static_cast<void>(words);
    // Braces evaluate from left to right.
    const std::tuple<Arguments...> arguments{take<Arguments>(words)...};
    return std::apply(function, arguments);
  }
};

constexpr CUresult (*kInvoke[])(cushim::Driver &driver, const std::uint64_t *words) = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  [](cushim::Driver &driver, const std::uint64_t *words) { return Call<CUresult parameters>::make(driver.symbol, words); },
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace

CUresult invoke(cushim::Driver &driver, int slot, const std::uint64_t *words) {
  const auto function = kInvoke[slot];
  return function != nullptr ? function(driver, words) : CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
}

}  // namespace cushim::replay

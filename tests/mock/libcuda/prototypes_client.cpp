// SPDX-License-Identifier: Apache-2.0
// Calls every function that is in the list of entry points and exported by the library, once each, through
// the type in the list (tests/toolkits compares that type with the headers of each toolkit). Every pointer is
// null, and every other argument has all bits set. Prints symbols and result codes. The report shows whether
// each call reached its own function.
#include <cushim/table.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

namespace {

template <class Parameter>
Parameter hostile() {
  Parameter value{};
  if constexpr (!std::is_pointer_v<Parameter>) std::memset(&value, 0xff, sizeof value);
  return value;
}

template <class... Parameters>
void call(void *library, const char *symbol, CUresult(CUDAAPI *)(Parameters...)) {
  using Function = CUresult(CUDAAPI *)(Parameters...);
  const auto function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr) return;  // belongs to a later release
  std::printf("%s ", symbol);
  std::fflush(stdout);
  std::printf("%d\n", function(hostile<Parameters>()...));
}

}  // namespace

int main() {
  void *const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return 1;
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  call(library, #symbol, static_cast<CUresult(CUDAAPI *) parameters>(nullptr));
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments)
#include <cushim/entry_points.inc>
  // clang-format on
}

// SPDX-License-Identifier: Apache-2.0
#include "driver_of_numbers.hpp"

#include <array>
#include <utility>

namespace {

template <int slot>
int own_slot() {
  return slot;
}

template <int... slot>
constexpr auto all(std::integer_sequence<int, slot...>) {
  return std::array<int (*)(), sizeof...(slot)>{&own_slot<slot>...};
}

}  // namespace

cushim::Driver &driver_of_numbers() {
  static constexpr auto functions = all(std::make_integer_sequence<int, CUSHIM_ENTRY_COUNT>{});
  static cushim::Driver &driver = cushim::Driver::from_functions(
      "driver of numbers", CUDA_VERSION, [](void *, const char *symbol) -> void (*)() {
        return reinterpret_cast<void (*)()>(functions[static_cast<std::size_t>(cushim_find_symbol(symbol))]);
      });
  return driver;
}

// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_memset_calls(Calls &calls) {
  CALL(cuMemsetD8, o.memory(), std::uint8_t{1}, std::size_t{64});
  CALL(cuMemsetD16, o.memory(), std::uint16_t{1}, std::size_t{64});
  CALL(cuMemsetD32, o.memory(), 1U, std::size_t{64});
  CALL(cuMemsetD8Async, o.memory(), std::uint8_t{1}, std::size_t{64}, o.stream());
  CALL(cuMemsetD16Async, o.memory(), std::uint16_t{1}, std::size_t{64}, o.stream());
  CALL(cuMemsetD32Async, o.memory(), 1U, std::size_t{64}, o.stream());
  // A real driver does not return in two seconds for 2^64-1 rows.
  CALL(cuMemsetD2D8, o.memory(), std::size_t{128}, std::uint8_t{1}, std::size_t{64}, std::size_t{4})
      .without({"Height=18446744073709551615"});
  CALL(cuMemsetD2D16, o.memory(), std::size_t{128}, std::uint16_t{1}, std::size_t{32}, std::size_t{4})
      .without({"Height=18446744073709551615"});
  CALL(cuMemsetD2D32, o.memory(), std::size_t{128}, 1U, std::size_t{16}, std::size_t{4})
      .without({"Height=18446744073709551615"});
  CALL(cuMemsetD2D8Async, o.memory(), std::size_t{128}, std::uint8_t{1}, std::size_t{64}, std::size_t{4},
       o.stream())
      .without({"Height=18446744073709551615"});
  CALL(cuMemsetD2D16Async, o.memory(), std::size_t{128}, std::uint16_t{1}, std::size_t{32}, std::size_t{4},
       o.stream())
      .without({"Height=18446744073709551615"});
  CALL(cuMemsetD2D32Async, o.memory(), std::size_t{128}, 1U, std::size_t{16}, std::size_t{4}, o.stream())
      .without({"Height=18446744073709551615"});
}

}  // namespace arguments

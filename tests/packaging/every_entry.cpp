// SPDX-License-Identifier: Apache-2.0
// Checks that the built library and the headers of this program agree on the entry point of every slot, and
// on the table's size.
#include <cushim/driver.hpp>

#include <cstdio>
#include <cstring>

int main() {
  static const char *const symbols[] = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) #symbol,
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
      // clang-format on
  };
  constexpr int count = static_cast<int>(sizeof symbols / sizeof symbols[0]);
  int wrong = cushim_entry_count() != count || cushim_driver()->size != sizeof(CushimDriver);
  for (int slot = 0; slot < count; ++slot)
    if (std::strcmp(cushim_entry(slot)->symbol, symbols[slot]) != 0) {
      std::printf("slot %d is %s in the library and %s here\n", slot, cushim_entry(slot)->symbol,
                  symbols[slot]);
      ++wrong;
    }
  std::printf("CUDA %d here: %d entries, %d wrong\n", CUDA_VERSION, count, wrong);
  return wrong != 0;
}

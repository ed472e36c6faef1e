// SPDX-License-Identifier: Apache-2.0
// A user's program that hooks the driver, with or without a real driver.
#include <cushim/mock/hook.hpp>

int main() {
  cushim::Driver &driver = cushim::Driver::by_default();
  int calls = 0;
  const auto hook = cushim::hook::replace<&cuInit>(driver, [&](unsigned) {
    ++calls;
    return CUDA_SUCCESS;
  });
  return driver.cuInit(0) == CUDA_SUCCESS && calls == 1 ? 0 : 1;
}

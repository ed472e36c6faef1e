// SPDX-License-Identifier: Apache-2.0
// A user's C++ program: opens the driver, prints the diagnosis, and makes a raw call.
#include <cushim/driver.hpp>

#include <cstdio>

int main() {
  const cushim::Loaded driver = cushim::load();
  std::puts(driver.diagnosis.text().c_str());

  int version = 0;
  const CUresult result = cushim::driver().cuDriverGetVersion(&version);
  if (!driver) return result != CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
  return result != CUDA_SUCCESS || version != driver->version();
}

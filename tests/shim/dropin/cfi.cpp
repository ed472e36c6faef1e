// SPDX-License-Identifier: Apache-2.0
// Calls the driver in every way that uses a function pointer. With an argument, makes a call that
// control-flow integrity must stop.
#include <cuda.h>

#include <cushim/driver.hpp>

#include <cstdio>
#include <cstring>

static int not_the_type(double) { return 0; }

int main(int argc, char **) {
  using Init = CUresult (*)(unsigned);
  if (argc > 1) {
    void *volatile wrong = reinterpret_cast<void *>(&not_the_type);
    return static_cast<int>(reinterpret_cast<Init>(wrong)(0));
  }
  volatile Init pointer = &cuInit;
  void *found = nullptr;
  cuGetProcAddress("cuInit", &found, 12000, 0, nullptr);
  Init volatile looked_up;
  std::memcpy(const_cast<Init *>(&looked_up), &found, sizeof found);
  int version = 0;
  cuDriverGetVersion(&version);
  std::printf("drop-in %d pointer %d looked up %d wrapper %d driver %d\n", cuInit(0), pointer(0),
              looked_up(0), cushim::driver().cuInit(0), version);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Code that is invalid in a later standard, together with the driver's functions or cushim's C API.
#if defined(IS_cushim)
#include <cushim/load.h>
#else
#include <cuda.h>
#endif

static_assert(__cplusplus / 100 == (STANDARD == 14 ? 2014 : 2017), "compiled as the project says");

#if STANDARD == 14
int main(int, char **) {
  using Function = void (*)() throw(int);  // invalid in C++17
  Function function = nullptr;
#else
struct NotAggregate {
  NotAggregate() = delete;  // makes it a non-aggregate in C++20
  int number;
};

int main() {
  NotAggregate function{1};
  (void)function.number;
#endif
  (void)function;
#if defined(IS_cushim)
  return cushim_load(nullptr, nullptr) == nullptr && cushim_driver()->cuInit(0) == CUDA_SUCCESS;
#else
  return cuInit(0) == CUDA_ERROR_INVALID_VALUE;
#endif
}

// SPDX-License-Identifier: Apache-2.0
// The driver in a forked child.
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.hpp"

namespace conformance {
namespace {

class Forked : public OnDevice {};

struct ForkedCall {
  const char *name;
  CUresult (*call)();
};
const ForkedCall forked_calls[] = {
    {"cuInit", [] { return driver().cuInit(0); }},
    {"cuDeviceGetCount",
     [] {
       int count;
       return driver().cuDeviceGetCount(&count);
     }},
    {"cuDeviceGet",
     [] {
       CUdevice device;
       return driver().cuDeviceGet(&device, 0);
     }},
    {"cuCtxGetCurrent",
     [] {
       CUcontext made;
       return driver().cuCtxGetCurrent(&made);
     }},
    {"cuCtxSynchronize", [] { return driver().cuCtxSynchronize(); }},
    {"cuMemAlloc",
     [] {
       CUdeviceptr made;
       return driver().cuMemAlloc(&made, 64);
     }},
    {"cuEventCreate",
     [] {
       CUevent made;
       return driver().cuEventCreate(&made, 0);
     }},
    {"cuStreamCreate",
     [] {
       CUstream made;
       return driver().cuStreamCreate(&made, 0);
     }},
    {"cuStreamSynchronize", [] { return driver().cuStreamSynchronize(nullptr); }},
    {"cuDevicePrimaryCtxRetain",
     [] {
       CUcontext made;
       return driver().cuDevicePrimaryCtxRetain(&made, 0);
     }},
    {"cuMemAllocHost",
     [] {
       void *made;
       return driver().cuMemAllocHost(&made, 64);
     }},
};
const bool forked = [] {
  for (const ForkedCall &call : forked_calls)
    ADD_TEST(Forked, std::string("Is_refused_") + call.name, [call](OnDevice &) {
      CUSHIM_IN_A_FRESH_PROCESS();
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        alarm(20);
        _exit(static_cast<int>(call.call()) & 0xff);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status));
      expect_answer(__FILE__, __LINE__, call.name, static_cast<CUresult>(WEXITSTATUS(status)),
                    CUDA_ERROR_NOT_INITIALIZED);
    });
  return true;
}();

}  // namespace
}  // namespace conformance

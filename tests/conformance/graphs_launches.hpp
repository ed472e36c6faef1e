// SPDX-License-Identifier: Apache-2.0
// The fixture of the statements about executable graphs.
#pragma once

#include <string>

#include "graphs.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {

class GraphLaunches : public OnGraph {
 public:
  unsigned byte_at(CUdeviceptr address) {
    unsigned char value = 0;
    NEED(driver().cuMemcpyDtoH(&value, address, 1));
    return value;
  }
  // Returns a graph that sets a byte.
  CUgraph setting(CUdeviceptr to, unsigned value) {
    const CUgraph made = graph();
    set(made, to, value);
    return made;
  }
  // Expects that a launch of the executable graph `e` writes `value` to `to`.
  void expect_run(CUgraphExec e, CUdeviceptr to, unsigned value) {
    EXPECT_ANSWER(run(e), CUDA_SUCCESS);
    EXPECT_VALUE(byte_at(to), value);
  }
  // Allocates 4096 bytes of zeros.
  CUdeviceptr zeros() {
    const CUdeviceptr address = memory();
    NEED(driver().cuMemsetD8(address, 0, 4096));
    NEED(driver().cuCtxSynchronize());
    return address;
  }
  CUgraphExecUpdateResultInfo info{};
  // Updates an executable graph. Returns the result code and the update's result, for example "910: 2".
  std::string update(CUgraphExec executable, CUgraph graph) {
    info = {};
    const CUresult code = driver().cuGraphExecUpdate(executable, graph, &info);
    return std::to_string(code) + ": " + std::to_string(info.result);
  }
};

}  // namespace conformance

#endif

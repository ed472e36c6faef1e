// SPDX-License-Identifier: Apache-2.0
// Graphs and captures for statements.
#pragma once

#include <string>
#include <vector>

#include "kernels.hpp"
#include "support/structures.hpp"

namespace conformance {

// The statements about graphs need the declarations of these headers.
#define CONFORMANCE_HAS_GRAPHS (CUDA_VERSION >= 13000)

#if CONFORMANCE_HAS_GRAPHS

using Nodes = std::vector<CUgraphNode>;

// A fixture that destroys the graphs and executable graphs of a test, and ends captures that a test leaves.
class OnGraph : public OnModule {
 protected:
  void TearDown() override;

 public:
  CUgraph graph();
  // The same, and the test destroys it.
  static CUgraph own_graph();

  static CUgraphNode empty(CUgraph graph, const Nodes &after = {});
  // Adds a node that sets `count` bytes.
  CUgraphNode set(CUgraph graph, CUdeviceptr to, unsigned value, std::size_t count = 1,
                  const Nodes &after = {});
  // Adds a node that copies `size` bytes from pinned memory to device memory, or back.
  CUgraphNode copy_in(CUgraph graph, CUdeviceptr to, const void *from, std::size_t size,
                      const Nodes &after = {});
  CUgraphNode copy_out(CUgraph graph, void *to, CUdeviceptr from, std::size_t size, const Nodes &after = {});
  // Adds a node that increments an int.
  static CUgraphNode calling(CUgraph graph, int *count, const Nodes &after = {});
  // Adds a launch of the kernel `write`.
  CUgraphNode write(CUgraph graph, CUdeviceptr to, unsigned value, const Nodes &after = {});

  CUgraphExec executable(CUgraph graph, unsigned long long flags = 0);
  // Launches and synchronizes. Returns the first result that is not CUDA_SUCCESS.
  CUresult run(CUgraphExec executable);

  // Returns a stream that captures.
  CUstream capturing(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL,
                     unsigned flags = CU_STREAM_NON_BLOCKING);
  // Begins to capture a stream of the test.
  void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL);
  // Ends a capture and returns its graph, which is destroyed at the end of the test.
  CUgraph end(CUstream stream);
  // Ends a capture. Returns the result of cuStreamEndCapture, and destroys the graph.
  static CUresult end_result(CUstream stream);
  static int status(CUstream stream);

  // A launch of one thread without arguments.
  static CUDA_KERNEL_NODE_PARAMS one_thread(CUfunction function);
  static CUDA_MEMSET_NODE_PARAMS set_parameters(CUdeviceptr to, unsigned value, std::size_t count = 1);
  static CUDA_MEMCPY3D copy_parameters(CUdeviceptr to, const void *from, std::size_t size);
  static CUDA_HOST_NODE_PARAMS host_parameters(int *count);

  // The objects that tables of calls use.
  struct Objects {
    CUdeviceptr memory = 0, managed = 0;
    CUdeviceptr freed = 0;  // 0 after the test has freed it
    void *pinned = nullptr;
    CUevent event = nullptr, recorded = nullptr;
    CUevent destroyed = nullptr;  // null after the test has destroyed it
    CUstream other = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
  };
  Objects objects;
  void make_objects();

  // Receive results that a statement does not inspect.
  CUgraphNode node_out = nullptr;
  CUgraph graph_out = nullptr;
  CUgraphExec executable_out = nullptr;
  std::size_t count = 0;

 private:
  std::vector<CUgraph> graphs_;
  std::vector<CUgraphExec> executables_;
  std::vector<CUstream> captured_;
};

// The fixture of the statements about graphs and their nodes.
class Graphs : public OnGraph {};

std::size_t node_count(CUgraph graph);
std::size_t edge_count(CUgraph graph);
int type_of(CUgraphNode node);
Nodes nodes_of(CUgraph graph);
Nodes dependencies_of(CUgraphNode node);

#endif

}  // namespace conformance

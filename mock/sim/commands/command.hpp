// SPDX-License-Identifier: Apache-2.0
// Asynchronous work as data. An entry point validates its arguments and describes the work as a command,
// which is then submitted to a stream, captured as a node of a graph, or set as the parameters of a node.
#pragma once

#include <cuda.h>
#include <cushim/ptx/execute.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <variant>
#include <vector>

namespace cushim::sim {

// A copy of one, two or three dimensions. Copies of the command share its parameters, which are large: a
// graph and its executable graphs have one command for each node.
class Memcpy {
 public:
  explicit Memcpy(const CUDA_MEMCPY3D &parameters)
      : parameters_(std::make_shared<const CUDA_MEMCPY3D>(parameters)) {}
  const CUDA_MEMCPY3D &parameters() const noexcept { return *parameters_; }

 private:
  std::shared_ptr<const CUDA_MEMCPY3D> parameters_;
};

// Sets `height` rows of `width` values, `pitch` bytes apart.
struct Memset {
  CUDA_MEMSET_NODE_PARAMS parameters{};
};

// Attributes of a kernel node by CUlaunchAttributeID. They have no effect in the simulation.
using NodeAttributes = std::map<int, CUlaunchAttributeValue>;

struct KernelLaunch {
  CUfunction function = nullptr;
  ptx::LaunchShape shape{};
  bool is_cooperative = false;
  std::vector<std::byte> parameters{};                    // as the kernel's declaration lays them out
  std::shared_ptr<const NodeAttributes> attributes = {};  // those that are set; null if no attribute is set
  bool is_captured = false;                               // a stream capture made the node
};

struct HostFunction {
  CUhostFn function = nullptr;
  void *data = nullptr;
};

struct EventRecord {
  CUevent event = nullptr;
};

struct EventWait {
  CUevent event = nullptr;
};

inline constexpr unsigned kMostInBatch = 255;  // memory operations; measured, driver 580

struct BatchMemOp {
  std::vector<CUstreamBatchMemOpParams> operations{};
};

// The memory of a graph that a launch allocates, or frees.
struct GraphMemory;
struct MemoryAllocation {
  std::shared_ptr<GraphMemory> memory;
};
struct MemoryFree {
  std::shared_ptr<GraphMemory> memory;
};

// Orders other nodes of a graph.
struct Empty {};

// The graph is a part of the node that has this command.
struct Graph;
struct ChildGraph {
  Graph *graph = nullptr;
};

// Executes the bodies that the value of a condition chooses. The graphs are parts of the node that has this
// command.
struct GraphCondition;
enum class ConditionalType { if_else, while_loop, switch_case };  // CUgraphConditionalNodeType
struct Conditional {
  std::shared_ptr<GraphCondition> condition;
  ConditionalType type = ConditionalType::if_else;
  std::vector<Graph *> bodies{};
  std::vector<CUgraph> handles{};  // of the bodies: the array that the program reads
};

// Signals external semaphores, or waits for them, in the order of the list.
template <class Parameters>
struct SemaphoreList {
  std::vector<CUexternalSemaphore> semaphores{};
  std::vector<Parameters> parameters{};  // one for each semaphore
};
using ExternalSignal = SemaphoreList<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>;
using ExternalWait = SemaphoreList<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>;

using Command =
    std::variant<Empty, Memcpy, Memset, KernelLaunch, HostFunction, EventRecord, EventWait, BatchMemOp,
                 ChildGraph, MemoryAllocation, MemoryFree, Conditional, ExternalSignal, ExternalWait>;

// Returns whether a node with this command allocates or frees memory.
inline bool is_of_memory(const Command &command) {
  return std::holds_alternative<MemoryAllocation>(command) || std::holds_alternative<MemoryFree>(command);
}

}  // namespace cushim::sim

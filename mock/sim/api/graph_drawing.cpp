// SPDX-License-Identifier: Apache-2.0
// cuGraphDebugDotPrint: a description of a graph in the DOT language. The text differs from that of a real
// driver; the values that each flag adds are those of the documentation, cuda.h.
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "api/graph_objects.hpp"
#include "graphs/condition.hpp"
#include "graphs/graph_memory.hpp"

namespace cushim::sim {
namespace {

constexpr unsigned kVerbose = 1U << 0, kRuntimeTypes = 1U << 1, kKernels = 1U << 2, kCopies = 1U << 3,
                   kMemsets = 1U << 4, kHostFunctions = 1U << 5, kEvents = 1U << 6, kSignals = 1U << 7,
                   kWaits = 1U << 8, kAttributes = 1U << 9, kHandles = 1U << 10, kAllocations = 1U << 11,
                   kFrees = 1U << 12, kMemoryOperations = 1U << 13, kTopology = 1U << 14,
                   kConditions = 1U << 15;

const char *name_of(const Command &command) {
  constexpr const char *kNames[] = {"empty",
                                    "memcpy",
                                    "memset",
                                    "kernel",
                                    "host",
                                    "event record",
                                    "event wait",
                                    "batch mem op",
                                    "child graph",
                                    "mem alloc",
                                    "mem free",
                                    "conditional",
                                    "external semaphores signal",
                                    "external semaphores wait"};
  static_assert(std::size(kNames) == std::variant_size_v<Command>);
  return kNames[command.index()];
}

const char *name_of(ConditionalType type) {
  constexpr const char *kNames[] = {"if", "while", "switch"};
  return kNames[static_cast<int>(type)];
}

// Writes a graph and its parts.
class DotWriter {
 public:
  DotWriter(Call &call, unsigned flags)
      : call_(call), flags_((flags & kVerbose) != 0 ? flags | ~kRuntimeTypes : flags) {}

  std::string text_of(const Graph &graph) {
    out_ << "digraph graph_" << graph.id << " {\n";
    write_nodes(graph);
    out_ << "}\n";
    return out_.str();
  }

 private:
  bool has(unsigned flag) const { return (flags_ & flag) != 0; }

  // ---- Lines of a label ----

  // Begins the values of a structure, which has one name in the driver API and one in the runtime.
  bool begin(unsigned flag, const char *driver_type, const char *runtime_type) {
    if (has(flag)) out_ << "\\n" << (has(kRuntimeTypes) ? runtime_type : driver_type);
    return has(flag);
  }
  template <class Value>
  void line(std::string_view name, const Value &value) {
    out_ << "\\n" << name << ": " << value;
  }
  void address(std::string_view name, std::uintptr_t value) {
    out_ << "\\n" << name << ": 0x" << std::hex << value << std::dec;
  }
  void address(std::string_view name, const void *value) {
    address(name, reinterpret_cast<std::uintptr_t>(value));
  }
  void extent(std::string_view name, const ptx::Dim3 &value) {
    out_ << "\\n" << name << ": " << value.x << " x " << value.y << " x " << value.z;
  }

  // ---- The parameters of each type ----

  void describe(const Empty &) {}
  void describe(const ChildGraph &) {}
  void describe(const Memcpy &copy) {
    if (!begin(kCopies, "CUDA_MEMCPY3D", "cudaMemcpy3DParms")) return;
    const CUDA_MEMCPY3D &with = copy.parameters();
    end_of_copy("src", with.srcMemoryType, with.srcDevice, with.srcHost, with.srcArray, with.srcPitch);
    end_of_copy("dst", with.dstMemoryType, with.dstDevice, with.dstHost, with.dstArray, with.dstPitch);
    out_ << "\\nextent: " << with.WidthInBytes << " x " << with.Height << " x " << with.Depth;
  }
  void end_of_copy(const char *end, CUmemorytype type, CUdeviceptr device, const void *host, CUarray array,
                   std::size_t pitch) {
    const std::string name = end;
    if (type == CU_MEMORYTYPE_ARRAY) return address(name + " array", array);
    if (type == CU_MEMORYTYPE_HOST)
      address(name + " host", host);
    else
      address(name + " device", device);
    line(name + " pitch", pitch);
  }
  void describe(const Memset &set) {
    if (!begin(kMemsets, "CUDA_MEMSET_NODE_PARAMS", "cudaMemsetParams")) return;
    const CUDA_MEMSET_NODE_PARAMS &with = set.parameters;
    address("dst", with.dst);
    line("pitch", with.pitch);
    line("value", with.value);
    line("elementSize", with.elementSize);
    out_ << "\\nextent: " << with.width << " x " << with.height;
  }
  void describe(const KernelLaunch &launch) {
    if (has(kHandles)) address("function", launch.function);
    if (begin(kKernels, "CUDA_KERNEL_NODE_PARAMS", "cudaKernelNodeParams")) {
      extent("grid", launch.shape.grid);
      extent("block", launch.shape.block);
      line("sharedMemBytes", launch.shape.dynamic_shared_bytes);
    }
    if (begin(kAttributes, "CUkernelNodeAttrValue", "cudaKernelNodeAttrValue")) describe_attributes(launch);
  }
  void describe_attributes(const KernelLaunch &launch) {
    line("cooperative", launch.is_cooperative);
    if (launch.attributes == nullptr) return;
    for (const auto &[attribute, value] : *launch.attributes)
      if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        line("priority", value.priority);
      else
        line("attribute", attribute);  // that has been set
  }
  void describe(const HostFunction &host) {
    if (!begin(kHostFunctions, "CUDA_HOST_NODE_PARAMS", "cudaHostNodeParams")) return;
    address("fn", reinterpret_cast<std::uintptr_t>(host.function));
    address("userData", host.data);
  }
  void describe(const EventRecord &record) {
    if (has(kEvents)) address("event", record.event);
  }
  void describe(const EventWait &wait) {
    if (has(kEvents)) address("event", wait.event);
  }
  void describe(const BatchMemOp &batch) {
    if (!begin(kMemoryOperations, "CUDA_BATCH_MEM_OP_NODE_PARAMS", "CUDA_BATCH_MEM_OP_NODE_PARAMS")) return;
    for (const CUstreamBatchMemOpParams &operation : batch.operations) {
      line("operation", static_cast<int>(operation.operation));
      // Waits and writes have the same layout.
      if (operation.operation == CU_STREAM_MEM_OP_BARRIER) continue;
      address("address", operation.waitValue.address);
      line("value", operation.waitValue.value64);
    }
  }
  void describe(const MemoryAllocation &allocation) {
    if (!begin(kAllocations, "CUDA_MEM_ALLOC_NODE_PARAMS", "cudaMemAllocNodeParams")) return;
    address("dptr", allocation.memory->address);
    line("bytesize", allocation.memory->size);
    line("device", allocation.memory->device->ordinal);
  }
  void describe(const MemoryFree &free) {
    if (has(kFrees)) address("dptr", free.memory->address);
  }
  void describe(const Conditional &conditional) {
    if (!begin(kConditions, "CUDA_CONDITIONAL_NODE_PARAMS", "cudaConditionalNodeParams")) return;
    line("handle", conditional.condition->handle);
    line("size", conditional.bodies.size());
    address("ctx", conditional.condition->context);
  }
  void describe(const ExternalSignal &signal) {
    if (begin(kSignals, "CUDA_EXT_SEM_SIGNAL_NODE_PARAMS", "cudaExternalSemaphoreSignalNodeParams"))
      describe_semaphores(signal);
  }
  void describe(const ExternalWait &wait) {
    if (begin(kWaits, "CUDA_EXT_SEM_WAIT_NODE_PARAMS", "cudaExternalSemaphoreWaitNodeParams"))
      describe_semaphores(wait);
  }
  template <class Parameters>
  void describe_semaphores(const SemaphoreList<Parameters> &list) {
    for (std::size_t i = 0; i < list.semaphores.size(); ++i) {
      address("semaphore", list.semaphores[i]);
      line("value", list.parameters[i].params.fence.value);
    }
  }

  // ---- Nodes and edges ----

  void write_label(const GraphNode &node) {
    out_ << name_of(node.command);
    if (const auto *const conditional = std::get_if<Conditional>(&node.command))
      out_ << " " << name_of(conditional->type) << " " << conditional->condition->handle;
    if (const auto *const launch = std::get_if<KernelLaunch>(&node.command)) {
      const Function *const function = call_.system.handles.find<Function>(launch->function);
      out_ << " " << (function != nullptr ? function->name : "of an unloaded module");
    }
    if (has(kHandles)) address("node", handle_of(node));
    std::visit([&](const auto &command) { describe(command); }, node.command);
  }

  // An edge has a number among those from its first node, and one among those to its second.
  void write_edges(const GraphNode &node) {
    unsigned number = 0;
    node.dependents.for_each([&](const GraphEdge &edge) {
      out_ << "  node_" << edge.from.id << " -> node_" << edge.to.id;
      if (has(kTopology)) out_ << " [label=\"" << number++ << " to " << numbers_to_second_.at(&edge) << "\"]";
      out_ << ";\n";
    });
  }

  void number_edges_to_each_node(const Graph &graph) {
    graph.for_each_node([&](const GraphNode &node) {
      unsigned number = 0;
      node.dependencies.for_each([&](const GraphEdge &edge) { numbers_to_second_[&edge] = number++; });
    });
  }

  // Writes a graph that is a part of a node.
  void write_part(const Graph &part, const GraphNode &node) {
    out_ << "  subgraph cluster_" << part.id << " {\n  label=\"node_" << node.id << "\";\n";
    write_nodes(part);
    out_ << "  }\n";
  }

  void write_nodes(const Graph &graph) {
    if (has(kTopology)) number_edges_to_each_node(graph);
    graph.for_each_node([&](const GraphNode &node) {
      out_ << "  node_" << node.id << " [label=\"";
      write_label(node);
      out_ << "\"];\n";
      write_edges(node);
      if (const auto *const child = std::get_if<ChildGraph>(&node.command)) write_part(*child->graph, node);
      if (const auto *const conditional = std::get_if<Conditional>(&node.command))
        for (const Graph *const body : conditional->bodies) write_part(*body, node);
    });
  }

  Call &call_;
  const unsigned flags_;
  std::unordered_map<const GraphEdge *, unsigned> numbers_to_second_;
  std::ostringstream out_;
};

CUresult print(Call &call, CUgraph handle, const char *path, unsigned flags) {
  require(path != nullptr);
  const std::string text = DotWriter(call, flags).text_of(graph_of(call, handle));
  std::FILE *const file = std::fopen(path, "w");
  require(file != nullptr, CUDA_ERROR_OPERATING_SYSTEM);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  require(std::fclose(file) == 0 && is_written, CUDA_ERROR_OPERATING_SYSTEM);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_graph_drawing = {entry<"cuGraphDebugDotPrint", print>};

}  // namespace cushim::sim

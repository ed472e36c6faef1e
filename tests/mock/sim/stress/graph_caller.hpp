// SPDX-License-Identifier: Apache-2.0
// Random calls about graphs, captures, kernels, pools and virtual memory.
#pragma once

#include <array>

#include "pool_caller.hpp"
#include "support/structures.hpp"

namespace stress {

class GraphCaller : private PoolCaller {
 public:
  GraphCaller(World &world, unsigned long seed) : PoolCaller(world, seed) {}

  void run() {
    d().cuCtxSetCurrent(world_.primary);
    make_calls(*this, actions);
    d().cuCtxSetCurrent(world_.primary);
    d().cuCtxSynchronize();
    add_results();
    const std::lock_guard lock(world_.mutex);
    world_.graph_memory.insert(world_.graph_memory.end(), graph_memory_.begin(), graph_memory_.end());
  }

 private:
  friend RandomCaller;

  CUgraph graph() { return handle_of<CUgraph>(world_.graphs.any(random())); }
  CUgraphNode node() { return handle_of<CUgraphNode>(world_.nodes.any(random())); }
  CUgraphExec executable() { return handle_of<CUgraphExec>(world_.executables.any(random())); }
  CUevent event() { return handle_of<CUevent>(world_.events.any(random())); }
  CUdeviceptr memory() { return world_.memory.any(random()); }
  CUuserObject object() { return handle_of<CUuserObject>(world_.user_objects.any(random())); }
  CUfunction function() { return handle_of<CUfunction>(world_.functions.any(random())); }
  CUcontext context() { return random() % 8 == 0 ? nullptr : world_.primary; }

  // ---- Streams, events and memory ----

  void make_stream() {
    CUstream made = nullptr;
    if (!check(d().cuStreamCreate(&made, CU_STREAM_NON_BLOCKING))) return;
    share(made, world_.streams, d().cuStreamDestroy);
  }
  void make_event() {
    CUevent made = nullptr;
    if (!check(d().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING))) return;
    share(made, world_.events, d().cuEventDestroy);
  }
  void allocate() {
    CUdeviceptr made = 0;
    if (!check(d().cuMemAlloc(&made, kSmall))) return;
    if (const auto replaced = world_.memory.put(random(), made); replaced != 0)
      check(d().cuMemFree(replaced));
  }
  void synchronize() { check(d().cuStreamSynchronize(stream())); }

  // ---- Graphs ----

  void make_graph() {
    CUgraph made = nullptr;
    const bool is_clone = random() % 4 == 0;
    if (check(is_clone ? d().cuGraphClone(&made, graph()) : d().cuGraphCreate(&made, 0))) keep(made);
  }
  void keep(CUgraph made) { share(made, world_.graphs, d().cuGraphDestroy); }
  void keep(CUgraphNode made) { world_.nodes.put(random(), number_of(made)); }
  CUDA_MEMSET_NODE_PARAMS memset_parameters() {
    const CUdeviceptr to = memory();
    return cushim::test::memset_node(to, 0, 1 + random() % kSmall, 1);
  }
  CUDA_MEMCPY3D copy_parameters() {
    CUDA_MEMCPY3D parameters = {};
    parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    parameters.srcDevice = memory();
    parameters.dstDevice = memory();
    parameters.WidthInBytes = 1 + random() % kSmall;
    parameters.Height = parameters.Depth = 1;
    return parameters;
  }
  static CUDA_HOST_NODE_PARAMS host_parameters() {
    CUDA_HOST_NODE_PARAMS parameters = {};
    parameters.fn = [](void *) {};
    return parameters;
  }
  void add_node() {
    CUgraphNode made = nullptr;
    const CUgraph to = graph();
    const std::array after{node()};
    const std::size_t count = random() % 2;
    const auto memset = memset_parameters();
    const auto copy = copy_parameters();
    const auto host = host_parameters();
    const auto add = [&] {
      switch (random() % 9) {
        case 0:
          return d().cuGraphAddEmptyNode(&made, to, after.data(), count);
        case 1:
          return d().cuGraphAddMemsetNode(&made, to, after.data(), count, &memset, context());
        case 2:
          return d().cuGraphAddMemcpyNode(&made, to, after.data(), count, &copy, context());
        case 3:
          return d().cuGraphAddHostNode(&made, to, after.data(), count, &host);
        case 4:
          return d().cuGraphAddEventRecordNode(&made, to, after.data(), count, event());
        case 5:
          return d().cuGraphAddEventWaitNode(&made, to, after.data(), count, event());
        case 6:
          return d().cuGraphAddChildGraphNode(&made, to, after.data(), count, graph());
        case 7:
          return add_kernel(made, to, after.data(), count);
        default:
          return add_memory(made, to, after.data(), count);
      }
    };
    if (check(add())) keep(made);
  }
  CUresult add_kernel(CUgraphNode &made, CUgraph to, const CUgraphNode *after, std::size_t count) {
    CUdeviceptr address = memory();
    void *arguments[] = {&address};
    CUDA_KERNEL_NODE_PARAMS parameters = {};
    parameters.func = function();
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments;
    return d().cuGraphAddKernelNode(&made, to, after, count, &parameters);
  }
  // Adds a node that allocates memory, and often one that frees it.
  CUresult add_memory(CUgraphNode &made, CUgraph to, const CUgraphNode *after, std::size_t count) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = cushim::test::allocation_node(kSmall);
    const CUresult code = d().cuGraphAddMemAllocNode(&made, to, after, count, &parameters);
    if (code != CUDA_SUCCESS) return code;
    graph_memory_.push_back(parameters.dptr);
    if (random() % 4 == 0) return code;
    CUgraphNode freeing = nullptr;
    return d().cuGraphAddMemFreeNode(&freeing, to, &made, 1, parameters.dptr);
  }
  void destroy_node() { check(d().cuGraphDestroyNode(handle_of<CUgraphNode>(world_.nodes.take(random())))); }
  void add_edge() {
    const CUgraphNode from = node(), to = node();
    check(d().cuGraphAddDependencies(graph(), &from, &to, nullptr, 1));
  }
  void remove_edge() {
    const CUgraphNode from = node(), to = node();
    check(d().cuGraphRemoveDependencies(graph(), &from, &to, nullptr, 1));
  }
  void ask_graph() {
    std::array<CUgraphNode, 16> nodes;
    std::size_t count = nodes.size();
    check(d().cuGraphGetNodes(graph(), nodes.data(), &count));
    count = nodes.size();
    check(d().cuGraphGetRootNodes(graph(), nodes.data(), &count));
    count = nodes.size();
    check(d().cuGraphNodeGetDependencies(node(), nodes.data(), nullptr, &count));
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    check(d().cuGraphNodeGetType(node(), &type));
  }
  void set_node() {
    const auto memset = memset_parameters();
    const auto host = host_parameters();
    if (random() % 2 == 0)
      check(d().cuGraphMemsetNodeSetParams(node(), &memset));
    else
      check(d().cuGraphHostNodeSetParams(node(), &host));
  }

  // ---- Executable graphs ----

  void instantiate() {
    CUgraphExec made = nullptr;
    const unsigned flags = random() % 2 == 0 ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0;
    if (!check(d().cuGraphInstantiate(&made, graph(), flags))) return;
    share(made, world_.executables, d().cuGraphExecDestroy);
  }
  void launch_graph() { check(d().cuGraphLaunch(executable(), stream())); }
  void upload() { check(d().cuGraphUpload(executable(), stream())); }
  void update() {
    CUgraphExecUpdateResultInfo info = {};
    check(d().cuGraphExecUpdate(executable(), graph(), &info));
  }
  void set_executable_node() {
    const auto memset = memset_parameters();
    const auto host = host_parameters();
    switch (random() % 3) {
      case 0:
        check(d().cuGraphExecMemsetNodeSetParams(executable(), node(), &memset, world_.primary));
        break;
      case 1:
        check(d().cuGraphExecHostNodeSetParams(executable(), node(), &host));
        break;
      default:
        check(d().cuGraphNodeSetEnabled(executable(), node(), static_cast<unsigned>(random() % 2)));
    }
  }
  void trim_graph_memory() { check(d().cuDeviceGraphMemTrim(0)); }

  // ---- Captures ----

  void begin_capture() {
    constexpr CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED,
                                             CU_STREAM_CAPTURE_MODE_THREAD_LOCAL};
    if (random() % 4 == 0)
      check(d().cuStreamBeginCaptureToGraph(stream(), graph(), nullptr, nullptr, 0, modes[0]));
    else
      check(d().cuStreamBeginCapture(stream(), modes[random() % std::size(modes)]));
  }
  void end_capture() {
    CUgraph made = nullptr;
    if (check(d().cuStreamEndCapture(stream(), &made)) && made != nullptr && is_own(made)) keep(made);
  }
  // A capture to a graph ends with that graph.
  bool is_own(CUgraph made) {
    for (unsigned i = 0; i < world_.graphs.size(); ++i)
      if (world_.graphs.any(i) == number_of(made)) return false;
    return true;
  }
  void record() { check(d().cuEventRecord(event(), stream())); }
  void wait_for_event() { check(d().cuStreamWaitEvent(stream(), event(), 0)); }
  void set() { check(d().cuMemsetD8Async(memory(), 1, 1 + random() % kSmall, stream())); }
  void launch_host_function() {
    check(d().cuLaunchHostFunc(
        stream(), [](void *) {}, nullptr));
  }
  void launch_kernel() {
    CUdeviceptr address = memory();
    void *arguments[] = {&address};
    check(d().cuLaunchKernel(function(), 1, 1, 1, 1, 1, 1, 0, stream(), arguments, nullptr));
  }
  void ask_capture() {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraph found = nullptr;
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 0;
    check(d().cuStreamGetCaptureInfo(stream(), &status, &id, &found, &nodes, &edges, &count));
  }

  // ---- User objects ----

  void make_user_object() {
    CUuserObject made = nullptr;
    if (!check(d().cuUserObjectCreate(
            &made, nullptr, [](void *) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)))
      return;
    if (const auto replaced = world_.user_objects.put(random(), number_of(made)); replaced != 0)
      check(d().cuUserObjectRelease(handle_of<CUuserObject>(replaced), 1));
  }
  void retain_user_object() {
    if (random() % 2 == 0)
      check(d().cuGraphRetainUserObject(graph(), object(), 1, 0));
    else
      check(d().cuGraphReleaseUserObject(graph(), object(), 1));
  }

  static constexpr Action<GraphCaller> actions[] = {&GraphCaller::make_stream,
                                                    &GraphCaller::make_event,
                                                    &GraphCaller::allocate,
                                                    &GraphCaller::synchronize,
                                                    &GraphCaller::make_graph,
                                                    &GraphCaller::add_node,
                                                    &GraphCaller::add_node,
                                                    &GraphCaller::add_node,
                                                    &GraphCaller::add_node,
                                                    &GraphCaller::destroy_node,
                                                    &GraphCaller::add_edge,
                                                    &GraphCaller::add_edge,
                                                    &GraphCaller::remove_edge,
                                                    &GraphCaller::ask_graph,
                                                    &GraphCaller::set_node,
                                                    &GraphCaller::instantiate,
                                                    &GraphCaller::launch_graph,
                                                    &GraphCaller::launch_graph,
                                                    &GraphCaller::upload,
                                                    &GraphCaller::update,
                                                    &GraphCaller::set_executable_node,
                                                    &GraphCaller::trim_graph_memory,
                                                    &GraphCaller::begin_capture,
                                                    &GraphCaller::end_capture,
                                                    &GraphCaller::record,
                                                    &GraphCaller::wait_for_event,
                                                    &GraphCaller::set,
                                                    &GraphCaller::launch_host_function,
                                                    &GraphCaller::launch_kernel,
                                                    &GraphCaller::ask_capture,
                                                    &GraphCaller::make_user_object,
                                                    &GraphCaller::retain_user_object,
                                                    &GraphCaller::make_pool,
                                                    &GraphCaller::allocate_from_pool,
                                                    &GraphCaller::free_from_pool,
                                                    &GraphCaller::trim_pool,
                                                    &GraphCaller::reserve_range,
                                                    &GraphCaller::make_physical,
                                                    &GraphCaller::export_and_import,
                                                    &GraphCaller::map,
                                                    &GraphCaller::unmap,
                                                    &GraphCaller::retain_mapped,
                                                    &GraphCaller::set_mapped};
};

}  // namespace stress

// SPDX-License-Identifier: Apache-2.0
// The objects of walks about kernels, stream captures and graphs. The printed calls of these walks are for
// readers; they do not compile as tests.
#pragma once

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "walk.hpp"

namespace differential {

// A module or library, and its index in `images`.
template <class Handle>
struct Loaded {
  Handle handle = nullptr;
  unsigned image = 0;
};
using ModuleSlot = Loaded<CUmodule>;
using LibrarySlot = Loaded<CUlibrary>;
struct FunctionSlot {
  CUfunction handle = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  unsigned name = 0;  // in kernel_names
};
struct KernelSlot {
  CUkernel handle = nullptr;
  CUlibrary library = nullptr;
  unsigned name = 0;
};
struct GraphSlot {
  CUgraph handle = nullptr;
  CUgraph parent = nullptr;        // the graph that it is a part of
  CUgraphNode node = nullptr;      // the node that it is a part of
  CUstream captured_by = nullptr;  // the stream whose capture adds to it
};
struct NodeSlot {
  CUgraphNode handle = nullptr;
  CUgraph graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUdeviceptr memory = 0;  // of an allocation node
  std::size_t bytes = 0;
};
struct ExecutableSlot {
  CUgraphExec handle = nullptr;
  CUgraph graph = nullptr;  // that it was made from; it may be destroyed
};
struct ConditionSlot {
  CUgraphConditionalHandle handle = 0;
  CUgraph graph = nullptr;
};

// Parameters of a launch: kernel parameters of the kernel with this name.
struct LaunchArguments {
  CUdeviceptr to = 0;
  unsigned value = 0;
  unsigned char small = 5;
  std::array<std::uint64_t, 2> pair{1, 2};
  float real = 2.5F;
  std::array<void *, 4> pointers{};
  std::string text;
};

struct GraphObjects {
  GraphObjects();
  // Ends captures, and destroys all objects. Returns false if the context is unusable.
  bool end(const std::array<Stream, 4> &streams, const SharedObjects &shared);
  // Forgets the graph of a stream's capture that has failed: the driver has destroyed it.
  void forget_capture(CUstream stream);
  // Waits until all work in streams that do not capture is complete.
  void settle(const std::array<Stream, 4> &streams) const;

  std::array<ModuleSlot, 3> modules;
  std::array<LibrarySlot, 2> libraries;
  std::array<FunctionSlot, 6> f;
  std::array<KernelSlot, 4> k;
  std::array<GraphSlot, 8> g;
  std::vector<NodeSlot> n;
  std::array<ExecutableSlot, 4> x;
  std::array<CUuserObject, 3> users{};
  std::array<unsigned, 3> user_references{};
  std::vector<ConditionSlot> conditions;
  CUlinkState link = nullptr;
  std::vector<CUdeviceptr> allocated;  // all memory of allocation nodes, also of freed memory
  CUdeviceptr memory = 0;              // the first 4096 bytes are constant, the others are written
  unsigned next_place = 0;
  std::atomic<unsigned> destructors{0};

  static constexpr std::size_t bytes_of_memory = 4096 + 16 * 1024;
};

extern const std::array<const char *, 10> kernel_names;
extern const std::array<const char *, 10> images;

// ---- Arguments ----

inline GraphObjects &objects(Walk &w) { return *w.graphs; }
template <class T>
Argument<T> argument(T value, std::string text) {
  return {value, std::move(text)};
}
// Returns a place in memory that no other operation of the program writes.
Argument<CUdeviceptr> a_place(Walk &w);
// Fills the arguments of a kernel.
void fill_arguments(Walk &w, unsigned name, LaunchArguments &arguments);
// Return live objects, sometimes null. The index is that of the slot; the size of the table without one.
Argument<CUfunction> a_function(Walk &w, unsigned &name);
Argument<CUgraph> a_graph(Walk &w);
Argument<CUgraphNode> a_node(Walk &w);
// Prefers nodes of this type.
Argument<CUgraphNode> a_node(Walk &w, CUgraphNodeType type);
Argument<CUgraphExec> an_executable(Walk &w);
Argument<CUstream> a_graph_stream(Walk &w);
// Return a list of 0 to 2 nodes to come after, mostly of this graph.
struct Nodes {
  std::vector<CUgraphNode> handles;
  std::size_t count = 0;
  std::string text;
  Argument<const CUgraphNode *> list() const { return {handles.empty() ? nullptr : handles.data(), text}; }
  Argument<std::size_t> size() const { return bytes(count); }
};
Nodes nodes_before(Walk &w, CUgraph graph);

std::string name_of(Walk &w, CUgraph graph);
std::string name_of(Walk &w, CUgraphNode node);
std::string name_of(Walk &w, CUfunction function);
std::string name_of(Walk &w, CUkernel kernel);
// Adds the types of a graph's nodes and its edges to the answer.
void describe(Walk &w, CUgraph graph);

// Record the creation and the end of objects.
void has_node(Walk &w, CUgraphNode node, CUgraph graph, CUgraphNodeType type);
unsigned free_graph_slot(Walk &w);  // g.size() if there is none
void has_ended(Walk &w, CUgraph graph);
// Forgets the graph into which a stream captured: the driver has destroyed it, because the capture failed.
void has_lost_capture(Walk &w, CUstream stream);
void has_ended(Walk &w, CUgraphNode node);
// Adds a number to the answer if the call has succeeded.
template <class T>
void also_if(Walk &w, CUresult code, const T &value) {
  if (code == CUDA_SUCCESS) w.also(fmt::format("{}", value));
}

// Adds the name that a call writes to its answer.
template <class Call>
void also_name_from(Walk &w, const Call &call) {
  const char *name = nullptr;
  if (call(argument(&name, "&text")) == CUDA_SUCCESS) w.also(name);
}

// Describes a parameter of a kernel, with a random index. The call takes the index, and pointers to the
// parameter's offset and size.
template <class Call>
void also_parameter_from(Walk &w, const Call &call) {
  Result<std::size_t> offset("offset"), size("size");
  const auto index = bytes(w.dice.below(5));
  if (call(index, offset.argument(), size.argument()) == CUDA_SUCCESS)
    w.also(fmt::format("{} {}", offset.value, size.value));
}

void settle(Walk &w);
void begin_objects(Walk &w);

}  // namespace differential

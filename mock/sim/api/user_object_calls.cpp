// SPDX-License-Identifier: Apache-2.0
// User objects: data of the program that graphs keep alive.
#include <algorithm>

#include "api/graph_objects.hpp"

namespace cushim::sim {
namespace {

CUresult create(Call &call, CUuserObject *out, void *data, CUhostFn destroy, unsigned references,
                unsigned flags) {
  require(out != nullptr && destroy != nullptr && references != 0);
  require(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  auto object = std::make_unique<UserObject>();
  object->data = data;
  object->destroy = destroy;
  object->references = references;
  *out = reinterpret_cast<CUuserObject>(call.system.handles.add(std::move(object)).handle);
  return CUDA_SUCCESS;
}

constexpr unsigned kMostReferences = 0x7fffffff;  // of a call; measured on an H200, driver 580

// Returns true if the destructor has been called while the program has references, because a graph released
// more references than it held. Further calls succeed without an effect. Measured on an H200, driver 580.
bool is_over(const UserObject &object) { return object.destroy == nullptr; }

CUresult retain(Call &call, CUuserObject handle, unsigned count) {
  UserObject &object = user_object_of(call, handle);
  require(count != 0 && count <= kMostReferences);
  if (is_over(object)) return CUDA_SUCCESS;
  object.references += count;
  return CUDA_SUCCESS;
}

CUresult release_by_program(Call &call, CUuserObject handle, unsigned count) {
  UserObject &object = user_object_of(call, handle);
  require(count != 0 && count <= kMostReferences);
  if (is_over(object)) return CUDA_SUCCESS;
  release(call.system, object, std::min<unsigned long long>(count, object.references), call.name);
  call_destructors(call);
  return CUDA_SUCCESS;
}

CUresult retain_by_graph(Call &call, CUgraph handle, CUuserObject object_handle, unsigned count,
                         unsigned flags) {
  Graph &graph = graph_of(call, handle);
  UserObject &object = user_object_of(call, object_handle);
  require(count != 0 && count <= kMostReferences && (flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) == 0);
  if (is_over(object)) return CUDA_SUCCESS;
  const bool is_moved = flags != 0;
  require(!is_moved || count <= object.references || object.is_permanent);  // measured on an H200, driver 580
  graph.user_objects[&object] += count;
  if (!is_moved) object.references += count;
  return CUDA_SUCCESS;
}

CUresult release_by_graph(Call &call, CUgraph handle, CUuserObject object_handle, unsigned count) {
  Graph &graph = graph_of(call, handle);
  UserObject &object = user_object_of(call, object_handle);
  require(count != 0 && count <= kMostReferences);
  if (is_over(object)) return CUDA_SUCCESS;
  const auto held = graph.user_objects.find(&object);
  const unsigned own = held != graph.user_objects.end() ? std::min(count, held->second) : 0;
  const bool has_others = own < object.references;
  if (own != 0) {
    held->second -= own;
    if (held->second == 0) graph.user_objects.erase(held);
    release(call.system, object, own, call.name);
  }
  if (has_others && own < count) {
    object.is_permanent = true;
    release(call.system, object, count - own, call.name);
  }
  call_destructors(call);
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_user_objects = {
    entry<"cuUserObjectCreate", create>,
    entry<"cuUserObjectRetain", retain>,
    entry<"cuUserObjectRelease", release_by_program>,
    entry<"cuGraphRetainUserObject", retain_by_graph>,
    entry<"cuGraphReleaseUserObject", release_by_graph>,
};

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// Makes a graph the owner of a C++ object.
#pragma once

#include <cushim/detail/reference.hpp>

#include <memory>

namespace cushim {
inline namespace v1 {
namespace detail {

// Makes a graph the owner of an object, by a user object of the driver: the driver deletes the object, on a
// thread of its own, when the graph, its clones and the executable graphs made of them are destroyed and
// their launches are done. noun names the graph in errors. Driver calls: cuUserObjectCreate,
// cuGraphRetainUserObject.
template <class T, class Noun>
CUuserObject give_to_graph(std::unique_ptr<T> object, CUgraph graph, const Noun &noun, Where where) {
  Driver &driver = noun.driver();
  const CUhostFn destroy = [](void *data) { delete static_cast<T *>(data); };
  CUuserObject owner = nullptr;
  check(driver.cuUserObjectCreate(&owner, object.get(), destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", where, noun);
  static_cast<void>(object.release());
  const CUresult kept = driver.cuGraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (kept != CUDA_SUCCESS) driver.cuUserObjectRelease(owner, 1);
  check(kept, "cuGraphRetainUserObject", where, noun);
  return owner;
}

}  // namespace detail
}  // namespace v1
}  // namespace cushim

// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects, and the references that they replaced.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "objects/handle.hpp"

namespace cushim::sim {

struct Context;
struct Module;

// The memory of a texture and how it is read.
struct TextureSource {
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC sampling = {};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
};

// CUtexObject.
struct TextureObject : ObjectOf<Kind::texture> {
  Context *context = nullptr;
  TextureSource source;
};

// CUsurfObject.
struct SurfaceObject : ObjectOf<Kind::surface> {
  Context *context = nullptr;
  CUDA_RESOURCE_DESC resource = {};
};

// Descriptors of destroyed objects. A device reads a descriptor until its slot is reused, so kernels that
// were launched before the object was destroyed still find it. Measured on an H200, driver 580.
template <class Descriptor>
class EndedDescriptors {
 public:
  void add(std::uintptr_t handle, const Descriptor &descriptor) {
    order_.push_back(handle);
    descriptors_.emplace(handle, descriptor);
    if (order_.size() <= kMost) return;
    descriptors_.erase(order_.front());
    order_.pop_front();
  }
  const Descriptor *find(std::uintptr_t handle) const {
    const auto found = descriptors_.find(handle);
    return found != descriptors_.end() ? &found->second : nullptr;
  }

 private:
  static constexpr std::size_t kMost = 4096;

  std::unordered_map<std::uintptr_t, Descriptor> descriptors_;
  std::deque<std::uintptr_t> order_;  // handles, the oldest first
};

// CUtexref: of a module, or created by the program.
struct TextureReference : ObjectOf<Kind::texture_reference> {
  TextureReference() {
    for (CUaddress_mode &mode : sampling.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  }

  Context *context = nullptr;
  Module *module = nullptr;  // null: created by the program
  // The defaults are not documented. Measured on an H200, driver 580: addresses 1 and 2 are clamped.
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  unsigned channels = 1;
  CUDA_TEXTURE_DESC sampling = {};
  std::optional<CUDA_RESOURCE_DESC> resource;  // empty: not bound
};

// CUsurfref of a module.
struct SurfaceReference : ObjectOf<Kind::surface_reference> {
  Context *context = nullptr;
  Module *module = nullptr;
  CUarray array = nullptr;  // null: not bound
};

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "objects/awaited_events.hpp"
#include "objects/coredump_settings.hpp"
#include "objects/handle.hpp"
#include "objects/stream.hpp"
#include "objects/texture.hpp"

namespace cushim::sim {

struct Device;
struct Module;

struct Context : ObjectOf<Kind::context> {
  Device *device = nullptr;
  unsigned long id = 0;
  unsigned flags = 0;
  unsigned api_version = 3020;
  bool is_primary = false;
  CUresult fault = CUDA_SUCCESS;  // returned by every call in this context after its device was lost
  // False as soon as a call begins to destroy the context: calls in it return CUDA_ERROR_CONTEXT_IS_DESTROYED
  // (709), also through entries that remain on the context stacks of threads.
  bool is_alive = true;
  unsigned long ending = 0;  // the number of the call that waits to destroy it; 0 if none
  CUfunc_cache cache_config = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  std::map<int, std::size_t> limits;
  std::set<Context *> peers;    // contexts whose memory this one may access
  std::set<Context *> peer_of;  // contexts that may access this one's memory
  // Each entry on a thread's context stack holds a reference.
  std::shared_ptr<const void> entries = std::make_shared<char>();
  std::size_t heap_used = 0;  // bytes allocated by malloc() in kernels
  std::set<Module *> modules;

  std::vector<Stream *> streams;  // created by the program
  void add_stream(Stream &stream);
  // The stream's pending work continues.
  void remove_stream(const Stream &stream);
  std::unique_ptr<Stream> legacy;
  std::map<unsigned long, std::unique_ptr<Stream>> per_thread;  // by the thread's number

  // The pending work of a destroyed stream.
  struct PendingTail {
    Work tail;
    bool is_blocking;
  };
  std::vector<PendingTail> pending_tails;
  std::size_t left_over_swept_at = 32;

  AwaitedEvents awaited;
  CoredumpSettings coredump;

  // Removes idle streams of ended threads once the number of streams has doubled since the last sweep:
  // amortized O(1) per stream.
  void sweep_per_thread();
  std::size_t per_thread_swept_at = 4;

  // Events and arrays of the context; destroyed with it.
  class Objects : public ListHook {
   public:
    Object *first() const noexcept { return &next() == this ? nullptr : &static_cast<Object &>(next()); }
  };
  Objects objects;
  EndedDescriptors<TextureSource> ended_textures;
  EndedDescriptors<CUDA_RESOURCE_DESC> ended_surfaces;

  // Cancels a pending destruction: calls in the context succeed again.
  void revive() noexcept {
    is_alive = true;
    ending = 0;
  }

  // Returns the last work of every stream, including destroyed streams with pending work.
  std::vector<Work> works() const;
};

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// The effect of each entry point on streams, events and memory: by base name, for all ABIs and per-thread
// variants. The effects of most copies and memsets follow from their entry traits.
#pragma once

#include <cushim/detail/entry_traits.hpp>
#include <cushim/detail/launch_watch.hpp>

#include "core/watch.hpp"
#include "hazards/graphs.hpp"
#include "hazards/hazard_model.hpp"
#include "hazards/kernel_knowledge.hpp"

namespace cushim::check {

// A view of a call that is about to be made, has succeeded, or was rejected by the driver.
class CallView {
 public:
  CallView(HazardModel &model, KernelKnowledge &kernels, Graphs &graphs, const WatchedCall &call,
           bool is_refused = false)
      : model(model),
        kernels(kernels),
        graphs(graphs),
        driver_(kernels.driver),
        call_(call),
        is_refused_(is_refused) {}

  HazardModel &model;
  KernelKnowledge &kernels;
  Graphs &graphs;
  // The kernels that a driver of this process has enqueued in the call.
  std::span<const mock::EnqueuedKernel> enqueued{};

  const mock::EntryTraits &traits() const { return mock::traits_of(call_.slot); }
  int version() const noexcept { return cushim_entry(call_.slot)->version; }
  std::size_t count() const noexcept { return call_.arguments.size(); }
  // Returns whether argument 0 is a CUlaunchConfig.
  bool has_launch_configuration() const noexcept;
  std::uint64_t argument(std::size_t index) const { return call_.arguments[index].bits; }
  // Returns the value that the call wrote through this argument.
  std::uint64_t written(std::size_t index) const { return call_.arguments[index].written(); }
  template <class T>
  const T *pointed(std::size_t index) const {
    return reinterpret_cast<const T *>(argument(index));
  }
  template <class T>
  T handle(std::size_t index) const {
    return reinterpret_cast<T>(argument(index));
  }

  StreamRef stream(CUstream handle) const;
  StreamRef stream(std::size_t index) const { return stream(handle<CUstream>(index)); }
  StreamRef last_stream() const { return stream(count() - 1); }
  StreamRef null_stream() const { return stream(CUstream{}); }
  ContextKey current() const;
  // Returns the call stack and entry point of the call, for memory accesses.
  Access access() const {
    return {.epoch = {}, .call_stack = CallStack::of_call(), .entry = static_cast<Entry>(call_.slot)};
  }
  // Reports the work to the model, or that the driver rejected it.
  void work(const StreamRef &stream, std::span<const HazardModel::Use> uses, HazardModel::Host host);
  // Returns the size of memory that another call created; 0 if unknown.
  std::uint64_t size_of(std::uint64_t address) const;
  // Returns the size of an array's elements in bytes; 0 for other formats than integers and floats of 8 to 32
  // bits.
  std::uint64_t element_size(CUarray array) const;

 private:
  Driver &driver_;
  const WatchedCall &call_;
  const bool is_refused_;
};

struct Effect {
  const char *base;
  // Runs before the call: removes what the call destroys, and sets what the host knows to be done when it
  // succeeds.
  void (*before)(CallView &call, VectorClock &host_learns) = nullptr;
  // Runs when the call has succeeded.
  void (*after)(CallView &call) = nullptr;
  bool is_for_any_result = false;
  // True if the call does nothing but wait for `host_learns`. It does not block if the host already knows
  // that this work is complete.
  bool only_waits = false;
  bool enqueues_kernels = false;  // CallView::enqueued is set
};

// Returns whether after() also runs for calls that the driver rejected as invalid: asynchronous copies and
// memsets, which report only CallView::work() to the model.
bool is_checked_if_rejected(int slot);

// Returns null if the call has no such effect, or can never succeed (the ABIs with 32-bit device
// addresses).
const Effect *effect_of(int slot);

// Returns the number of the calling thread.
unsigned long number_of_thread() noexcept;

// Returns the stream that a handle means in a call of this entry point.
StreamRef stream_ref(Driver &driver, int slot, CUstream handle);

}  // namespace cushim::check

// SPDX-License-Identifier: Apache-2.0
#include "hazards/kernel_effects.hpp"

#include <cstring>
#include <span>

namespace cushim::check {
namespace {

using Kernel = mock::EnqueuedKernel;

void add(CallView &call, const StreamRef &stream, const Kernel &kernel) {
  Access access = call.access();
  access.work = named(kernel);
  call.model.launch(stream, access, call.kernels.pointers_of(kernel, call.model));
}

// Adds a launch of one kernel.
void add(CallView &call, const StreamRef &stream, void *const *pointers, void *const *extra,
         std::size_t function = 0) {
  if (!call.model.reports()) return call.model.unknown_work(stream);
  if (!call.enqueued.empty()) return add(call, stream, call.enqueued.front());
  add(call, stream, call.kernels.ask(call.handle<CUfunction>(function), pointers, extra));
}

// Adds the events that a launch records by its attributes. The latest time at which the driver may record
// them is the end of the kernel.
void add_events(CallView &call, const StreamRef &stream, const CUlaunchConfig &configuration) {
  constexpr int kProgrammatic = 7, kCompletion = 12;  // CU_LAUNCH_ATTRIBUTE_*_EVENT
  for (const CUlaunchAttribute &attribute : std::span(configuration.attrs, configuration.numAttrs)) {
    if (const int id = attribute.id; id != kProgrammatic && id != kCompletion) continue;
    CUevent event = nullptr;  // the first member of both values
    std::memcpy(&event, &attribute.value, sizeof event);
    call.model.record(event, stream);
  }
}

}  // namespace

void launch(CallView &call) { add(call, call.stream(8), call.handle<void **>(9), call.handle<void **>(10)); }

void launch_cooperative(CallView &call) { add(call, call.stream(8), call.handle<void **>(9), nullptr); }

void launch_by_configuration(CallView &call) {
  const auto &configuration = *call.pointed<CUlaunchConfig>(0);
  const StreamRef stream = call.stream(configuration.hStream);
  add(call, stream, call.handle<void **>(2), call.handle<void **>(3), 1);
  add_events(call, stream, configuration);
}

void launch_several(CallView &call) {
  for (std::uint64_t i = 0; i < call.argument(1); ++i) {
    const CUDA_LAUNCH_PARAMS &one = call.pointed<CUDA_LAUNCH_PARAMS>(0)[i];
    const StreamRef stream = call.stream(one.hStream);
    if (!call.model.reports())
      call.model.unknown_work(stream);
    else
      add(call, stream,
          i < call.enqueued.size() ? call.enqueued[i]
                                   : call.kernels.ask(one.function, one.kernelParams, nullptr));
  }
}

void launch_in_null(CallView &call) { add(call, call.null_stream(), nullptr, nullptr); }
void launch_in_last(CallView &call) { add(call, call.last_stream(), nullptr, nullptr); }

void forget_kernels(CallView &call) { call.kernels.forget(); }

}  // namespace cushim::check

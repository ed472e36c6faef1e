// SPDX-License-Identifier: Apache-2.0
#include "hazards/entry_point_effects.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <vector>

#include "hazards/allocation_effects.hpp"
#include "hazards/batch_effects.hpp"
#include "hazards/copy_and_memset_effects.hpp"
#include "hazards/graph_effects.hpp"
#include "hazards/kernel_effects.hpp"

namespace cushim::check {

unsigned long number_of_thread() noexcept {
  static std::atomic<unsigned long> last{0};
  thread_local const unsigned long number = ++last;
  return number;
}

StreamRef stream_ref(Driver &driver, int slot, CUstream handle) {
  StreamRef stream{.handle = handle, .is_per_thread_call = cushim_entry(slot)->thread[0] != '\0'};
  if (stream.is_named()) return stream;
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  stream.current = current;
  if (stream.is_threads_own()) stream.thread = number_of_thread();
  return stream;
}

ContextKey CallView::current() const {
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  return current;
}

StreamRef CallView::stream(CUstream handle) const {
  StreamRef stream = stream_ref(driver_, call_.slot, handle);
  if (!stream.is_named() || model.streams().knows(handle)) return stream;
  unsigned flags = 0;
  CUcontext context = nullptr;
  CUstreamCaptureStatus status{};
  // In a stream that captures, cuStreamGetFlags would invalidate the capture. Measured, driver 580.
  const bool is_capturing =
      driver_.cuStreamIsCapturing(handle, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
  if (!is_capturing && driver_.cuStreamGetFlags(handle, &flags) == CUDA_SUCCESS &&
      driver_.cuStreamGetCtx(handle, &context) == CUDA_SUCCESS)
    model.streams().made(handle, context, (flags & CU_STREAM_NON_BLOCKING) == 0);
  else
    stream.current = current();
  return stream;
}

std::uint64_t CallView::size_of(std::uint64_t address) const {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  return driver_.cuMemGetAddressRange(&base, &size, address) == CUDA_SUCCESS ? base + size - address : 0;
}

std::uint64_t CallView::element_size(CUarray array) const {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  if (driver_.cuArray3DGetDescriptor(&shape, array) != CUDA_SUCCESS) return 0;
  switch (shape.Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return shape.NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2 * shape.NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4 * shape.NumChannels;
    default:
      return 0;
  }
}

bool CallView::has_launch_configuration() const noexcept {
  return std::string_view(cushim_entry(call_.slot)->base) == "cuLaunchKernelEx";
}

void CallView::work(const StreamRef &stream, std::span<const HazardModel::Use> uses, HazardModel::Host host) {
  if (is_refused_)
    model.refused_work(stream, access(), uses);
  else
    model.work(stream, access(), uses, host);
}

namespace {

using Host = HazardModel::Host;

// ---- Streams, contexts and events ----

void make_stream(CallView &call) {
  call.model.streams().made(reinterpret_cast<CUstream>(call.written(0)), call.current(),
                            (call.argument(1) & CU_STREAM_NON_BLOCKING) == 0);
}

void make_green_stream(CallView &call) {
  call.model.streams().made(reinterpret_cast<CUstream>(call.written(0)), call.handle<ContextKey>(1), false);
}

void destroy_stream(CallView &call, VectorClock &) { call.model.stream_destroyed(call.handle<CUstream>(0)); }

void end_context(CallView &call, VectorClock &) { call.model.memory_goes_with(call.handle<ContextKey>(0)); }
void context_ended(CallView &call) { call.model.context_ended(call.handle<ContextKey>(0)); }

// The primary context's handle is unknown here, so the tracked sources of all contexts are dropped.
void end_primary_context(CallView &call, VectorClock &host_learns) {
  call.model.all_memory_goes();
  host_learns = call.model.work_of_all();
}

void make_event(CallView &call) {
  using Sharing = HazardModel::Sharing;
  const bool is_exported = (call.argument(1) & CU_EVENT_INTERPROCESS) != 0;
  call.model.event_made(reinterpret_cast<CUevent>(call.written(0)),
                        is_exported ? Sharing::exported : Sharing::none);
}

void open_event(CallView &call) {
  call.model.event_made(reinterpret_cast<CUevent>(call.written(0)), HazardModel::Sharing::imported);
}

void destroy_event(CallView &call, VectorClock &) { call.model.event_destroyed(call.handle<CUevent>(0)); }

void record(CallView &call) { call.model.record(call.handle<CUevent>(0), call.stream(1)); }
void record_context(CallView &call) {
  call.model.record(call.handle<CUevent>(1), call.handle<ContextKey>(0));
}
void wait_for_event(CallView &call) { call.model.wait(call.stream(std::size_t{0}), call.handle<CUevent>(1)); }
// All streams of the context wait, including later ones: equivalent to a wait of the host.
void context_waits(CallView &call) { call.model.host_learns(call.handle<CUevent>(1)); }

void event_to_be_done(CallView &call, VectorClock &host_learns) {
  host_learns = call.model.work_of(call.handle<CUevent>(0));
}
void event_is_done(CallView &call) { call.model.host_learns(call.handle<CUevent>(0)); }
void events_are_done(CallView &call) {
  call.model.host_learns(call.handle<CUevent>(1));
  call.model.host_learns(call.handle<CUevent>(2));
}

void stream_to_be_done(CallView &call, VectorClock &host_learns) {
  host_learns = call.model.work_of(call.stream(std::size_t{0}));
}
void stream_is_done(CallView &call) { call.model.host_learns_all_of(call.stream(std::size_t{0})); }
void context_to_be_done(CallView &call, VectorClock &host_learns) {
  const ContextKey given = call.count() == 0 ? nullptr : call.handle<ContextKey>(0);
  host_learns = call.model.work_of(given != nullptr ? given : call.current());
}

void begin_capture(CallView &call) { call.model.capture_began(); }
void end_capture(CallView &call) { call.model.capture_ended(); }

// ---- Work whose memory accesses are unknown ----

void nothing_in_first(CallView &call) { call.model.work(call.stream(std::size_t{0}), {}, {}, Host::goes_on); }
void nothing_in_last(CallView &call) { call.model.work(call.last_stream(), {}, {}, Host::goes_on); }
void unknown_in_last(CallView &call) { call.model.unknown_work(call.last_stream()); }
void signal(CallView &call) { call.model.semaphore_signalled(call.last_stream()); }
void await(CallView &call) { call.model.semaphore_awaited(call.last_stream()); }

// ---- Memory operations ----

void write_word(CallView &call) { call.model.write_word(call.stream(std::size_t{0}), call.argument(1)); }
void wait_for_word(CallView &call) {
  call.model.wait_for_word(call.stream(std::size_t{0}), {.address = call.argument(1),
                                                         .value = call.argument(2),
                                                         .flags = static_cast<unsigned>(call.argument(3)),
                                                         .access = call.access()});
}

void batch(CallView &call) {
  const StreamRef stream = call.stream(std::size_t{0});
  const auto *const all = call.pointed<CUstreamBatchMemOpParams>(2);
  for (std::uint64_t i = 0; i < call.argument(1); ++i) switch (all[i].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        call.model.wait_for_word(
            stream, {.address = all[i].waitValue.address,
                     .value = all[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? all[i].waitValue.value
                                                                                 : all[i].waitValue.value64,
                     .flags = all[i].waitValue.flags,
                     .access = call.access()});
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        call.model.write_word(stream, all[i].writeValue.address);
        break;
      default:  // barriers, and atomic operations on a value
        call.model.unknown_work(stream);
    }
}

constexpr Effect kEffects[] = {
    {"cuStreamCreate", nullptr, make_stream},
    {"cuStreamCreateWithPriority", nullptr, make_stream},
    {"cuGreenCtxStreamCreate", nullptr, make_green_stream},
    {"cuStreamDestroy", destroy_stream, nullptr, false, true},
    {"cuStreamSynchronize", stream_to_be_done, nullptr, false, true},
    {"cuStreamQuery", nullptr, stream_is_done},
    {"cuStreamBeginCapture", nullptr, begin_capture},
    {"cuStreamBeginCaptureToGraph", nullptr, begin_capture},
    {"cuStreamBeginRecaptureToGraph", nullptr, begin_capture},
    {"cuStreamBeginCaptureToCig", nullptr, begin_capture},
    {"cuStreamEndCapture", nullptr, end_capture, true},
    {"cuStreamEndCaptureToCig", nullptr, end_capture, true},
    {"cuCtxSynchronize", context_to_be_done},
    {"cuCtxDestroy", end_context, context_ended},
    {"cuCtxDetach", end_context},
    {"cuDevicePrimaryCtxRelease", end_primary_context},
    {"cuDevicePrimaryCtxReset", end_primary_context},

    {"cuEventCreate", nullptr, make_event},
    {"cuEventCreateFromEGLSync", nullptr, open_event},
    {"cuIpcOpenEventHandle", nullptr, open_event},
    {"cuEventDestroy", destroy_event, nullptr, false, true},
    {"cuEventRecord", nullptr, record},
    {"cuEventRecordWithFlags", nullptr, record},
    {"cuCtxRecordEvent", nullptr, record_context},
    {"cuStreamWaitEvent", nullptr, wait_for_event},
    {"cuCtxWaitEvent", nullptr, context_waits},
    {"cuEventSynchronize", event_to_be_done},
    {"cuEventQuery", nullptr, event_is_done},
    {"cuEventElapsedTime", nullptr, events_are_done},

    {"cuStreamWriteValue32", nullptr, write_word},
    {"cuStreamWriteValue64", nullptr, write_word},
    {"cuStreamWaitValue32", nullptr, wait_for_word},
    {"cuStreamWaitValue64", nullptr, wait_for_word},
    {"cuStreamBatchMemOp", nullptr, batch},

    {"cuStreamAttachMemAsync", nullptr, nothing_in_first},
    {"cuMemPrefetchAsync", nullptr, nothing_in_last},
    {"cuMemPrefetchBatchAsync", nullptr, nothing_in_last},
    {"cuGraphicsMapResources", nullptr, await},
    {"cuGraphicsUnmapResources", nullptr, signal},
    {.base = "cuLaunch", .after = launch_in_null, .enqueues_kernels = true},
    {.base = "cuLaunchGrid", .after = launch_in_null, .enqueues_kernels = true},
    {.base = "cuLaunchGridAsync", .after = launch_in_last, .enqueues_kernels = true},
    {.base = "cuLaunchKernel", .after = launch, .enqueues_kernels = true},
    {.base = "cuLaunchCooperativeKernel", .after = launch_cooperative, .enqueues_kernels = true},
    {.base = "cuLaunchKernelEx", .after = launch_by_configuration, .enqueues_kernels = true},
    {.base = "cuLaunchCooperativeKernelMultiDevice", .after = launch_several, .enqueues_kernels = true},
    {"cuModuleUnload", nullptr, forget_kernels},
    {"cuLibraryUnload", nullptr, forget_kernels},
    {"cuGraphAddBatchMemOpNode", nullptr, add_node},
    {"cuGraphAddChildGraphNode", nullptr, add_node},
    {"cuGraphAddHostNode", nullptr, add_node},
    {"cuGraphAddKernelNode", nullptr, add_node},
    {"cuGraphAddMemAllocNode", nullptr, add_node},
    {"cuGraphAddMemFreeNode", nullptr, add_node},
    {"cuGraphAddMemcpyNode", nullptr, add_node},
    {"cuGraphAddMemsetNode", nullptr, add_node},
    {"cuGraphAddNode", nullptr, add_any_node},
    {"cuGraphDestroy", destroy_graph, nullptr, false, true},
    {"cuGraphInstantiate", nullptr, instantiate_graph},
    {"cuGraphInstantiateWithFlags", nullptr, instantiate_graph},
    {"cuGraphInstantiateWithParams", nullptr, instantiate_graph},
    {"cuGraphExecDestroy", destroy_executable, nullptr, false, true},
    {"cuGraphExecUpdate", nullptr, update_executable},
    {"cuGraphExecKernelNodeSetParams", nullptr, set_kernel_node},
    {"cuGraphExecMemcpyNodeSetParams", nullptr, set_copy_node},
    {"cuGraphExecMemsetNodeSetParams", nullptr, set_memset_node},
    {"cuGraphExecEventRecordNodeSetEvent", nullptr, set_record_node},
    {"cuGraphExecEventWaitNodeSetEvent", nullptr, set_wait_node},
    {"cuGraphExecChildGraphNodeSetParams", nullptr, set_child_graph},
    {"cuGraphExecNodeSetParams", nullptr, set_any_node},
    {"cuGraphNodeSetEnabled", nullptr, enable_node},
    {.base = "cuGraphLaunch", .after = launch_graph, .enqueues_kernels = true},
    {"cuMemBatchDecompressAsync", nullptr, unknown_in_last},
    {"cuMemDiscardBatchAsync", nullptr, discard_batch},
    {"cuMemDiscardAndPrefetchBatchAsync", nullptr, discard_batch},
    {"cuMemMapArrayAsync", nullptr, unknown_in_last},
    {"cuMemcpy3DWithAttributesAsync", nullptr, unknown_in_last},
    {"cuSignalExternalSemaphoresAsync", nullptr, signal},
    {"cuWaitExternalSemaphoresAsync", nullptr, await},

    {"cuMemAlloc", nullptr, allocate},
    {"cuMemAllocPitch", nullptr, allocate_rows},
    {"cuMemAllocManaged", nullptr, allocate_managed},
    {"cuMemAllocHost", nullptr, allocate_pinned},
    {"cuMemHostAlloc", nullptr, allocate_pinned},
    {"cuMemHostRegister", nullptr, register_memory},
    {"cuMemHostGetDevicePointer", nullptr, device_address},
    {"cuMemAllocAsync", nullptr, allocate_in_order},
    {"cuMemAllocFromPoolAsync", nullptr, allocate_in_order},
    {"cuMemFreeAsync", nullptr, free_in_order},
    {"cuMemFree", free_memory},
    {"cuMemFreeHost", free_memory},
    {"cuMemHostUnregister", free_memory},
    {"cuMemCreate", nullptr, create_physical},
    {"cuMemImportFromShareableHandle", nullptr, create_physical},
    {"cuMemMap", nullptr, map_memory},
    {"cuMemUnmap", unmap},
    {"cuIpcOpenMemHandle", nullptr, open_memory},
    {"cuModuleGetGlobal", nullptr, find_global},
    {"cuArrayDestroy", destroy_array},
    {"cuMipmappedArrayDestroy", destroy_array},

    {"cuMemcpyBatchAsync", nullptr, copy_batch},
    {"cuMemcpy3DBatchAsync", nullptr, copy_3d_batch},
    {"cuMemcpyPeer", nullptr, copy_between_contexts},
    {"cuMemcpy3DPeer", nullptr, copy_3d_between_contexts},
};

// Copies and memsets that the table of traits describes.
constexpr Effect kAccess{"", nullptr, access_memory};

// Returns whether the entry point is of the first ABI, which only 32-bit contexts had.
bool is_of_32_bits(int slot) {
  constexpr int kWith64Bits = 3020;
  const CushimEntryInfo &row = *cushim_entry(slot);
  if (row.version >= kWith64Bits) return false;
  for (int other = 0; other < cushim_entry_count(); ++other)
    if (cushim_entry(other)->version == kWith64Bits && std::strcmp(cushim_entry(other)->base, row.base) == 0)
      return true;
  return false;
}

const Effect *find_effect(int slot) {
  if (is_of_32_bits(slot)) return nullptr;
  const auto *const named =
      std::ranges::find(kEffects, std::string_view(cushim_entry(slot)->base), &Effect::base);
  if (named != std::end(kEffects)) return named;
  return has_accesses(mock::traits_of(slot)) ? &kAccess : nullptr;
}

}  // namespace

// Excludes batched copies: their lists may be missing if the driver rejects the call.
bool is_checked_if_rejected(int slot) {
  const mock::EntryTraits &traits = mock::traits_of(slot);
  return traits.queue == mock::EntryTraits::Queue::stream && has_accesses(traits);
}

const Effect *effect_of(int slot) {
  static const std::vector<const Effect *> &by_slot = *new std::vector<const Effect *>([] {
    std::vector<const Effect *> effects;
    for (int each = 0; each < cushim_entry_count(); ++each) effects.push_back(find_effect(each));
    return effects;
  }());
  return by_slot[static_cast<std::size_t>(slot)];
}

}  // namespace cushim::check

// SPDX-License-Identifier: Apache-2.0
#include "hazards/effects.hpp"

#include <atomic>
#include <cstring>
#include <vector>

#include <cushim/detail/entry_traits.hpp>

#include "hazards/batch_effects.hpp"
#include "hazards/copy_extents.hpp"

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
  if (driver_.cuStreamGetFlags(handle, &flags) == CUDA_SUCCESS &&
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

void CallView::work(const StreamRef &stream, std::span<const HazardModel::Use> uses, HazardModel::Host host) {
  if (is_refused_)
    model.refused_work(stream, access(), uses);
  else
    model.work(stream, access(), uses, host);
}

namespace {

using Kind = Access::Kind;
using Use = HazardModel::Use;
using Host = HazardModel::Host;
constexpr auto kRead = Kind::read;
constexpr auto kWrite = Kind::write;

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
void unknown_in_null(CallView &call) { call.model.unknown_work(call.null_stream()); }
void kernel(CallView &call) { call.model.unknown_work(call.stream(8)); }
void kernel_by_configuration(CallView &call) {
  call.model.unknown_work(call.stream(call.pointed<CUlaunchConfig>(0)->hStream));
}
void kernels(CallView &call) {
  for (std::uint64_t i = 0; i < call.argument(1); ++i)
    call.model.unknown_work(call.stream(call.pointed<CUDA_LAUNCH_PARAMS>(0)[i].hStream));
}
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

// ---- Allocation and release of memory ----

void made(CallView &call, std::uint64_t address, std::uint64_t size, MemoryKind kind) {
  call.model.memory_made(address, size, kind, call.current());
}
void allocate(CallView &call) { made(call, call.written(0), call.argument(1), MemoryKind::device); }
void allocate_rows(CallView &call) {
  made(call, call.written(0), call.written(1) * call.argument(3), MemoryKind::device);
}
void allocate_managed(CallView &call) { made(call, call.written(0), call.argument(1), MemoryKind::managed); }
void allocate_pinned(CallView &call) { made(call, call.written(0), call.argument(1), MemoryKind::pinned); }
void register_memory(CallView &call) {
  made(call, call.argument(0), call.argument(1), MemoryKind::registered);
}
void map(CallView &call) { made(call, call.argument(0), call.argument(1), MemoryKind::device); }
void open_memory(CallView &call) {
  const std::uint64_t address = call.written(0);
  if (call.model.is_pageable(address)) made(call, address, call.size_of(address), MemoryKind::device);
}
void find_global(CallView &call) {
  if (call.argument(0) != 0 && call.model.is_pageable(call.written(0)))
    made(call, call.written(0), call.size_of(call.written(0)), MemoryKind::device);
}
void device_address(CallView &call) { call.model.map_host_memory(call.written(0), call.argument(1)); }

void allocate_in_order(CallView &call) {
  call.model.memory_made_in_order(call.written(0), call.argument(1), call.last_stream(), call.access());
}
void free_in_order(CallView &call) {
  call.model.memory_freed_in_order(call.argument(0), call.last_stream(), call.access());
}

// Waits for all work that may use the memory.
void free(CallView &call, VectorClock &host_learns) {
  call.model.before_memory_freed(call.argument(0));
  call.model.memory_freed(call.argument(0));
  host_learns = call.model.work_of_all();
}
void unmap(CallView &call, VectorClock &) { call.model.memory_freed(call.argument(0)); }
void destroy_array(CallView &call, VectorClock &host_learns) {
  call.model.array_gone(call.handle<CUarray>(0));
  host_learns = call.model.work_of_all();
}

// ---- Copies ----

Use device(std::uint64_t address, std::uint64_t size, Kind kind) {
  return {.extent = Extent::of(address, size), .kind = kind};
}
Use host(std::uint64_t address, std::uint64_t size, Kind kind) {
  return {.extent = Extent::of(address, size), .kind = kind, .is_host = true};
}

void work(CallView &call, const StreamRef &stream, Host waits, const Use &source, const Use &target) {
  const Use uses[] = {source, target};
  call.work(stream, uses, waits);
}

// For calls without a stream: the host does not wait for copies within and between devices.
Host host_for(const CallView &call, const Use &one, const Use &other) {
  const auto is_on_device = [&](const Use &use) {
    return use.array != nullptr || call.model.is_device(use.extent.begin);
  };
  return is_on_device(one) && is_on_device(other) ? Host::goes_on : Host::waits;
}

// (target, source, size[, stream]); `target` and `source` classify the two ends by the call's name.
template <Use (*target)(std::uint64_t, std::uint64_t, Kind),
          Use (*source)(std::uint64_t, std::uint64_t, Kind)>
void copy(CallView &call) {
  const std::uint64_t size = call.argument(2);
  const Use from = source(call.argument(1), size, kRead), to = target(call.argument(0), size, kWrite);
  work(call, call.null_stream(), host_for(call, from, to), from, to);
}
template <Use (*target)(std::uint64_t, std::uint64_t, Kind),
          Use (*source)(std::uint64_t, std::uint64_t, Kind)>
void copy_async(CallView &call) {
  const std::uint64_t size = call.argument(2);
  work(call, call.last_stream(), Host::goes_on, source(call.argument(1), size, kRead),
       target(call.argument(0), size, kWrite));
}

// Runs after all earlier work of both contexts, and before all later work.
void copy_peers(CallView &call, ContextKey one, ContextKey other, const Use &source, const Use &target) {
  const StreamRef stream = call.null_stream();
  for (const ContextKey context : {one, other, stream.current})
    call.model.wait(stream, call.model.work_of(context));
  work(call, stream, Host::waits, source, target);
}
void copy_peer(CallView &call) {
  const std::uint64_t size = call.argument(4);
  copy_peers(call, call.handle<ContextKey>(1), call.handle<ContextKey>(3),
             device(call.argument(2), size, kRead), device(call.argument(0), size, kWrite));
}
void copy_peer_async(CallView &call) {
  const std::uint64_t size = call.argument(4);
  work(call, call.last_stream(), Host::goes_on, device(call.argument(2), size, kRead),
       device(call.argument(0), size, kWrite));
}

template <class Box>
void copy_box(CallView &call) {
  const Box &copy = *call.pointed<Box>(0);
  const Use from = use_of(copy, false), to = use_of(copy, true);
  work(call, call.null_stream(), host_for(call, from, to), from, to);
}
template <class Box>
void copy_box_async(CallView &call) {
  if (call.argument(0) == 0) return;  // the driver rejects it
  const Box &copy = *call.pointed<Box>(0);
  work(call, call.last_stream(), Host::goes_on, use_of(copy, false), use_of(copy, true));
}
void copy_box_peers(CallView &call) {
  const CUDA_MEMCPY3D_PEER &copy = *call.pointed<CUDA_MEMCPY3D_PEER>(0);
  copy_peers(call, copy.srcContext, copy.dstContext, use_of(copy, false), use_of(copy, true));
}

Use array(const CallView &call, std::size_t index, std::size_t offset, std::uint64_t size, Kind kind) {
  return use_of_array(call.handle<CUarray>(index), call.argument(offset), size, kind);
}
void copy_array_to_array(CallView &call) {
  const std::uint64_t size = call.argument(4);
  work(call, call.null_stream(), Host::goes_on, array(call, 2, 3, size, kRead),
       array(call, 0, 1, size, kWrite));
}
void copy_array_to_device(CallView &call) {
  const std::uint64_t size = call.argument(3);
  work(call, call.null_stream(), Host::goes_on, array(call, 1, 2, size, kRead),
       device(call.argument(0), size, kWrite));
}
void copy_device_to_array(CallView &call) {
  const std::uint64_t size = call.argument(3);
  work(call, call.null_stream(), Host::goes_on, device(call.argument(2), size, kRead),
       array(call, 0, 1, size, kWrite));
}
void array_to_host(CallView &call, const StreamRef &stream, Host waits) {
  const std::uint64_t size = call.argument(3);
  work(call, stream, waits, array(call, 1, 2, size, kRead), host(call.argument(0), size, kWrite));
}
void copy_array_to_host(CallView &call) { array_to_host(call, call.null_stream(), Host::waits); }
void copy_array_to_host_async(CallView &call) { array_to_host(call, call.last_stream(), Host::goes_on); }
void host_to_array(CallView &call, const StreamRef &stream, Host waits) {
  const std::uint64_t size = call.argument(3);
  work(call, stream, waits, host(call.argument(2), size, kRead), array(call, 0, 1, size, kWrite));
}
void copy_host_to_array(CallView &call) { host_to_array(call, call.null_stream(), Host::waits); }
void copy_host_to_array_async(CallView &call) { host_to_array(call, call.last_stream(), Host::goes_on); }

// ---- Memsets: (target, value, count[, stream]); (target, pitch, value, width, height[, stream]) ----

void set(CallView &call, const StreamRef &stream, bool returns, const Extent &extent) {
  const Use use{.extent = extent, .kind = kWrite};
  const bool waits = !returns && !call.model.is_device(extent.begin);
  call.work(stream, std::span(&use, 1), waits ? Host::waits : Host::goes_on);
}
template <unsigned element>
void set_range(CallView &call) {
  set(call, call.null_stream(), false, Extent::of(call.argument(0), call.argument(2) * element));
}
template <unsigned element>
void set_range_async(CallView &call) {
  set(call, call.last_stream(), true, Extent::of(call.argument(0), call.argument(2) * element));
}
template <unsigned element>
Extent rows(const CallView &call) {
  const std::uint64_t width = call.argument(3) * element, pitch = call.argument(1);
  return {.begin = call.argument(0),
          .width = width,
          .rows = call.argument(4),
          .pitch = pitch != 0 ? pitch : width};
}
template <unsigned element>
void set_rows(CallView &call) {
  set(call, call.null_stream(), false, rows<element>(call));
}
template <unsigned element>
void set_rows_async(CallView &call) {
  set(call, call.last_stream(), true, rows<element>(call));
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
    {"cuLaunch", nullptr, unknown_in_null},
    {"cuLaunchGrid", nullptr, unknown_in_null},
    {"cuLaunchGridAsync", nullptr, unknown_in_last},
    {"cuLaunchKernel", nullptr, kernel},
    {"cuLaunchCooperativeKernel", nullptr, kernel},
    {"cuLaunchKernelEx", nullptr, kernel_by_configuration},
    {"cuLaunchCooperativeKernelMultiDevice", nullptr, kernels},
    {"cuGraphLaunch", nullptr, unknown_in_last},
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
    {"cuMemFree", free},
    {"cuMemFreeHost", free},
    {"cuMemHostUnregister", free},
    {"cuMemMap", nullptr, map},
    {"cuMemUnmap", unmap},
    {"cuIpcOpenMemHandle", nullptr, open_memory},
    {"cuModuleGetGlobal", nullptr, find_global},
    {"cuArrayDestroy", destroy_array},
    {"cuMipmappedArrayDestroy", destroy_array},

    {"cuMemcpy", nullptr, copy<host, host>},
    {"cuMemcpyAsync", nullptr, copy_async<host, host>},
    {"cuMemcpyWithAttributesAsync", nullptr, copy_async<host, host>},
    {"cuMemcpyBatchAsync", nullptr, copy_batch},
    {"cuMemcpy3DBatchAsync", nullptr, copy_3d_batch},
    {"cuMemcpyHtoD", nullptr, copy<device, host>},
    {"cuMemcpyHtoDAsync", nullptr, copy_async<device, host>},
    {"cuMemcpyDtoH", nullptr, copy<host, device>},
    {"cuMemcpyDtoHAsync", nullptr, copy_async<host, device>},
    {"cuMemcpyDtoD", nullptr, copy<device, device>},
    {"cuMemcpyDtoDAsync", nullptr, copy_async<device, device>},
    {"cuMemcpyPeer", nullptr, copy_peer},
    {"cuMemcpyPeerAsync", nullptr, copy_peer_async},
    {"cuMemcpy2D", nullptr, copy_box<CUDA_MEMCPY2D>},
    {"cuMemcpy2DUnaligned", nullptr, copy_box<CUDA_MEMCPY2D>},
    {"cuMemcpy2DAsync", nullptr, copy_box_async<CUDA_MEMCPY2D>},
    {"cuMemcpy3D", nullptr, copy_box<CUDA_MEMCPY3D>},
    {"cuMemcpy3DAsync", nullptr, copy_box_async<CUDA_MEMCPY3D>},
    {"cuMemcpy3DPeer", nullptr, copy_box_peers},
    {"cuMemcpy3DPeerAsync", nullptr, copy_box_async<CUDA_MEMCPY3D_PEER>},
    {"cuMemcpyAtoA", nullptr, copy_array_to_array},
    {"cuMemcpyAtoD", nullptr, copy_array_to_device},
    {"cuMemcpyDtoA", nullptr, copy_device_to_array},
    {"cuMemcpyAtoH", nullptr, copy_array_to_host},
    {"cuMemcpyAtoHAsync", nullptr, copy_array_to_host_async},
    {"cuMemcpyHtoA", nullptr, copy_host_to_array},
    {"cuMemcpyHtoAAsync", nullptr, copy_host_to_array_async},

    {"cuMemsetD8", nullptr, set_range<1>},
    {"cuMemsetD16", nullptr, set_range<2>},
    {"cuMemsetD32", nullptr, set_range<4>},
    {"cuMemsetD8Async", nullptr, set_range_async<1>},
    {"cuMemsetD16Async", nullptr, set_range_async<2>},
    {"cuMemsetD32Async", nullptr, set_range_async<4>},
    {"cuMemsetD2D8", nullptr, set_rows<1>},
    {"cuMemsetD2D16", nullptr, set_rows<2>},
    {"cuMemsetD2D32", nullptr, set_rows<4>},
    {"cuMemsetD2D8Async", nullptr, set_rows_async<1>},
    {"cuMemsetD2D16Async", nullptr, set_rows_async<2>},
    {"cuMemsetD2D32Async", nullptr, set_rows_async<4>},
};

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

}  // namespace

// Excludes batched copies: their lists may be missing if the driver rejects the call.
bool is_checked_if_rejected(int slot) {
  const mock::EntryTraits &traits = mock::traits_of(slot);
  return traits.queue == mock::EntryTraits::Queue::stream && traits.memory[0].has_extent();
}

const Effect *effect_of(int slot) {
  static const std::vector<const Effect *> &by_slot = *new std::vector<const Effect *>([] {
    std::vector<const Effect *> effects(static_cast<std::size_t>(cushim_entry_count()));
    for (int each = 0; each < cushim_entry_count(); ++each)
      for (const Effect &effect : kEffects)
        if (std::strcmp(effect.base, cushim_entry(each)->base) == 0 && !is_of_32_bits(each))
          effects[static_cast<std::size_t>(each)] = &effect;
    return effects;
  }());
  return by_slot[static_cast<std::size_t>(slot)];
}

}  // namespace cushim::check

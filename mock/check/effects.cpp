// SPDX-License-Identifier: Apache-2.0
#include "effects.hpp"

#include <atomic>
#include <cstring>
#include <string_view>
#include <vector>

#include "copy_extents.hpp"

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

ContextKey Doing::current() const {
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  return current;
}

StreamRef Doing::stream(CUstream handle) const {
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

std::uint64_t Doing::size_of(std::uint64_t address) const {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  return driver_.cuMemGetAddressRange(&base, &size, address) == CUDA_SUCCESS ? base + size - address : 0;
}

namespace {

using Kind = Access::Kind;
using Use = HazardModel::Use;
using Host = HazardModel::Host;
constexpr auto kRead = Kind::read;
constexpr auto kWrite = Kind::write;

// ---- Streams, contexts and events ----

void make_stream(Doing &doing) {
  doing.model.streams().made(reinterpret_cast<CUstream>(doing.written(0)), doing.current(),
                             (doing.argument(1) & CU_STREAM_NON_BLOCKING) == 0);
}

void make_green_stream(Doing &doing) {
  doing.model.streams().made(reinterpret_cast<CUstream>(doing.written(0)), doing.handle<ContextKey>(1),
                             false);
}

void destroy_stream(Doing &doing, Clock &) { doing.model.stream_destroyed(doing.handle<CUstream>(0)); }

void end_context(Doing &doing, Clock &) { doing.model.memory_goes_with(doing.handle<ContextKey>(0)); }
void context_ended(Doing &doing) { doing.model.context_ended(doing.handle<ContextKey>(0)); }

// Which context that is is not known: nothing is known of the bytes of any.
void end_primary_context(Doing &doing, Clock &host_learns) {
  doing.model.all_memory_goes();
  host_learns = doing.model.work_of_all();
}

void make_event(Doing &doing) {
  using Sharing = HazardModel::Sharing;
  const bool is_exported = (doing.argument(1) & CU_EVENT_INTERPROCESS) != 0;
  doing.model.event_made(reinterpret_cast<CUevent>(doing.written(0)),
                         is_exported ? Sharing::exported : Sharing::none);
}

void open_event(Doing &doing) {
  doing.model.event_made(reinterpret_cast<CUevent>(doing.written(0)), HazardModel::Sharing::imported);
}

void destroy_event(Doing &doing, Clock &) { doing.model.event_destroyed(doing.handle<CUevent>(0)); }

void record(Doing &doing) { doing.model.record(doing.handle<CUevent>(0), doing.stream(1)); }
void record_context(Doing &doing) {
  doing.model.record(doing.handle<CUevent>(1), doing.handle<ContextKey>(0));
}
void wait_for_event(Doing &doing) {
  doing.model.wait(doing.stream(std::size_t{0}), doing.handle<CUevent>(1));
}
// All streams of the context wait, also those to come: as good as the host.
void context_waits(Doing &doing) { doing.model.host_learns(doing.handle<CUevent>(1)); }

void event_to_be_done(Doing &doing, Clock &host_learns) {
  host_learns = doing.model.work_of(doing.handle<CUevent>(0));
}
void event_is_done(Doing &doing) { doing.model.host_learns(doing.handle<CUevent>(0)); }
void events_are_done(Doing &doing) {
  doing.model.host_learns(doing.handle<CUevent>(1));
  doing.model.host_learns(doing.handle<CUevent>(2));
}

void stream_to_be_done(Doing &doing, Clock &host_learns) {
  host_learns = doing.model.work_of(doing.stream(std::size_t{0}));
}
void stream_is_done(Doing &doing) { doing.model.host_learns_all_of(doing.stream(std::size_t{0})); }
void context_to_be_done(Doing &doing, Clock &host_learns) {
  const ContextKey given = doing.count() == 0 ? nullptr : doing.handle<ContextKey>(0);
  host_learns = doing.model.work_of(given != nullptr ? given : doing.current());
}

void begin_capture(Doing &doing) { doing.model.capture_began(); }
void end_capture(Doing &doing) { doing.model.capture_ended(); }

// ---- Work of which it is not known what it touches ----

void nothing_in_first(Doing &doing) { doing.model.work(doing.stream(std::size_t{0}), {}, {}, Host::goes_on); }
void nothing_in_last(Doing &doing) { doing.model.work(doing.last_stream(), {}, {}, Host::goes_on); }
void unknown_in_last(Doing &doing) { doing.model.unknown_work(doing.last_stream()); }
void unknown_in_null(Doing &doing) { doing.model.unknown_work(doing.null_stream()); }
void kernel(Doing &doing) { doing.model.unknown_work(doing.stream(8)); }
void kernel_by_configuration(Doing &doing) {
  doing.model.unknown_work(doing.stream(doing.pointed<CUlaunchConfig>(0)->hStream));
}
void kernels(Doing &doing) {
  for (std::uint64_t i = 0; i < doing.argument(1); ++i)
    doing.model.unknown_work(doing.stream(doing.pointed<CUDA_LAUNCH_PARAMS>(0)[i].hStream));
}
void signal(Doing &doing) { doing.model.semaphore_signalled(doing.last_stream()); }
void await(Doing &doing) { doing.model.semaphore_awaited(doing.last_stream()); }

// ---- Memory operations ----

void write_word(Doing &doing) { doing.model.write_word(doing.stream(std::size_t{0}), doing.argument(1)); }
void wait_for_word(Doing &doing) {
  doing.model.wait_for_word(doing.stream(std::size_t{0}), {.address = doing.argument(1),
                                                           .value = doing.argument(2),
                                                           .flags = static_cast<unsigned>(doing.argument(3)),
                                                           .access = doing.access()});
}

void batch(Doing &doing) {
  const StreamRef stream = doing.stream(std::size_t{0});
  const auto *const all = doing.pointed<CUstreamBatchMemOpParams>(2);
  for (std::uint64_t i = 0; i < doing.argument(1); ++i) switch (all[i].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        doing.model.wait_for_word(
            stream, {.address = all[i].waitValue.address,
                     .value = all[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? all[i].waitValue.value
                                                                                 : all[i].waitValue.value64,
                     .flags = all[i].waitValue.flags,
                     .access = doing.access()});
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        doing.model.write_word(stream, all[i].writeValue.address);
        break;
      default:  // barriers, and operations that change a word in a way of their own
        doing.model.unknown_work(stream);
    }
}

// ---- Memory that comes and goes ----

void made(Doing &doing, std::uint64_t address, std::uint64_t size, MemoryKind kind) {
  doing.model.memory_made(address, size, kind, doing.current());
}
void allocate(Doing &doing) { made(doing, doing.written(0), doing.argument(1), MemoryKind::device); }
void allocate_rows(Doing &doing) {
  made(doing, doing.written(0), doing.written(1) * doing.argument(3), MemoryKind::device);
}
void allocate_managed(Doing &doing) { made(doing, doing.written(0), doing.argument(1), MemoryKind::managed); }
void allocate_pinned(Doing &doing) { made(doing, doing.written(0), doing.argument(1), MemoryKind::pinned); }
void register_memory(Doing &doing) {
  made(doing, doing.argument(0), doing.argument(1), MemoryKind::registered);
}
void map(Doing &doing) { made(doing, doing.argument(0), doing.argument(1), MemoryKind::device); }
void open_memory(Doing &doing) {
  const std::uint64_t address = doing.written(0);
  if (doing.model.is_pageable(address)) made(doing, address, doing.size_of(address), MemoryKind::device);
}
void find_global(Doing &doing) {
  if (doing.argument(0) != 0 && doing.model.is_pageable(doing.written(0)))
    made(doing, doing.written(0), doing.size_of(doing.written(0)), MemoryKind::device);
}
void device_address(Doing &doing) { doing.model.memory_also_at(doing.written(0), doing.argument(1)); }

void allocate_in_order(Doing &doing) {
  doing.model.memory_made_in_order(doing.written(0), doing.argument(1), doing.last_stream(), doing.access());
}
void free_in_order(Doing &doing) {
  doing.model.memory_freed_in_order(doing.argument(0), doing.last_stream(), doing.access());
}

// Waits for all that may use the memory.
void free(Doing &doing, Clock &host_learns) {
  doing.model.memory_goes(doing.argument(0));
  doing.model.memory_gone(doing.argument(0));
  host_learns = doing.model.work_of_all();
}
void unmap(Doing &doing, Clock &) { doing.model.memory_gone(doing.argument(0)); }
void destroy_array(Doing &doing, Clock &host_learns) {
  doing.model.array_gone(doing.handle<CUarray>(0));
  host_learns = doing.model.work_of_all();
}

// ---- Copies ----

Use device(std::uint64_t address, std::uint64_t size, Kind kind) {
  return {.extent = Extent::of(address, size), .kind = kind};
}
Use host(std::uint64_t address, std::uint64_t size, Kind kind) {
  return {.extent = Extent::of(address, size), .kind = kind, .is_host = true};
}

void work(Doing &doing, const StreamRef &stream, Host waits, const Use &source, const Use &target) {
  const Use uses[] = {source, target};
  doing.model.work(stream, doing.access(), uses, waits);
}

// Of the calls that take no stream: for copies within and between devices the host does not wait.
Host host_for(const Doing &doing, const Use &one, const Use &other) {
  const auto is_on_device = [&](const Use &use) {
    return use.array != nullptr || doing.model.is_device(use.extent.begin);
  };
  return is_on_device(one) && is_on_device(other) ? Host::goes_on : Host::waits;
}

// (target, source, size[, stream]), with the sides that the call names.
template <Use (*target)(std::uint64_t, std::uint64_t, Kind),
          Use (*source)(std::uint64_t, std::uint64_t, Kind)>
void copy(Doing &doing) {
  const std::uint64_t size = doing.argument(2);
  const Use from = source(doing.argument(1), size, kRead), to = target(doing.argument(0), size, kWrite);
  work(doing, doing.null_stream(), host_for(doing, from, to), from, to);
}
template <Use (*target)(std::uint64_t, std::uint64_t, Kind),
          Use (*source)(std::uint64_t, std::uint64_t, Kind)>
void copy_async(Doing &doing) {
  const std::uint64_t size = doing.argument(2);
  work(doing, doing.last_stream(), Host::goes_on, source(doing.argument(1), size, kRead),
       target(doing.argument(0), size, kWrite));
}

void copy_batch(Doing &doing) {
  const auto *const targets = doing.pointed<CUdeviceptr>(0), *const sources = doing.pointed<CUdeviceptr>(1);
  const auto *const sizes = doing.pointed<std::size_t>(2);
  std::vector<Use> uses;
  for (std::uint64_t i = 0; i < doing.argument(3); ++i) {
    uses.push_back(host(sources[i], sizes[i], kRead));
    uses.push_back(host(targets[i], sizes[i], kWrite));
  }
  doing.model.work(doing.last_stream(), doing.access(), uses, Host::goes_on);
}

// Comes after all that is in both contexts, and before all that will be.
void copy_peers(Doing &doing, ContextKey one, ContextKey other, const Use &source, const Use &target) {
  const StreamRef stream = doing.null_stream();
  for (const ContextKey context : {one, other, stream.current})
    doing.model.wait(stream, doing.model.work_of(context));
  work(doing, stream, Host::waits, source, target);
}
void copy_peer(Doing &doing) {
  const std::uint64_t size = doing.argument(4);
  copy_peers(doing, doing.handle<ContextKey>(1), doing.handle<ContextKey>(3),
             device(doing.argument(2), size, kRead), device(doing.argument(0), size, kWrite));
}
void copy_peer_async(Doing &doing) {
  const std::uint64_t size = doing.argument(4);
  work(doing, doing.last_stream(), Host::goes_on, device(doing.argument(2), size, kRead),
       device(doing.argument(0), size, kWrite));
}

template <class Box>
void copy_box(Doing &doing) {
  const Box &copy = *doing.pointed<Box>(0);
  const Use from = use_of(copy, false), to = use_of(copy, true);
  work(doing, doing.null_stream(), host_for(doing, from, to), from, to);
}
template <class Box>
void copy_box_async(Doing &doing) {
  const Box &copy = *doing.pointed<Box>(0);
  work(doing, doing.last_stream(), Host::goes_on, use_of(copy, false), use_of(copy, true));
}
void copy_box_peers(Doing &doing) {
  const CUDA_MEMCPY3D_PEER &copy = *doing.pointed<CUDA_MEMCPY3D_PEER>(0);
  copy_peers(doing, copy.srcContext, copy.dstContext, use_of(copy, false), use_of(copy, true));
}

Use array(const Doing &doing, std::size_t index, std::size_t offset, std::uint64_t size, Kind kind) {
  return use_of_array(doing.handle<CUarray>(index), doing.argument(offset), size, kind);
}
void copy_array_to_array(Doing &doing) {
  const std::uint64_t size = doing.argument(4);
  work(doing, doing.null_stream(), Host::goes_on, array(doing, 2, 3, size, kRead),
       array(doing, 0, 1, size, kWrite));
}
void copy_array_to_device(Doing &doing) {
  const std::uint64_t size = doing.argument(3);
  work(doing, doing.null_stream(), Host::goes_on, array(doing, 1, 2, size, kRead),
       device(doing.argument(0), size, kWrite));
}
void copy_device_to_array(Doing &doing) {
  const std::uint64_t size = doing.argument(3);
  work(doing, doing.null_stream(), Host::goes_on, device(doing.argument(2), size, kRead),
       array(doing, 0, 1, size, kWrite));
}
void array_to_host(Doing &doing, const StreamRef &stream, Host waits) {
  const std::uint64_t size = doing.argument(3);
  work(doing, stream, waits, array(doing, 1, 2, size, kRead), host(doing.argument(0), size, kWrite));
}
void copy_array_to_host(Doing &doing) { array_to_host(doing, doing.null_stream(), Host::waits); }
void copy_array_to_host_async(Doing &doing) { array_to_host(doing, doing.last_stream(), Host::goes_on); }
void host_to_array(Doing &doing, const StreamRef &stream, Host waits) {
  const std::uint64_t size = doing.argument(3);
  work(doing, stream, waits, host(doing.argument(2), size, kRead), array(doing, 0, 1, size, kWrite));
}
void copy_host_to_array(Doing &doing) { host_to_array(doing, doing.null_stream(), Host::waits); }
void copy_host_to_array_async(Doing &doing) { host_to_array(doing, doing.last_stream(), Host::goes_on); }

// ---- Sets: (target, value, count[, stream]); (target, pitch, value, width, height[, stream]) ----

void set(Doing &doing, const StreamRef &stream, bool returns, const Extent &extent) {
  const Use use{.extent = extent, .kind = kWrite};
  const bool waits = !returns && !doing.model.is_device(extent.begin);
  doing.model.work(stream, doing.access(), std::span(&use, 1), waits ? Host::waits : Host::goes_on);
}
template <unsigned element>
void set_range(Doing &doing) {
  set(doing, doing.null_stream(), false, Extent::of(doing.argument(0), doing.argument(2) * element));
}
template <unsigned element>
void set_range_async(Doing &doing) {
  set(doing, doing.last_stream(), true, Extent::of(doing.argument(0), doing.argument(2) * element));
}
template <unsigned element>
Extent rows(const Doing &doing) {
  const std::uint64_t width = doing.argument(3) * element, pitch = doing.argument(1);
  return {.begin = doing.argument(0),
          .width = width,
          .rows = doing.argument(4),
          .pitch = pitch != 0 ? pitch : width};
}
template <unsigned element>
void set_rows(Doing &doing) {
  set(doing, doing.null_stream(), false, rows<element>(doing));
}
template <unsigned element>
void set_rows_async(Doing &doing) {
  set(doing, doing.last_stream(), true, rows<element>(doing));
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
    {"cuMemDiscardBatchAsync", nullptr, unknown_in_last},
    {"cuMemDiscardAndPrefetchBatchAsync", nullptr, unknown_in_last},
    {"cuMemMapArrayAsync", nullptr, unknown_in_last},
    {"cuMemcpy3DBatchAsync", nullptr, unknown_in_last},
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

// Whether the row is of the first ABI, which only 32-bit contexts had.
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

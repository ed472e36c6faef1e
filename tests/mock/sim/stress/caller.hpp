// SPDX-License-Identifier: Apache-2.0
// Random calls about contexts, streams, events, memory and arrays.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "random_caller.hpp"
#include "support/sanitizers.hpp"

namespace stress {

inline constexpr bool kFindsRaces = cushim::test::kHasThreadSanitizer;

inline constexpr std::size_t kBytes = 256 << 10;  // of the largest allocation
// Copies of 64 KiB and more run without the machine's lock, so on shared memory they would race in the test
// itself.
inline constexpr std::size_t kLargestCopy = kFindsRaces ? 32 << 10 : kBytes;
inline constexpr unsigned kSide = 64;  // of an array side, in bytes

// Makes random calls about contexts, streams, events, memory and arrays.
class Caller : private RandomCaller {
 public:
  Caller(World &world, unsigned long seed) : RandomCaller(world, seed), host_(kBytes) {}

  void run() {
    prepare();
    make_calls(*this, actions);
    // Waits for the copies of this worker's own memory.
    d().cuCtxSetCurrent(world_.primary);
    d().cuStreamSynchronize(own_stream_);
    add_results();
  }

 private:
  friend RandomCaller;

  void prepare() {
    d().cuCtxSetCurrent(world_.primary);
    void *memory = nullptr;
    if (d().cuStreamCreate(&own_stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        d().cuMemAllocHost(&memory, 2 * kBytes) != CUDA_SUCCESS)
      throw std::runtime_error("the driver cannot be used");
    own_ = handle_of<CUdeviceptr>(number_of(memory));
  }

  std::size_t size() { return 1 + random() % kLargestCopy; }
  std::size_t short_size() { return 1 + random() % 4096; }
  CUstream stream() {
    switch (random() % 16) {
      case 0:
        return nullptr;
      case 1:
        return CU_STREAM_PER_THREAD;
      default:
        return handle_of<CUstream>(world_.streams.any(random()));
    }
  }
  CUevent event() { return handle_of<CUevent>(world_.events.any(random())); }
  CUdeviceptr memory() {
    switch (random() % 8) {
      case 0:
        return world_.pinned.any(random());
      case 1:
        return number_of(world_.registered[random() % 8].data());
      default:
        return world_.memory.any(random());
    }
  }
  CUarray array() { return handle_of<CUarray>(world_.arrays.any(random())); }

  // ---- Contexts ----

  void make_context() {
    if (random() % 32 != 0) return enter();
    CUcontext made = nullptr;
    if (check(d().cuCtxCreate_v2(&made, 0, static_cast<CUdevice>(random() % 2))))
      share(made, world_.contexts, d().cuCtxDestroy);
  }
  void destroy_context() {
    if (random() % 32 != 0) return enter();
    // Other threads may destroy it, too.
    check(d().cuCtxDestroy(handle_of<CUcontext>(world_.contexts.any(random()))));
  }
  void push_and_pop() {
    if (!check(d().cuCtxPushCurrent(handle_of<CUcontext>(world_.contexts.any(random()))))) return;
    set();
    check(d().cuCtxPopCurrent(nullptr));
  }
  void use_other_primary_context() {
    CUcontext context = nullptr;
    switch (random() % 8) {
      case 0:
        check(d().cuDevicePrimaryCtxRelease(1));
        break;
      case 1:
        if (random() % 8 == 0) check(d().cuDevicePrimaryCtxReset(1));
        break;
      default:
        if (check(d().cuDevicePrimaryCtxRetain(&context, 1))) check(d().cuCtxSetCurrent(context));
    }
  }
  void synchronize_context() {
    if (random() % 8 == 0) check(d().cuCtxSynchronize());
  }

  // ---- Streams, events and host functions ----

  void make_stream() {
    CUstream made = nullptr;
    if (check(d().cuStreamCreate(&made, random() % 2))) share(made, world_.streams, d().cuStreamDestroy);
  }
  void destroy_stream() {
    if (random() % 4 == 0) check(d().cuStreamDestroy(handle_of<CUstream>(world_.streams.any(random()))));
  }
  void query_stream() { check(d().cuStreamQuery(stream())); }
  void synchronize_stream() { check(d().cuStreamSynchronize(stream())); }
  void make_event() {
    CUevent made = nullptr;
    if (check(d().cuEventCreate(&made, random() % 4))) share(made, world_.events, d().cuEventDestroy);
  }
  void destroy_event() {
    if (random() % 4 == 0) check(d().cuEventDestroy(event()));
  }
  void record() { check(d().cuEventRecord(event(), stream())); }
  void wait_for_event() { check(d().cuStreamWaitEvent(stream(), event(), 0)); }
  void query_event() { check(d().cuEventQuery(event())); }
  void synchronize_event() { check(d().cuEventSynchronize(event())); }
  void measure() {
    float milliseconds = 0;
    check(d().cuEventElapsedTime(&milliseconds, event(), event()));
  }
  void launch_host_function() {
    check(d().cuLaunchHostFunc(
        stream(), [](void *count) { ++*static_cast<std::atomic<unsigned> *>(count); }, &functions_));
  }
  void hold() {
    if (random() % 16 != 0) return;
    try {
      world_.gates.add(world_.machine.gate(stream()));
    } catch (const std::invalid_argument &) {  // the stream has been destroyed
    }
  }

  // ---- Memory ----

  void keep(Shared<32> &where, CUdeviceptr made) {
    if (const std::uint64_t replaced = where.put(random(), made)) check(d().cuMemFree(replaced));
  }
  void allocate() {
    CUdeviceptr made = 0;
    if (check(d().cuMemAlloc(&made, size()))) keep(world_.memory, made);
  }
  void allocate_managed() {
    CUdeviceptr made = 0;
    if (check(d().cuMemAllocManaged(&made, short_size(), CU_MEM_ATTACH_GLOBAL))) keep(world_.memory, made);
  }
  void allocate_async() {
    CUdeviceptr made = 0;
    if (check(d().cuMemAllocAsync(&made, size(), stream()))) keep(world_.memory, made);
  }
  void free() {
    const bool is_taken = random() % 2 == 0;
    check(d().cuMemFree(is_taken ? world_.memory.take(random()) : world_.memory.any(random())));
  }
  void free_async() {
    const bool is_taken = random() % 2 == 0;
    check(
        d().cuMemFreeAsync(is_taken ? world_.memory.take(random()) : world_.memory.any(random()), stream()));
  }
  void allocate_pinned() {
    void *made = nullptr;
    if (check(d().cuMemAllocHost(&made, short_size()))) share(made, world_.pinned, d().cuMemFreeHost);
  }
  void free_pinned() {
    if (random() % 2 == 0) check(d().cuMemFreeHost(handle_of<void *>(world_.pinned.any(random()))));
  }
  void register_memory() {
    auto &buffer = world_.registered[random() % 8];
    check(d().cuMemHostRegister(buffer.data(), random() % 64 == 0 ? ~std::size_t{0} : buffer.size(), 0));
  }
  void unregister_memory() { check(d().cuMemHostUnregister(world_.registered[random() % 8].data())); }

  void set() { check(d().cuMemsetD8Async(memory(), 7, short_size(), stream())); }
  void set_and_wait() { check(d().cuMemsetD32(memory(), 7, short_size() / 4)); }
  void set_rows() { check(d().cuMemsetD2D8Async(memory(), 64, 7, 16, 1 + random() % 16, stream())); }
  void copy() { check(d().cuMemcpyDtoDAsync(memory(), memory(), size(), stream())); }
  void copy_to_device() { check(d().cuMemcpyHtoDAsync(memory(), host_.data(), short_size(), stream())); }
  void copy_to_device_and_wait() { check(d().cuMemcpyHtoD(memory(), host_.data(), short_size())); }
  void copy_to_host() { check(d().cuMemcpyDtoH(host_.data(), memory(), short_size())); }
  void copy_own_memory() { check(d().cuMemcpyAsync(own_, own_ + kBytes, kBytes, own_stream_)); }
  void copy_rows() {
    CUDA_MEMCPY2D copied = {};
    copied.srcMemoryType = copied.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copied.srcDevice = memory();
    copied.dstDevice = memory();
    copied.srcPitch = copied.dstPitch = 64;
    copied.WidthInBytes = 32;
    copied.Height = 1 + random() % 16;
    check(d().cuMemcpy2DAsync(&copied, stream()));
  }
  void write_and_wait_for_words() {
    const CUdeviceptr word = world_.flags + 4 * (random() % 16);
    CUstreamBatchMemOpParams both[2] = {};
    switch (random() % 4) {
      case 0:
        check(d().cuStreamWriteValue32(stream(), memory() & ~CUdeviceptr{7}, 7, 0));
        break;
      case 1:
        check(d().cuStreamWaitValue32(stream(), word, 0, CU_STREAM_WAIT_VALUE_GEQ));
        break;
      default:
        both[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word, {}, 0, 0};
        both[0].writeValue.value = static_cast<cuuint32_t>(random() % 8);
        both[1].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, memory() & ~CUdeviceptr{7}, {}, 0, 0};
        both[1].writeValue.value = 7;
        check(d().cuStreamBatchMemOp(stream(), 2, both, 0));
    }
  }
  void ask() {
    CUdeviceptr base = 0;
    std::size_t bytes = 0, total = 0;
    unsigned type = 0;
    void *values[] = {&type};
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    switch (random() % 4) {
      case 0:
        check(d().cuMemGetAddressRange(&base, &bytes, memory()));
        break;
      case 1:
        check(d().cuPointerGetAttributes(1, attributes, values, memory()));
        break;
      case 2:
        check(d().cuMemGetInfo(&bytes, &total));
        break;
      default:
        check(d().cuPointerGetAttribute(&type, attributes[0], memory()));
    }
    if (random() % 1024 == 0) world_.machine.usage();
  }
  // ---- Arrays ----

  static CUDA_ARRAY3D_DESCRIPTOR shape() {
    CUDA_ARRAY3D_DESCRIPTOR shape = {};
    shape.Width = shape.Height = kSide;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 1;
    return shape;
  }
  void make_array() {
    CUarray made = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR with = shape();
    if (check(d().cuArray3DCreate(&made, &with))) share(made, world_.arrays, d().cuArrayDestroy);
  }
  void destroy_array() {
    if (random() % 2 == 0) check(d().cuArrayDestroy(array()));
  }
  void make_mipmapped_array() {
    CUmipmappedArray made = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR with = shape();
    if (check(d().cuMipmappedArrayCreate(&made, &with, 3)))
      share(made, world_.mipmapped_arrays, d().cuMipmappedArrayDestroy);
  }
  void copy_from_level() {
    CUarray level = nullptr;
    const auto whole = handle_of<CUmipmappedArray>(world_.mipmapped_arrays.any(random()));
    if (check(d().cuMipmappedArrayGetLevel(&level, whole, static_cast<unsigned>(random() % 3))))
      check(d().cuMemcpyAtoD(memory(), level, 0, 16));
  }
  void copy_to_array() {
    check(d().cuMemcpyHtoAAsync(array(), 0, host_.data(), 1 + random() % kSide, stream()));
  }
  void copy_from_array() { check(d().cuMemcpyAtoH(host_.data(), array(), 0, 1 + random() % kSide)); }
  void copy_between_arrays() { check(d().cuMemcpyAtoA(array(), 0, array(), 0, 1 + random() % kSide)); }
  // The address of an array does not belong to the program; a stale address may equal it.
  void free_after_array() {
    CUdeviceptr stale = 0;
    if (!check(d().cuMemAlloc(&stale, 64 << 10))) return;
    check(d().cuMemFree(stale));
    make_array();
    check(random() % 2 == 0 ? d().cuMemFree(stale) : d().cuMemFreeAsync(stale, stream()));
  }

  static constexpr Action<Caller> actions[] = {&Caller::make_context,
                                               &Caller::destroy_context,
                                               &Caller::push_and_pop,
                                               &Caller::use_other_primary_context,
                                               &Caller::synchronize_context,
                                               &Caller::enter,
                                               &Caller::make_stream,
                                               &Caller::destroy_stream,
                                               &Caller::query_stream,
                                               &Caller::synchronize_stream,
                                               &Caller::make_event,
                                               &Caller::destroy_event,
                                               &Caller::record,
                                               &Caller::record,
                                               &Caller::wait_for_event,
                                               &Caller::query_event,
                                               &Caller::synchronize_event,
                                               &Caller::measure,
                                               &Caller::launch_host_function,
                                               &Caller::hold,
                                               &Caller::allocate,
                                               &Caller::allocate,
                                               &Caller::allocate_managed,
                                               &Caller::allocate_async,
                                               &Caller::free,
                                               &Caller::free_async,
                                               &Caller::allocate_pinned,
                                               &Caller::free_pinned,
                                               &Caller::register_memory,
                                               &Caller::unregister_memory,
                                               &Caller::set,
                                               &Caller::set,
                                               &Caller::set_and_wait,
                                               &Caller::set_rows,
                                               &Caller::copy,
                                               &Caller::copy,
                                               &Caller::copy_to_device,
                                               &Caller::copy_to_device_and_wait,
                                               &Caller::copy_to_host,
                                               &Caller::copy_own_memory,
                                               &Caller::copy_rows,
                                               &Caller::write_and_wait_for_words,
                                               &Caller::ask,

                                               &Caller::make_array,
                                               &Caller::destroy_array,
                                               &Caller::make_mipmapped_array,
                                               &Caller::copy_from_level,
                                               &Caller::copy_to_array,
                                               &Caller::copy_from_array,
                                               &Caller::copy_between_arrays,
                                               &Caller::free_after_array};

  std::vector<char> host_;
  CUstream own_stream_ = nullptr;
  CUdeviceptr own_ = 0;
  static inline std::atomic<unsigned> functions_{0};
};

}  // namespace stress

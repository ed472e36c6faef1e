// SPDX-License-Identifier: Apache-2.0
// Calls outside the capturing stream during a capture.
#include <thread>

#include "capture.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

// The captures that forbid a call.
enum class ForbiddenBy { none, strict, blocking, strict_and_blocking, any };

struct UnsafeCase {
  const char *name;
  ForbiddenBy rule;
  CUresult (*call)(OnGraph &t);
};
const UnsafeCase unsafe_cases[] = {
    {"An_allocation", ForbiddenBy::strict, [](OnGraph &t) { return driver().cuMemAlloc(&t.pointer, 1024); }},
    {"A_pinned_allocation", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuMemHostAlloc(&t.host, 1024, 0); }},
    {"A_managed_allocation", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuMemAllocManaged(&t.pointer, 4096, CU_MEM_ATTACH_GLOBAL); }},
    {"A_free", ForbiddenBy::strict,
     [](OnGraph &t) {
       const CUresult code = driver().cuMemFree(t.objects.freed);
       if (code == CUDA_SUCCESS) t.objects.freed = 0;
       return code;
     }},
    {"A_free_of_null", ForbiddenBy::strict, [](OnGraph &) { return driver().cuMemFree(0); }},
    {"A_synchronous_copy", ForbiddenBy::blocking,
     [](OnGraph &t) { return driver().cuMemcpyHtoD(t.objects.memory, t.objects.pinned, 16); }},
    {"A_synchronous_memset", ForbiddenBy::blocking,
     [](OnGraph &t) { return driver().cuMemsetD8(t.objects.memory, 1, 16); }},
    {"A_context_synchronization", ForbiddenBy::any, [](OnGraph &) { return driver().cuCtxSynchronize(); }},
    {"A_synchronization_of_another_stream", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuStreamSynchronize(t.objects.other); }},
    {"A_query_of_another_stream", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuStreamQuery(t.objects.other); }},
    {"A_memset_in_another_stream", ForbiddenBy::none,
     [](OnGraph &t) { return driver().cuMemsetD8Async(t.objects.memory, 1, 16, t.objects.other); }},
    {"A_memset_in_the_legacy_stream", ForbiddenBy::blocking,
     [](OnGraph &t) { return driver().cuMemsetD8Async(t.objects.memory, 1, 16, legacy()); }},
    {"A_memset_in_the_per_thread_stream", ForbiddenBy::none,
     [](OnGraph &t) { return driver().cuMemsetD8Async(t.objects.memory, 1, 16, per_thread()); }},
    {"A_query_of_the_legacy_stream", ForbiddenBy::strict_and_blocking,
     [](OnGraph &) { return driver().cuStreamQuery(legacy()); }},
    {"A_synchronization_of_the_legacy_stream", ForbiddenBy::strict_and_blocking,
     [](OnGraph &) { return driver().cuStreamSynchronize(legacy()); }},
    {"A_query_of_an_event", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuEventQuery(t.objects.recorded); }},
    {"A_synchronization_of_an_event", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuEventSynchronize(t.objects.recorded); }},
    {"A_new_event", ForbiddenBy::none,
     [](OnGraph &t) { return driver().cuEventCreate(&t.event_out, CU_EVENT_DISABLE_TIMING); }},
    {"A_new_stream", ForbiddenBy::none,
     [](OnGraph &t) { return driver().cuStreamCreate(&t.stream_out, CU_STREAM_NON_BLOCKING); }},
    {"A_destroyed_event", ForbiddenBy::none,
     [](OnGraph &t) {
       const CUresult code = driver().cuEventDestroy(t.objects.destroyed);
       if (code == CUDA_SUCCESS) t.objects.destroyed = nullptr;
       return code;
     }},
    {"A_new_module", ForbiddenBy::none,
     [](OnGraph &t) { return driver().cuModuleLoadData(&t.module_out, kCode.c_str()); }},
    {"A_lookup_of_a_function", ForbiddenBy::none,
     [](OnGraph &t) { return driver().cuModuleGetFunction(&t.function_out, t.module, "empty"); }},
    {"A_pool_allocation_in_another_stream", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuMemAllocAsync(&t.pointer, 1024, t.objects.other); }},
    {"An_instantiation", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuGraphInstantiate(&t.executable_out, t.objects.graph, 0); }},
    {"A_graph_launch_in_another_stream", ForbiddenBy::none,
     [](OnGraph &t) { return driver().cuGraphLaunch(t.objects.executable, t.objects.other); }},
    {"The_memory_info", ForbiddenBy::none,
     [](OnGraph &t) {
       std::size_t all = 0;
       return driver().cuMemGetInfo(&t.size, &all);
     }},
    {"A_pitched_allocation", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuMemAllocPitch(&t.pointer, &t.size, 16, 4, 4); }},
    {"A_new_array", ForbiddenBy::strict,
     [](OnGraph &) {
       const CUDA_ARRAY_DESCRIPTOR shape{
           .Width = 16, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
       CUarray made = nullptr;
       const CUresult code = driver().cuArrayCreate(&made, &shape);
       if (code == CUDA_SUCCESS) driver().cuArrayDestroy(made);
       return code;
     }},
    {"A_read_attribute_of_a_pool", ForbiddenBy::strict,
     [](OnGraph &t) {
       CUmemoryPool pool = nullptr;
       cuuint64_t threshold = 0;
       NEED(driver().cuDeviceGetDefaultMemPool(&pool, t.device));
       return driver().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
     }},
    {"A_trimmed_pool", ForbiddenBy::strict,
     [](OnGraph &t) {
       CUmemoryPool pool = nullptr;
       NEED(driver().cuDeviceGetDefaultMemPool(&pool, t.device));
       return driver().cuMemPoolTrimTo(pool, 1 << 30);
     }},
    {"A_free_of_null_in_another_stream", ForbiddenBy::strict,
     [](OnGraph &t) { return driver().cuMemFreeAsync(0, t.objects.other); }},
    {"A_managed_attachment_in_another_stream", ForbiddenBy::strict,
     [](OnGraph &t) {
       return driver().cuStreamAttachMemAsync(t.objects.other, t.objects.managed, 0, CU_MEM_ATTACH_GLOBAL);
     }},
    {"A_cache_preference", ForbiddenBy::strict,
     [](OnGraph &) { return driver().cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE); }},
    {"A_limit", ForbiddenBy::strict,
     [](OnGraph &) { return driver().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024); }},
    {"Advice", ForbiddenBy::strict,
     [](OnGraph &t) {
       CUmemLocation location = {};
       location.type = CU_MEM_LOCATION_TYPE_DEVICE;
       return driver().cuMemAdvise(t.objects.managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, location);
     }},
    {"A_pointer_attribute", ForbiddenBy::strict,
     [](OnGraph &t) {
       const unsigned wanted = 1;
       return driver().cuPointerSetAttribute(&wanted, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, t.objects.memory);
     }},
    {"A_read_pointer_attribute", ForbiddenBy::none,
     [](OnGraph &t) {
       return driver().cuPointerGetAttribute(&t.number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, t.objects.memory);
     }},
    {"A_reserved_range", ForbiddenBy::none,
     [](OnGraph &) {
       CUdeviceptr made = 0;
       const CUresult code = driver().cuMemAddressReserve(&made, 2 << 20, 0, 0, 0);
       if (code == CUDA_SUCCESS) driver().cuMemAddressFree(made, 2 << 20);
       return code;
     }},
    {"A_copy_of_no_bytes_in_the_legacy_stream", ForbiddenBy::blocking,
     [](OnGraph &t) { return driver().cuMemcpyHtoD(t.objects.memory, t.objects.pinned, 0); }},
    {"A_host_function_in_the_legacy_stream", ForbiddenBy::blocking,
     [](OnGraph &) {
       return driver().cuLaunchHostFunc(
           legacy(), [](void *) {}, nullptr);
     }},
    {"An_instantiation_with_an_upload_to_another_stream", ForbiddenBy::none,
     [](OnGraph &t) {
       CUDA_GRAPH_INSTANTIATE_PARAMS with{};
       with.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
       with.hUploadStream = t.objects.other;
       return driver().cuGraphInstantiateWithParams(&t.executable_out, t.objects.graph, &with);
     }},
    {"A_registration", ForbiddenBy::strict,
     [](OnGraph &) {
       alignas(4096) static char page[4096];
       const CUresult code = driver().cuMemHostRegister(page, sizeof page, 0);
       if (code == CUDA_SUCCESS) driver().cuMemHostUnregister(page);
       return code;
     }},
};
struct ModeCase {
  const char *name;
  CUstreamCaptureMode mode;
  unsigned stream_flags;
};
const ModeCase mode_cases[] = {
    {"a_global_capture", CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING},
    {"a_capture_of_the_thread", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING},
    {"a_relaxed_capture", CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING},
    {"a_relaxed_capture_of_a_blocking_stream", CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_DEFAULT},
};

CUresult code_of(ForbiddenBy rule, const ModeCase &mode) {
  const bool is_strict = mode.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool is_blocking = mode.stream_flags == CU_STREAM_DEFAULT;
  switch (rule) {
    case ForbiddenBy::none:
      return CUDA_SUCCESS;
    case ForbiddenBy::strict:
      return is_strict ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
    case ForbiddenBy::blocking:
      return is_blocking ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
    case ForbiddenBy::strict_and_blocking:
      return is_strict ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : code_of(ForbiddenBy::blocking, mode);
    case ForbiddenBy::any:
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

[[maybe_unused]] const bool unsafe_cases_added = [] {
  for (const UnsafeCase &each : unsafe_cases)
    for (const ModeCase &mode : mode_cases)
      ADD_TEST(Captures, std::string(each.name) + "_during_" + mode.name, [=](OnGraph &t) {
        t.make_objects();
        const CUstream work = t.capturing(mode.mode, mode.stream_flags);
        const CUresult expected = code_of(each.rule, mode);
        const int code = each.call(t);
        EXPECT_VALUE(code, int{expected});
        const int status = OnGraph::status(work);
        EXPECT_VALUE(status, expected == CUDA_SUCCESS ? kActive : kInvalidated);
        const int ended = OnGraph::end_result(work);
        EXPECT_VALUE(ended,
                     int{expected == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED});
      });
  return true;
}();

TEST_F(Captures, An_allocation_in_another_thread_during_a_global_capture) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_GLOBAL);
  int code = -1, relaxed = -1;
  std::thread([&] {
    NEED(driver().cuCtxSetCurrent(context));
    code = driver().cuMemAlloc(&pointer, 1024);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    NEED(driver().cuThreadExchangeStreamCaptureMode(&mode));
    CUdeviceptr made = 0;
    relaxed = driver().cuMemAlloc(&made, 1024);
    if (relaxed == CUDA_SUCCESS) driver().cuMemFree(made);
  }).join();
  EXPECT_VALUE(code, int{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED});
  EXPECT_VALUE(relaxed, int{CUDA_SUCCESS});
  EXPECT_VALUE(status(work), kInvalidated);
  EXPECT_VALUE(int{end_result(work)}, int{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED});
}
TEST_F(Captures, An_allocation_in_another_thread_during_a_capture_of_this_thread) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  int code = -1;
  std::thread([&] {
    NEED(driver().cuCtxSetCurrent(context));
    code = driver().cuMemAlloc(&pointer, 1024);
  }).join();
  EXPECT_VALUE(code, int{CUDA_SUCCESS});
  EXPECT_VALUE(status(work), kActive);
}
TEST_F(Captures, An_allocation_during_a_global_capture_by_a_relaxed_thread) {
  const CUstream work = capturing(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_ANSWER(driver().cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_VALUE(int{mode}, int{CU_STREAM_CAPTURE_MODE_GLOBAL});
  EXPECT_ANSWER(driver().cuMemAlloc(&pointer, 1024), CUDA_SUCCESS);
  EXPECT_VALUE(status(work), kActive);
  NEED(driver().cuThreadExchangeStreamCaptureMode(&mode));
}

}  // namespace
}  // namespace conformance

#endif

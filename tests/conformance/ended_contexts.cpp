// SPDX-License-Identifier: Apache-2.0
// Calls while the current context has ended: a primary context by its last release, another context because
// another thread destroyed it. Streams, events and memory belong to a live context.
#include <cushim/exact.hpp>

#include <thread>

#include "conformance.hpp"

namespace conformance {
namespace {

namespace exact = cushim::exact;

class EndedContexts : public Initialized {
 public:
  // Creates the objects of a live context, which is not current afterwards.
  void make_living() {
    NEED(driver().cuCtxCreate_v2(&living, 0, 0));
    NEED(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(driver().cuEventCreate(&event, 0));
    NEED(driver().cuEventRecord(event, stream));
    NEED(driver().cuMemAlloc(&memory, 4096));
    NEED(driver().cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    NEED(driver().cuMemHostAlloc(&pinned, 4096, 0));
    NEED(driver().cuDeviceGetDefaultMemPool(&pool, 0));
    const CUDA_ARRAY_DESCRIPTOR picture{16, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    NEED(driver().cuArrayCreate(&array, &picture));
    flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    flat.srcDevice = memory;
    flat.dstDevice = memory + 2048;
    flat.WidthInBytes = flat.srcPitch = flat.dstPitch = 64;
    flat.Height = 2;
    deep.srcMemoryType = deep.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    deep.srcDevice = memory;
    deep.dstDevice = memory + 2048;
    deep.WidthInBytes = deep.srcPitch = deep.dstPitch = 64;
    deep.Height = deep.srcHeight = deep.dstHeight = 2;
    deep.Depth = 2;
    NEED(driver().cuCtxSynchronize());
    NEED(driver().cuCtxPopCurrent(&found));
  }
  CUcontext living = nullptr, ended = nullptr, found = nullptr;
  CUstream stream = nullptr, stream_out = nullptr;
  CUevent event = nullptr, event_out = nullptr;
  CUdeviceptr memory = 0, managed = 0, at = 0;
  void *pinned = nullptr, *host = nullptr;
  CUarray array = nullptr, array_out = nullptr;
  CUmemoryPool pool = nullptr;
  alignas(64) char bytes[64] = {};
  unsigned flags = 0;
  int number = 0, other_number = 0;
  unsigned long long id = 0;
  std::size_t size = 0;
  float milliseconds = 0;
  CUdevice device_out = 0;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUstreamAttrValue value{};
  CUDA_ARRAY_DESCRIPTOR shape{};
  CUDA_MEMCPY2D flat{};
  CUDA_MEMCPY3D deep{};
  CUipcMemHandle memory_handle{};
  CUipcEventHandle event_handle{};
};

void nothing(void *) {}
void nothing_called_back(CUstream, CUresult, void *) {}

struct Row {
  const char *text;
  CUresult (*call)(EndedContexts &t);
  CUresult code;
};
struct Noun {
  const char *name;
  std::vector<Row> rows;
};
constexpr CUresult gone = CUDA_ERROR_CONTEXT_IS_DESTROYED, bad = CUDA_ERROR_INVALID_VALUE,
                   fine = CUDA_SUCCESS;

#define ROW(expression, ...)                                                                \
  Row {                                                                                     \
#expression, [](EndedContexts &t) { static_cast<void>(t); return expression; }, __VA_ARGS__ \
  }
const Noun nouns[] = {
    {"Questions_about_contexts",
     {
         ROW(driver().cuCtxGetCurrent(&t.found), fine),
         ROW(exact::cuCtxGetDevice_v2000(driver())(&t.device_out), fine),
         ROW(exact::cuCtxGetDevice_v2000(driver())(nullptr), bad),
         ROW(exact::cuCtxGetDevice_v13000(driver())(&t.device_out, nullptr), fine),
         ROW(exact::cuCtxGetDevice_v13000(driver())(&t.device_out, t.living), fine),
         ROW(driver().cuCtxGetFlags(&t.flags), fine),
         ROW(driver().cuCtxGetFlags(nullptr), bad),
         ROW(driver().cuCtxGetId(nullptr, &t.id), gone),
         ROW(driver().cuCtxGetId(t.living, &t.id), fine),
         ROW(driver().cuCtxGetApiVersion(nullptr, &t.flags), gone),
         ROW(driver().cuCtxGetApiVersion(t.living, &t.flags), fine),
         ROW(driver().cuCtxGetStreamPriorityRange(&t.number, &t.other_number), gone),
         ROW(driver().cuCtxGetLimit(&t.size, CU_LIMIT_STACK_SIZE), gone),
         ROW(driver().cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), gone),
         ROW(driver().cuCtxGetCacheConfig(&t.cache), gone),
         ROW(driver().cuCtxGetCacheConfig(nullptr), gone),
         ROW(driver().cuCtxGetSharedMemConfig(&t.shared), gone),
         ROW(exact::cuCtxSynchronize_v2000(driver())(), gone),
         ROW(exact::cuCtxSynchronize_v13000(driver())(nullptr), gone),
         ROW(exact::cuCtxSynchronize_v13000(driver())(t.living), fine),
     }},
    {"Settings_of_contexts",
     {
         ROW(driver().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024), gone),
         ROW(driver().cuCtxSetLimit(static_cast<CUlimit>(1000), 1024), gone),
         ROW(driver().cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE), gone),
         ROW(driver().cuCtxSetCacheConfig(static_cast<CUfunc_cache>(1000)), gone),
         ROW(driver().cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE), gone),
         ROW(driver().cuCtxResetPersistingL2Cache(), gone),
         ROW(driver().cuDeviceGet(&t.device_out, 0), fine),
         ROW(driver().cuDevicePrimaryCtxSetFlags(0, 0), fine),
         ROW(driver().cuCtxDestroy(nullptr), bad),
         ROW(driver().cuCtxPushCurrent(nullptr), bad),
         ROW(driver().cuCtxPushCurrent(t.living), fine),
         ROW(driver().cuCtxPopCurrent(&t.found), fine),
     }},
    {"Streams",
     {
         ROW(driver().cuStreamCreate(&t.stream_out, 0), gone),
         ROW(driver().cuStreamCreate(&t.stream_out, 2), bad),
         ROW(driver().cuStreamCreate(nullptr, 0), bad),
         ROW(driver().cuStreamCreateWithPriority(&t.stream_out, 0, 0), gone),
         ROW(driver().cuStreamQuery(nullptr), gone),
         ROW(driver().cuStreamQuery(t.stream), fine),
         ROW(driver().cuStreamQuery(per_thread()), gone),
         ROW(driver().cuStreamSynchronize(nullptr), gone),
         ROW(driver().cuStreamSynchronize(t.stream), fine),
         ROW(driver().cuStreamGetFlags(nullptr, &t.flags), gone),
         ROW(driver().cuStreamGetFlags(t.stream, &t.flags), fine),
         ROW(driver().cuStreamGetFlags(t.stream, nullptr), bad),
         ROW(driver().cuStreamGetPriority(nullptr, &t.number), gone),
         ROW(driver().cuStreamGetPriority(t.stream, &t.number), fine),
         ROW(exact::cuStreamGetCtx_v9020(driver())(nullptr, &t.found), gone),
         ROW(exact::cuStreamGetCtx_v9020(driver())(t.stream, &t.found), fine),
         ROW(driver().cuStreamGetId(nullptr, &t.id), gone),
         ROW(driver().cuStreamGetId(t.stream, &t.id), fine),
         ROW(driver().cuStreamGetAttribute(t.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &t.value), fine),
         ROW(driver().cuStreamSetAttribute(t.stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &t.value), fine),
         ROW(driver().cuStreamCopyAttributes(t.stream, t.stream), fine),
         ROW(driver().cuStreamIsCapturing(nullptr, &t.status), gone),
         ROW(driver().cuStreamIsCapturing(t.stream, &t.status), fine),
         ROW(driver().cuStreamWaitEvent(t.stream, t.event, 0), fine),
         ROW(driver().cuStreamWaitEvent(nullptr, t.event, 0), gone),
         ROW(driver().cuStreamWaitEvent(t.stream, nullptr, 0), CUDA_ERROR_INVALID_HANDLE),
         ROW(driver().cuStreamWaitEvent(t.stream, t.event, 2), bad),
         ROW(driver().cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE),
         ROW(driver().cuStreamDestroy(per_thread()), gone),
         ROW(driver().cuLaunchHostFunc(t.stream, nothing, nullptr), fine),
         ROW(driver().cuLaunchHostFunc(nullptr, nothing, nullptr), gone),
         ROW(driver().cuLaunchHostFunc(t.stream, nullptr, nullptr), bad),
         ROW(driver().cuStreamAddCallback(t.stream, nothing_called_back, nullptr, 0), fine),
         ROW(driver().cuStreamAddCallback(nullptr, nothing_called_back, nullptr, 0), gone),
     }},
    {"Events",
     {
         ROW(driver().cuEventCreate(&t.event_out, 0), gone),
         ROW(driver().cuEventCreate(&t.event_out, 16), gone),
         ROW(driver().cuEventCreate(nullptr, 0), gone),
         ROW(driver().cuEventRecord(t.event, t.stream), fine),
         ROW(driver().cuEventRecord(t.event, nullptr), gone),
         ROW(driver().cuEventRecord(nullptr, t.stream), CUDA_ERROR_INVALID_HANDLE),
         ROW(driver().cuEventRecord(nullptr, nullptr), gone),
         ROW(driver().cuEventRecordWithFlags(t.event, t.stream, 0), fine),
         ROW(driver().cuEventSynchronize(t.event), fine),
         ROW(driver().cuEventSynchronize(nullptr), CUDA_ERROR_INVALID_HANDLE),
         ROW(driver().cuEventQuery(t.event), fine),
         ROW(driver().cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE),
         ROW(driver().cuEventElapsedTime(&t.milliseconds, t.event, t.event), fine),
         ROW(driver().cuEventDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE),
         ROW(driver().cuIpcGetEventHandle(&t.event_handle, t.event), gone),
     }},
    {"Memory",
     {
         ROW(driver().cuMemAlloc(&t.at, 64), gone),
         ROW(driver().cuMemAlloc(&t.at, 0), gone),
         ROW(driver().cuMemAlloc(nullptr, 64), gone),
         ROW(driver().cuMemAllocPitch(&t.at, &t.size, 64, 2, 4), gone),
         ROW(driver().cuMemAllocManaged(&t.at, 64, CU_MEM_ATTACH_GLOBAL), gone),
         ROW(driver().cuMemHostAlloc(&t.host, 64, 0), gone),
         ROW(driver().cuMemHostAlloc(&t.host, 64, 8), gone),
         ROW(driver().cuMemAllocHost(&t.host, 64), gone),
         ROW(driver().cuMemHostRegister(t.bytes, 64, 0), gone),
         ROW(driver().cuMemHostUnregister(t.bytes), gone),
         ROW(driver().cuMemGetInfo(&t.size, &t.size), gone),
         ROW(driver().cuMemGetAddressRange(&t.at, &t.size, t.memory), gone),
         ROW(driver().cuMemGetAddressRange(&t.at, &t.size, 0), gone),
         ROW(driver().cuMemHostGetDevicePointer(&t.at, t.pinned, 0), gone),
         ROW(driver().cuMemHostGetDevicePointer(&t.at, t.pinned, 1), gone),
         ROW(driver().cuMemHostGetFlags(&t.flags, t.pinned), gone),
         ROW(driver().cuPointerGetAttribute(&t.number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, t.memory), fine),
         ROW(driver().cuPointerGetAttribute(&t.found, CU_POINTER_ATTRIBUTE_CONTEXT, t.memory), fine),
         ROW(driver().cuPointerGetAttribute(&t.at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, t.memory),
             CUDA_ERROR_INVALID_CONTEXT),
         ROW(driver().cuPointerGetAttribute(&t.host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address_of(t.pinned)),
             fine),
         ROW(driver().cuPointerGetAttribute(&t.number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0), bad),
         ROW(driver().cuPointerSetAttribute(&t.number, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, t.memory), bad),
         ROW(driver().cuMemRangeGetAttribute(&t.number, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, t.managed,
                                             4096),
             gone),
         ROW(driver().cuIpcGetMemHandle(&t.memory_handle, t.memory), gone),
         ROW(driver().cuIpcOpenMemHandle(&t.at, t.memory_handle, 1), gone),
         ROW(driver().cuIpcCloseMemHandle(t.memory), gone),
         ROW(driver().cuMemFree(0), gone),
         ROW(driver().cuMemFree(1), gone),
         ROW(driver().cuMemFreeHost(nullptr), gone),
         ROW(driver().cuMemFreeHost(t.pinned), gone),
         ROW(driver().cuMemFree(t.managed), gone),
     }},
    {"Copies_and_sets",
     {
         ROW(driver().cuMemcpy(t.memory + 64, t.memory, 64), gone),
         ROW(driver().cuMemcpy(t.memory + 64, t.memory, 0), gone),
         ROW(driver().cuMemcpyHtoD(t.memory, t.bytes, 64), gone),
         ROW(driver().cuMemcpyDtoH(t.bytes, t.memory, 64), gone),
         ROW(driver().cuMemcpyDtoD(t.memory + 64, t.memory, 64), gone),
         ROW(driver().cuMemcpyDtoD(t.memory + 64, t.memory, 0), gone),
         ROW(driver().cuMemcpyAsync(t.memory + 64, t.memory, 64, t.stream), gone),
         ROW(driver().cuMemcpyHtoDAsync(t.memory, t.pinned, 64, t.stream), gone),
         ROW(driver().cuMemcpyDtoHAsync(t.pinned, t.memory, 64, t.stream), gone),
         ROW(driver().cuMemcpyDtoDAsync(t.memory + 64, t.memory, 64, t.stream), gone),
         ROW(driver().cuMemcpyDtoDAsync(t.memory + 64, t.memory, 0, t.stream), gone),
         ROW(driver().cuMemsetD8(t.memory, 1, 64), gone),
         ROW(driver().cuMemsetD8(t.memory, 1, 0), gone),
         ROW(driver().cuMemsetD8(0, 1, 64), gone),
         ROW(driver().cuMemsetD8Async(t.memory, 1, 64, t.stream), fine),
         ROW(driver().cuMemsetD8Async(t.memory, 1, 0, t.stream), fine),
         ROW(driver().cuMemsetD16Async(t.memory, 1, 32, t.stream), fine),
         ROW(driver().cuMemsetD2D32(t.memory, 64, 1, 4, 4), gone),
         ROW(driver().cuMemsetD2D32Async(t.memory, 64, 1, 4, 4, t.stream), fine),
         ROW(driver().cuStreamWriteValue32_v2(t.stream, t.memory, 1, 0), fine),
         ROW(driver().cuStreamWriteValue32_v2(nullptr, t.memory, 1, 0), gone),
         ROW(driver().cuStreamWriteValue32_v2(t.stream, 0, 1, 0), bad),
         ROW(driver().cuStreamWaitValue32_v2(t.stream, t.memory, 0, 0), fine),
         ROW(driver().cuStreamBatchMemOp_v2(t.stream, 0, nullptr, 0), fine),
     }},
    {"Copies_of_boxes_and_peers",
     {
         ROW(driver().cuMemcpy2D(&t.flat), gone),
         ROW(driver().cuMemcpy2DAsync(&t.flat, t.stream), gone),
         ROW(driver().cuMemcpy3D(&t.deep), gone),
         ROW(driver().cuMemcpy3DAsync(&t.deep, t.stream), gone),
         ROW(driver().cuMemcpyPeer(t.memory + 64, t.living, t.memory, t.living, 64), gone),
         ROW(driver().cuMemcpyPeerAsync(t.memory + 64, t.living, t.memory, t.living, 64, t.stream), gone),
         ROW(driver().cuMemcpyHtoAAsync(t.array, 0, t.pinned, 16, t.stream), gone),
         ROW(driver().cuMemcpyAtoHAsync(t.pinned, t.array, 0, 16, t.stream), gone),
         ROW(driver().cuStreamAttachMemAsync(t.stream, t.managed, 0, CU_MEM_ATTACH_GLOBAL), fine),
     }},
    {"What_is_destroyed",
     {
         ROW(driver().cuArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE),
         ROW(driver().cuArrayDestroy(t.array), fine),
         ROW(driver().cuEventDestroy(t.event), fine),
         ROW(driver().cuStreamDestroy(t.stream), fine),
     }},
    {"Pools_and_arrays",
     {
         ROW(driver().cuMemAllocAsync(&t.at, 64, t.stream), fine),
         ROW(driver().cuMemFreeAsync(t.at, t.stream), fine),
         ROW(driver().cuMemAllocAsync(&t.at, 64, nullptr), gone),
         ROW(driver().cuDeviceGetDefaultMemPool(&t.pool, 0), fine),
         ROW(driver().cuMemPoolGetAttribute(t.pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &t.id), fine),
         ROW(driver().cuMemPoolTrimTo(t.pool, 0), fine),
         ROW(driver().cuArrayGetDescriptor(&t.shape, t.array), fine),
         ROW(driver().cuArrayCreate(&t.array_out, &t.shape), gone),
         ROW(driver().cuMemcpyHtoA(t.array, 0, t.bytes, 16), gone),
         ROW(driver().cuMemcpyAtoH(t.bytes, t.array, 0, 16), gone),
         ROW(driver().cuDeviceCanAccessPeer(&t.number, 0, 0), fine),
         ROW(driver().cuCtxEnablePeerAccess(t.living, 0), gone),
     }},
};

[[maybe_unused]] const bool rows_added = [] {
  for (const Noun &noun : nouns) {
    ADD_TEST(EndedContexts, noun.name + std::string("_after_the_last_release_of_the_primary_context"),
             [&noun](EndedContexts &t) {
               CUSHIM_IN_A_FRESH_PROCESS();
               t.make_living();
               NEED(driver().cuDevicePrimaryCtxRetain(&t.ended, 0));
               NEED(driver().cuCtxSetCurrent(t.ended));
               NEED(driver().cuDevicePrimaryCtxRelease(0));
               for (const Row &row : noun.rows)
                 expect_answer(__FILE__, __LINE__, row.text, row.call(t), row.code);
             });
    ADD_TEST(EndedContexts, noun.name + std::string("_after_another_thread_has_destroyed_the_context"),
             [&noun](EndedContexts &t) {
               CUSHIM_IN_A_FRESH_PROCESS();
               t.make_living();
               NEED(driver().cuCtxCreate_v2(&t.ended, 0, 0));
               CUresult destroyed = CUDA_ERROR_UNKNOWN;
               std::thread([&] { destroyed = driver().cuCtxDestroy(t.ended); }).join();
               NEED(destroyed);
               for (const Row &row : noun.rows)
                 expect_answer(__FILE__, __LINE__, row.text, row.call(t), row.code);
             });
  }
  return true;
}();

TEST_F(EndedContexts, That_are_primary_are_asked_by_their_handle) {
  CUSHIM_IN_A_FRESH_PROCESS();
  make_living();
  NEED(driver().cuDevicePrimaryCtxRetain(&ended, 0));
  NEED(driver().cuDevicePrimaryCtxRelease(0));
  EXPECT_ANSWER(driver().cuCtxGetApiVersion(ended, &flags), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuCtxGetId(ended, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_ANSWER(exact::cuCtxGetDevice_v13000(driver())(&device_out, ended), CUDA_SUCCESS);
  EXPECT_ANSWER(exact::cuCtxSynchronize_v13000(driver())(ended), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_ANSWER(driver().cuCtxDestroy(ended), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuCtxSetCurrent(ended), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuCtxPushCurrent(ended), CUDA_SUCCESS);
}

// Not in the tables above because the real driver (580.159) crashes.
TEST_F(EndedContexts, Are_given_no_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  NEED(driver().cuDevicePrimaryCtxRetain(&ended, 0));
  NEED(driver().cuCtxSetCurrent(ended));
  NEED(driver().cuDevicePrimaryCtxRelease(0));
  EXPECT_ANSWER(driver().cuCtxSetFlags(0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

}  // namespace
}  // namespace conformance

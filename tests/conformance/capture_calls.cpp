// SPDX-License-Identifier: Apache-2.0
// The nodes that calls in a capturing stream add.
#include "capture.hpp"

#if CONFORMANCE_HAS_GRAPHS

namespace conformance {
namespace {

struct CallCase {
  const char *name;
  CUresult (*call)(OnGraph &t, CUstream stream);
  int nodes;
  int type;  // of the last node
  CUresult code = CUDA_SUCCESS;
};
const CallCase call_cases[] = {
    {"A_memset", [](OnGraph &t, CUstream s) { return driver().cuMemsetD8Async(t.objects.memory, 1, 16, s); },
     1, CU_GRAPH_NODE_TYPE_MEMSET},
    {"A_memset_of_no_bytes",
     [](OnGraph &t, CUstream s) { return driver().cuMemsetD8Async(t.objects.memory, 1, 0, s); }, 0, -1},
    {"A_copy_to_the_device",
     [](OnGraph &t, CUstream s) {
       return driver().cuMemcpyHtoDAsync(t.objects.memory, t.objects.pinned, 16, s);
     },
     1, CU_GRAPH_NODE_TYPE_MEMCPY},
    {"A_copy_of_no_bytes",
     [](OnGraph &t, CUstream s) {
       return driver().cuMemcpyHtoDAsync(t.objects.memory, t.objects.pinned, 0, s);
     },
     0, -1},
    {"A_copy_from_pageable_memory",
     [](OnGraph &t, CUstream s) {
       static char bytes[16];
       return driver().cuMemcpyHtoDAsync(t.objects.memory, bytes, sizeof bytes, s);
     },
     1, CU_GRAPH_NODE_TYPE_MEMCPY},
    {"A_copy_to_pageable_memory",
     [](OnGraph &t, CUstream s) {
       static char bytes[16];
       return driver().cuMemcpyDtoHAsync(bytes, t.objects.memory, sizeof bytes, s);
     },
     1, CU_GRAPH_NODE_TYPE_MEMCPY},
    {"A_2D_copy",
     [](OnGraph &t, CUstream s) {
       CUDA_MEMCPY2D with{};
       with.srcMemoryType = CU_MEMORYTYPE_HOST;
       with.srcHost = t.objects.pinned;
       with.dstMemoryType = CU_MEMORYTYPE_DEVICE;
       with.dstDevice = t.objects.memory;
       with.WidthInBytes = 4;
       with.Height = 4;
       return driver().cuMemcpy2DAsync(&with, s);
     },
     1, CU_GRAPH_NODE_TYPE_MEMCPY},
    {"A_kernel",
     [](OnGraph &t, CUstream s) {
       return driver().cuLaunchKernel(t.kernel("empty"), 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr);
     },
     1, CU_GRAPH_NODE_TYPE_KERNEL},
    {"A_host_function",
     [](OnGraph &, CUstream s) {
       return driver().cuLaunchHostFunc(
           s, [](void *) {}, nullptr);
     },
     1, CU_GRAPH_NODE_TYPE_HOST},
    {"A_callback",
     [](OnGraph &, CUstream s) {
       return driver().cuStreamAddCallback(
           s, [](CUstream, CUresult, void *) {}, nullptr, 0);
     },
     0, -1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_value_write",
     [](OnGraph &t, CUstream s) { return driver().cuStreamWriteValue32(s, t.objects.memory, 1, 0); }, 1,
     CU_GRAPH_NODE_TYPE_BATCH_MEM_OP},
    {"A_value_wait",
     [](OnGraph &t, CUstream s) { return driver().cuStreamWaitValue32(s, t.objects.memory, 1, 0); }, 1,
     CU_GRAPH_NODE_TYPE_BATCH_MEM_OP},
    {"An_empty_batch", [](OnGraph &, CUstream s) { return driver().cuStreamBatchMemOp(s, 0, nullptr, 0); }, 1,
     CU_GRAPH_NODE_TYPE_BATCH_MEM_OP},
    {"An_event_record", [](OnGraph &t, CUstream s) { return driver().cuEventRecord(t.objects.event, s); }, 0,
     -1},
    {"An_external_event_record",
     [](OnGraph &t, CUstream s) {
       return driver().cuEventRecordWithFlags(t.objects.event, s, CU_EVENT_RECORD_EXTERNAL);
     },
     1, CU_GRAPH_NODE_TYPE_EVENT_RECORD},
    {"An_external_event_wait",
     [](OnGraph &t, CUstream s) {
       return driver().cuStreamWaitEvent(s, t.objects.event, CU_EVENT_WAIT_EXTERNAL);
     },
     1, CU_GRAPH_NODE_TYPE_WAIT_EVENT},
    {"A_wait_for_an_event_that_was_never_recorded",
     [](OnGraph &t, CUstream s) { return driver().cuStreamWaitEvent(s, t.objects.event, 0); }, 0, -1},
    {"A_wait_for_an_event_of_before",
     [](OnGraph &t, CUstream s) { return driver().cuStreamWaitEvent(s, t.objects.recorded, 0); }, 0, -1,
     CUDA_ERROR_STREAM_CAPTURE_ISOLATION},
    {"An_allocation",
     [](OnGraph &, CUstream s) {
       CUdeviceptr made = 0;
       return driver().cuMemAllocAsync(&made, 1024, s);
     },
     1, CU_GRAPH_NODE_TYPE_MEM_ALLOC},
    {"A_free_of_other_memory",
     [](OnGraph &t, CUstream s) { return driver().cuMemFreeAsync(t.objects.memory, s); }, 0, -1,
     CUDA_ERROR_INVALID_VALUE},
    {"A_graph_launch", [](OnGraph &t, CUstream s) { return driver().cuGraphLaunch(t.objects.executable, s); },
     0, -1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_graph_upload", [](OnGraph &t, CUstream s) { return driver().cuGraphUpload(t.objects.executable, s); },
     0, -1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_managed_attachment",
     [](OnGraph &t, CUstream s) {
       return driver().cuStreamAttachMemAsync(s, t.objects.managed, 0, CU_MEM_ATTACH_GLOBAL);
     },
     0, -1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_prefetch",
     [](OnGraph &t, CUstream s) {
       CUmemLocation location = {};
       location.type = CU_MEM_LOCATION_TYPE_DEVICE;
       return driver().cuMemPrefetchAsync(t.objects.managed, 4096, location, 0, s);
     },
     0, -1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_query", [](OnGraph &, CUstream s) { return driver().cuStreamQuery(s); }, 0, -1,
     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_synchronization", [](OnGraph &, CUstream s) { return driver().cuStreamSynchronize(s); }, 0, -1,
     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_second_begin",
     [](OnGraph &, CUstream s) { return driver().cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL); }, 0,
     -1, CUDA_ERROR_ILLEGAL_STATE},
    {"Flags", [](OnGraph &t, CUstream s) { return driver().cuStreamGetFlags(s, &t.flags); }, 0, -1,
     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_priority", [](OnGraph &t, CUstream s) { return driver().cuStreamGetPriority(s, &t.number); }, 0, -1},
    {"A_change_of_an_attribute",
     [](OnGraph &, CUstream s) {
       CUstreamAttrValue value{};
       value.syncPolicy = CU_SYNC_POLICY_SPIN;
       return driver().cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
     },
     0, -1},
    {"A_memset_beyond_the_allocation",
     [](OnGraph &t, CUstream s) { return driver().cuMemsetD8Async(t.objects.memory, 1, 1 << 30, s); }, 1,
     CU_GRAPH_NODE_TYPE_MEMSET},
    {"A_misaligned_memset",
     [](OnGraph &t, CUstream s) { return driver().cuMemsetD16Async(t.objects.memory + 1, 1, 4, s); }, 0, -1,
     CUDA_ERROR_INVALID_VALUE},
    {"A_memset_of_rows_wider_than_the_pitch",
     [](OnGraph &t, CUstream s) { return driver().cuMemsetD2D8Async(t.objects.memory, 8, 1, 9, 2, s); }, 0,
     -1, CUDA_ERROR_INVALID_VALUE},
    {"A_value_write_to_no_memory",
     [](OnGraph &, CUstream s) { return driver().cuStreamWriteValue32(s, 0, 1, 0); }, 1,
     CU_GRAPH_NODE_TYPE_BATCH_MEM_OP},
    {"A_value_write_with_unknown_flags",
     [](OnGraph &t, CUstream s) { return driver().cuStreamWriteValue32(s, t.objects.memory, 1, 77); }, 0, -1,
     CUDA_ERROR_INVALID_VALUE},
    {"A_copy_between_contexts",
     [](OnGraph &t, CUstream s) {
       return driver().cuMemcpyPeerAsync(t.objects.memory, t.context, t.objects.memory + 16, t.context, 16,
                                         s);
     },
     0, -1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"The_number",
     [](OnGraph &, CUstream s) {
       unsigned long long id = 0;
       return driver().cuStreamGetId(s, &id);
     },
     0, -1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"The_device", [](OnGraph &t, CUstream s) { return driver().cuStreamGetDevice(s, &t.number); }, 0, -1,
     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_null_graph_launch", [](OnGraph &, CUstream s) { return driver().cuGraphLaunch(nullptr, s); }, 0, -1,
     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_discard_of_no_ranges",
     [](OnGraph &, CUstream s) { return driver().cuMemDiscardBatchAsync(nullptr, nullptr, 0, 0, s); }, 0, -1,
     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {"A_wait_with_unknown_flags",
     [](OnGraph &t, CUstream s) { return driver().cuStreamWaitEvent(s, t.objects.event, 2); }, 0, -1,
     CUDA_ERROR_INVALID_VALUE},
    {"A_free_of_null", [](OnGraph &, CUstream s) { return driver().cuMemFreeAsync(0, s); }, 0, -1},
    {"A_null_host_function",
     [](OnGraph &, CUstream s) { return driver().cuLaunchHostFunc(s, nullptr, nullptr); }, 0, -1,
     CUDA_ERROR_INVALID_VALUE},
};

// Errors of the arguments leave the capture valid.
bool invalidates(int code) { return code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; }

[[maybe_unused]] const bool call_cases_added = [] {
  for (const CallCase &each : call_cases)
    ADD_TEST(Captures, std::string(each.name) + "_in_a_capturing_stream", [=](OnGraph &t) {
      t.make_objects();
      const CUstream work = t.capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
      const int code = each.call(t, work);
      EXPECT_VALUE(code, int{each.code});
      const int status = OnGraph::status(work);
      EXPECT_VALUE(status, invalidates(each.code) ? kInvalidated : kActive);
      CUgraph made = nullptr;
      EXPECT_ANSWER(driver().cuStreamEndCapture(work, &made),
                    invalidates(each.code) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
      if (made == nullptr) return;
      t.graph_out = made;
      const Nodes nodes = nodes_of(made);
      EXPECT_VALUE(static_cast<int>(nodes.size()), each.nodes);
      if (!nodes.empty()) {
        EXPECT_VALUE(type_of(nodes.back()), each.type);
      }
    });
  return true;
}();

}  // namespace
}  // namespace conformance

#endif

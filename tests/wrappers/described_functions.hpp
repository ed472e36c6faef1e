// SPDX-License-Identifier: Apache-2.0
// Functions of the wrappers, and the driver calls that they make on the recording driver.
#pragma once

#include "operations.hpp"

namespace cushim::test {

// Functions, and the calls that they make.
struct Described : Operation {
  Calls calls;
};

inline const Described kDescribed[] = {
    {{"external semaphore",
      [] {
        auto s = ExternalSemaphore::import_timeline(5);
        s.signal(stream(), 2);
        s.wait(stream(), 3);
        ExternalSemaphore::import_binary(5);
      }},
     {"cuImportExternalSemaphore(&, &)", "cuSignalExternalSemaphoresAsync(&, &, 1, 0x50)",
      "cuWaitExternalSemaphoresAsync(&, &, 1, 0x50)", "cuImportExternalSemaphore(&, &)",
      "cuDestroyExternalSemaphore(null)", "cuDestroyExternalSemaphore(null)"}},
    {{"external memory",
      [] {
        auto m = ExternalMemory::import(5, 4096, DedicatedMemory::yes);
        m.buffer<int>(0, 4);
        m.array(0, {.width = 4});
      }},
     {"cuImportExternalMemory(&, &)", "cuExternalMemoryGetMappedBuffer(&, null, &)", "cuMemFree_v2(0x1000)",
      "cuExternalMemoryGetMappedMipmappedArray(&, null, &)", "cuMipmappedArrayDestroy(null)",
      "cuDestroyExternalMemory(null)"}},
    {{"array of two dimensions",
      [] {
        auto a = Array::create({.width = 4, .height = 4});
        a.shape();
        a.descriptor();
        a.plane(1);
        a.memory_requirements(device());
        a.sparse_properties();
      }},
     {"cuArrayCreate_v2(&, &)", "cuArray3DGetDescriptor_v2(&, null)", "cuArrayGetDescriptor_v2(&, null)",
      "cuArrayGetPlane(&, null, 1)", "cuArrayGetMemoryRequirements(&, null, 3)",
      "cuArrayGetSparseProperties(&, null)", "cuArrayDestroy(null)"}},
    {{"array of three dimensions",
      [] { Array::create({.width = 4, .height = 4, .depth = 4, .flags = ArrayFlags::surfaces}); }},
     {"cuArray3DCreate_v2(&, &)", "cuArrayDestroy(null)"}},
    {{"mipmapped array",
      [] {
        auto a = MipmappedArray::create({.width = 4}, 3);
        a.level(1);
        a.memory_requirements(device());
        a.sparse_properties();
      }},
     {"cuMipmappedArrayCreate(&, &, 3)", "cuMipmappedArrayGetLevel(&, null, 1)",
      "cuMipmappedArrayGetMemoryRequirements(&, null, 3)", "cuMipmappedArrayGetSparseProperties(&, null)",
      "cuMipmappedArrayDestroy(null)"}},
    {{"copies of arrays",
      [] {
        const auto a = ArrayRef::from_handle(reinterpret_cast<CUarray>(0xa8));
        copy_to_array(a, std::span(host));
        copy_from_array(std::span(host), a, 8);
        copy_to_array(a, kDevice);
        copy_from_array(kDevice, a);
        copy_array(a, 0, a, 16, 8);
        copy_to_array(a, PinnedSpan<int>(std::span(host)), stream());
        copy_from_array(PinnedSpan<int>(std::span(host)), a, stream(), 4);
      }},
     {"cuMemcpyHtoA_v2(0xa8, 0, &, 16)", "cuMemcpyAtoH_v2(&, 0xa8, 8, 16)",
      "cuMemcpyDtoA_v2(0xa8, 0, 0x1000, 16)", "cuMemcpyAtoD_v2(0x1000, 0xa8, 0, 16)",
      "cuMemcpyAtoA_v2(0xa8, 0, 0xa8, 16, 8)", "cuMemcpyHtoAAsync_v2(0xa8, 0, &, 16, 0x50)",
      "cuMemcpyAtoHAsync_v2(&, 0xa8, 4, 16, 0x50)"}},
    {{"texture object",
      [] {
        auto t = TextureObject::create(array(), {.filter = TextureFilter::linear});
        t.resource();
        t.options();
        t.view();
      }},
     {"cuTexObjectCreate(&, &, &, null)", "cuTexObjectGetResourceDesc(&, 0x0)",
      "cuTexObjectGetTextureDesc(&, 0x0)", "cuTexObjectGetResourceViewDesc(&, 0x0)",
      "cuTexObjectDestroy(0x0)"}},
    {{"texture of mipmaps",
      [] {
        TextureObject::create(mipmaps());
        TextureObject::create(mipmaps(), {}, CUDA_RESOURCE_VIEW_DESC{});
        TextureObject::create(kDevice, ArrayFormat::signed32);
      }},
     {"cuTexObjectCreate(&, &, &, null)", "cuTexObjectDestroy(0x0)", "cuTexObjectCreate(&, &, &, &)",
      "cuTexObjectDestroy(0x0)", "cuTexObjectCreate(&, &, &, null)", "cuTexObjectDestroy(0x0)"}},
    {{"surface object", [] { SurfaceObject::create(array()).resource(); }},
     {"cuSurfObjectCreate(&, &)", "cuSurfObjectGetResourceDesc(&, 0x0)", "cuSurfObjectDestroy(0x0)"}},
#if CUDA_VERSION >= 12000
    {{"tensor maps",
      [] {
        auto map = tensor_map(kDevice, {.sizes = {4, 1}, .strides = {16}, .box = {4, 1}});
        im2col_tensor_map(0x1000, CU_TENSOR_MAP_DATA_TYPE_UINT8, {.sizes = {4, 4, 4}, .strides = {16, 64}},
                          {.lower_corner = {0}, .upper_corner = {0}});
        set_address(map, 0x2000);
      }},
     {"cuTensorMapEncodeTiled(&, 3, 2, 0x1000, &, &, &, &, 0, 0, 0, 0)",
      "cuTensorMapEncodeIm2col(&, 0, 3, 0x1000, &, &, &, &, 1, 1, &, 0, 0, 0, 0)",
      "cuTensorMapReplaceAddress(&, 0x2000)"}},
#endif
#if CUDA_VERSION >= 12050
    {{"green context",
      [] {
        const CUdevResource all = device_resource(device());
        context_resource(context());
        split_by_count(all, 8);
        auto g = GreenContext::create(device(), std::span(&all, 1));
        g.context();
        g.resource();
        g.id();
        g.record(event());
        g.wait(event());
        static_cast<void>(g.create_stream(-1).release());
        green_context_of(stream());
        cushim::record(context(), event());
        cushim::wait(context(), event());
      }},
     {"cuDeviceGetDevResource(3, &, 1)", "cuCtxGetDevResource(0xc1, &, 1)",
      "cuDevSmResourceSplitByCount(null, &, &, null, 0, 8)",
      "cuDevSmResourceSplitByCount(null, &, &, &, 0, 8)", "cuDevResourceGenerateDesc(&, &, 1)",
      "cuGreenCtxCreate(&, null, 3, 1)", "cuCtxFromGreenCtx(&, null)", "cuGreenCtxGetDevResource(null, &, 1)",
      "cuGreenCtxGetId(null, &)", "cuGreenCtxRecordEvent(null, 0xe0)", "cuGreenCtxWaitEvent(null, 0xe0)",
      "cuGreenCtxStreamCreate(&, null, 1, -1)", "cuStreamGetGreenCtx(0x50, &)",
      "cuCtxRecordEvent(0xc1, 0xe0)", "cuCtxWaitEvent(0xc1, 0xe0)", "cuGreenCtxDestroy(null)"}},
#endif
#if CUDA_VERSION >= 12010
    {{"multicast object",
      [] {
        auto m = MulticastObject::create(2, 4096);
        MulticastObject::granularity(2, 4096);
        m.add(device());
        m.bind(memory(), 4096);
        m.bind(range(), 8192);
        m.unbind(device(), 0, 4096);
      }},
     {"cuMulticastCreate(&, &)", "cuMulticastGetGranularity(&, &, 0)", "cuMulticastAddDevice(0x0, 3)",
      "cuMulticastBindMem(0x0, 0, 0x70, 0, 4096, 0x0)", "cuMulticastBindAddr(0x0, 8192, 0x10000, 8192, 0x0)",
      "cuMulticastUnbind(0x0, 3, 0, 4096)", "cuMemRelease(0x0)"}},
#endif
    {{"managed memory",
      [] {
        advise(kDevice, MemoryAdvice::read_mostly, device());
        is_read_mostly(kDevice);
        preferred_location(kDevice);
        last_prefetch(kDevice);
        range_state(kDevice);
        prefetch(kDevice, std::nullopt, stream());
      }},
     {"cuMemAdvise(0x1000, 16, 1, 3)", "cuMemRangeGetAttribute(&, 4, 1, 0x1000, 16)",
      "cuMemRangeGetAttribute(&, 4, 2, 0x1000, 16)", "cuMemRangeGetAttribute(&, 4, 4, 0x1000, 16)",
      "cuMemRangeGetAttributes(&, &, &, 3, 0x1000, 16)", "cuMemPrefetchAsync(0x1000, 16, -1, 0x50)"}},
#if CUDA_VERSION >= 13000
    {{"batches of managed memory",
      [] {
        const DeviceSpan<int> both[] = {kDevice, kDevice};
        const std::span<const DeviceSpan<int>> all(both);
        prefetch(all, device(), stream());
        discard(all, stream());
        discard_and_prefetch(all, std::nullopt, stream());
      }},
     {"cuMemPrefetchBatchAsync(&, &, 2, &, &, 1, 0x0, 0x50)", "cuMemDiscardBatchAsync(&, &, 2, 0x0, 0x50)",
      "cuMemDiscardAndPrefetchBatchAsync(&, &, 2, &, &, 1, 0x0, 0x50)"}},
#endif
    {{"errors of the driver",
      [] {
        driver_name_of(CUDA_ERROR_UNKNOWN);
        driver_text_of(CUDA_ERROR_UNKNOWN);
      }},
     {"cuGetErrorName(999, &)", "cuGetErrorString(999, &)"}},
    {{"profiled scope", [] { const ProfiledScope scope; }}, {"cuProfilerStart()", "cuProfilerStop()"}},
#if CUDA_VERSION >= 12090
    {{"log",
      [] {
        auto log = LogPosition::end();
        log.read();
        log.write("log.txt");
        const LogReceiver receiver([](void *, CUlogLevel, char *, std::size_t) {}, nullptr);
      }},
     {"cuLogsCurrent(&, 0)", "cuLogsDumpToMemory(&, &, &, 0)", R"(cuLogsDumpToFile(&, "log.txt", 0))",
      "cuLogsRegisterCallback(function, null, &)", "cuLogsUnregisterCallback(null)"}},
#endif
#if CUDA_VERSION >= 12010
    {{"coredumps",
      [] {
        writes_coredumps(CoredumpScope::context);
        writes_coredumps(CoredumpScope::process);
        write_coredumps(true, CoredumpScope::context);
        write_coredumps(false, CoredumpScope::process);
      }},
     {"cuCoredumpGetAttribute(1, &, &)", "cuCoredumpGetAttributeGlobal(1, &, &)",
      "cuCoredumpSetAttribute(1, &, &)", "cuCoredumpSetAttributeGlobal(1, &, &)"}},
#endif
#if CUDA_VERSION >= 12080
    {{"checkpoints",
      [] {
        const CheckpointedProcess process(7);
        process.state();
        process.restore_thread();
        process.lock(std::chrono::seconds(1));
        process.checkpoint();
        process.restore();
        process.unlock();
      }},
     {"cuCheckpointProcessGetState(7, &)", "cuCheckpointProcessGetRestoreThreadId(7, &)",
      "cuCheckpointProcessLock(7, &)", "cuCheckpointProcessCheckpoint(7, &)",
      "cuCheckpointProcessRestore(7, &)", "cuCheckpointProcessUnlock(7, &)"}},
#endif
    {{"pools of several processes",
      [] {
        auto pool = import_pool(SharedMemoryFd());
        export_pool(pool);
        const auto exported = export_pointer(kDevice);
        import_pointer<int>(pool, exported, 4);
      }},
     {"cuMemPoolImportFromShareableHandle(&, 0xffffffffffffffff, 1, 0x0)",
      "cuMemPoolExportToShareableHandle(&, null, 1, 0x0)", "cuMemPoolExportPointer(&, 0x1000)",
      "cuMemPoolImportPointer(&, null, &)", "cuMemPoolDestroy(null)"}},
#if CUDA_VERSION >= 13000
    {{"pools of a type",
      [] {
        default_pool(device());
        auto pool = current_pool(device(), CU_MEM_ALLOCATION_TYPE_MANAGED);
        set_current_pool(device(), CU_MEM_ALLOCATION_TYPE_PINNED, pool);
      }},
     {"cuMemGetDefaultMemPool(&, &, 1)", "cuMemGetMemPool(&, &, 2)", "cuMemSetMemPool(&, 1, null)"}},
#endif
    {{"copies between contexts",
      [] {
        copy_peer(kDevice, context(), kDevice, context());
        copy_peer(kDevice, context(), kDevice, context(), stream());
      }},
     {"cuMemcpyPeer(0x1000, 0xc1, 0x1000, 0xc1, 16)",
      "cuMemcpyPeerAsync(0x1000, 0xc1, 0x1000, 0xc1, 16, 0x50)"}},
    {{"the current context",
      [] {
        reset_persisting_cache();
        multiprocessor_limit();
        set_flags(ContextFlags::spin);
        flush_remote_writes(RemoteWriteScope::owner);
      }},
     {"cuCtxResetPersistingL2Cache()", "cuCtxGetExecAffinity(&, 0)", "cuCtxSetFlags(1)",
      "cuFlushGPUDirectRDMAWrites(0, 100)"}},
    {{"devices",
      [] {
        device().max_linear_texture_width(CU_AD_FORMAT_FLOAT, 1);
        device().can_limit_multiprocessors();
      }},
     {"cuDeviceGetTexture1DLinearMaxWidth(&, 32, 1, 3)", "cuDeviceGetExecAffinitySupport(&, 0, 3)"}},
#if CUDA_VERSION >= 12040
    {{"functions",
      [] {
        function().module();
        function().is_loaded();
        function().load();
        function().parameter_count();
      }},
     {"cuFuncGetModule(&, 0xf0)", "cuFuncIsLoaded(&, 0xf0)", "cuFuncLoad(0xf0)",
      "cuFuncGetParamCount(0xf0, &)"}},
#endif
#if CUDA_VERSION >= 12050
    {{"kernels and libraries",
      [] {
        kernel().library();
        kernel().parameter_count();
        const auto library = LibraryRef::from_handle(reinterpret_cast<CUlibrary>(0xb0));
        library.module();
        library.unified_function("f");
      }},
     {"cuKernelGetLibrary(&, 0xf8)", "cuKernelGetParamCount(0xf8, &)", "cuLibraryGetModule(&, 0xb0)",
      R"(cuLibraryGetUnifiedFunction(&, 0xb0, "f"))"}},
#endif
    {{"parameters of nodes",
      [] {
        parameters_of(node<KernelNode>());
        parameters_of(node<CopyNode>());
        parameters_of(node<MemsetNode>());
        parameters_of(node<HostNode>());
        parameters_of(node<MemoryOperationsNode>());
        parameters_of(node<SemaphoreSignalNode>());
        parameters_of(node<SemaphoreWaitNode>());
        parameters_of(node<AllocationNode>());
        address_of(node<FreeNode>());
        event_of(node<EventRecordNode>());
        event_of(node<EventWaitNode>());
        attribute_of(node<KernelNode>(), CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
      }},
     {"cuGraphKernelNodeGetParams_v2(0xa0, &)", "cuGraphMemcpyNodeGetParams(0xa0, &)",
      "cuGraphMemsetNodeGetParams(0xa0, &)", "cuGraphHostNodeGetParams(0xa0, &)",
      "cuGraphBatchMemOpNodeGetParams(0xa0, &)", "cuGraphExternalSemaphoresSignalNodeGetParams(0xa0, &)",
      "cuGraphExternalSemaphoresWaitNodeGetParams(0xa0, &)", "cuGraphMemAllocNodeGetParams(0xa0, &)",
      "cuGraphMemFreeNodeGetParams(0xa0, &)", "cuGraphEventRecordNodeGetEvent(0xa0, &)",
      "cuGraphEventWaitNodeGetEvent(0xa0, &)", "cuGraphKernelNodeGetAttribute(0xa0, 2, &)"}},
    {{"other parameters for nodes",
      [] {
        set_parameters(node<KernelNode>(), CUDA_KERNEL_NODE_PARAMS{});
        set_parameters(node<CopyNode>(), CUDA_MEMCPY3D{});
        set_parameters(node<MemsetNode>(), CUDA_MEMSET_NODE_PARAMS{});
        set_parameters(node<HostNode>(), CUDA_HOST_NODE_PARAMS{});
        set_parameters(node<MemoryOperationsNode>(), CUDA_BATCH_MEM_OP_NODE_PARAMS{});
        set_parameters(node<SemaphoreSignalNode>(), CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{});
        set_parameters(node<SemaphoreWaitNode>(), CUDA_EXT_SEM_WAIT_NODE_PARAMS{});
        set_event(node<EventRecordNode>(), event());
        set_event(node<EventWaitNode>(), event());
        copy_attributes(node<KernelNode>(), node<KernelNode>());
      }},
     {"cuGraphKernelNodeSetParams_v2(0xa0, &)", "cuGraphMemcpyNodeSetParams(0xa0, &)",
      "cuGraphMemsetNodeSetParams(0xa0, &)", "cuGraphHostNodeSetParams(0xa0, &)",
      "cuGraphBatchMemOpNodeSetParams(0xa0, &)", "cuGraphExternalSemaphoresSignalNodeSetParams(0xa0, &)",
      "cuGraphExternalSemaphoresWaitNodeSetParams(0xa0, &)", "cuGraphEventRecordNodeSetEvent(0xa0, 0xe0)",
      "cuGraphEventWaitNodeSetEvent(0xa0, 0xe0)", "cuGraphKernelNodeCopyAttributes(0xa0, 0xa0)"}},
    {{"other parameters for executable nodes",
      [] {
        set_parameters(exec(), node<MemoryOperationsNode>(), CUDA_BATCH_MEM_OP_NODE_PARAMS{});
        set_parameters(exec(), node<SemaphoreSignalNode>(), CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{});
        set_parameters(exec(), node<SemaphoreWaitNode>(), CUDA_EXT_SEM_WAIT_NODE_PARAMS{});
      }},
     {"cuGraphExecBatchMemOpNodeSetParams(0x80, 0xa0, &)",
      "cuGraphExecExternalSemaphoresSignalNodeSetParams(0x80, 0xa0, &)",
      "cuGraphExecExternalSemaphoresWaitNodeSetParams(0x80, 0xa0, &)"}},
#if CUDA_VERSION >= 12020
    {{"parameters of any node",
      [] {
        CUgraphNodeParams any{};
        parameters_of(node());
        set_parameters(node(), any);
        set_parameters(exec(), node(), any);
      }},
     {"cuGraphNodeGetParams(0xa0, &)", "cuGraphNodeSetParams(0xa0, &)",
      "cuGraphExecNodeSetParams(0x80, 0xa0, &)"}},
#endif
    {{"numbers of graphs",
      [] {
        id_of(graph());
        id_of(exec());
        id_of(node());
        tools_id_of(node());
        containing_graph_of(node());
      }},
     {"cuGraphGetId(0x90, &)", "cuGraphExecGetId(0x80, &)", "cuGraphNodeGetLocalId(0xa0, &)",
      "cuGraphNodeGetToolsId(0xa0, &)", "cuGraphNodeGetContainingGraph(0xa0, &)"}},
    {{"memory of graphs",
      [] {
        graph_memory(device(), GraphMemory::used);
        reset_graph_memory(device(), GraphMemory::used_high);
        trim_graph_memory(device());
      }},
     {"cuDeviceGetGraphMemAttribute(3, 0, &)", "cuDeviceSetGraphMemAttribute(3, 1, &)",
      "cuDeviceGraphMemTrim(3)"}},
    {{"nodes of memory operations and semaphores",
      [] {
        graph().add_memory_operations(MemOpBatch().write_value(Word<std::uint32_t>(0x1000), 1), context());
        graph().add_signal(semaphore(), 2);
        graph().after(node()).add_wait(semaphore(), 3);
      }},
     {"cuGraphAddBatchMemOpNode(&, 0x90, null, 0, &)",
      "cuGraphAddExternalSemaphoresSignalNode(&, 0x90, null, 0, &)",
      "cuGraphAddExternalSemaphoresWaitNode(&, 0x90, &, 1, &)"}},
    {{"capture mode and dependencies",
      [] {
        const ScopedCaptureMode mode(CaptureMode::relaxed);
        const GraphNode one[] = {node()};
        set_capture_dependencies(stream(), one);
      }},
     {"cuThreadExchangeStreamCaptureMode(&)", "cuStreamUpdateCaptureDependencies(0x50, &, 1, 1)",
      "cuThreadExchangeStreamCaptureMode(&)"}},
#if CUDA_VERSION >= 12030
    {{"conditional nodes",
      [] {
        const GraphCondition one = graph().condition(1, context()), any = graph().condition();
        graph().add_if(one);
        graph().after(node()).add_while(any);
      }},
     {"cuGraphConditionalHandleCreate(&, 0x90, 0xc1, 1, 1)", "cuCtxGetCurrent(&)",
      "cuGraphConditionalHandleCreate(&, 0x90, null, 0, 0)", "cuGraphAddNode_v2(&, 0x90, null, null, 0, &)",
      "cuGraphAddNode_v2(&, 0x90, &, null, 1, &)"}},
    {{"capture into a graph",
      [] {
        capture_into(graph().after(node()), stream(), [] {});
        capture_into(graph(), stream(), CaptureMode::relaxed, [] {});
      }},
     {"cuStreamBeginCaptureToGraph(0x50, 0x90, &, null, 1, 0)", "cuStreamEndCapture(0x50, &)",
      "cuStreamBeginCaptureToGraph(0x50, 0x90, null, null, 0, 2)", "cuStreamEndCapture(0x50, &)"}},
#endif
    {{"access of the host", [] { set_host_access(range(), MemoryAccess::read_write); }},
     {"cuMemSetAccess(0x10000, 8192, &, 1)"}},
};

}  // namespace cushim::test

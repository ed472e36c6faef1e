// SPDX-License-Identifier: Apache-2.0
// Each kind of object, leaked and not leaked.
#include <functional>

#include "leaked.hpp"

namespace cushim::check {
namespace {

struct Pair {
  const char *name;
  const char *rule;
  const char *noun;
  std::function<std::function<void()>()> make;  // returns the function that ends the object
};

CUDA_ARRAY_DESCRIPTOR flat() { return {16, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1}; }
CUDA_ARRAY3D_DESCRIPTOR deep() { return {16, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}; }

// Makes an object. Returns the function that ends it.
template <class Handle, class Create, class End, class... Arguments>
std::function<void()> made(Create create, End end, Arguments... arguments) {
  Handle handle{};
  need(create(&handle, arguments...));
  return [end, handle] { need(end(handle)); };
}

const Pair kPairs[] = {
    {"A_context", "never-destroyed", "context ",
     [] { return made<CUcontext>(driver().cuCtxCreate_v2, driver().cuCtxDestroy, 0, 0); }},
    {"A_primary_context", "never-released", "the primary context of device 0",
     [] {
       CUcontext context = nullptr;
       need(driver().cuDevicePrimaryCtxRetain(&context, 0));
       return [] { need(driver().cuDevicePrimaryCtxRelease(0)); };
     }},
    {"A_stream", "never-destroyed", "stream ",
     [] {
       return made<CUstream>(driver().cuStreamCreateWithPriority, driver().cuStreamDestroy,
                             CU_STREAM_NON_BLOCKING, 0);
     }},
    {"An_event", "never-destroyed", "event ",
     [] { return made<CUevent>(driver().cuEventCreate, driver().cuEventDestroy, 0); }},
    {"Device_memory", "never-freed", "device memory ",
     [] { return made<CUdeviceptr>(driver().cuMemAlloc, driver().cuMemFree, 4096); }},
    {"Pitched_memory", "never-freed", "device memory ",
     [] {
       CUdeviceptr memory = 0;
       std::size_t pitch = 0;
       need(driver().cuMemAllocPitch(&memory, &pitch, 100, 8, 4));
       return [memory] { need(driver().cuMemFree(memory)); };
     }},
    {"Managed_memory", "never-freed", "managed memory ",
     [] {
       return made<CUdeviceptr>(driver().cuMemAllocManaged, driver().cuMemFree, 4096, CU_MEM_ATTACH_GLOBAL);
     }},
    {"Pinned_memory", "never-freed", "pinned memory ",
     [] { return made<void *>(driver().cuMemHostAlloc, driver().cuMemFreeHost, 4096, 0); }},
    {"Registered_memory", "never-freed", "registered memory ",
     [] {
       alignas(4096) static char memory[4096];
       need(driver().cuMemHostRegister(memory, sizeof memory, 0));
       return [] { need(driver().cuMemHostUnregister(memory)); };
     }},
    {"Stream_ordered_memory", "never-freed", "stream-ordered memory ",
     [] {
       CUdeviceptr memory = 0;
       need(driver().cuMemAllocAsync(&memory, 4096, CU_STREAM_LEGACY));
       return [memory] { need(driver().cuMemFreeAsync(memory, CU_STREAM_LEGACY)); };
     }},
    {"An_array", "never-destroyed", "array ",
     [] {
       CUarray array = nullptr;
       const CUDA_ARRAY_DESCRIPTOR shape = flat();
       need(driver().cuArrayCreate(&array, &shape));
       return [array] { need(driver().cuArrayDestroy(array)); };
     }},
    {"An_array_of_three_dimensions", "never-destroyed", "array ",
     [] {
       CUarray array = nullptr;
       const CUDA_ARRAY3D_DESCRIPTOR shape = deep();
       need(driver().cuArray3DCreate(&array, &shape));
       return [array] { need(driver().cuArrayDestroy(array)); };
     }},
    {"A_mipmapped_array", "never-destroyed", "mipmapped array ",
     [] {
       CUmipmappedArray array = nullptr;
       const CUDA_ARRAY3D_DESCRIPTOR shape = deep();
       need(driver().cuMipmappedArrayCreate(&array, &shape, 2));
       return [array] { need(driver().cuMipmappedArrayDestroy(array)); };
     }},
    {"A_reserved_address_range", "never-freed", "address range ",
     [] {
       CUdeviceptr range = 0;
       need(driver().cuMemAddressReserve(&range, 2 << 20, 0, 0, 0));
       return [range] { need(driver().cuMemAddressFree(range, 2 << 20)); };
     }},
    {"Physical_memory", "never-freed", "allocation handle ",
     [] {
       CUmemAllocationProp properties{};
       properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
       properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
       CUmemGenericAllocationHandle memory = 0;
       need(driver().cuMemCreate(&memory, 2 << 20, &properties, 0));
       return [memory] { need(driver().cuMemRelease(memory)); };
     }},
    {"A_memory_pool", "never-destroyed", "memory pool ",
     [] {
       const CUmemoryPool pool = new_pool();
       return [pool] { need(driver().cuMemPoolDestroy(pool)); };
     }},
    {"A_graph", "never-destroyed", "graph ",
     [] { return made<CUgraph>(driver().cuGraphCreate, driver().cuGraphDestroy, 0); }},
    {"A_captured_graph", "never-destroyed", "graph ",
     [] {
       CUstream stream = nullptr;
       CUgraph graph = nullptr;
       need(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
       need(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
       need(driver().cuStreamEndCapture(stream, &graph));
       need(driver().cuStreamDestroy(stream));
       return [graph] { need(driver().cuGraphDestroy(graph)); };
     }},
    {"An_executable_graph", "never-destroyed", "executable graph ",
     [] {
       CUgraph graph = nullptr;
       CUgraphExec executable = nullptr;
       need(driver().cuGraphCreate(&graph, 0));
       need(driver().cuGraphInstantiateWithFlags(&executable, graph, 0));
       need(driver().cuGraphDestroy(graph));
       return [executable] { need(driver().cuGraphExecDestroy(executable)); };
     }},
};

class LeakOf : public Leaked, public ::testing::WithParamInterface<Pair> {};

TEST_P(LeakOf, Is_found_and_named) {
  const std::function<void()> end = GetParam().make();
  const std::vector<Finding> findings = leaks_.finish();
  ASSERT_TRUE(is_only(findings, GetParam().rule));
  EXPECT_TRUE(has(findings[0].what, GetParam().noun)) << findings[0];
  ASSERT_EQ(findings[0].calls.size(), 1u);
  EXPECT_FALSE(findings[0].calls[0].call_stack.frames().empty());
  EXPECT_TRUE(findings[0].calls[0].text.starts_with("cu")) << findings[0];
  end();
}

TEST_P(LeakOf, Is_not_reported_if_the_object_was_destroyed) {
  GetParam().make()();
  EXPECT_TRUE(is_clean(leaks_.finish()));
}

INSTANTIATE_TEST_SUITE_P(Each, LeakOf, ::testing::ValuesIn(kPairs),
                         [](const auto &info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cushim::check

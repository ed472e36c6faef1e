// SPDX-License-Identifier: Apache-2.0
// Objects that a recorded program names in structures and unions, finds in arrays of the driver, or maps.
#include <cushim/exact.hpp>
#include <cushim/mock/hook.hpp>

#include <cstring>

#include "compare.hpp"
#include "mapping.hpp"
#include "played.hpp"
#include "support/structures.hpp"

namespace cushim::test {
namespace {

class PlayedObjects : public Player {
 protected:
  static CUstream stream(Driver &driver) {
    CUstream stream = nullptr;
    EXPECT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return stream;
  }
  static CUfunction kernel_add(Driver &driver) { return kernel_of(driver, kAdd, "add"); }
  static CUarray array_for_surfaces(Driver &driver) {
    CUarray array = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR shape{.Width = 16,
                                        .Height = 4,
                                        .Depth = 0,
                                        .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                        .NumChannels = 1,
                                        .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    EXPECT_EQ(driver.cuArray3DCreate(&array, &shape), CUDA_SUCCESS);
    return array;
  }
};

#if CUDA_VERSION >= 12030
TEST_F(PlayedObjects, Nodes_that_a_captured_stream_depends_on_are_those_of_the_replay) {
  expect_equal([](Driver &driver) {
    const CUstream in = stream(driver);
    CUdeviceptr memory = 0;
    CUgraph graph = nullptr;
    CUstreamCaptureStatus status{};
    const CUgraphNode *found = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(driver.cuMemAlloc(&memory, 16), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamBeginCapture(in, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD8Async(memory, 1, 16, in), CUDA_SUCCESS);
    EXPECT_EQ(cushim::exact::cuStreamGetCaptureInfo_v12030(driver)(in, &status, nullptr, nullptr, &found,
                                                                   &edges, &count),
              CUDA_SUCCESS);
    ASSERT_EQ(count, 1U);
    CUgraphNode first = found[0], second = nullptr;
    EXPECT_EQ(driver.cuMemsetD8Async(memory, 2, 16, in), CUDA_SUCCESS);
    // The next operation depends on the first one, not on the second.
    EXPECT_EQ(cushim::exact::cuStreamUpdateCaptureDependencies_v12030(driver)(
                  in, &first, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD8Async(memory, 3, 16, in), CUDA_SUCCESS);
    EXPECT_EQ(cushim::exact::cuStreamGetCaptureInfo_v12030(driver)(in, &status, nullptr, &graph, &found,
                                                                   &edges, &count),
              CUDA_SUCCESS);
    second = found[0];
    EXPECT_EQ(cushim::exact::cuGraphNodeGetDependencies_v12030(driver)(second, &first, nullptr, &count),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamEndCapture(in, &graph), CUDA_SUCCESS);
  });
}
#endif

#if CUDA_VERSION >= 13000
TEST_F(PlayedObjects, The_context_of_a_conditional_node_is_that_of_the_replay) {
  const Recording recording = Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUcontext context = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphConditionalHandle handle = 0;
    EXPECT_EQ(cushim::exact::cuCtxCreate_v3020(driver)(&context, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&handle, graph, context, 1, 0), CUDA_SUCCESS);
    CUgraphNodeParams parameters = cushim::test::conditional_node(handle, CU_GRAPH_COND_TYPE_IF, 1, context);
    EXPECT_EQ(driver.cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
  }));
  const auto report = play_elsewhere(recording, [](Driver &driver) {
    CUcontext other = nullptr;
    EXPECT_EQ(cushim::exact::cuCtxCreate_v3020(driver)(&other, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxPopCurrent(&other), CUDA_SUCCESS);
  });
  EXPECT_EQ(report.replayed, recording.calls().size());
  EXPECT_TRUE(report.differences.empty());
}
#endif

TEST_F(PlayedObjects, Arrays_of_textures_and_surfaces_are_those_of_the_replay) {
  expect_equal([](Driver &driver) {
    const CUarray first = array_for_surfaces(driver);
    EXPECT_EQ(driver.cuArrayDestroy(first), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array_for_surfaces(driver);
    CUsurfObject surface = 0;
    EXPECT_EQ(driver.cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuSurfObjectDestroy(surface), CUDA_SUCCESS);
    CUtexObject texture = 0;
    const CUDA_TEXTURE_DESC sampling{};
    EXPECT_EQ(driver.cuTexObjectCreate(&texture, &resource, &sampling, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuTexObjectDestroy(texture), CUDA_SUCCESS);
  });
}

#if CUDA_VERSION >= 12080
TEST_F(PlayedObjects, Arrays_in_a_batch_of_copies_are_those_of_the_replay) {
  expect_equal([](Driver &driver) {
    const CUstream in = stream(driver);
    std::size_t failed = 0;
    CUdeviceptr memory = 0;
    unsigned char row[16] = {};
    EXPECT_EQ(driver.cuMemAlloc(&memory, sizeof row), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD8(memory, 7, sizeof row), CUDA_SUCCESS);
    CUDA_MEMCPY3D_BATCH_OP copy{};
    copy.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copy.src.op.ptr.ptr = memory;
    copy.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    copy.dst.op.array.array = array_for_surfaces(driver);
    copy.extent = {sizeof row, 1, 1};
    copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    EXPECT_EQ(cushim::exact::cuMemcpy3DBatchAsync_v12080(driver)(1, &copy, &failed, 0, in), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyAtoH(row, copy.dst.op.array.array, 0, sizeof row), CUDA_SUCCESS);
    EXPECT_EQ(row[0], 7);
  });
}
#endif

TEST_F(PlayedObjects, Parameters_that_are_set_one_by_one_have_the_addresses_of_the_replay) {
  expect_equal([](Driver &driver) {
    const CUfunction kernel = kernel_add(driver);
    CUdeviceptr memory = 0;
    unsigned sum = 0;
    EXPECT_EQ(driver.cuMemAlloc(&memory, 4), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD32(memory, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuFuncSetBlockShape(kernel, 1, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuParamSetv(kernel, 0, &memory, sizeof memory), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuParamSeti(kernel, 8, 41), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuParamSetSize(kernel, 12), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLaunch(kernel), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoH(&sum, memory, 4), CUDA_SUCCESS);
    EXPECT_EQ(sum, 42U);
  });
}

TEST_F(PlayedObjects, Launches_may_have_the_address_of_an_empty_array_of_attributes) {
  expect_equal([](Driver &driver) {
    const CUfunction kernel = kernel_add(driver);
    CUdeviceptr memory = 0;
    unsigned add = 1;
    CUlaunchAttribute attributes[1]{};
    EXPECT_EQ(driver.cuMemAlloc(&memory, 4), CUDA_SUCCESS);
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.attrs = attributes;
    void *parameters[] = {&memory, &add};
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

#if CUDA_VERSION >= 12050
// A driver that writes a number of its process into the bytes of resources which only it can interpret, as
// the real driver writes addresses there. It counts resources that do not have its number.
class StampedResources {
 public:
  StampedResources(Driver &driver, unsigned char stamp)
      : gets_(hook::replace<&cuDeviceGetDevResource>(
            driver,
            [stamp](const auto &next, CUdevice device, CUdevResource *resource, CUdevResourceType type) {
              const CUresult result = next(device, resource, type);
              if (result == CUDA_SUCCESS) stamp_of(*resource) = stamp;
              return result;
            })),
        splits_(hook::replace<&cuDevSmResourceSplitByCount>(
            driver,
            [this, stamp](const auto &next, CUdevResource *result, unsigned *groups,
                          const CUdevResource *input, CUdevResource *rest, unsigned flags, unsigned least) {
              CUdevResource own = *input;
              if (stamp_of(own) != stamp) ++foreign_;
              stamp_of(own) = 0;
              return next(result, groups, &own, rest, flags, least);
            })) {}
  int foreign() const { return foreign_; }

 private:
  static unsigned char &stamp_of(CUdevResource &resource) {
    return resource._internal_padding[sizeof resource._internal_padding - 1];
  }
  int foreign_ = 0;
  hook::Hook gets_, splits_;
};

TEST_F(PlayedObjects, Resources_of_a_device_are_those_that_the_calls_of_the_replay_return) {
  const auto program = [](Driver &driver, CUresult changed_by_program) {
    make_context(driver);
    CUdevResource all{}, groups[2]{}, rest{};
    unsigned count = 2;
    EXPECT_EQ(driver.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 8), CUDA_SUCCESS);
    all.sm.smCount -= 1;
    EXPECT_EQ(driver.cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 8), changed_by_program);
    CUdevResource none{};
    EXPECT_NE(driver.cuDevSmResourceSplitByCount(groups, &count, &none, &rest, 0, 8), CUDA_SUCCESS);
  };
  {
    const sim::Machine machine;
    StampedResources stamps(machine.driver(), 1);
    const replay::Recorder recorder(machine.driver(), file_, RecordData::full);
    program(machine.driver(), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  }
  const Recording recording = Recording::read(file_);
  const sim::Machine machine;
  StampedResources stamps(machine.driver(), 2);
  const Report report = play(recording, machine.driver());
  EXPECT_EQ(report.replayed, recording.calls().size());
  EXPECT_TRUE(report.differences.empty());
  EXPECT_EQ(stamps.foreign(), 1) << "the one that no call returned";
}

TEST_F(PlayedObjects, A_call_with_a_resource_of_unknown_origin_is_not_made) {
  const Recording recording = recording_of([](Driver &driver) {
    CUdevResource made{};
    unsigned count = 1;
    std::memset(&made, 0x41, sizeof made);
    made.type = CU_DEV_RESOURCE_TYPE_SM;
    EXPECT_NE(driver.cuDevSmResourceSplitByCount(nullptr, &count, &made, nullptr, 0, 8), CUDA_SUCCESS);
  });
  const Report report = play_elsewhere(recording);
  ASSERT_EQ(report.not_replayed.size(), 1U);
  EXPECT_EQ(report.not_replayed[0].reason, "no recorded call returned its resource of a device");
}
#endif

TEST_F(PlayedObjects, Addresses_of_a_reservation_are_known_after_a_part_of_it_was_mapped) {
  expect_equal([](Driver &driver) {
    constexpr std::size_t kPart = std::size_t{2} << 20;
    CUdeviceptr base = 0;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    EXPECT_EQ(driver.cuMemAddressReserve(&base, 2 * kPart, 0, 0, 0), CUDA_SUCCESS);
    for (const CUdeviceptr part : {base, base + kPart}) {
      CUmemGenericAllocationHandle memory = 0;
      EXPECT_EQ(driver.cuMemCreate(&memory, kPart, &properties, 0), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuMemMap(part, kPart, 0, memory, 0), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuMemRelease(memory), CUDA_SUCCESS);
    }
    EXPECT_EQ(driver.cuMemUnmap(base, 2 * kPart), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAddressFree(base, 2 * kPart), CUDA_SUCCESS);
  });
}

#if CUDA_VERSION >= 12010
TEST_F(PlayedObjects, Attributes_of_coredumps_are_set_and_compared) {
  expect_equal([](Driver &driver) {
    char file[] = "core.recorded", found[1024] = {};
    std::size_t size = sizeof file, most = sizeof found;
    EXPECT_EQ(driver.cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, file, &size), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, found, &most), CUDA_SUCCESS);
    EXPECT_STREQ(found, file);
  });
}
#endif

TEST_F(PlayedObjects, Ids_of_physical_memory_are_not_compared) {
  expect_equal([](Driver &driver) {
    CUdeviceptr memory = 0;
    std::uint64_t id = 0;
    EXPECT_EQ(driver.cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, memory), CUDA_SUCCESS);
    EXPECT_NE(id, 0U);
  });
}

TEST(Mapping, Small_handles_of_textures_are_replaced_in_parameters_but_not_in_other_bytes) {
  cushim::replay::Mapping mapping;
  std::uint64_t other = 0x5000;
  const auto replace = [&](std::uint64_t word) {
    mapping.replace_parameter({reinterpret_cast<char *>(&word), sizeof word});
    return word;
  };
  mapping.add_handle("", 1, 0x4000);
  EXPECT_EQ(replace(1), 1U) << "no texture exists";
  mapping.add_texture(1);
  EXPECT_EQ(replace(1), 0x4000U);
  EXPECT_EQ(replace(2), 2U);
  std::uint64_t words[] = {1, 0x6000};
  mapping.add_handle("", 0x6000, other);
  mapping.replace_parameter({reinterpret_cast<char *>(words), sizeof words});
  EXPECT_EQ(words[0], 1U);
  EXPECT_EQ(words[1], other);
  mapping.end_texture(1);
  EXPECT_EQ(replace(1), 1U);
}

TEST_F(PlayedObjects, Memory_of_a_node_of_a_graph_is_that_of_the_replay) {
  expect_equal(Recording::read(record([](Driver &driver) {
    make_context(driver);
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr, set = nullptr, end = nullptr;
    CUgraphExec executable = nullptr;
    CUcontext context = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS memory{};
    memory.poolProps = pool_of_device();
    memory.bytesize = 4096;
    EXPECT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &memory), CUDA_SUCCESS);
    CUDA_MEMSET_NODE_PARAMS values{};
    values.dst = memory.dptr + 1024;
    values.elementSize = 1;
    values.width = 64;
    values.height = 1;
    EXPECT_EQ(driver.cuGraphAddMemsetNode(&set, graph, &node, 1, &values, context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddMemFreeNode(&end, graph, &set, 1, memory.dptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  })));
}

TEST(Mapping, A_node_may_have_the_handle_of_a_node_of_an_ended_graph) {
  using cushim::replay::compare;
  cushim::replay::Mapping mapping;
  const auto &type = cushim::trace::type_of<CUgraphNode>();
  const std::uint64_t recorded = 0x10000, first = 0x20000, second = 0x30000;
  const auto is_equal = [&](const std::uint64_t &replayed) {
    return !compare(type, reinterpret_cast<const char *>(&recorded),
                    reinterpret_cast<const char *>(&replayed), "", false, mapping);
  };
  EXPECT_TRUE(is_equal(first));
  EXPECT_FALSE(is_equal(second));
  mapping.end_graph();
  EXPECT_TRUE(is_equal(second));
  EXPECT_FALSE(is_equal(first));
  EXPECT_EQ(mapping.handle("graph node", recorded), second);
}

}  // namespace
}  // namespace cushim::test

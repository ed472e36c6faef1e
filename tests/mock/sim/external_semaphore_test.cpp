// SPDX-License-Identifier: Apache-2.0
// External semaphores that a test makes in place of another interface.
#include <cushim/sim/external_semaphore.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph_calls.hpp"
#include "support/schedules.hpp"

namespace cushim::sim {
namespace {

using Type = ExternalSemaphore::Type;
using Signal = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
using Wait = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;

CUresult import(CUexternalSemaphore *out, int descriptor, Type type) {
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description{};
  description.type = type == Type::binary ? CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
                                          : CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
  description.handle.fd = descriptor;
  return driver().cuImportExternalSemaphore(out, &description);
}

CUexternalSemaphore imported(const ExternalSemaphore &semaphore) {
  CUexternalSemaphore made = nullptr;
  need(import(&made, semaphore.new_descriptor(), semaphore.type()));
  return made;
}

template <class Parameters>
Parameters with(std::uint64_t value) {
  Parameters parameters{};
  parameters.params.fence.value = value;
  return parameters;
}

void signal(CUexternalSemaphore semaphore, std::uint64_t value, CUstream stream) {
  const auto parameters = with<Signal>(value);
  need(driver().cuSignalExternalSemaphoresAsync(&semaphore, &parameters, 1, stream));
}

void wait(CUexternalSemaphore semaphore, std::uint64_t value, CUstream stream) {
  const auto parameters = with<Wait>(value);
  need(driver().cuWaitExternalSemaphoresAsync(&semaphore, &parameters, 1, stream));
}

class ExternalSemaphores : public testing::TestWithParam<Schedule> {
 protected:
  Running running{{.schedule = GetParam()}};
  ExternalSemaphore timeline{Type::timeline}, binary{Type::binary};
  CUstream stream = running.stream();
};
INSTANTIATE_TEST_SUITE_P(Schedules, ExternalSemaphores, ::testing::ValuesIn(kSchedulesWithoutSteps),
                         ScheduleName());

TEST_P(ExternalSemaphores, Hold_a_stream_until_the_timeline_reaches_the_value) {
  const CUexternalSemaphore semaphore = imported(timeline);
  wait(semaphore, 3, stream);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  timeline.signal(2);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  timeline.signal(4);
  need(driver().cuStreamSynchronize(stream));
}

TEST_P(ExternalSemaphores, Are_signaled_after_the_work_before_them) {
  const CUexternalSemaphore semaphore = imported(timeline);
  wait(semaphore, 1, stream);
  signal(semaphore, 2, stream);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(timeline.value(), 0u);
  timeline.signal(1);
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(timeline.value(), 2u);
}

TEST_P(ExternalSemaphores, Of_binary_type_are_reset_by_a_wait) {
  const CUexternalSemaphore semaphore = imported(binary);
  signal(semaphore, 0, stream);
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(binary.value(), 1u);
  wait(semaphore, 0, stream);
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(binary.value(), 0u);
  wait(semaphore, 0, stream);
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  binary.signal();
  need(driver().cuStreamSynchronize(stream));
}

TEST_P(ExternalSemaphores, Of_binary_type_let_one_of_two_waits_pass) {
  const CUexternalSemaphore semaphore = imported(binary);
  const CUstream other = running.stream();
  wait(semaphore, 0, stream);
  wait(semaphore, 0, other);
  binary.signal();
  int passed = 0;
  while (passed == 0)
    for (const CUstream each : {stream, other}) passed += driver().cuStreamQuery(each) == CUDA_SUCCESS;
  EXPECT_EQ(passed, 1);
  EXPECT_FALSE(binary.take());
  binary.signal();
  need(driver().cuCtxSynchronize());
}

TEST_P(ExternalSemaphores, Are_waited_for_all_together) {
  ExternalSemaphore second(Type::timeline, 7);
  const CUexternalSemaphore both[] = {imported(second), imported(timeline)};
  const Wait values[] = {with<Wait>(7), with<Wait>(1)};
  need(driver().cuWaitExternalSemaphoresAsync(both, values, 2, stream));
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  timeline.signal(1);
  need(driver().cuStreamSynchronize(stream));
}

TEST_P(ExternalSemaphores, Order_two_streams) {
  const CUexternalSemaphore semaphore = imported(timeline);
  const CUstream other = running.stream();
  const CUdeviceptr memory = running.memory();
  std::uint32_t *const pinned = running.pinned();
  *pinned = 0;
  wait(semaphore, 1, other);
  need(driver().cuMemcpyDtoHAsync(pinned, memory, sizeof *pinned, other));
  need(driver().cuMemsetD32Async(memory, 5, 1, stream));
  signal(semaphore, 1, stream);
  need(driver().cuStreamSynchronize(other));
  EXPECT_EQ(*pinned, 5u);
}

TEST_P(ExternalSemaphores, Are_captured_as_nodes) {
  const CUexternalSemaphore semaphore = imported(timeline);
  need(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  wait(semaphore, 1, stream);
  signal(semaphore, 2, stream);
  CUgraph graph = nullptr;
  need(driver().cuStreamEndCapture(stream, &graph));
  CUgraphNode nodes[2] = {};
  std::size_t count = 2;
  need(driver().cuGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 2u);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  need(driver().cuGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
  need(driver().cuGraphNodeGetType(nodes[1], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
  EXPECT_EQ(timeline.value(), 0u);
  const CUgraphExec executable = instantiate(graph);
  need(driver().cuGraphLaunch(executable, stream));
  EXPECT_EQ(driver().cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  timeline.signal(1);
  need(driver().cuStreamSynchronize(stream));
  EXPECT_EQ(timeline.value(), 2u);
}

struct SignalGraph {
  explicit SignalGraph(CUexternalSemaphore semaphore, std::uint64_t value) : semaphore(semaphore) {
    need(driver().cuGraphCreate(&graph, 0));
    auto parameters = with<Signal>(value);
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS node_parameters{&semaphore, &parameters, 1};
    need(driver().cuGraphAddExternalSemaphoresSignalNode(&node, graph, nullptr, 0, &node_parameters));
  }

  CUexternalSemaphore semaphore;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
};

TEST(ExternalSemaphoreNodes, Have_parameters_that_can_be_changed) {
  const Running running;
  const ExternalSemaphore timeline(Type::timeline);
  const SignalGraph graph(imported(timeline), 5);
  CUDA_EXT_SEM_SIGNAL_NODE_PARAMS found{};
  need(driver().cuGraphExternalSemaphoresSignalNodeGetParams(graph.node, &found));
  ASSERT_EQ(found.numExtSems, 1u);
  EXPECT_EQ(found.extSemArray[0], graph.semaphore);
  EXPECT_EQ(found.paramsArray[0].params.fence.value, 5u);

  CUexternalSemaphore semaphore = graph.semaphore;
  auto six = with<Signal>(6), seven = with<Signal>(7);
  CUDA_EXT_SEM_SIGNAL_NODE_PARAMS changed{&semaphore, &six, 1};
  need(driver().cuGraphExternalSemaphoresSignalNodeSetParams(graph.node, &changed));
  const CUgraphExec executable = instantiate(graph.graph);
  need(driver().cuGraphLaunch(executable, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(timeline.value(), 6u);
  changed.paramsArray = &seven;
  need(driver().cuGraphExecExternalSemaphoresSignalNodeSetParams(executable, graph.node, &changed));
  need(driver().cuGraphLaunch(executable, nullptr));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(timeline.value(), 7u);
}

TEST(ExternalSemaphoreNodes, Of_executable_graphs_keep_the_number_of_their_semaphores) {
  const Running running;
  const ExternalSemaphore timeline(Type::timeline);
  const SignalGraph graph(imported(timeline), 5);
  const CUgraphExec executable = instantiate(graph.graph);
  CUexternalSemaphore two[] = {graph.semaphore, graph.semaphore};
  Signal values[] = {with<Signal>(1), with<Signal>(2)};
  const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS changed{two, values, 2};
  EXPECT_EQ(driver().cuGraphExecExternalSemaphoresSignalNodeSetParams(executable, graph.node, &changed),
            CUDA_ERROR_INVALID_VALUE);
  need(driver().cuGraphExternalSemaphoresSignalNodeSetParams(graph.node, &changed));
#if CUDA_VERSION >= 12000
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(driver().cuGraphExecUpdate(executable, graph.graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
#endif
}

#if CUDA_VERSION >= 12020
TEST(ExternalSemaphoreNodes, Are_added_and_set_with_parameters_of_any_node) {
  const Running running;
  const ExternalSemaphore timeline(Type::timeline, 1);
  CUexternalSemaphore semaphore = imported(timeline);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  need(driver().cuGraphCreate(&graph, 0));
  auto value = with<Wait>(1);
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
  parameters.extSemWait.extSemArray = &semaphore;
  parameters.extSemWait.paramsArray = &value;
  parameters.extSemWait.numExtSems = 1;
#if CUDA_VERSION >= 13000
  need(driver().cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters));
#else
  need(driver().cuGraphAddNode(&node, graph, nullptr, 0, &parameters));
#endif
  value.params.fence.value = 2;
  need(driver().cuGraphNodeSetParams(node, &parameters));
  CUDA_EXT_SEM_WAIT_NODE_PARAMS found{};
  need(driver().cuGraphExternalSemaphoresWaitNodeGetParams(node, &found));
  ASSERT_EQ(found.numExtSems, 1u);
  EXPECT_EQ(found.paramsArray[0].params.fence.value, 2u);
}
#endif

TEST(ExternalSemaphoreImport, Takes_over_the_descriptor) {
  const Running running;
  const ExternalSemaphore timeline(Type::timeline);
  const int descriptor = timeline.new_descriptor();
  CUexternalSemaphore semaphore = nullptr;
  need(import(&semaphore, descriptor, Type::timeline));
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
  EXPECT_EQ(running.machine.usage().alive.at(0).what, "external semaphores");
  need(driver().cuDestroyExternalSemaphore(semaphore));
  EXPECT_TRUE(running.machine.usage().alive.empty());
  EXPECT_EQ(driver().cuDestroyExternalSemaphore(semaphore), CUDA_ERROR_INVALID_VALUE);
}

TEST(ExternalSemaphoreImport, Of_another_file_fails) {
  const Running running;
  CUexternalSemaphore semaphore = nullptr;
  const int file = memfd_create("file", 0);
  EXPECT_EQ(import(&semaphore, file, Type::timeline), CUDA_ERROR_UNKNOWN);
  EXPECT_NE(fcntl(file, F_GETFD), -1) << "a failed import leaves the descriptor open";
  close(file);
}

TEST(ExternalSemaphoreImport, Serves_work_that_is_pending_when_the_semaphore_is_destroyed) {
  const Running running({.schedule = Schedule::deferred});
  const ExternalSemaphore timeline(Type::timeline);
  const CUexternalSemaphore semaphore = imported(timeline);
  signal(semaphore, 1, nullptr);
  need(driver().cuDestroyExternalSemaphore(semaphore));
  need(driver().cuCtxSynchronize());
  EXPECT_EQ(timeline.value(), 1u);
}

TEST(ExternalSemaphoreSignals, That_do_not_raise_the_value_are_reported) {
  std::string reports;
  const Running running({.report = [&](const std::string &text) { reports += text; }});
  const ExternalSemaphore timeline(Type::timeline, 9);
  signal(imported(timeline), 9, nullptr);
  need(driver().cuCtxSynchronize());
  EXPECT_NE(reports.find("had the value 9 when it was signaled with 9"), std::string::npos) << reports;
}

TEST(ExternalSemaphoreSignals, With_flags_fail) {
  const Running running;
  const ExternalSemaphore timeline(Type::timeline);
  const CUexternalSemaphore semaphore = imported(timeline);
  auto value = with<Signal>(1);
  value.flags = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC;
  EXPECT_EQ(driver().cuSignalExternalSemaphoresAsync(&semaphore, &value, 1, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(ExternalSemaphoreObjects, Are_opened_by_descriptor_in_another_process) {
  const ExternalSemaphore timeline(Type::timeline, 2);
  const int descriptor = timeline.new_descriptor();
  const pid_t child = fork();
  if (child == 0) {
    const ExternalSemaphore same = ExternalSemaphore::open(descriptor);
    same.signal(same.value() + 1);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  close(descriptor);
  EXPECT_EQ(timeline.value(), 3u);
}

TEST(ExternalSemaphoreObjects, Refuse_values_that_Vulkan_forbids) {
  const ExternalSemaphore timeline(Type::timeline, 2), binary(Type::binary, 1);
  EXPECT_THROW(timeline.signal(2), std::invalid_argument);
  EXPECT_THROW(binary.signal(1), std::invalid_argument);
  EXPECT_THROW(ExternalSemaphore(Type::binary, 2), std::invalid_argument);
  EXPECT_THROW(ExternalSemaphore::open(0), std::invalid_argument);
  EXPECT_TRUE(binary.take());
  EXPECT_FALSE(binary.take());
}

}  // namespace
}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// Runs wrappers of graphs and captures on the simulated driver.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulated_device.hpp"
#include "support/ptx_header.hpp"

namespace cushim::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// add(data, value): data[tid] += value.
constexpr const char *kAdd = CUSHIM_PTX_HEADER R"(
.visible .entry add(.param .u64 data, .param .u32 value) {
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  mov.u32 %r1, %tid.x;
  ld.param.u64 %d1, [data];
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d3, %d1, %d2;
  ld.param.u32 %r2, [value];
  ld.global.u32 %r3, [%d3];
  add.u32 %r3, %r3, %r2;
  st.global.u32 [%d3], %r3;
  ret;
}
)";

class Graphs : public SimulatedDevice {
 public:
  Stream stream = Stream::create();
  Library library = Library::load(kAdd);
  TypedKernel<void(DevicePtr<unsigned>, unsigned)> add{library.kernel("add")};
  DeviceBuffer<unsigned> numbers = DeviceBuffer<unsigned>::create(4);
  PinnedBuffer<unsigned> output = PinnedBuffer<unsigned>::create(4);

  // Launches and returns what the graph copies to `output`.
  std::vector<unsigned> run(const GraphExecRef &exec) {
    exec.launch(stream);
    stream.synchronize();
    return {output.begin(), output.end()};
  }
};

TEST_F(Graphs, A_graph_runs_in_the_order_of_its_edges) {
  const Graph graph = Graph::create();
  const auto set = graph.add_memset(numbers, 10u);
  const auto first = graph.after(set).add_kernel(add, {.block = 4}, numbers, 1u);
  const auto second = graph.after(first).add_kernel(add, {.block = 2}, numbers, 5u);
  graph.after(second).add_copy(output, numbers);
  const GraphExec exec = GraphExec::instantiate(graph);
  EXPECT_THAT(run(exec), ElementsAre(16, 16, 11, 11));
  EXPECT_THAT(run(exec), ElementsAre(16, 16, 11, 11));
  EXPECT_THAT(graph.nodes(), SizeIs(4));
  EXPECT_THAT(graph.root_nodes(), ElementsAre(set));
  EXPECT_THAT(second.dependencies(), ElementsAre(first));
  EXPECT_THAT(first.dependent_nodes(), ElementsAre(second));
  EXPECT_THAT(graph.edges(), SizeIs(3));
}

TEST_F(Graphs, Nodes_of_an_executable_graph_can_be_changed_and_disabled) {
  const Graph graph = Graph::create();
  const auto set = graph.add_memset(numbers, 10u);
  const auto work = graph.after(set).add_kernel(add, {.block = 4}, numbers, 1u);
  graph.after(work).add_copy(output, numbers);
  const GraphExec exec = GraphExec::instantiate(graph);
  exec.set_kernel(work, add, {.block = 4}, numbers, 7u);
  EXPECT_THAT(run(exec), Each(17));
  exec.set_memset(set, numbers, 20u);
  EXPECT_THAT(run(exec), Each(27));
  exec.set_enabled(work, false);
  EXPECT_FALSE(exec.is_enabled(work));
  EXPECT_THAT(run(exec), Each(20));
}

TEST_F(Graphs, An_update_takes_the_parameters_of_a_graph_of_the_same_shape) {
  const auto make = [&](unsigned value) {
    return capture(stream, [&] {
      fill(numbers, value, stream);
      copy(output, numbers, stream);
    });
  };
  const GraphExec exec = GraphExec::instantiate(make(1));
  EXPECT_THAT(run(exec), Each(1));
  EXPECT_TRUE(exec.update(make(2)));
  EXPECT_THAT(run(exec), Each(2));
  const Graph other = capture(stream, [&] { fill(numbers, 3u, stream); });
  const GraphUpdate update = exec.update(other);
  EXPECT_FALSE(update);
  EXPECT_EQ(update.result, GraphUpdateResult::topology_changed);
  EXPECT_THAT(run(exec), Each(2));
}

TEST_F(Graphs, A_capture_runs_nothing_and_keeps_other_streams_that_joined) {
  const Stream other = Stream::create();
  fill(numbers, 1u);
  const Graph graph = capture(stream, CaptureMode::this_thread, [&] {
    other.wait(Event::recorded(stream));
    fill(numbers.first(2), 5u, stream);
    fill(numbers.last(2), 6u, other);
    stream.wait(Event::recorded(other));
    copy(output, numbers, stream);
  });
  EXPECT_EQ(stream.capture_status(), CaptureStatus::none);
  EXPECT_THAT(graph.root_nodes(), SizeIs(2));
  EXPECT_THAT(run(GraphExec::instantiate(graph)), ElementsAre(5, 5, 6, 6));
}

TEST_F(Graphs, A_capture_whose_function_throws_leaves_no_capture) {
  EXPECT_THROW(capture(stream,
                       [&] {
                         fill(numbers, 1u, stream);
                         throw std::runtime_error("half-way");
                       }),
               std::runtime_error);
  EXPECT_EQ(stream.capture_status(), CaptureStatus::none);
  stream.synchronize();
}

TEST_F(Graphs, A_call_that_is_not_allowed_in_capture_throws_and_ends_it) {
  try {
    capture(stream, [&] { stream.synchronize(); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.routine(), std::string("cuStreamSynchronize"));
  }
  EXPECT_EQ(stream.capture_status(), CaptureStatus::none);
  try {
    capture(stream, [&] { driver().cuStreamSynchronize(stream.handle()); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.result(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  EXPECT_EQ(stream.capture_status(), CaptureStatus::none);
}

TEST_F(Graphs, Callables_live_as_long_as_the_last_graph_that_has_them) {
  const auto count = std::make_shared<int>();
  {
    GraphExec exec;
    {
      const Graph graph = Graph::create();
      graph.add_host([count] { ++*count; });
      exec = GraphExec::instantiate(graph.clone());
    }
    exec.launch(stream);
    exec.launch(stream);
    stream.synchronize();
    EXPECT_EQ(*count, 2);
    EXPECT_EQ(count.use_count(), 2);
  }
  stream.synchronize();
  EXPECT_EQ(count.use_count(), 1);
}

TEST_F(Graphs, An_update_replaces_callables) {
  const auto first = std::make_shared<int>(), second = std::make_shared<int>();
  const auto calling = [](std::shared_ptr<int> count) {
    Graph graph = Graph::create();
    graph.add_host([count = std::move(count)] { ++*count; });
    return graph;
  };
  const GraphExec exec = GraphExec::instantiate(calling(first));
  EXPECT_TRUE(exec.update(calling(second)));
  exec.launch(stream);
  stream.synchronize();
  EXPECT_EQ(*first, 0);
  EXPECT_EQ(*second, 1);
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_EQ(second.use_count(), 2);
}

TEST_F(Graphs, Callables_of_a_child_graph_live_as_long_as_the_executable_graph) {
  const auto count = std::make_shared<int>();
  {
    GraphExec exec;
    {
      const Graph inner = Graph::create();
      inner.add_host([count] { ++*count; });
      const Graph outer = Graph::create();
      outer.add_child(inner);
      exec = GraphExec::instantiate(outer);
    }
    exec.launch(stream);
    stream.synchronize();
    EXPECT_EQ(*count, 1);
  }
  EXPECT_EQ(count.use_count(), 1);
}

TEST_F(Graphs, Callables_of_a_capture_live_as_long_as_its_graph) {
  const auto count = std::make_shared<int>();
  {
    const Graph graph = capture(stream, [&] { stream.launch_host([count] { ++*count; }); });
    EXPECT_EQ(count.use_count(), 2);
  }
  EXPECT_EQ(count.use_count(), 1);
}

TEST_F(Graphs, Allocates_and_frees_memory_of_its_own) {
  const Graph graph = Graph::create();
  const auto scratch = graph.add_allocation<unsigned>(device, 4);
  const auto set = graph.after(scratch.node).add_memset(scratch.memory, 3u);
  const auto read = graph.after(set).add_copy(output, scratch.memory);
  graph.after(read).add_free(scratch.memory);
  const GraphExec exec = GraphExec::instantiate(graph);
  EXPECT_THAT(run(exec), Each(3));
  EXPECT_THAT(run(exec), Each(3));
}

TEST_F(Graphs, A_child_graph_runs_as_one_node) {
  const Graph inner = Graph::create();
  const auto first = inner.add_memset(numbers, 3u);
  inner.after(first).add_kernel(add, {.block = 4}, numbers, 4u);
  const Graph outer = Graph::create();
  const auto child = outer.add_child(inner);
  outer.after(child).add_copy(output, numbers);
  EXPECT_THAT(graph_of(child).nodes(), SizeIs(2));
  const GraphExec exec = GraphExec::instantiate(outer);
  EXPECT_THAT(run(exec), Each(7));
  const Graph changed = inner.clone();
  EXPECT_EQ(changed.find(first).type(), GraphNodeType::memset);
}

TEST_F(Graphs, Events_are_recorded_and_waited_for_by_nodes) {
  const Event event = Event::create();
  const Graph graph = Graph::create();
  graph.after(graph.add_empty()).add_record(event);
  const Graph waiting = Graph::create();
  waiting.after(waiting.add_wait(event)).add_memset(numbers, 1u);
  GraphExec::instantiate(graph).launch(stream);
  GraphExec::instantiate(waiting).launch(stream);
  stream.synchronize();
  EXPECT_TRUE(event.is_done());
}

TEST_F(Graphs, Captured_nodes_get_their_types_back) {
  const Graph graph = capture(stream, [&] {
    launch(add, {.block = 4}, stream, numbers, 1u);
    copy(output, numbers, stream);
  });
  const GraphNode first = graph.root_nodes().front();
  const KernelNode kernel = first.as<KernelNode>();
  EXPECT_THROW(first.as<CopyNode>(), Error);
  fill(numbers, 0u);
  const GraphExec exec = GraphExec::instantiate(graph);
  exec.set_kernel(kernel, add, {.block = 4}, numbers, 9u);
  EXPECT_THAT(run(exec), Each(9));
}

TEST_F(Graphs, A_graph_is_written_in_the_dot_language) {
  const Graph graph = Graph::create();
  graph.after(graph.add_empty()).add_memset(numbers, 1u);
  const auto path = std::filesystem::path(testing::TempDir()) / "wrappers_graph.dot";
  graph.write_dot(path);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  EXPECT_THAT(text, HasSubstr("digraph"));
  EXPECT_THAT(text, HasSubstr("->"));
}

}  // namespace
}  // namespace cushim::test

// SPDX-License-Identifier: Apache-2.0
// Runs wrappers of conditional nodes, captures into graphs, external objects, arrays and textures on the
// simulated driver.
#include <gmock/gmock.h>
#include <cushim/sim/external_semaphore.hpp>

#include <numeric>
#include <string>
#include <vector>

#include "simulated_device.hpp"
#include "support/ptx_header.hpp"

namespace cushim::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class Nouns : public SimulatedDevice {
 public:
  Stream stream = Stream::create();
  DeviceBuffer<unsigned> numbers = DeviceBuffer<unsigned>::create(4);
  PinnedBuffer<unsigned> output = PinnedBuffer<unsigned>::create(4);

  std::vector<unsigned> result() {
    copy(output, numbers, stream);
    stream.synchronize();
    return {output.begin(), output.end()};
  }
  std::vector<unsigned> run(const Graph &graph) {
    GraphExec::instantiate(graph).launch(stream);
    return result();
  }
};

// ---- Graphs ----------------------------------------------------------------------------------------

#if CUDA_VERSION >= 12030

TEST_F(Nouns, An_if_node_runs_its_body_if_the_condition_is_not_0) {
  for (const unsigned value : {0u, 1u}) {
    fill(numbers, 1u, stream);
    const Graph graph = Graph::create();
    graph.add_if(graph.condition(value)).body.add_memset(numbers, 2u);
    EXPECT_THAT(run(graph), Each(1 + value));
  }
}

TEST_F(Nouns, A_while_node_runs_its_body_until_a_kernel_ends_it) {
  unsigned rounds = 0;
  fill(numbers, 0u, stream);
  const Graph graph = Graph::create();
  const GraphCondition condition = graph.condition(1);
  machine.kernel("count", [&](const sim::Launch &launch, unsigned long long handle) {
    launch.set_conditional(handle, ++rounds < 3 ? 1 : 0);
  });
  const Module module = Module::load(CUSHIM_PTX_HEADER R"(
.visible .entry count(.param .u64 handle) { ret; }
)");
  graph.add_while(condition).body.add_kernel(module.function("count"), {}, condition.handle());
  run(graph);
  EXPECT_EQ(rounds, 3u);
}

TEST_F(Nouns, A_captured_part_follows_the_nodes_that_it_is_captured_after) {
  const Graph graph = Graph::create();
  const auto first = graph.add_memset(numbers, 1u);
  capture_into(graph.after(first), stream, [&] { fill(numbers.first(2), 2u, stream); });
  EXPECT_THAT(graph.nodes(), SizeIs(2));
  EXPECT_THAT(first.dependent_nodes(), SizeIs(1));
  EXPECT_THAT(run(graph), ElementsAre(2u, 2u, 1u, 1u));
}

TEST_F(Nouns, A_capture_into_a_graph_ends_when_its_function_throws) {
  const Graph graph = Graph::create();
  EXPECT_THROW(capture_into(graph, stream, [] { throw std::runtime_error("stop"); }), std::runtime_error);
  EXPECT_EQ(stream.capture_status(), CaptureStatus::none);
}

#endif
#if CUDA_VERSION >= 12080

TEST_F(Nouns, A_node_with_two_bodies_runs_the_second_if_the_condition_is_0) {
  const Graph graph = Graph::create();
  const ConditionalBodies made = graph.add_if_else(graph.condition(0));
  made.bodies[0].add_memset(numbers, 2u);
  made.bodies[1].add_memset(numbers, 3u);
  EXPECT_THAT(run(graph), Each(3u));
}

TEST_F(Nouns, A_switch_node_runs_the_body_with_the_index_of_the_value) {
  const Graph graph = Graph::create();
  const ConditionalBodies made = graph.add_switch(graph.condition(2), 3);
  ASSERT_THAT(made.bodies, SizeIs(3));
  for (unsigned i = 0; i < 3; ++i) made.bodies[i].add_memset(numbers, 10 + i);
  EXPECT_THAT(run(graph), Each(12u));
}

#endif

TEST_F(Nouns, Memory_operations_are_a_node) {
  const Graph graph = Graph::create();
  const auto node = graph.add_memory_operations(
      MemOpBatch().write_value(Word(numbers.data()), 7u).write_value(Word(numbers.data() + 1), 8u));
  EXPECT_EQ(parameters_of(node).count, 2u);
  fill(numbers, 0u, stream);
  EXPECT_THAT(run(graph), ElementsAre(7u, 8u, 0u, 0u));
}

TEST_F(Nouns, Parameters_of_a_node_are_read_and_changed) {
  const Graph graph = Graph::create();
  const auto set = graph.add_memset(numbers, 1u);
  CUDA_MEMSET_NODE_PARAMS parameters = parameters_of(set);
  EXPECT_EQ(parameters.dst, numbers.data().address());
  parameters.value = 9;
  set_parameters(set, parameters);
  EXPECT_THAT(run(graph), Each(9u));
}

// ---- External objects ------------------------------------------------------------------------------

TEST_F(Nouns, A_stream_waits_for_an_external_semaphore_and_signals_it) {
  const sim::ExternalSemaphore other(sim::ExternalSemaphore::Type::timeline);
  const auto semaphore = ExternalSemaphore::import_timeline(other.new_descriptor());
  semaphore.wait(stream, 1);
  semaphore.signal(stream, 2);
  EXPECT_FALSE(stream.is_done());
  other.signal(1);
  stream.synchronize();
  EXPECT_EQ(other.value(), 2u);
}

TEST_F(Nouns, A_graph_waits_for_an_external_semaphore_and_signals_it) {
  const sim::ExternalSemaphore other(sim::ExternalSemaphore::Type::binary, 1);
  const auto semaphore = ExternalSemaphore::import_binary(other.new_descriptor());
  const Graph graph = Graph::create();
  const auto waited = graph.add_wait(semaphore);
  EXPECT_EQ(parameters_of(waited).extSemArray[0], semaphore.handle());
  graph.after(waited).add_signal(semaphore);
  GraphExec::instantiate(graph).launch(stream);
  stream.synchronize();
  EXPECT_EQ(other.value(), 1u);
}

TEST_F(Nouns, A_buffer_is_mapped_to_external_memory) {
  const std::size_t bytes = ShareablePhysicalMemory::granularity(device);
  const auto physical = ShareablePhysicalMemory::create(device, bytes);
  const auto memory = ExternalMemory::import(physical.export_fd().release(), bytes);
  const auto buffer = memory.buffer<unsigned>(4096, 4);
  fill(buffer, 5u, stream);
  copy(output, buffer, stream);
  stream.synchronize();
  EXPECT_THAT(std::vector<unsigned>(output.begin(), output.end()), Each(5u));
}

// ---- Memory ----------------------------------------------------------------------------------------

TEST_F(Nouns, An_array_takes_and_returns_a_range) {
  const auto array = Array::create({.width = 4, .format = ArrayFormat::unsigned32});
  EXPECT_EQ(array.shape(), (ArrayShape{.width = 4, .format = ArrayFormat::unsigned32}));
  std::vector<unsigned> from(4), to(4);
  std::iota(from.begin(), from.end(), 1u);
  copy_to_array(array, std::span(from));
  copy_from_array(std::span(to), array);
  EXPECT_EQ(to, from);
  copy_from_array(numbers.span(), array);
  EXPECT_EQ(result(), from);
}

TEST_F(Nouns, Texture_and_surface_objects_name_their_array) {
  const auto array = Array::create({.width = 4, .height = 4, .depth = 0, .flags = ArrayFlags::surfaces});
  const auto texture = TextureObject::create(array, {.filter = TextureFilter::linear});
  EXPECT_EQ(texture.resource().res.array.hArray, array.handle());
  EXPECT_EQ(texture.options().filterMode, CU_TR_FILTER_MODE_LINEAR);
  EXPECT_EQ(SurfaceObject::create(array).resource().res.array.hArray, array.handle());
  const auto levels = MipmappedArray::create({.width = 8, .height = 8}, 2);
  EXPECT_EQ(levels.level(1).shape().width, 4u);
}

// The recordings of an H200 have these calls without a current context: in its own context only is a texture
// queried, and without any it is not destroyed.
TEST_F(Nouns, Of_a_device_need_no_current_context) {
  const auto before =
      set_unreported_handler([](const std::exception &error) noexcept { ADD_FAILURE() << error.what(); });
  ContextRef::pop();
  {
    const auto image = Array::create(device, {.width = 4, .height = 4, .flags = ArrayFlags::surfaces});
    const auto texture = TextureObject::create(device, image);
    EXPECT_EQ(texture.resource().res.array.hArray, image.handle());
    EXPECT_EQ(SurfaceObject::create(primary, image).resource().res.array.hArray, image.handle());
    const sim::ExternalSemaphore other(sim::ExternalSemaphore::Type::timeline);
    ExternalSemaphore::import_timeline(device, other.new_descriptor()).close();
    const std::size_t bytes = ShareablePhysicalMemory::granularity(device);
    const auto physical = ShareablePhysicalMemory::create(device, bytes);
    const auto memory = ExternalMemory::import(device, physical.export_fd().release(), bytes);
    EXPECT_EQ(memory.buffer<unsigned>(device, 0, 4).size(), 4u);
    GraphExec::instantiate(device, Graph::create()).close();
    Linker linker = Linker::create(device);
    linker.add(CUSHIM_PTX_HEADER "\n.visible .entry empty() { ret; }\n");
    EXPECT_NE(Module::load(device, linker.complete()).function("empty").handle(), nullptr);
  }
  primary.push();
  set_unreported_handler(before);
}

TEST_F(Nouns, The_host_accesses_memory_of_its_own_that_is_mapped) {
  const std::size_t size = PhysicalMemory::granularity(device);
  const auto memory = PhysicalMemory::create_on_host_node(0, size);
  const auto reservation = AddressReservation::create(size);
  const auto mapping = Mapping::create(reservation.range(), memory);
  mapping.set_access(device, MemoryAccess::read_write);
  mapping.set_host_access(MemoryAccess::read_write);
  fill(mapping.span<unsigned>().first(4), 6u, stream);
  stream.synchronize();
  EXPECT_THAT(mapping.host_span<unsigned>().first(4), Each(6u));
}

TEST_F(Nouns, Advice_for_managed_memory_is_returned) {
  const auto data = ManagedBuffer<unsigned>::create(1024);
  advise(data.device_span(), MemoryAdvice::read_mostly, device);
  advise(data.device_span(), MemoryAdvice::preferred_location, device);
  prefetch(data.device_span(), device, stream);
  const RangeState state = range_state(data.device_span());
  EXPECT_TRUE(state.is_read_mostly);
  EXPECT_EQ(state.preferred_location, device);
  EXPECT_EQ(last_prefetch(data.device_span()), device);
}

#if CUDA_VERSION >= 12000
TEST_F(Nouns, A_tensor_map_has_lists_of_one_length) {
  const auto data = DeviceBuffer<float>::create(64);
  EXPECT_NO_THROW(tensor_map(data.span(), {.sizes = {8, 8}, .strides = {32}, .box = {8, 8}}));
  EXPECT_THROW(tensor_map(data.span(), {.sizes = {8, 8}, .strides = {}, .box = {8, 8}}), Error);
}
#endif

#if CUDA_VERSION >= 12050
TEST_F(Nouns, Streams_of_a_green_context_use_its_multiprocessors) {
  const auto parts = split_by_count(device_resource(device), 16);
  ASSERT_GE(parts.groups.size(), 2u);
  const auto green = GreenContext::create(device, std::span(parts.groups).first(1));
  EXPECT_EQ(green.resource().sm.smCount, parts.groups[0].sm.smCount);
  const Stream inside = green.create_stream();
  EXPECT_EQ(green_context_of(inside), green.ref());
  EXPECT_TRUE(green_context_of(stream).is_empty());
}
#endif

#if CUDA_VERSION >= 12090
TEST_F(Nouns, The_log_has_the_calls_that_failed) {
  LogPosition log = LogPosition::end();
  EXPECT_THROW(Array::create({}), Error);
  EXPECT_NE(log.read(), "");
  EXPECT_EQ(log.read(), "");
}
#endif

}  // namespace
}  // namespace cushim::test

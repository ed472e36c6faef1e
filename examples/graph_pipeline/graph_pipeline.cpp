// SPDX-License-Identifier: Apache-2.0
// Captures a pipeline as a graph, and launches it 100 times with another factor each time: total += factor *
// input. Without a usable driver it prints the reason and continues with a simulated driver. That is a choice
// of this program; cushim never does it on its own.
#include <cushim/capture.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/module.hpp>
#include <cushim/sim/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>

namespace {

// accumulate(total, input, factor): total[i] += factor * input[i], for each thread of the launch.
constexpr const char *kAccumulate = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .entry accumulate(.param .u64 total, .param .u64 input, .param .u32 factor) {
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %d1, %r4, 4;
  ld.param.u64 %d2, [total];
  ld.param.u64 %d3, [input];
  add.u64 %d4, %d2, %d1;
  add.u64 %d5, %d3, %d1;
  ld.global.u32 %r6, [%d4];
  ld.global.u32 %r7, [%d5];
  ld.param.u32 %r5, [factor];
  mad.lo.u32 %r6, %r7, %r5, %r6;
  st.global.u32 [%d4], %r6;
  ret;
}
)";
using Accumulate =
    cushim::TypedKernel<void(cushim::DevicePtr<unsigned>, cushim::DevicePtr<const unsigned>, unsigned)>;

// Returns whether the result is right.
bool run() {
  using namespace cushim;
  const PrimaryContext primary = PrimaryContext::retain(Device::get(0));
  const ScopedContext current(primary);
  const Module module = Module::load(kAccumulate);
  const Accumulate accumulate(module.function("accumulate"));
  const Stream stream = Stream::create({.flags = StreamFlags::non_blocking});

  constexpr unsigned count = 1024, launches = 100;
  const auto host = PinnedBuffer<unsigned>::create(count);
  const auto input = DeviceBuffer<unsigned>::create(count);
  const auto total = DeviceBuffer<unsigned>::create(count);
  std::fill(host.begin(), host.end(), 3u);
  fill(total, 0u, stream);

  // Nothing runs during the capture. It also ends if the function throws.
  const Graph graph = capture(stream, [&] {
    copy(input, host, stream);
    launch(accumulate, {.grid = count / 256, .block = 256}, stream, total, input, 1u);
  });
  const GraphExec exec = GraphExec::instantiate(graph);

  // A captured node is found by its type.
  KernelNode work;
  for (const GraphNode &node : graph.nodes())
    if (node.type() == GraphNodeType::kernel) work = node.as<KernelNode>();

  // A change affects later launches only, so the program need not wait for the launches before it.
  unsigned factors = 0;
  for (unsigned factor = 1; factor <= launches; factors += factor++) {
    exec.set_kernel(work, accumulate, {.grid = count / 256, .block = 256}, total, input, factor);
    exec.launch(stream);
  }
  const auto result = PinnedBuffer<unsigned>::create(count);
  copy(result, total, stream);
  stream.synchronize();

  const bool right =
      std::all_of(result.begin(), result.end(), [=](unsigned sum) { return sum == 3 * factors; });
  std::printf("%zu nodes, launched %u times: each total is %u, %s\n", graph.nodes().size(), launches,
              result.front(), right ? "as expected" : "failed");
  return right;
}

}  // namespace

int main() try {
  const cushim::Loaded loaded = cushim::load({.initialize = true});
  std::optional<cushim::sim::Machine> machine;
  std::optional<cushim::ScopedDriver> scope;
  if (!loaded) {
    std::printf("%s\nGoing on with a SIMULATED device.\n\n", loaded.diagnosis.text().c_str());
    machine.emplace();
    scope.emplace(machine->driver());
    cushim::init();
  }
  return run() ? 0 : 1;
} catch (const std::exception &exception) {
  std::fprintf(stderr, "failed: %s\n", exception.what());
  return 1;
}

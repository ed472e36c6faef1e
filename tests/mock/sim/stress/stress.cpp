// SPDX-License-Identifier: Apache-2.0
// Makes random calls of the simulated driver from several threads, also with handles and addresses that
// another thread has destroyed. The test fails if a call returns a code that no call may return, if few calls
// succeed, or if memory is left at the end; sanitizers find other errors.
//
//   cushim_sim_stress [--about objects|graphs] [--calls N] [--threads N] [--seed N]
//                     [--schedule eager|deferred|seeded|background]
//
// objects: contexts, streams, events, memory of every kind and arrays. graphs: graphs, captures, kernels,
// pools and virtual memory. Defaults: objects, 20000 calls by 8 threads, seed 1, background. CTest runs a few
// thousand calls in each schedule; the big counts are run by hand in the asan and tsan presets: --calls
// 10000000 and
// --calls 1000000.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "caller.hpp"
#include "graph_caller.hpp"

extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void *file);

namespace stress {
namespace {

struct Settings {
  bool about_graphs = false;
  unsigned long calls = 20'000;
  unsigned threads = 8;
  unsigned long seed = 1;
  std::string schedule = "background";
};

Settings settings_from(int count, char **words) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i], value = words[i + 1];
    if (name == "--about" && (value == "objects" || value == "graphs"))
      settings.about_graphs = value == "graphs";
    else if (name == "--calls")
      settings.calls = std::stoul(value);
    else if (name == "--threads")
      settings.threads = static_cast<unsigned>(std::stoul(value));
    else if (name == "--seed")
      settings.seed = std::stoul(value);
    else if (name == "--schedule")
      settings.schedule = value;
    else
      throw std::invalid_argument("unknown option " + name + " " + value);
  }
  if (count % 2 == 0) throw std::invalid_argument("an option lacks its value");
  return settings;
}

sim::Schedule schedule_named(const std::string &name) {
  for (const sim::Schedule schedule :
       {sim::Schedule::eager, sim::Schedule::deferred, sim::Schedule::seeded, sim::Schedule::background})
    if (name == sim::name_of(schedule)) return schedule;
  throw std::invalid_argument("unknown schedule " + name);
}

// The driver reports each use of a destroyed handle, of which there are many here. Only the output of this
// program and of the sanitizers goes to the terminal.
std::FILE *silence_driver() {
  const int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
  if (__sanitizer_set_report_fd != nullptr)
    __sanitizer_set_report_fd(reinterpret_cast<void *>(static_cast<std::intptr_t>(kept)));
  return fdopen(kept, "w");
}

// Loads the kernel of the graphs.
void load_kernel(World &world) {
  constexpr const char *code = R"(.version 7.8
.target sm_52
.address_size 64
.visible .entry empty(.param .u64 to) { ret; })";
  CUmodule module = nullptr;
  CUfunction empty = nullptr;
  if (driver().cuModuleLoadData(&module, code) != CUDA_SUCCESS ||
      driver().cuModuleGetFunction(&empty, module, "empty") != CUDA_SUCCESS)
    throw std::runtime_error("the kernel cannot be loaded");
  for (std::size_t i = 0; i < World::Functions::size(); ++i) world.functions.put(i, number_of(empty));
}

// Makes the calls. Returns the callers, whose memory pending copies may read: those of calls whose wait has
// ended with an error.
template <class OneCaller>
std::vector<OneCaller> run_callers(World &world, const Settings &settings) {
  std::vector<OneCaller> callers;
  for (unsigned i = 0; i < settings.threads; ++i) callers.emplace_back(world, settings.seed * 1000 + i);
  std::vector<std::jthread> threads;
  for (OneCaller &caller : callers) threads.emplace_back([&caller] { caller.run(); });
  return callers;
}

// Destroys everything that is left, and returns how many bytes of the devices are still in use.
std::size_t end(World &world) {
  const Driver &d = driver();
  d.cuCtxSetCurrent(world.primary);
  world.executables.drain([&](std::uint64_t one) { d.cuGraphExecDestroy(handle_of<CUgraphExec>(one)); });
  for (const CUdeviceptr address : world.graph_memory) d.cuMemFree(address);
  world.graphs.drain([&](std::uint64_t one) { d.cuGraphDestroy(handle_of<CUgraph>(one)); });
  world.streams.drain(
      [&](std::uint64_t one) { d.cuStreamDestroy(handle_of<CUstream>(one)); });  // ends captures
  d.cuDeviceGraphMemTrim(0);
  world.pool_memory.drain([&](std::uint64_t one) { d.cuMemFree(one); });
  world.ranges.drain([&](std::uint64_t one) { free_range(one); });
  world.physical.drain([&](std::uint64_t one) { d.cuMemRelease(one); });
  world.pools.drain([&](std::uint64_t one) { d.cuMemPoolDestroy(handle_of<CUmemoryPool>(one)); });
  world.user_objects.drain(
      [&](std::uint64_t one) { d.cuUserObjectRelease(handle_of<CUuserObject>(one), 1); });
  world.contexts.drain([&](std::uint64_t context) { d.cuCtxDestroy(handle_of<CUcontext>(context)); });
  d.cuMemFreeHost(handle_of<void *>(world.flags));
  // A pool keeps the memory that a stream of the other device has freed until that device's context ends.
  for (CUdevice device = 0; device < 2; ++device) d.cuDevicePrimaryCtxReset(device);
  std::size_t used = 0;
  for (CUdevice device = 0; device < 2; ++device) {
    CUcontext context = nullptr;
    std::size_t left = 0, total = 0;
    if (d.cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS ||
        d.cuMemGetInfo(&left, &total) != CUDA_SUCCESS)
      throw std::runtime_error("the driver cannot be used at the end");
    used += total - left;
    d.cuCtxDestroy(context);
  }
  return used;
}

int run(const Settings &settings) {
  std::FILE *const out = silence_driver();
  sim::Machine machine(
      {.devices = "small,small",
       .schedule = schedule_named(settings.schedule),
       .seed = settings.seed,
       .report = [out](const std::string &text) { std::fputs((text + "\n").c_str(), out); }});
  const cushim::ScopedDriver scope(machine.driver());
  World world(machine, settings.calls);
  void *flags = nullptr;
  if (driver().cuInit(0) != CUDA_SUCCESS ||
      driver().cuDevicePrimaryCtxRetain(&world.primary, 0) != CUDA_SUCCESS ||
      driver().cuCtxSetCurrent(world.primary) != CUDA_SUCCESS ||
      driver().cuMemAllocHost(&flags, 64) != CUDA_SUCCESS)
    throw std::runtime_error("the driver cannot be used");
  std::fill_n(static_cast<char *>(flags), 64, '\0');
  world.flags = number_of(flags);

  const auto end_after = [&](const auto &) { return end(world); };
  if (settings.about_graphs) load_kernel(world);
  const std::size_t used = settings.about_graphs ? end_after(run_callers<GraphCaller>(world, settings))
                                                 : end_after(run_callers<Caller>(world, settings));

  const unsigned long succeeded = world.answers[CUDA_SUCCESS];
  std::fprintf(out, "%s, seed %lu: %lu calls by %u threads, %lu%% of them succeeded; answers:",
               settings.schedule.c_str(), settings.seed, world.made.load(), settings.threads,
               succeeded * 100 / std::max(world.made.load(), 1ul));
  for (const auto &[code, count] : world.answers) std::fprintf(out, " %d: %lu", code, count);
  std::fprintf(out, "\n");
  const auto fail = [&](bool is_wrong, const char *what) {
    if (is_wrong) std::fprintf(out, "wrong: %s\n", what);
    return is_wrong;
  };
  if (used != 0) std::fprintf(out, "%zu bytes of the devices are in use at the end\n", used);
  bool is_wrong = fail(used != 0, "memory of a device is in use at the end");
  const unsigned long least = settings.about_graphs ? 40 : 50;  // percent
  is_wrong |= fail(succeeded * 100 < world.made * least, "too few calls succeeded");
  for (const int code : {CUDA_ERROR_UNKNOWN, CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_LAUNCH_TIMEOUT,
                         CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_NOT_INITIALIZED})
    is_wrong |= fail(world.answers.contains(code), "an answer that no call may have");
  return is_wrong ? 1 : 0;
}

}  // namespace
}  // namespace stress

int main(int count, char **words) {
  try {
    return stress::run(stress::settings_from(count, words));
  } catch (const std::exception &error) {
    std::printf("cushim_sim_stress: %s\n", error.what());
    return 2;
  }
}

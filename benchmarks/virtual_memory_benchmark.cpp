// SPDX-License-Identifier: Apache-2.0
// Measures calls on virtual memory of the simulated driver with 100, 10,000 and 100,000 mappings: the cost of
// a call must not grow with their number, except for the logarithm of a lookup.
#include <benchmark/benchmark.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using cushim::driver;

constexpr std::size_t kGranule = 2 << 20;

void need(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::runtime_error("a call answered " + std::to_string(code));
}

// A range with a mapping for each granule. All mappings are of one physical memory of up to 64 GiB, over and
// over.
class Mapped {
 public:
  explicit Mapped(std::size_t count) : count_(count), scope_(machine_.driver()) {
    CUcontext context = nullptr;
    need(driver().cuInit(0));
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    need(driver().cuCtxSetCurrent(context));
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const std::size_t granules = count < kMost ? count : kMost;
    need(driver().cuMemCreate(&memory_, granules * kGranule, &properties, 0));
    need(driver().cuMemAddressReserve(&base_, count * kGranule, 0, 0, 0));
    for (std::size_t i = 0; i < count; ++i) map(i);
  }

  void map(std::size_t index) {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    need(driver().cuMemMap(at(index), kGranule, index % kMost * kGranule, memory_, 0));
    need(driver().cuMemSetAccess(at(index), kGranule, &access, 1));
  }
  void unmap(std::size_t index) { need(driver().cuMemUnmap(at(index), kGranule)); }
  CUdeviceptr at(std::size_t index) const { return base_ + index * kGranule; }

  // Returns the indices of 1024 random mappings.
  std::vector<std::size_t> some() const {
    std::mt19937 random(1);
    std::uniform_int_distribution<std::size_t> draw(0, count_ - 1);
    std::vector<std::size_t> indices(1024);
    for (std::size_t &index : indices) index = draw(random);
    return indices;
  }

 private:
  static constexpr std::size_t kMost = 32768;

  const std::size_t count_;
  cushim::sim::Machine machine_;
  cushim::ScopedDriver scope_;
  CUmemGenericAllocationHandle memory_ = 0;
  CUdeviceptr base_ = 0;
};

template <class Action>
void run(benchmark::State &state, Action action) {
  Mapped mapped(static_cast<std::size_t>(state.range(0)));
  const std::vector<std::size_t> indices = mapped.some();
  std::size_t next = 0;
  for (auto _ : state) action(mapped, indices[next++ % indices.size()]);
}

void get_address_range(benchmark::State &state) {
  run(state, [](Mapped &mapped, std::size_t index) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    need(driver().cuMemGetAddressRange(&base, &size, mapped.at(index) + 100));
  });
}

void copy_of_64_bytes(benchmark::State &state) {
  unsigned char bytes[64] = {};
  run(state, [&](Mapped &mapped, std::size_t index) {
    need(driver().cuMemcpyHtoD(mapped.at(index), bytes, sizeof bytes));
  });
}

void unmap_and_map(benchmark::State &state) {
  run(state, [](Mapped &mapped, std::size_t index) {
    mapped.unmap(index);
    mapped.map(index);
  });
}

}  // namespace

BENCHMARK(get_address_range)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK(copy_of_64_bytes)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK(unmap_and_map)->Arg(100)->Arg(10'000)->Arg(100'000);

BENCHMARK_MAIN();

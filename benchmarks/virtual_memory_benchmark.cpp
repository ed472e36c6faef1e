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

// A range with a mapping for each granule, each of a physical memory of its own, on two devices.
class Mapped {
 public:
  explicit Mapped(std::size_t count) : memory_(count), scope_(machine_.driver()) {
    CUcontext context = nullptr;
    need(driver().cuInit(0));
    need(driver().cuDevicePrimaryCtxRetain(&context, 0));
    need(driver().cuCtxSetCurrent(context));
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    need(driver().cuMemAddressReserve(&base_, count * kGranule, 0, 0, 0));
    for (std::size_t i = 0; i < count; ++i) {
      properties.location.id = static_cast<int>(i / kOfOneDevice);
      need(driver().cuMemCreate(&memory_[i], kGranule, &properties, 0));
      map(i);
    }
  }

  void map(std::size_t index) {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    need(driver().cuMemMap(at(index), kGranule, 0, memory_[index], 0));
    need(driver().cuMemSetAccess(at(index), kGranule, &access, 1));
  }
  void unmap(std::size_t index) { need(driver().cuMemUnmap(at(index), kGranule)); }
  CUdeviceptr at(std::size_t index) const { return base_ + index * kGranule; }

  // Returns the indices of 1024 random mappings.
  std::vector<std::size_t> some() const {
    std::mt19937 random(1);
    std::uniform_int_distribution<std::size_t> draw(0, memory_.size() - 1);
    std::vector<std::size_t> indices(1024);
    for (std::size_t &index : indices) index = draw(random);
    return indices;
  }

 private:
  static constexpr std::size_t kOfOneDevice = 50'000;

  std::vector<CUmemGenericAllocationHandle> memory_;
  cushim::sim::Machine machine_{{.devices = "h200x2"}};
  cushim::ScopedDriver scope_;
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
    // Not at the same offset in each mapping: the bytes would compete for the same lines of the cache.
    const std::size_t offset = index * sizeof bytes * 65 % kGranule;
    need(driver().cuMemcpyHtoD(mapped.at(index) + offset, bytes, sizeof bytes));
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

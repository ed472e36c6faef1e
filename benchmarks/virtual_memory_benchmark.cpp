// SPDX-License-Identifier: Apache-2.0
// Measures calls on virtual memory of the simulated driver: with 100, 10,000 and 100,000 mappings, where the
// cost of a call must not grow with their number, except for the logarithm of a lookup; the life of a
// mapping; and copies to a mapping and to memory of cuMemAlloc.
#include <benchmark/benchmark.h>

#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "need.hpp"

namespace {

using cushim::driver;
using cushim::bench::need;

constexpr std::size_t kGranule = 2 << 20;

CUmemAllocationProp properties() {
  CUmemAllocationProp made = {};
  made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return made;
}

void allow_access(CUdeviceptr at) {
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  need(driver().cuMemSetAccess(at, kGranule, &access, 1));
}

// A machine with a current context.
class Running {
 public:
  Running() : scope_(machine_.driver()) { cushim::bench::enter(driver()); }

 private:
  cushim::sim::Machine machine_{{.devices = "h200x2"}};
  cushim::ScopedDriver scope_;
};

// A range with a mapping for each granule, each of a physical memory of its own, on two devices.
class Mapped {
 public:
  explicit Mapped(std::size_t count) : memory_(count) {
    CUmemAllocationProp wanted = properties();
    need(driver().cuMemAddressReserve(&base_, count * kGranule, 0, 0, 0));
    for (std::size_t i = 0; i < count; ++i) {
      wanted.location.id = static_cast<int>(i / kOfOneDevice);
      need(driver().cuMemCreate(&memory_[i], kGranule, &wanted, 0));
      map(i);
    }
  }

  void map(std::size_t index) {
    need(driver().cuMemMap(at(index), kGranule, 0, memory_[index], 0));
    allow_access(at(index));
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
  Running running_;
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

// Reserves addresses, creates memory, maps it, allows access, unmaps it, releases the memory and the
// addresses.
void life_of_a_mapping(benchmark::State &state) {
  const Running running;
  const CUmemAllocationProp wanted = properties();
  for (auto _ : state) {
    CUdeviceptr at = 0;
    CUmemGenericAllocationHandle memory = 0;
    need(driver().cuMemAddressReserve(&at, kGranule, 0, 0, 0));
    need(driver().cuMemCreate(&memory, kGranule, &wanted, 0));
    need(driver().cuMemMap(at, kGranule, 0, memory, 0));
    allow_access(at);
    need(driver().cuMemUnmap(at, kGranule));
    need(driver().cuMemRelease(memory));
    need(driver().cuMemAddressFree(at, kGranule));
  }
}

void copy_to(benchmark::State &state, CUdeviceptr at) {
  const std::vector<unsigned char> bytes(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) need(driver().cuMemcpyHtoD(at, bytes.data(), bytes.size()));
}

void copy_to_mapping(benchmark::State &state) {
  const Mapped mapped(1);
  copy_to(state, mapped.at(0));
}

void copy_to_allocation(benchmark::State &state) {
  const Running running;
  CUdeviceptr at = 0;
  need(driver().cuMemAlloc(&at, kGranule));
  copy_to(state, at);
}

}  // namespace

BENCHMARK(life_of_a_mapping);
BENCHMARK(copy_to_mapping)->Arg(64)->Arg(64 << 10)->Arg(1 << 20);
BENCHMARK(copy_to_allocation)->Arg(64)->Arg(64 << 10)->Arg(1 << 20);
BENCHMARK(get_address_range)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK(copy_of_64_bytes)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK(unmap_and_map)->Arg(100)->Arg(10'000)->Arg(100'000);

BENCHMARK_MAIN();

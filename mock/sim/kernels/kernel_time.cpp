// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_time.hpp"

#include <cuda.h>

#include <algorithm>
#include <cmath>

namespace cushim::sim {
namespace {

// Fitted to 153 launches on an H200: tests/mock/sim/kernel_times. Cycles are those of the multiprocessors.
constexpr double launch_nanoseconds = 1450;  // of an empty kernel
constexpr double block_dispatch = 1.19;      // cycles between the starts of two blocks of a grid
constexpr double wave_start = 650;      // cycles of a block beyond the path of its warps, if it uses memory
constexpr double idle_wave_start = 60;  // the same, if it does not
// The sectors and lines that the L2 cache serves in a cycle, for each multiprocessor.
constexpr double l2_sectors = 1.086, l2_lines = 0.684;
// The number of parts of the L2 cache that execute atomic operations, and the bytes of adjacent memory that
// belong to one part.
constexpr double atomic_parts = 32, atomic_part_bytes = 2048;
constexpr double memory_efficiency = 0.85;  // of the bandwidth of the memory's clock and width
// Data below the first fraction of the size of the L2 cache is in the cache; data above the second fraction
// is not.
constexpr double fits_l2 = 0.48, exceeds_l2 = 1.11;
constexpr double sharpness = 3;  // of the transition between two limits

// The values of an H200, for devices whose profile lacks them.
struct ModelledDevice {
  double multiprocessors = 132, gigahertz = 1.98, l2_bytes = 62'914'560;
  double memory_bytes_per_nanosecond = 4815;
  double threads = 2048, blocks = 32, shared_bytes = 233'472, reserved_shared_bytes = 1024;

  explicit ModelledDevice(const Profile &profile) {
    const auto read = [&](CUdevice_attribute attribute, double unit, double &value) {
      const auto found = profile.attributes.find(attribute);
      if (found != profile.attributes.end() && found->second > 0) value = found->second * unit;
    };
    read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1, multiprocessors);
    read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1e-6, gigahertz);
    read(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1, l2_bytes);
    read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1, threads);
    read(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 1, blocks);
    read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 1, shared_bytes);
    read(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1, reserved_shared_bytes);
    double clock = 0, width = 0;
    read(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1e-6, clock);
    read(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 1, width);
    if (clock * width > 0) memory_bytes_per_nanosecond = 2 * clock * width / 8;
  }

  // Returns the number of blocks that a multiprocessor holds. Registers are not known, and not counted.
  double resident(const ptx::LaunchShape &shape, std::size_t shared) const {
    const double warps = std::ceil(static_cast<double>(shape.block.count()) / 32);
    double count = std::min(blocks, std::floor(threads / 32 / warps));
    if (shared != 0)
      count =
          std::min(count, std::floor(shared_bytes / (static_cast<double>(shared) + reserved_shared_bytes)));
    return std::max(1.0, count);
  }
};

}  // namespace

ptx::Sample sample_for_time(const ptx::Program &with_costs) {
  return {.program = with_costs, .clusters = 8, .l1_bytes = 128 << 10};
}

std::int64_t kernel_time(const ptx::SampledCosts &costs, const ptx::LaunchShape &shape,
                         std::size_t shared_bytes, const Profile &profile) {
  const ModelledDevice device(profile);
  const double sampled = std::max<double>(1, static_cast<double>(costs.blocks));
  const auto blocks = static_cast<double>(shape.grid.count());
  const auto all_blocks = [&](double of_sample) { return of_sample / sampled * blocks; };
  const double resident = device.resident(shape, shared_bytes);
  const double slots = device.multiprocessors * resident;

  // The bytes that the kernel uses, and the part of them that is not in the L2 cache.
  const double bursts = all_blocks(static_cast<double>(costs.read_bursts)),
               read = all_blocks(static_cast<double>(costs.read_sectors)),
               written = all_blocks(static_cast<double>(costs.written_sectors));
  const double used = std::min(static_cast<double>(costs.extent), 64 * bursts + 32 * written);
  const double far = std::clamp((used / device.l2_bytes - fits_l2) / (exceeds_l2 - fits_l2), 0.0, 1.0);
  const double path = (costs.path_in_l2 * (1 - far) + costs.path_in_memory * far) / sampled;
  const double atomics = all_blocks(costs.atomic_cycles);

  // The cycles that each limit of the kernel takes.
  const double busiest = *std::ranges::max_element(costs.pipe_cycles) / sampled;
  const double pipes = busiest * (blocks <= 4 * slots ? std::ceil(blocks / device.multiprocessors)
                                                      : blocks / device.multiprocessors);
  const double waves = blocks < 4 * slots ? std::ceil(blocks / slots) : blocks / slots;
  const double latency = waves * (path + (read + written + atomics > 0 ? wave_start : idle_wave_start));
  const double l2 =
      std::max((read + written) / l2_sectors, (bursts + written / 4) / l2_lines) / device.multiprocessors;
  const double memory =
      far * used * device.gigahertz / (memory_efficiency * device.memory_bytes_per_nanosecond);
  const double atomic =
      atomics / std::clamp(static_cast<double>(costs.atomic_extent) / atomic_part_bytes, 1.0, atomic_parts);
  const double dispatch = blocks * block_dispatch;

  double sum = 0;
  for (const double limit : {pipes, latency, l2, memory, atomic, dispatch}) sum += std::pow(limit, sharpness);
  return std::llround(launch_nanoseconds + std::pow(sum, 1 / sharpness) / device.gigahertz);
}

}  // namespace cushim::sim

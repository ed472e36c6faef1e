// SPDX-License-Identifier: Apache-2.0
// The resources that a kernel needs and may use: registers, shared and constant memory, threads and blocks of
// a multiprocessor.
#include <algorithm>
#include <cstdint>

#include "kernels/module.hpp"
#include "memory/rounding.hpp"

namespace cushim::sim {

std::size_t static_shared(const ptx::Function &entry) {
  return static_cast<std::size_t>(entry.body.shared_size);
}

unsigned max_threads(const ptx::Function &entry) {
  const auto &most = entry.performance.maxntid;
  return most ? std::min(1024u, (*most)[0] * (*most)[1] * (*most)[2]) : 1024;
}

namespace {

constexpr std::size_t kSharedGranularity = 128;  // of a block's shared memory, measured on an H200

constexpr std::size_t kWarp = 32;
constexpr std::size_t kRegisters = 65'536;  // of a multiprocessor, of all devices since 5.0

// Returns the number of warps with this many registers a thread that a multiprocessor holds. Each of its four
// parts holds whole warps. Measured on an H200: 512 threads with 104 registers.
std::size_t warps_with(std::size_t registers, std::size_t of_multiprocessor) {
  constexpr std::size_t kParts = 4, kRegistersOfWarp = 256;
  return of_multiprocessor / kParts / rounded_up(registers * kWarp, kRegistersOfWarp) * kParts;
}

// Estimates the registers per thread: the real driver's compiler chooses them by rules that are not public.
int registers_of(const ptx::Function &entry, const Code &code) {
  const auto words = [](const ptx::Register &one) {
    return one.type == ptx::Type::pred ? std::size_t{0} : std::size_t{1};
  };
  std::size_t sum = 0;
  for (const ptx::Register &one : entry.body.registers) sum += words(one);
  // The compiler ignores the option for kernels with launch bounds (CUDA C++ Programming Guide 13.0, "Launch
  // Bounds"), which are .maxntid in PTX.
  const bool uses_option = code.max_registers != 0 && !entry.performance.maxntid;
  unsigned most = entry.performance.maxnreg.value_or(uses_option ? code.max_registers : 255);
  // The compiler keeps the registers of kernels with launch bounds so few that a block fits.
  if (entry.performance.maxntid)
    while (most > 24 && warps_with(most, kRegisters) * kWarp < max_threads(entry)) --most;
  return static_cast<int>(std::clamp<std::size_t>(sum / 2 + 4, 4, std::clamp(most, 4u, 255u)));
}

// Returns the value of CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_* in the PTX.
std::optional<int> required_cluster(const ptx::Function &entry, int attribute) {
  const auto &cluster = entry.performance.reqnctapercluster;
  if (!cluster) return {};
  return static_cast<int>(
      (*cluster)[static_cast<std::size_t>(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)]);
}

std::size_t constants_of(const Code &code) {
  std::size_t sum = 0;
  for (const auto &[name, variable] : code.variable_by_name)
    if (variable->space == ptx::StateSpace::const_)
      sum = rounded_up(sum, std::size_t{variable->alignment}) + static_cast<std::size_t>(variable->size);
  return sum;
}

}  // namespace

bool attribute_of(const ptx::Function &entry, const Code &code, const Device &device,
                  const FunctionAttributes &set, int attribute, int &value) {
  if (const auto own = set.find(attribute); own != set.end()) {
    value = own->second;
    return true;
  }
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      value = static_cast<int>(std::min<std::size_t>(
          max_threads(entry),
          kWarp * warps_with(static_cast<std::size_t>(registers_of(entry, code)), kRegisters)));
      return true;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      value = static_cast<int>(static_shared(entry));
      return true;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      value = static_cast<int>(constants_of(code));
      return true;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      value = static_cast<int>(rounded_up(static_cast<std::size_t>(entry.body.local_size), 8));
      return true;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      value = registers_of(entry, code);
      return true;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      value = static_cast<int>(code.ptx_target);
      return true;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      value = code.compiled_for.value_or(capability(device));
      return true;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      value = std::max(0, device.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) -
                              static_cast<int>(static_shared(entry)));
      return true;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      value = -1;
      return true;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      value = required_cluster(entry, attribute).value_or(0);
      return true;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      value = entry.performance.explicitcluster ? 1 : 0;
      return true;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      value = 0;
      return true;
    default:
      return false;
  }
}

CUresult check_attribute(const ptx::Function &entry, const Device &device, int attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                       static_cast<int>(static_shared(entry));
      return value >= 0 && value <= most ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
      // If the PTX requires a cluster size, only that size can be set.
      const auto required = required_cluster(entry, attribute);
      return value >= 0 && (!required || *required == value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return value >= 0 && value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

std::size_t shared_capacity(const Function &function, std::size_t of_block, Carveout counted) {
  // In KiB (CUDA C++ Programming Guide 13.0, "Shared Memory" of compute capabilities 8.x and 9.0).
  constexpr std::size_t kCapacities[] = {8, 16, 32, 64, 100, 132, 164, 196};
  const auto whole = static_cast<std::size_t>(
      function.module->context->device->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  const auto carveout = function.set.find(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  std::size_t preferred = whole;
  if (carveout != function.set.end() && carveout->second >= 0)
    preferred = counted == Carveout::counts ? whole * static_cast<std::size_t>(carveout->second) / 100
                : carveout->second == 0     ? 0
                                            : whole;
  else if (function.cache == CU_FUNC_CACHE_PREFER_L1)
    preferred = 0;
  else if (function.cache == CU_FUNC_CACHE_PREFER_EQUAL)
    preferred = whole / 2;
  for (const std::size_t capacity : kCapacities)
    if (capacity * 1024 >= std::max(preferred, of_block)) return std::min(capacity * 1024, whole);
  return whole;
}

int max_dynamic_shared(const Function &function) {
  int value = 0;
  attribute_of(*function.entry, *function.module->code, *function.module->context->device, function.set,
               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, value);
  return value;
}

int resident_blocks(const Function &function, int threads, std::size_t dynamic_shared, Carveout carveout) {
  const ptx::Function &entry = *function.entry;
  const Device &device = *function.module->context->device;
  const auto attribute = [&](CUdevice_attribute which) {
    return static_cast<std::size_t>(std::max(0, device.attribute(which)));
  };
  // A limit below the initial one counts for launches only.
  int initial_limit = 0;
  attribute_of(entry, *function.module->code, device, {}, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
               initial_limit);
  const int limit = std::max(max_dynamic_shared(function), initial_limit);
  // Sizes are added in 32 bits: measured on an H200, driver 580.
  const std::size_t reserved = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  const auto dynamic = static_cast<std::uint32_t>(dynamic_shared);
  const auto of_block =
      static_cast<std::uint32_t>(rounded_up(static_shared(entry) + dynamic + reserved, kSharedGranularity));
  const bool is_wrapped = of_block < dynamic;
  if (threads > 1024 || (!is_wrapped && dynamic > static_cast<std::size_t>(limit))) return 0;
  const std::size_t warps = (static_cast<std::size_t>(threads) + kWarp - 1) / kWarp;
  std::size_t blocks = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  if (blocks == 0) blocks = 32;
  blocks = std::min(blocks, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / kWarp / warps);
  if (of_block != 0) blocks = std::min(blocks, shared_capacity(function, of_block, carveout) / of_block);
  const auto registers = static_cast<std::size_t>(registers_of(entry, *function.module->code));
  blocks = std::min(
      blocks, warps_with(registers, attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)) / warps);
  return static_cast<int>(blocks);
}

}  // namespace cushim::sim

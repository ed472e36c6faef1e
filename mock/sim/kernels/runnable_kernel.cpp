// SPDX-License-Identifier: Apache-2.0
#include "kernels/runnable_kernel.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "kernels/kernel_memory.hpp"
#include "kernels/kernel_report.hpp"
#include "kernels/kernel_time.hpp"
#include "machine/system.hpp"

namespace cushim::sim {
namespace {

CUresult code_of(ptx::FaultKind kind) {
  using Kind = ptx::FaultKind;
  static constexpr std::pair<Kind, CUresult> codes[] = {
      {Kind::none, CUDA_SUCCESS},
      {Kind::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS},
      {Kind::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS},
      {Kind::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {Kind::assertion, CUDA_ERROR_ASSERT},
      {Kind::instruction_budget, CUDA_ERROR_LAUNCH_TIMEOUT}};
  for (const auto &[known, code] : codes)
    if (known == kind) return code;
  return CUDA_ERROR_LAUNCH_FAILED;
}

// The memory by which the blocks of a cooperative launch wait for each other.
class GridWorkspace {
 public:
  GridWorkspace(KernelMemory &memory, bool is_cooperative)
      : memory_(memory), address_(is_cooperative ? memory.allocate(sizeof(Words)) : 0) {
    if (address_ == 0) return;
    const Words words;
    const ptx::Resolved bytes = memory.resolve(address_, sizeof words, ptx::Access::write);
    std::memcpy(bytes.host, &words, sizeof words);
    memory_.note_written(address_, sizeof words);
  }
  ~GridWorkspace() {
    if (address_ != 0) memory_.release(address_);
  }
  GridWorkspace(const GridWorkspace &) = delete;
  GridWorkspace &operator=(const GridWorkspace &) = delete;
  std::uint64_t address() const noexcept { return address_; }

 private:
  struct Words {
    std::uint32_t size = sizeof(Words), barrier = 0;
  };
  KernelMemory &memory_;
  const std::uint64_t address_;
};

}  // namespace

KernelEnd RunnableKernel::run_ptx(System &system, Context &context, ptx::LaunchShape shape,
                                  bool is_cooperative, const std::vector<std::byte> &parameters) const {
  KernelMemory memory(system, context, references, record.get());
  const GridWorkspace workspace(memory, is_cooperative);
  shape.grid_workspace = workspace.address();
  const auto stack = context.limits.find(CU_LIMIT_STACK_SIZE);
  ptx::RunOptions options;
  options.limits.workers = system.options.schedule == Schedule::seeded ? 1 : 0;
  options.limits.instructions = system.options.kernel_limit;
  if (stack != context.limits.end()) options.limits.stack_bytes = static_cast<std::uint32_t>(stack->second);
  options.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  const ptx::Sample sample = sample_for_time(sampled);
  if (sampled) options.sample = &sample;
  for (std::size_t i = 0; defects != nullptr && i < mock::kKernelChecks; ++i)
    options.checks.is_on[i] = mock::EnabledKernelCheck::is_on(static_cast<mock::KernelCheck>(i));
  options.checks.report = [&](const ptx::KernelFinding &finding) {
    const std::lock_guard lock(system.mutex);
    defects->add(to_defect(system, std::string(entry->name), finding));
  };
  const ptx::LaunchResult result = ptx::run(program, entry->name, shape, parameters, memory, options);
  KernelEnd end;
  if (result.costs != nullptr)
    end.more_time = kernel_time(*result.costs, shape, static_shared(*entry) + shape.dynamic_shared_bytes,
                                context.device->profile) -
                    launch_time;
  if (result && result.counts.empty()) return end;
  const std::lock_guard lock(system.mutex);
  if (!result.counts.empty())
    system.kernel_profiles.add(*code, program, std::string(entry->name), shape, result.counts);
  if (!result) {
    end.code = code_of(result.fault.kind);
    end.report = to_text(system, result.fault);
  }
  return end;
}

KernelEnd RunnableKernel::run(System &system, Context &context, const ptx::LaunchShape &shape,
                              bool is_cooperative, const std::vector<std::byte> &parameters) const {
  if (registered != nullptr) {
    if (system.options.profiles_kernels) {
      const std::lock_guard lock(system.mutex);
      system.kernel_profiles.add_registered(std::string(entry->name), shape);
    }
    return run_registered(system, context, *registered, *entry, shape, parameters);
  }
  if (code->is_machine_code) return {};  // skipped
  const KernelEnd end = run_ptx(system, context, shape, is_cooperative, parameters);
  if (record != nullptr) record->finish();
  if (defects != nullptr) defects->finish();
  return end;
}

}  // namespace cushim::sim

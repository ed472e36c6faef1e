// SPDX-License-Identifier: Apache-2.0
// Kernel launches.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include <cushim/detail/launch_watch.hpp>

#include "api/service.hpp"
#include "commands/submit.hpp"
#include "kernels/kernel_memory.hpp"
#include "kernels/registered.hpp"

namespace cushim::sim {
namespace {

// Virtual time of a launch and its kernel, in nanoseconds: run times of kernels are not modelled.
constexpr Time kLaunchTime = 2'000;

struct LaunchOptions {
  ptx::LaunchShape shape;
  bool is_cooperative = false;
};

CUresult code_of(ptx::FaultKind kind) {
  switch (kind) {
    case ptx::FaultKind::none:
      return CUDA_SUCCESS;
    case ptx::FaultKind::illegal_address:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case ptx::FaultKind::misaligned_address:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case ptx::FaultKind::illegal_instruction:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case ptx::FaultKind::assertion:
      return CUDA_ERROR_ASSERT;
    case ptx::FaultKind::instruction_budget:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case ptx::FaultKind::trap:
    case ptx::FaultKind::stack_overflow:
      break;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

std::string to_text(const ptx::Dim3 &index) {
  char text[48];
  std::snprintf(text, sizeof text, "(%u, %u, %u)", unsigned{index.x}, unsigned{index.y}, unsigned{index.z});
  return text;
}

// Describes a fault, with details that a GPU does not report: the thread, the block and the line.
std::string to_text(System &system, const ptx::Fault &fault) {
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(fault.address));
  std::string text = "kernel " + fault.kernel + ": " + std::string(ptx::name(fault.kind));
  const bool has_address =
      fault.kind == ptx::FaultKind::illegal_address || fault.kind == ptx::FaultKind::misaligned_address;
  if (has_address) text += std::string(" ") + address;
  text += ", thread " + to_text(fault.thread) + " of block " + to_text(fault.block) + ", line " +
          std::to_string(fault.line) + " of the PTX";
  if (fault.source_line != 0)
    text += " (" + fault.source_file + ":" + std::to_string(fault.source_line) + ")";
  if (!fault.message.empty()) text += ": " + fault.message;
  if (has_address) {
    const Allocation *nearest = nullptr;
    const auto distance = [&](const Allocation &one) {
      return fault.address < one.base ? one.base - fault.address : fault.address - one.base;
    };
    system.memory.for_each([&](const Allocation &one) {
      if (nearest == nullptr || distance(one) < distance(*nearest)) nearest = &one;
    });
    if (nearest != nullptr) {
      std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(nearest->base));
      text += "\n  nearest allocation: " + std::to_string(nearest->size) + " bytes at " + address;
      if (fault.address >= nearest->end())
        text += ", which ends " + std::to_string(fault.address - nearest->end()) + " bytes before it";
    }
  }
  return text;
}

// Packs the kernel's parameters as its declaration lays them out. Returns the errors of driver 580.
std::vector<std::byte> pack(const ptx::Function &entry, void **pointers, void **extra) {
  std::vector<std::byte> bytes(entry.parameter_size);
  require(pointers == nullptr || extra == nullptr);
  if (extra != nullptr) {
    const void *buffer = nullptr;
    std::size_t size = 0;
    for (void **item = extra; *item != CU_LAUNCH_PARAM_END; item += 2) {
      if (*item == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = item[1];
      else if (*item == CU_LAUNCH_PARAM_BUFFER_SIZE)
        size = item[1] != nullptr ? *static_cast<const std::size_t *>(item[1]) : 0;
      else
        fail(CUDA_ERROR_INVALID_VALUE);
    }
    require(buffer != nullptr || (bytes.empty() && size == 0));
    require(size <= bytes.size(), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    if (size != 0) std::memcpy(bytes.data(), buffer, size);
    return bytes;
  }
  if (entry.parameters.empty()) return bytes;
  if (pointers == nullptr) fail(CUDA_ERROR_INVALID_VALUE);
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const ptx::Variable &parameter = entry.parameters[i];
    require(pointers[i] != nullptr);
    std::memcpy(bytes.data() + parameter.offset, pointers[i], parameter.size);
  }
  return bytes;
}

void check_shape(const Function &function, const LaunchOptions &launch) {
  const Device &device = *function.module->context->device;
  const auto attribute = [&](CUdevice_attribute which) {
    return static_cast<unsigned>(device.attribute(which));
  };
  const auto &[grid, block, cluster, dynamic_shared, grid_workspace] = launch.shape;
  require(grid.x != 0 && grid.y != 0 && grid.z != 0 && block.x != 0 && block.y != 0 && block.z != 0);
  require(grid.x <= attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
          grid.y <= attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
          grid.z <= attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
  require(block.x <= attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
          block.y <= attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) &&
          block.z <= attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
  require(block.count() <= max_threads(*function.entry));
  if (const auto &wanted = function.entry->performance.reqntid)
    require(block.x == (*wanted)[0] && block.y == (*wanted)[1] && block.z == (*wanted)[2]);
  require(dynamic_shared <= static_cast<unsigned>(max_dynamic_shared(function)));
  if (cluster.count() != 1) {
    require(cluster.count() <= 16, CUDA_ERROR_INVALID_CLUSTER_SIZE);
    require(grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0);
  }
  if (!launch.is_cooperative) return;
  const int blocks = resident_blocks(function, static_cast<int>(block.count()), dynamic_shared);
  require(grid.count() <=
              static_cast<std::uint64_t>(blocks) * attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
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

// Runs the PTX of a kernel. The engine has released the machine's lock, so that other threads can make calls
// meanwhile.
KernelEnd run_ptx(System &system, Context &context, const ptx::Program &program, std::string_view name,
                  ptx::LaunchShape shape, bool is_cooperative, const std::vector<std::byte> &parameters,
                  const BoundReferences &references, mock::KernelRecord *record) {
  KernelMemory memory(system, context, references, record);
  const GridWorkspace workspace(memory, is_cooperative);
  shape.grid_workspace = workspace.address();
  const auto stack = context.limits.find(CU_LIMIT_STACK_SIZE);
  ptx::Limits limits;
  limits.workers = system.options.schedule == Schedule::seeded ? 1 : 0;
  if (stack != context.limits.end()) limits.stack_bytes = static_cast<std::uint32_t>(stack->second);
  const auto print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  const ptx::LaunchResult result = ptx::run(program, name, shape, parameters, memory, limits, print);
  if (result) return {};
  const std::lock_guard lock(system.mutex);
  return {code_of(result.fault.kind), to_text(system, result.fault)};
}

// A kernel as its launch finds it. Later calls may unload its module or register another function.
struct RunnableKernel {
  std::shared_ptr<const RegisteredKernel> registered;
  std::shared_ptr<const Code> code;
  const ptx::Function *entry;
  ptx::Program program;
  BoundReferences references;
  std::shared_ptr<mock::KernelRecord> record{};  // of the memory that the PTX accesses; null: not wanted

  KernelEnd run(System &system, Context &context, const ptx::LaunchShape &shape, bool is_cooperative,
                const std::vector<std::byte> &parameters) const {
    if (registered != nullptr) return run_registered(system, context, *registered, *entry, shape, parameters);
    if (code->is_machine_code) return {};  // skipped
    const KernelEnd end = run_ptx(system, context, program, entry->name, shape, is_cooperative, parameters,
                                  references, record.get());
    if (record != nullptr) record->finish();
    return end;
  }
};

// Tells the checkers of the call about a kernel.
void note(RunnableKernel &kernel, const Function &function, const std::vector<std::byte> &parameters) {
  if (!mock::LaunchWatch::is_on()) return;
  mock::EnqueuedKernel noted{.function = reinterpret_cast<CUfunction>(function.handle),
                             .name = function.name,
                             .parameters = {},
                             .values = parameters,
                             .record = nullptr};
  for (const ptx::Variable &parameter : function.entry->parameters)
    noted.parameters.push_back({parameter.offset, parameter.size});
  if (kernel.registered != nullptr) {
    for (std::size_t i = 0; i < std::min(noted.parameters.size(), kernel.registered->uses.size()); ++i)
      noted.parameters[i].use = static_cast<mock::ParameterUse>(kernel.registered->uses[i]);
  } else if (!kernel.code->is_machine_code) {
    noted.record = kernel.record = std::make_shared<mock::KernelRecord>();
  }
  mock::LaunchWatch::add(noted);
}

}  // namespace

KernelLaunch describe_launch(Call &call, const Function &function, const ptx::LaunchShape &shape,
                             bool is_cooperative, void **pointers, void **extra) {
  check_shape(function, {shape, is_cooperative});
  require(has_parameters_of_image(call.system, function));
  // The parameters of a kernel that is skipped are not known.
  const bool is_skipped =
      function.module->code->is_machine_code && registered_for(call.system, function) == nullptr;
  return {reinterpret_cast<CUfunction>(function.handle), shape, is_cooperative,
          is_skipped ? std::vector<std::byte>() : pack(*function.entry, pointers, extra)};
}

PreparedCommand prepare(Call &call, Context &context, KernelLaunch &&command) {
  const Function &function = call.function(command.function);
  System &system = call.system;
  const Module &module = *function.module;
  RunnableKernel kernel{registered_for(system, function), module.code, function.entry, module.program,
                        references_of(module)};
  if (kernel.registered == nullptr && module.code->is_machine_code) ++system.skipped_kernels[function.name];
  note(kernel, function, command.parameters);
  auto end = std::make_shared<KernelEnd>();
  return {{.cost = kLaunchTime,
           .resource = &context.device->processors,
           .run =
               [&system, &context, kernel = std::move(kernel), shape = command.shape,
                is_cooperative = command.is_cooperative, parameters = std::move(command.parameters),
                end](Move &move) {
                 move.compute = [&, end] {
                   *end = kernel.run(system, context, shape, is_cooperative, parameters);
                 };
               },
           .on_complete =
               [&system, &context, end](Time) {
                 if (end->code == CUDA_SUCCESS) return;
                 system.engine.report(end->report);
                 system.lose_context(context, end->code);
               }}};
}

namespace {

CUresult launch(Call &call, Function &function, CUstream into, const LaunchOptions &launch, void **pointers,
                void **extra) {
  Stream &stream = call.stream(into);
  require(stream.context == function.module->context, CUDA_ERROR_INVALID_HANDLE);
  submit(call, stream, describe_launch(call, function, launch.shape, launch.is_cooperative, pointers, extra));
  return CUDA_SUCCESS;
}

// ---- The entry points ----

CUresult launch_kernel(Call &call, CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared,
                       CUstream stream, void **pointers, void **extra) {
  return launch(call, call.function_or_kernel(handle), stream,
                {{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {}, dynamic_shared}}, pointers,
                extra);
}

CUresult launch_cooperative(Call &call, CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared,
                            CUstream stream, void **pointers) {
  return launch(call, call.function_or_kernel(handle), stream,
                {{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {}, dynamic_shared}, true}, pointers,
                nullptr);
}

CUresult launch_with_attributes(Call &call, const CUlaunchConfig *config, CUfunction handle, void **pointers,
                                void **extra) {
  require(config != nullptr);
  require(config->numAttrs == 0 || (config->numAttrs <= 64 && config->attrs != nullptr));
  LaunchOptions made{{{config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                      {},
                      config->sharedMemBytes}};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      made.shape.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                            attribute.value.clusterDim.z};
    else if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      made.is_cooperative = attribute.value.cooperative != 0;
  }
  require(made.shape.cluster.count() != 0);
  return launch(call, call.function_or_kernel(handle), config->hStream, made, pointers, extra);
}

// Documentation. Unless flags say otherwise, all kernels start after the earlier work of all streams, and
// later work of the streams starts after all kernels. Kernels cannot synchronize across devices.
CUresult launch_on_devices(Call &call, CUDA_LAUNCH_PARAMS *list, unsigned count, unsigned flags) {
  require(list != nullptr && count != 0 && flags < 4);  // two flags
  std::vector<std::pair<Stream *, PreparedCommand>> launches;
  for (const CUDA_LAUNCH_PARAMS &one : std::span(list, count)) {
    Stream &stream = call.stream(one.hStream);
    require(stream.handle != 0, CUDA_ERROR_INVALID_HANDLE);  // not a default stream
    require(stream.capture == nullptr, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    const Function &function = call.function_or_kernel(one.function);
    require(stream.context == function.module->context, CUDA_ERROR_INVALID_HANDLE);
    const bool is_first = std::ranges::none_of(
        launches, [&](const auto &other) { return other.first->context->device == stream.context->device; });
    require(is_first, CUDA_ERROR_INVALID_DEVICE);
    const ptx::LaunchShape shape{{one.gridDimX, one.gridDimY, one.gridDimZ},
                                 {one.blockDimX, one.blockDimY, one.blockDimZ},
                                 {},
                                 one.sharedMemBytes};
    launches.emplace_back(&stream,
                          prepare(call, *stream.context,
                                  describe_launch(call, function, shape, true, one.kernelParams, nullptr)));
  }
  if ((flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC) == 0)
    for (auto &[stream, command] : launches)
      for (const auto &other : launches) command.operation.come_after(other.first->tail);
  std::vector<Work> works;
  for (auto &[stream, command] : launches) works.push_back(add(call, *stream, std::move(command)));
  const std::size_t kernels = works.size();
  for (const auto &[stream, command] : launches) {
    if ((flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC) != 0) break;
    Operation end;
    for (std::size_t i = 0; i < kernels; ++i) end.come_after(works[i]);
    works.push_back(call.add(*stream, std::move(end)));
  }
  for (const Work &work : works) call.start(work);
  return CUDA_SUCCESS;
}

// ---- The API of the first releases: parameters and block size are set before the launch ----

CUresult set_block(Call &call, CUfunction handle, int x, int y, int z) {
  Function &function = call.function(handle);
  require(x > 0 && y > 0 && z > 0);
  function.block = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
  return CUDA_SUCCESS;
}

CUresult set_dynamic_shared(Call &call, CUfunction handle, unsigned bytes) {
  call.function(handle).dynamic_shared = bytes;
  return CUDA_SUCCESS;
}

CUresult set_parameter_size(Call &call, CUfunction handle, unsigned bytes) {
  Function &function = call.function(handle);
  require(bytes <= function.entry->parameter_size);
  function.parameters.resize(bytes);
  return CUDA_SUCCESS;
}

CUresult set_parameter(Call &call, CUfunction handle, int offset, void *from, unsigned bytes) {
  Function &function = call.function(handle);
  require(offset >= 0 && from != nullptr);
  const std::size_t end = static_cast<std::size_t>(offset) + bytes;
  require(end <= function.entry->parameter_size);
  if (function.parameters.size() < end) function.parameters.resize(end);
  std::memcpy(function.parameters.data() + offset, from, bytes);
  return CUDA_SUCCESS;
}

CUresult set_integer(Call &call, CUfunction handle, int offset, unsigned value) {
  return set_parameter(call, handle, offset, &value, sizeof value);
}

CUresult set_float(Call &call, CUfunction handle, int offset, float value) {
  return set_parameter(call, handle, offset, &value, sizeof value);
}

CUresult launch_grid_async(Call &call, CUfunction handle, int width, int height, CUstream stream) {
  Function &function = call.function(handle);
  require(width > 0 && height > 0);
  std::size_t size = function.parameters.size();
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, function.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &size, CU_LAUNCH_PARAM_END};
  const ptx::Dim3 grid{static_cast<unsigned>(width), static_cast<unsigned>(height), 1};
  return launch(call, function, stream, {{grid, function.block, {}, function.dynamic_shared}}, nullptr,
                extra);
}

CUresult launch_grid(Call &call, CUfunction handle, int width, int height) {
  return launch_grid_async(call, handle, width, height, nullptr);
}

CUresult launch_one(Call &call, CUfunction handle) { return launch_grid(call, handle, 1, 1); }

}  // namespace

void serve_launches(Service &service) {
  service.serve<"cuLaunchKernel", launch_kernel>();
  service.serve<"cuLaunchCooperativeKernelMultiDevice", launch_on_devices>();
  service.serve<"cuLaunchCooperativeKernel", launch_cooperative>();
  service.serve<"cuLaunchKernelEx", launch_with_attributes>();
  service.serve<"cuFuncSetBlockShape", set_block>();
  service.serve<"cuFuncSetSharedSize", set_dynamic_shared>();
  service.serve<"cuParamSetSize", set_parameter_size>();
  service.serve<"cuParamSeti", set_integer>();
  service.serve<"cuParamSetf", set_float>();
  service.serve<"cuParamSetv", set_parameter>();
  service.serve<"cuLaunch", launch_one>();
  service.serve<"cuLaunchGrid", launch_grid>();
  service.serve<"cuLaunchGridAsync", launch_grid_async>();
}

}  // namespace cushim::sim

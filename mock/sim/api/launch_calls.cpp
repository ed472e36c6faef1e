// SPDX-License-Identifier: Apache-2.0
// Kernel launches. Codes and their order are those of driver 580 on an H200.
#include <algorithm>
#include <cstring>
#include <span>

#include <cushim/detail/launch_watch.hpp>
#include <cushim/detail/packed_parameters.hpp>

#include "api/launch_calls.hpp"
#include "commands/submit.hpp"
#include "graphs/capturing.hpp"
#include "kernels/registered.hpp"
#include "kernels/runnable_kernel.hpp"

namespace cushim::sim {
namespace {

// Thrown for invalid parameters of a kernel.
struct ParameterError : CallError {};

// Packs the kernel's parameters as its declaration lays them out. Returns the errors of driver 580. Too many
// packed parameters are an error of require_fitting(), which comes last. They are not read.
std::vector<std::byte> pack(const ptx::Function &entry, void **pointers, void **extra) {
  std::vector<std::byte> bytes(entry.parameter_size);
  if (entry.parameters.empty() && pointers != nullptr) return bytes;
  require(pointers == nullptr || extra == nullptr);
  if (extra != nullptr) {
    const mock::PackedParameters packed = mock::packed_parameters(extra);
    require(!packed.has_unknown_option);
    if (packed.bytes == nullptr) {
      require(bytes.empty() && packed.size == 0);
      return bytes;
    }
    const std::size_t read = std::min(packed.size, bytes.size());
    if (read != 0) std::memcpy(bytes.data(), packed.bytes, read);
    if (packed.size > read) bytes.resize(read + 1);
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

std::vector<std::byte> packed(const ptx::Function &entry, void **pointers, void **extra) {
  try {
    return pack(entry, pointers, extra);
  } catch (const CallError &error) {
    throw ParameterError{error};
  }
}

void require_fitting(const ptx::Function &entry, const std::vector<std::byte> &parameters) {
  if (parameters.size() > entry.parameter_size) throw ParameterError{{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES}};
}

void check_dynamic_shared(const Function &function, const LaunchOptions &launch) {
  require(launch.shape.dynamic_shared_bytes <= static_cast<unsigned>(max_dynamic_shared(function)));
}

// Checks the limits of a multiprocessor.
void check_resources(const Function &function, const LaunchOptions &launch) {
  const Device &device = *function.module->context->device;
  const auto &[grid, block, cluster, dynamic_shared, grid_workspace] = launch.shape;
  if (launch.is_cooperative) {
    const int blocks = resident_blocks(function, static_cast<int>(block.count()), dynamic_shared);
    const int processors = device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    require(grid.count() <= static_cast<std::uint64_t>(blocks) * static_cast<unsigned>(processors),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  }
  check_dynamic_shared(function, launch);
}

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
      noted.parameters[i].use = kernel.registered->uses[i];
  } else if (!kernel.code->is_machine_code) {
    if (mock::LaunchWatch::wants_records())
      noted.record = kernel.record = std::make_shared<mock::KernelRecord>();
    if (mock::EnabledKernelCheck::is_any_on())
      noted.defects = kernel.defects = std::make_shared<mock::KernelDefects>();
  }
  mock::LaunchWatch::add(noted);
}

}  // namespace

void check_block_of(const Function &function, const ptx::Dim3 &block) {
  check_block(*function.module->context->device, block);
  require(block.count() <= max_threads(*function.entry));
  if (const auto &wanted = function.entry->performance.reqntid)
    require(block.x == (*wanted)[0] && block.y == (*wanted)[1] && block.z == (*wanted)[2]);
}

KernelLaunch describe_launch(Call &call, const Function &function, LaunchOptions launch, void **pointers,
                             void **extra) {
  check_block_of(function, launch.shape.block);
  check_grid(*function.module->context->device, launch.shape.grid);
  require(has_parameters_of_image(call.system, function));
  // The parameters of a kernel that is skipped are not known.
  const bool is_skipped =
      function.module->code->is_machine_code && registered_for(call.system, function) == nullptr;
  std::vector<std::byte> parameters;
  if (!is_skipped) parameters = packed(*function.entry, pointers, extra);
  set_cluster(function, launch);
  check_resources(function, launch);
  if (!is_skipped) require_fitting(*function.entry, parameters);
  return {reinterpret_cast<CUfunction>(function.handle), launch.shape, launch.is_cooperative,
          std::move(parameters)};
}

PreparedCommand prepare(Call &call, Context &context, KernelLaunch &&command) {
  const Function &function = call.function(command.function);
  System &system = call.system;
  const Module &module = *function.module;
  RunnableKernel kernel{registered_for(system, function),
                        module.code,
                        function.entry,
                        module.program,
                        references_of(module),
                        module.sampled};
  if (kernel.registered == nullptr && module.code->is_machine_code) ++system.skipped_kernels[function.name];
  note(kernel, function, command.parameters);
  auto end = std::make_shared<KernelEnd>();
  return {{.cost = launch_time,
           .resource = &context.device->processors,
           .run =
               [&system, &context, kernel = std::move(kernel), shape = command.shape,
                is_cooperative = command.is_cooperative, parameters = std::move(command.parameters),
                end](Move &move) {
                 move.compute = [&, end] {
                   *end = kernel.run(system, context, shape, is_cooperative, parameters);
                   return end->more_time;
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

Stream &require_own_stream(Call &call, const Function &function, CUstream handle) {
  Stream &stream = call.stream(handle);
  require(stream.context == function.module->context, CUDA_ERROR_INVALID_HANDLE);
  return stream;
}

// CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC and CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, which older headers lack.
constexpr EdgeData kProgrammaticEdge{.from_port = 1, .to_port = 0, .type = 1};

// Lets the next node of a stream depend on the programmatic ports of the kernels before it.
void depend_programmatically(Call &call, CapturePoint &point) {
  for (std::size_t i = 0; i < point.dependencies.size(); ++i) {
    const GraphNode *const node = call.system.handles.find<GraphNode>(point.dependencies[i]);
    if (node != nullptr && std::holds_alternative<KernelLaunch>(node->command) &&
        point.edges[i] == EdgeData{})
      point.edges[i] = kProgrammaticEdge;
  }
}

// A capture checks the cluster and the shared memory before the parameters and the preferred cluster.
// Measured, driver 580.
void check_before_parameters(const Function &function, LaunchOptions launch) {
  check_block_of(function, launch.shape.block);
  check_grid(*function.module->context->device, launch.shape.grid);
  launch.preferred_cluster.reset();
  set_cluster(function, launch);
  check_dynamic_shared(function, launch);
}

// Gives the node of a captured launch the attributes of the launch and the priority of the stream. Measured
// on an H200, driver 580.
KernelLaunch captured(KernelLaunch &&command, const Stream &stream, const LaunchOptions &launch) {
  NodeAttributes attributes = launch.node_attributes;
  if (stream.priority != 0) {
    CUlaunchAttributeValue value{};
    value.priority = stream.priority;
    attributes.try_emplace(CU_LAUNCH_ATTRIBUTE_PRIORITY, value);
  }
  if (!attributes.empty()) command.attributes = std::make_shared<const NodeAttributes>(std::move(attributes));
  command.is_captured = true;
  return std::move(command);
}

}  // namespace

CUresult launch(Call &call, Function &function, CUstream into, const LaunchOptions &launch, void **pointers,
                void **extra) {
  Stream &stream = require_own_stream(call, function, into);
  const std::optional<CapturePoint> before =
      stream.capture != nullptr ? std::optional(*stream.capture) : std::nullopt;
  try {
    if (before) check_before_parameters(function, launch);
    if (before && launch.is_programmatic) depend_programmatically(call, *stream.capture);
    KernelLaunch command = describe_launch(call, function, launch, pointers, extra);
    submit(call, stream, before ? captured(std::move(command), stream, launch) : std::move(command));
    record_events(call, stream, launch);
  } catch (const ParameterError &) {
    // Leaves the capture valid. Too many packed parameters are another error than outside of captures.
    // Measured, driver 580.
    if (before) *stream.capture = *before;
    require(stream.capture == nullptr);
    throw;
  } catch (const CallError &error) {
    if (stream.capture == nullptr) throw;
    refuse_in_capture(stream, error.code);
  }
  return CUDA_SUCCESS;
}

namespace {

// Returns a function, or the function of a kernel in the context of the stream. The errors that captures
// cause, and a default stream without a context, come before the handle is looked at. Measured, driver 580.
Function &function_for(Call &call, CUfunction handle, CUstream stream) {
  if (!call.system.captures.empty()) call.stream(stream);
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) call.context();
  Kernel *const kernel = call.system.handles.find<Kernel>(handle);
  return kernel != nullptr ? call.function_of_kernel(*kernel, *call.stream(stream).context)
                           : call.function(handle);
}

// ---- The entry points ----

CUresult launch_kernel(Call &call, CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared,
                       CUstream stream, void **pointers, void **extra) {
  return launch(call, function_for(call, handle, stream), stream,
                {{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {}, dynamic_shared}}, pointers,
                extra);
}

CUresult launch_cooperative(Call &call, CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared,
                            CUstream stream, void **pointers) {
  return launch(call, function_for(call, handle, stream), stream,
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
  Function &function = function_for(call, handle, config->hStream);
  const Stream &stream = require_own_stream(call, function, config->hStream);
  if (stream.capture == nullptr) check_block_of(function, made.shape.block);
  // Errors leave the capture valid.
  take_attributes(call, *stream.context, std::span(config->attrs, config->numAttrs),
                  stream.capture != nullptr, made);
  return launch(call, function, config->hStream, made, pointers, extra);
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
                                  describe_launch(call, function, {shape, true}, one.kernelParams, nullptr)));
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

}  // namespace

constinit const Entries entries_of_launches = {
    entry<"cuLaunchKernel", launch_kernel>,
    entry<"cuLaunchCooperativeKernelMultiDevice", launch_on_devices>,
    entry<"cuLaunchCooperativeKernel", launch_cooperative>,
    entry<"cuLaunchKernelEx", launch_with_attributes>,
};

}  // namespace cushim::sim

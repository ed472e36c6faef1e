// SPDX-License-Identifier: Apache-2.0
#include "api/service.hpp"
#include "commands/submit.hpp"

namespace cushim::sim {

PreparedCommand prepare(Call &call, Context &context, const HostFunction &command) {
  return {
      {.cost = call.costs(context).host_function, .on_host = [command] { command.function(command.data); }}};
}

namespace {

CUresult launch(Call &call, CUstream handle, CUhostFn function, void *data) {
  require(function != nullptr);
  Stream &stream = call.stream(handle);
  call.system.engine.start_host_thread();
  submit(call, stream, HostFunction{function, data});
  return CUDA_SUCCESS;
}

// Ignores the mode, which selects how the driver's thread waits for the function: it does not affect results.
CUresult launch_with_mode(Call &call, CUstream stream, CUhostFn function, void *data, unsigned mode) {
  require(mode <= 1);  // CU_HOST_TASK_SPINWAIT, since 13.1
  return launch(call, stream, function, data);
}

CUresult add_callback(Call &call, CUstream handle, CUstreamCallback callback, void *data, unsigned flags) {
  require(callback != nullptr && flags == 0);
  Stream &stream = call.stream(handle);
  call.system.engine.start_host_thread();
  call.enqueue(stream, {.cost = call.costs(*stream.context).host_function,
                        .on_host = [handle, callback, data] { callback(handle, CUDA_SUCCESS, data); }});
  return CUDA_SUCCESS;
}

}  // namespace

void serve_host_functions(Service &service) {
  service.serve<"cuLaunchHostFunc_v10000", launch>();
  service.serve<"cuLaunchHostFunc_v13010", launch_with_mode>();
  service.serve<"cuStreamAddCallback", add_callback>();
}

}  // namespace cushim::sim

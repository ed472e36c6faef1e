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
  service.serve<"cuLaunchHostFunc", launch>();
  service.serve<"cuStreamAddCallback", add_callback>();
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
#include "api/service.hpp"

namespace cushim::sim {
namespace {

CUresult launch(Call &call, CUstream handle, CUhostFn function, void *data) {
  require(function != nullptr);
  Stream &stream = call.stream(handle);
  call.system.engine.start_host_thread();
  call.enqueue(stream, {.cost = call.costs(*stream.context).host_function,
                        .on_host = [function, data] { function(data); }});
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
  service.serve<Entry::cuLaunchHostFunc_v10000, launch>();
  service.serve<Entry::cuLaunchHostFunc_v10000_ptsz, launch>();
  service.serve<Entry::cuStreamAddCallback_v5000, add_callback>();
  service.serve<Entry::cuStreamAddCallback_v7000_ptsz, add_callback>();
}

}  // namespace cushim::sim

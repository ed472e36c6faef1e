// SPDX-License-Identifier: Apache-2.0
// The other process of the statements about events.
#include <optional>

#include "ipc_events.hpp"

namespace conformance {
namespace {

struct Peer {
  explicit Peer(cushim::testing::Channel &parent) : parent(parent) {
    make_context();
    NEED(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }

  CUresult copy() {
    const auto handle = parent.receive<CUipcMemHandle>();
    CUdeviceptr from = 0;
    unsigned char byte = 0;
    NEED(driver().cuIpcOpenMemHandle(&from, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    NEED(driver().cuMemcpyDtoHAsync(&byte, from, 1, stream));
    const CUresult code = driver().cuStreamSynchronize(stream);
    parent.send(int{byte});
    NEED(driver().cuIpcCloseMemHandle(from));
    return code;
  }

  CUresult run(Do what) {
    float milliseconds = 0;
    CUipcEventHandle out = {};
    switch (what) {
      case Do::create:
        NEED(driver().cuEventCreate(&event, kShared));
        NEED(driver().cuIpcGetEventHandle(&out, event));
        parent.send(out);
        return CUDA_SUCCESS;
      case Do::open:
        handle = parent.receive<CUipcEventHandle>();
        return driver().cuIpcOpenEventHandle(&event, handle);
      case Do::open_again: {
        const CUresult code = driver().cuIpcOpenEventHandle(&second, handle);
        parent.send(event != second);
        return code;
      }
      case Do::query_again:
        return driver().cuEventQuery(second);
      case Do::export_again:
        return driver().cuIpcGetEventHandle(&out, event);
      case Do::query:
        return driver().cuEventQuery(event);
      case Do::synchronize:
        return driver().cuEventSynchronize(event);
      case Do::elapsed:
        return driver().cuEventElapsedTime(&milliseconds, event, event);
      case Do::record:
        return driver().cuEventRecord(event, stream);
      case Do::hold:
        held.emplace(hold(stream));
        return CUDA_SUCCESS;
      case Do::release:
        held->release();
        return CUDA_SUCCESS;
      case Do::wait:
        return driver().cuStreamWaitEvent(stream, event, 0);
      case Do::query_stream:
        return driver().cuStreamQuery(stream);
      case Do::synchronize_stream:
        return driver().cuStreamSynchronize(stream);
      case Do::copy:
        return copy();
      case Do::destroy:
        return driver().cuEventDestroy(event);
      case Do::end:
        break;
    }
    return CUDA_SUCCESS;
  }

  cushim::testing::Channel &parent;
  CUstream stream = nullptr;
  CUevent event = nullptr, second = nullptr;
  CUipcEventHandle handle = {};
  std::optional<Hold> held{};
};

CUSHIM_CHILD(event_peer) {
  Peer peer(parent);
  for (auto what = parent.receive<Do>(); what != Do::end; what = parent.receive<Do>())
    parent.send(peer.run(what));
}

}  // namespace
}  // namespace conformance

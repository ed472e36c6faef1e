// SPDX-License-Identifier: Apache-2.0
// Two processes with events.
#pragma once

#include "ipc.hpp"

namespace conformance {

constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

// ---- A process that executes commands and returns the driver's result codes ----

enum class Do {
  create,        // an interprocess event; sends its handle
  open,          // opens the handle that follows
  open_again,    // opens the same handle again; sends whether the second event differs from the first
  query_again,   // queries the second event
  export_again,  // exports the opened event
  query,
  synchronize,
  elapsed,
  record,
  hold,
  release,
  wait,
  query_stream,
  synchronize_stream,
  copy,  // copies a byte from the memory whose handle follows, in stream order, and sends it
  destroy,
  end,
};

class IpcEvents : public Exporting<CUipcEventHandle, CUevent> {};

// The other process of a test.
class Other {
 public:
  Other() = default;
  // Opens an event.
  explicit Other(const CUipcEventHandle &handle) { NEED(open(handle)); }
  CUresult operator()(Do what) {
    child_.send(what);
    return child_.receive<CUresult>();
  }
  CUresult open(const CUipcEventHandle &handle) {
    child_.send(Do::open);
    child_.send(handle);
    return child_.receive<CUresult>();
  }
  CUipcEventHandle create() {
    child_.send(Do::create);
    const auto handle = child_.receive<CUipcEventHandle>();
    child_.receive<CUresult>();
    return handle;
  }
  bool is_another_when_opened_again(CUresult &code) {
    child_.send(Do::open_again);
    const bool is_another = child_.receive<bool>();
    code = child_.receive<CUresult>();
    return is_another;
  }
  int copied(const CUipcMemHandle &handle) {
    child_.send(Do::copy);
    child_.send(handle);
    const int byte = child_.receive<int>();
    child_.receive<CUresult>();
    return byte;
  }
  int end() {
    child_.send(Do::end);
    return child_.wait();
  }
  void kill() { child_.kill(); }

 private:
  Child child_{"event_peer"};
};

}  // namespace conformance

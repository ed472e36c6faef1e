// SPDX-License-Identifier: Apache-2.0
// Streams, captures and events.
#include "make_object.hpp"

namespace arguments {

CUstream Objects::stream_with(CUstream_flags flags, std::string_view name) {
  return once<CUstream>(name, [&](CUstream *made) { return driver_->cuStreamCreate(made, flags); });
}
CUstream Objects::stream() { return stream_with(CU_STREAM_NON_BLOCKING, "stream"); }
CUstream Objects::other_stream() { return stream_with(CU_STREAM_NON_BLOCKING, "other stream"); }
CUstream Objects::blocking_stream() { return stream_with(CU_STREAM_DEFAULT, "blocking stream"); }
Flag Objects::flag() {
  void *const value = once<void *>(
      "flag", [this](void **made) { return driver_->cuMemHostAlloc(made, sizeof(std::uint32_t), 0); },
      [this](void *memory) { driver_->cuMemFreeHost(memory); });
  Flag flag{static_cast<volatile std::uint32_t *>(value), 0};
  if (driver_ == nullptr) return flag;
  *flag.value = 0;
  check(driver_->cuMemHostGetDevicePointer(&flag.address, value, 0), "flag");
  return flag;
}
CUstream Objects::capturing() {
  return once<CUstream>(
      "capturing stream",
      [this](CUstream *made) {
        check(driver_->cuStreamCreate(made, CU_STREAM_NON_BLOCKING), "capturing stream");
        return driver_->cuStreamBeginCapture(*made, CU_STREAM_CAPTURE_MODE_RELAXED);
      },
      [this](CUstream stream) {
        CUgraph captured = nullptr;
        driver_->cuStreamEndCapture(stream, &captured);
        if (captured != nullptr) driver_->cuGraphDestroy(captured);
        driver_->cuStreamDestroy(stream);
      });
}
CUstream Objects::stream_to_capture() {
  const CUstream captured = stream();
  undo_later("capture", [this, captured] {
    for (const CUstream one : {captured, CU_STREAM_PER_THREAD}) {
      CUgraph made = nullptr;
      driver_->cuStreamEndCapture(one, &made);
      const auto is_it = [made](const Named &named) { return named.handle == number_of(made); };
      if (made != nullptr && std::ranges::none_of(named_, is_it)) driver_->cuGraphDestroy(made);
    }
  });
  return captured;
}
List<CUstreamCaptureMode> Objects::capture_mode_to_exchange() {
  undo_later("capture mode", [this] {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    driver_->cuThreadExchangeStreamCaptureMode(&mode);
  });
  return list({CU_STREAM_CAPTURE_MODE_RELAXED});
}

CUevent Objects::event() {
  return once<CUevent>("event", [this](CUevent *made) {
    check(driver_->cuEventCreate(made, CU_EVENT_DEFAULT), "event");
    check(driver_->cuEventRecord(*made, stream()), "event");
    return driver_->cuStreamSynchronize(stream());
  });
}
CUevent Objects::other_event() {
  return once<CUevent>("other event",
                       [this](CUevent *made) { return driver_->cuEventCreate(made, CU_EVENT_DEFAULT); });
}
CUevent Objects::ipc_event() {
  return once<CUevent>("IPC event", [this](CUevent *made) {
    return driver_->cuEventCreate(made, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  });
}

}  // namespace arguments

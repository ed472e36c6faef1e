// SPDX-License-Identifier: Apache-2.0
#include "hazards/host_function.hpp"

#include <cushim/exact.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace cushim::check {
namespace {

// The program's function and data, which the driver gets wrapped.
struct Wrapped {
  HostFunction told;
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;
  void *data = nullptr;
};

// The wrapped functions that the driver holds. One that never runs is never freed: whether the driver still
// holds it cannot be known.
class Pending {
 public:
  Wrapped *add(Wrapped wrapped) {
    auto owned = std::make_unique<Wrapped>(std::move(wrapped));
    Wrapped *const added = owned.get();
    const std::lock_guard lock(mutex_);
    all_[added] = std::move(owned);
    return added;
  }
  std::unique_ptr<Wrapped> take(void *data) {
    const std::lock_guard lock(mutex_);
    return std::move(all_.extract(data).mapped());
  }

 private:
  std::mutex mutex_;
  std::map<void *, std::unique_ptr<Wrapped>> all_;
};

Pending &pending() {
  static Pending &pending = *new Pending;
  return pending;
}

template <class Call>
void run(void *data, Call call) {
  const std::unique_ptr<Wrapped> wrapped = pending().take(data);
  if (wrapped->told.begin) wrapped->told.begin();
  call(*wrapped);
  if (wrapped->told.end) wrapped->told.end(true);
}

void CUDA_CB run_function(void *data) {
  run(data, [](const Wrapped &wrapped) { wrapped.function(wrapped.data); });
}

void CUDA_CB run_callback(CUstream stream, CUresult status, void *data) {
  run(data, [&](const Wrapped &wrapped) { wrapped.callback(stream, status, wrapped.data); });
}

CUresult refused(CUresult result, Wrapped *wrapped) {
  if (result == CUDA_SUCCESS) return result;
  const std::unique_ptr<Wrapped> own = pending().take(wrapped);
  if (own->told.end) own->told.end(false);
  return result;
}

using Made = std::function<HostFunction(int, CUstream)>;

// Returns whether the function becomes a node of a graph, which runs any number of times.
template <Entry entry>
bool is_captured(Driver &driver, CUstream stream) {
  if (stream == nullptr && cushim_entry(static_cast<int>(entry))->thread[0] != '\0')
    stream = CU_STREAM_PER_THREAD;
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return false;
  CUstreamCaptureStatus status{};
  return exact::cuStreamIsCapturing_v10000(driver)(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

template <Entry entry>
hook::Hook wrap_function(Driver &driver, const Made &made) {
  return hook::replace<entry>(driver, [made, &driver](const auto &next, CUstream stream, CUhostFn function,
                                                      void *data, auto... rest) {
    if (function == nullptr || is_captured<entry>(driver, stream))
      return next(stream, function, data, rest...);
    Wrapped *const wrapped =
        pending().add({.told = made(static_cast<int>(entry), stream), .function = function, .data = data});
    return refused(next(stream, run_function, wrapped, rest...), wrapped);
  });
}

template <Entry entry>
hook::Hook wrap_callback(Driver &driver, const Made &made) {
  return hook::replace<entry>(driver, [made, &driver](const auto &next, CUstream stream,
                                                      CUstreamCallback callback, void *data, unsigned flags) {
    if (callback == nullptr || is_captured<entry>(driver, stream)) return next(stream, callback, data, flags);
    Wrapped *const wrapped =
        pending().add({.told = made(static_cast<int>(entry), stream), .callback = callback, .data = data});
    return refused(next(stream, run_callback, wrapped, flags), wrapped);
  });
}

}  // namespace

void wrap_host_functions(Driver &driver, std::vector<hook::Hook> &hooks,
                         const std::function<HostFunction(int slot, CUstream stream)> &made) {
  hooks.push_back(wrap_function<Entry::cuLaunchHostFunc_v10000>(driver, made));
  hooks.push_back(wrap_function<Entry::cuLaunchHostFunc_v10000_ptsz>(driver, made));
  hooks.push_back(wrap_function<Entry::cuLaunchHostFunc_v13010>(driver, made));
  hooks.push_back(wrap_function<Entry::cuLaunchHostFunc_v13010_ptsz>(driver, made));
  hooks.push_back(wrap_callback<Entry::cuStreamAddCallback_v5000>(driver, made));
  hooks.push_back(wrap_callback<Entry::cuStreamAddCallback_v7000_ptsz>(driver, made));
}

}  // namespace cushim::check

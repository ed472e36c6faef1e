// SPDX-License-Identifier: Apache-2.0
// Streams and events of walks about graphs, and work in them.
#include "graph_objects.hpp"

namespace differential {
namespace {

void create_stream(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.s.size()));
  if (w.s[k].handle != nullptr) return;
  const auto flags = number(w.dice.one_of({0U, 1U, 1U, 1U, 1U}));
  if (CALL(w, cuStreamCreate, argument(&w.s[k].handle, fmt::format("&s[{}]", k)), flags) != CUDA_SUCCESS)
    w.s[k].handle = nullptr;
}

void destroy_stream(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.s.size()));
  if (w.s[k].handle == nullptr) return;
  settle(w);
  if (CALL(w, cuStreamDestroy, argument(w.s[k].handle, fmt::format("s[{}]", k))) != CUDA_SUCCESS) return;
  has_lost_capture(w, w.s[k].handle);
  w.s[k] = {};
}

void create_event(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.e.size()));
  if (w.e[k].handle != nullptr) return;
  const auto flags = number(w.dice.one_of({0U, 2U, 1U, 2U}));
  if (CALL(w, cuEventCreate, argument(&w.e[k].handle, fmt::format("&e[{}]", k)), flags) != CUDA_SUCCESS)
    w.e[k].handle = nullptr;
}

// Nodes keep their events.
void destroy_event(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.e.size()));
  if (w.e[k].handle == nullptr || w.subject != Subject::kernels) return;
  settle(w);
  if (CALL(w, cuEventDestroy, argument(w.e[k].handle, fmt::format("e[{}]", k))) == CUDA_SUCCESS) w.e[k] = {};
}

void record(Walk &w) {
  const auto event = w.an_event();
  const auto stream = a_graph_stream(w);
  if (w.dice.once_in(5)) {
    const auto flags = number(w.dice.one_of({0U, 1U, 1U, 2U}));
    CALL(w, cuEventRecordWithFlags, event, stream, flags);
  } else {
    CALL(w, cuEventRecord, event, stream);
  }
  settle(w);
}

void wait(Walk &w) {
  const auto event = w.an_event();
  const auto stream = a_graph_stream(w);
  const auto flags = number(w.dice.one_of({0U, 0U, 0U, 0U, 0U, 1U, 2U}));
  CALL(w, cuStreamWaitEvent, stream, event, flags);
  settle(w);
}

void query(Walk &w) {
  settle(w);
  switch (w.dice.below(5)) {
    case 0: {
      const auto event = w.an_event();
      CALL(w, cuEventQuery, event);
      return;
    }
    case 1: {
      const auto event = w.an_event();
      CALL(w, cuEventSynchronize, event);
      return;
    }
    case 2:
      CALL(w, cuStreamQuery, a_graph_stream(w));
      return;
    case 3:
      CALL(w, cuStreamSynchronize, a_graph_stream(w));
      return;
    default:
      if (w.dice.once_in(3)) CALL(w, cuCtxSynchronize);
  }
}

void set_memory(Walk &w) {
  const auto stream = a_graph_stream(w);
  const auto to = a_place(w);
  const unsigned value = w.dice.below(200);
  switch (w.dice.below(6)) {
    case 0:
      CALL(w, cuMemsetD32, to, number(value), bytes(2));
      break;
    case 1:
      CALL(w, cuMemsetD8Async, to, argument(static_cast<unsigned char>(value), std::to_string(value)),
           bytes(5), stream);
      break;
    case 2:
      CALL(w, cuMemsetD16Async, to, argument(static_cast<unsigned short>(value), std::to_string(value)),
           bytes(3), stream);
      break;
    case 3:
      CALL(w, cuMemsetD2D8Async, to, bytes(8),
           argument(static_cast<unsigned char>(value), std::to_string(value)),
           bytes(w.dice.once_in(5) ? 9 : 4), bytes(2), stream);
      break;
    default:
      CALL(w, cuMemsetD32Async, to, number(value), bytes(w.dice.once_in(9) ? 0 : 3), stream);
  }
  settle(w);
}

void copy(Walk &w) {
  const auto stream = a_graph_stream(w);
  const auto to = a_place(w);
  const unsigned from = 16 * w.dice.below(255);
  const auto source = argument(objects(w).memory + from, fmt::format("memory + {}", from));
  switch (w.dice.below(6)) {
    case 0:
      CALL(w, cuMemcpyDtoD, to, source, bytes(12));
      break;
    case 1:
      CALL(w, cuMemcpyAsync, to, source, bytes(9), stream);
      break;
    case 2:
      CALL(w, cuMemcpyDtoDAsync, argument<CUdeviceptr>(0, "0"), source, bytes(8), stream);
      break;
    default:
      CALL(w, cuMemcpyDtoDAsync, to, source, bytes(w.dice.once_in(9) ? 0 : 16), stream);
  }
  settle(w);
}

void count(void *counter) { ++*static_cast<std::atomic<unsigned> *>(counter); }
void callback(CUstream, CUresult, void *counter) { count(counter); }

void host_function(Walk &w) {
  const auto stream = a_graph_stream(w);
  const auto counter = Argument<void *>{&w.host_functions, "&host_functions"};
  if (w.dice.once_in(6))
    CALL(w, cuStreamAddCallback, stream, argument<CUstreamCallback>(callback, "callback"), counter,
         number(0));
  else
    CALL(w, cuLaunchHostFunc, stream, argument<CUhostFn>(w.dice.once_in(15) ? nullptr : count, "count"),
         counter);
  settle(w);
}

void memory_operation(Walk &w) {
  const auto stream = a_graph_stream(w);
  const auto to = a_place(w);
  const auto value = number(w.dice.below(1000));
  if (w.dice.once_in(2)) {
    CUstreamBatchMemOpParams operation{};
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = to.value;
    operation.writeValue.value = value.value;
    CALL(w, cuStreamBatchMemOp, stream, number(1), argument(&operation, to.text), number(0));
  } else {
    CALL(w, cuStreamWriteValue32, stream, to, value, number(0));
  }
  settle(w);
}

void allocate(Walk &w) {
  const auto stream = a_graph_stream(w);
  if (w.subject != Subject::captures) return;
  CUdeviceptr address = 0;
  const auto size = bytes(w.dice.one_of<std::size_t>({4096, 100, 0, 4'000'000}));
  if (CALL(w, cuMemAllocAsync, argument(&address, "&address"), size, stream) != CUDA_SUCCESS || address == 0)
    return;
  objects(w).allocated.push_back(address);
  if (CALL(w, cuMemsetD32Async, argument(address, "address"), number(7), bytes(4), stream) != CUDA_SUCCESS)
    return;
  if (w.dice.once_in(4)) return;
  CALL(w, cuMemFreeAsync, argument(address, "address"), stream);
  settle(w);
}

// Compares 1 KiB of memory.
void look(Walk &w) {
  settle(w);
  const unsigned at = 4096 + 1024 * w.dice.below(16);
  std::array<unsigned char, 1024> found{};
  if (CALL(w, cuMemcpyDtoH, Argument<void *>{found.data(), "found"},
           argument(objects(w).memory + at, fmt::format("memory + {}", at)), bytes(1024)) == CUDA_SUCCESS)
    w.also(digest(found));
}

// Compares all memory and the number of host functions.
void look_at_all(Walk &w) {
  settle(w);
  w.call("ran", "", [] { return CUDA_SUCCESS; });
  w.also(fmt::format("{} {}", w.host_functions.load(), objects(w).destructors.load()));
}

void change_context(Walk &w) {
  if (!w.dice.once_in(3) || w.current() != w.shared.c[0]) {
    if (w.current() == w.shared.c[0]) return;
    if (CALL(w, cuCtxSetCurrent, argument(w.shared.c[0], "c[0]")) == CUDA_SUCCESS) w.has_set(w.shared.c[0]);
    return;
  }
  const auto context =
      w.dice.once_in(3) ? argument<CUcontext>(nullptr, "nullptr") : argument(w.shared.c[1], "c[1]");
  if (CALL(w, cuCtxSetCurrent, context) == CUDA_SUCCESS) w.has_set(context.value);
}

}  // namespace

void begin_objects(Walk &w) {
  GraphObjects &o = objects(w);
  if (w.subject == Subject::kernels) return;
  if (CALL(w, cuModuleLoadData, argument(&o.modules[0].handle, "&modules[0]"),
           argument<const void *>(images[0], "images[0]")) == CUDA_SUCCESS)
    for (const unsigned name : {0U, 1U, 2U, 7U}) {
      const unsigned at = name == 7 ? 3 : name;
      if (CALL(w, cuModuleGetFunction, argument(&o.f[at].handle, fmt::format("&f[{}]", at)),
               argument(o.modules[0].handle, "modules[0]"),
               argument(kernel_names[name], kernel_names[name])) == CUDA_SUCCESS)
        o.f[at] = {o.f[at].handle, o.modules[0].handle, nullptr, name};
    }
  for (unsigned k = 0; k < 3; ++k) {
    CALL(w, cuStreamCreate, argument(&w.s[k].handle, fmt::format("&s[{}]", k)), number(1));
    CALL(w, cuEventCreate, argument(&w.e[k].handle, fmt::format("&e[{}]", k)), number(k % 2 == 0 ? 2 : 0));
  }
  CALL(w, cuGraphCreate, argument(&o.g[0].handle, "&g[0]"), number(0));
}

Choices graph_stream_choices() {
  return Choices({
      {3, create_stream},
      {1, destroy_stream},
      {3, create_event},
      {1, destroy_event},
      {4, record},
      {3, wait},
      {4, query},
      {3, set_memory},
      {3, copy},
      {2, host_function},
      {1, memory_operation},
      {2, allocate},
      {4, look},
      {2, look_at_all},
      {2, change_context},
  });
}

Choices captured_work_choices() {
  return Choices({
      {4, record},
      {4, wait},
      {4, set_memory},
      {3, copy},
  });
}

}  // namespace differential

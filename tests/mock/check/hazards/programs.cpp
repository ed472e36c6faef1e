// SPDX-License-Identifier: Apache-2.0
#include "programs.hpp"

#include <cushim/driver.hpp>

#include <functional>
#include <stdexcept>

namespace hazards {
namespace {

using cushim::driver;

void need(CUresult code, const char *call) {
  if (code != CUDA_SUCCESS) throw std::runtime_error(std::string(call) + " answered " + std::to_string(code));
}
#define NEED(call) need(driver().call, #call)

// The objects that the programs create, which its destructor frees.
class Program {
 public:
  Program(int streams, Version which) : version(which) {
    NEED(cuCtxGetCurrent(&context));
    make_streams(streams);
    NEED(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    for (CUevent *each : {&event, &other}) NEED(cuEventCreate(each, CU_EVENT_DISABLE_TIMING));
    NEED(cuMemAlloc(&memory, kSize));
    NEED(cuMemAlloc(&spare, kSize));
    NEED(cuMemAllocManaged(&managed, kSize, CU_MEM_ATTACH_GLOBAL));
    NEED(cuMemAllocPitch(&rows, &pitch, kWidth, kRows, 4));
    for (void **each : {&pinned, &spare_pinned}) NEED(cuMemHostAlloc(each, kSize, CU_MEMHOSTALLOC_PORTABLE));
    const CUDA_ARRAY_DESCRIPTOR square{
        .Width = 64, .Height = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    NEED(cuArrayCreate(&array, &square));
  }
  ~Program() {
    driver().cuCtxSynchronize();
    driver().cuStreamSynchronize(second);
    if (pool != 0 && !is_freed) driver().cuMemFree(pool);
    driver().cuArrayDestroy(array);
    for (void *each : {pinned, spare_pinned}) driver().cuMemFreeHost(each);
    for (const CUdeviceptr each : {memory, spare, managed, rows}) driver().cuMemFree(each);
    for (const CUevent each : {event, other}) driver().cuEventDestroy(each);
    for (const CUstream each : made_) driver().cuStreamDestroy(each);
    driver().cuStreamDestroy(third);
    if (second_context != nullptr) driver().cuCtxDestroy(second_context);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const Version version;
  static constexpr std::size_t kSize = 4096, kWidth = 100, kRows = 8;

  CUcontext context = nullptr, second_context = nullptr;
  CUstream first = nullptr, second = nullptr, third = nullptr;
  CUevent event = nullptr, other = nullptr;
  CUdeviceptr memory = 0, spare = 0, managed = 0, rows = 0, pool = 0;
  bool is_freed = false;
  std::size_t pitch = 0;
  void *pinned = nullptr, *spare_pinned = nullptr;
  CUarray array = nullptr;

 private:
  CUstream stream(unsigned flags) {
    CUstream made = nullptr;
    NEED(cuStreamCreate(&made, flags));
    made_.push_back(made);
    return made;
  }
  void make_streams(int streams);

  std::vector<CUstream> made_;
};

// ---- Pairs of streams ----

const char *const kStreamNames[kStreamPairs] = {"non_blocking",
                                                "blocking_and_non_blocking",
                                                "blocking",
                                                "non_blocking_and_legacy",
                                                "legacy_and_non_blocking",
                                                "per_thread_and_non_blocking",
                                                "non_blocking_and_per_thread",
                                                "of_two_priorities",
                                                "of_two_contexts"};

constexpr int kTwoContexts = 8;

void Program::make_streams(int streams) {
  constexpr unsigned kFree = CU_STREAM_NON_BLOCKING, kBlocking = CU_STREAM_DEFAULT;
  switch (streams) {
    case 0:
      first = stream(kFree), second = stream(kFree);
      return;
    case 1:
      first = stream(kBlocking), second = stream(kFree);
      return;
    case 2:
      first = stream(kBlocking), second = stream(kBlocking);
      return;
    case 3:
      first = stream(kFree), second = CU_STREAM_LEGACY;
      return;
    case 4:
      first = nullptr, second = stream(kFree);
      return;
    case 5:
      first = CU_STREAM_PER_THREAD, second = stream(kFree);
      return;
    case 6:
      first = stream(kFree), second = CU_STREAM_PER_THREAD;
      return;
    case 7:
      for (CUstream *each : {&first, &second}) {
        NEED(cuStreamCreateWithPriority(each, kFree, each == &first ? 0 : -1));
        made_.push_back(*each);
      }
      return;
    default:
      first = stream(kBlocking);
      CUdevice device = 0;
      NEED(cuCtxGetDevice(&device));
#undef cuCtxCreate
      NEED(cuCtxCreate_v2(&second_context, 0, device));  // and makes it current
      second = stream(kBlocking);
      NEED(cuCtxSetCurrent(context));
  }
}

// ---- Work: both halves use the same bytes, and at least one of them writes ----

struct Work {
  const char *name;
  void (*first)(Program &, CUstream);
  void (*second)(Program &, CUstream);
  bool is_of_one_context = false;
};

CUDA_MEMCPY2D rows_copy(CUdeviceptr to, CUdeviceptr from, std::size_t pitch) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from, copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = pitch;
  copy.WidthInBytes = 32, copy.Height = 4;
  return copy;
}

CUDA_MEMCPY3D box_copy(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from, copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = 64;
  copy.srcHeight = copy.dstHeight = 8;
  copy.WidthInBytes = 16, copy.Height = 4, copy.Depth = 3;
  return copy;
}

const Work kAll[kWorks] = {
    {"set_then_copy", [](Program &p, CUstream s) { NEED(cuMemsetD8Async(p.memory, 1, 512, s)); },
     [](Program &p, CUstream s) { NEED(cuMemcpyDtoDAsync(p.spare, p.memory, 512, s)); }},
    {"set_then_download", [](Program &p, CUstream s) { NEED(cuMemsetD32Async(p.memory, 1, 64, s)); },
     [](Program &p, CUstream s) { NEED(cuMemcpyDtoHAsync(p.pinned, p.memory, 256, s)); }},
    {"upload_then_copy", [](Program &p, CUstream s) { NEED(cuMemcpyHtoDAsync(p.memory, p.pinned, 1024, s)); },
     [](Program &p, CUstream s) { NEED(cuMemcpyDtoDAsync(p.spare, p.memory + 512, 1024, s)); }},
    {"copy_then_set_of_the_same",
     [](Program &p, CUstream s) { NEED(cuMemcpyDtoDAsync(p.memory, p.spare, 64, s)); },
     [](Program &p, CUstream s) { NEED(cuMemsetD16Async(p.memory, 2, 32, s)); }},
    {"copy_then_set_of_its_source",
     [](Program &p, CUstream s) { NEED(cuMemcpyDtoDAsync(p.memory, p.spare, 64, s)); },
     [](Program &p, CUstream s) { NEED(cuMemsetD8Async(p.spare + 63, 2, 100, s)); }},
    {"rows_set_then_copied",
     [](Program &p, CUstream s) {
       NEED(cuMemsetD2D8Async(p.rows, p.pitch, 3, Program::kWidth, Program::kRows, s));
     },
     [](Program &p, CUstream s) {
       CUDA_MEMCPY2D copy = rows_copy(p.memory, p.rows, p.pitch);
       copy.dstPitch = 32;
       NEED(cuMemcpy2DAsync(&copy, s));
     }},
    {"rows_copied_then_copied",
     [](Program &p, CUstream s) {
       const CUDA_MEMCPY2D copy = rows_copy(p.rows, p.memory, p.pitch);
       NEED(cuMemcpy2DAsync(&copy, s));
     },
     [](Program &p, CUstream s) {
       CUDA_MEMCPY2D copy = rows_copy(p.spare, p.rows + 3 * p.pitch + 31, p.pitch);
       NEED(cuMemcpy2DAsync(&copy, s));
     }},
    {"download_then_upload",
     [](Program &p, CUstream s) { NEED(cuMemcpyDtoHAsync(p.pinned, p.memory, 128, s)); },
     [](Program &p, CUstream s) { NEED(cuMemcpyHtoDAsync(p.spare, p.pinned, 128, s)); }},
    {"upload_then_download_over_its_source",
     [](Program &p, CUstream s) { NEED(cuMemcpyHtoDAsync(p.memory, p.pinned, 128, s)); },
     [](Program &p, CUstream s) {
       NEED(cuMemcpyDtoHAsync(static_cast<char *>(p.pinned) + 100, p.spare, 28, s));
     }},
    {"managed_set_then_copy", [](Program &p, CUstream s) { NEED(cuMemsetD32Async(p.managed, 9, 16, s)); },
     [](Program &p, CUstream s) { NEED(cuMemcpyAsync(p.spare, p.managed, 64, s)); }, true},
    {"copies_of_unified_addresses",
     [](Program &p, CUstream s) {
       NEED(cuMemcpyAsync(p.memory, reinterpret_cast<CUdeviceptr>(p.pinned), 777, s));
     },
     [](Program &p, CUstream s) {
       NEED(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(p.spare_pinned), p.memory + 776, 777, s));
     }},
    {"boxes_copied_then_copied",
     [](Program &p, CUstream s) {
       const CUDA_MEMCPY3D copy = box_copy(p.memory, p.spare);
       NEED(cuMemcpy3DAsync(&copy, s));
     },
     [](Program &p, CUstream s) {
       const CUDA_MEMCPY3D copy = box_copy(p.spare + 2048, p.memory);
       NEED(cuMemcpy3DAsync(&copy, s));
     }},
    {"array_filled_then_read",
     [](Program &p, CUstream s) {
       CUDA_MEMCPY2D copy = rows_copy(0, p.memory, 64);
       copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = p.array;
       NEED(cuMemcpy2DAsync(&copy, s));
     },
     [](Program &p, CUstream s) {
       CUDA_MEMCPY2D copy = rows_copy(p.spare, 0, 64);
       copy.srcMemoryType = CU_MEMORYTYPE_ARRAY, copy.srcArray = p.array;
       copy.srcXInBytes = 16, copy.srcY = 2;
       NEED(cuMemcpy2DAsync(&copy, s));
     },
     true},
    {"allocated_then_set", [](Program &p, CUstream s) { NEED(cuMemAllocAsync(&p.pool, 4096, s)); },
     [](Program &p, CUstream s) { NEED(cuMemsetD8Async(p.pool, 0, 4096, s)); }, true},
    {"set_then_freed",
     [](Program &p, CUstream s) {
       NEED(cuMemAllocAsync(&p.pool, 4096, s));
       NEED(cuMemsetD8Async(p.pool, 0, 64, s));
     },
     [](Program &p, CUstream s) {
       NEED(cuMemFreeAsync(p.pool, s));
       p.is_freed = true;
     },
     true},
    {"set_then_set_of_the_last_byte",
     [](Program &p, CUstream s) { NEED(cuMemsetD8Async(p.memory, 1, 1000, s)); },
     [](Program &p, CUstream s) { NEED(cuMemsetD8Async(p.memory + 999, 2, 1000, s)); }},
    {"peer_copy_then_peer_copy",
     [](Program &p, CUstream s) {
       NEED(cuMemcpyPeerAsync(p.memory, p.context, p.spare, p.context, 2000, s));
     },
     [](Program &p, CUstream s) {
       NEED(cuMemcpyPeerAsync(p.spare + 2000, p.context, p.memory, p.context, 2000, s));
     }},
    {"rows_set_then_range_set",
     [](Program &p, CUstream s) { NEED(cuMemsetD2D16Async(p.rows, p.pitch, 3, 50, Program::kRows, s)); },
     [](Program &p, CUstream s) { NEED(cuMemsetD32Async(p.rows + 2 * p.pitch + 96, 0, 2, s)); }},
};

// ---- Orders: the planted version of each leaves out one wait ----

using Step = std::function<void(Program &, const Work &)>;
using Stream = CUstream Program::*;
using Event = CUevent Program::*;

struct Order {
  const char *name;
  std::vector<Step> steps;
};

constexpr Stream kFirst = &Program::first, kSecond = &Program::second, kThird = &Program::third;
constexpr Event kEvent = &Program::event, kOther = &Program::other;

void do_first(Program &p, const Work &work) { work.first(p, p.first); }
void do_second(Program &p, const Work &work) { work.second(p, p.second); }

Step record(Event event, Stream stream) {
  return [=](Program &p, const Work &) { NEED(cuEventRecord(p.*event, p.*stream)); };
}
Step wait(Stream stream, Event event) {
  return [=](Program &p, const Work &) { NEED(cuStreamWaitEvent(p.*stream, p.*event, 0)); };
}
// The wait that the planted version leaves out.
Step needed_wait(Stream stream, Event event) {
  return [=](Program &p, const Work &work) {
    if (p.version == Version::corrected) wait(stream, event)(p, work);
  };
}

// Writes to memory that the work uses, so that the accesses to it have a history.
void write_in_both_streams(Program &p, const Work &) {
  for (const CUstream stream : {p.first, p.second}) {
    NEED(cuMemsetD8Async(p.memory, 0, 64, stream));
    NEED(cuMemsetD8Async(p.spare, 0, 64, stream));
    NEED(cuStreamSynchronize(stream));
  }
}

const Order kHow[kOrders] = {
    {"an_event", {do_first, record(kEvent, kFirst), needed_wait(kSecond, kEvent), do_second}},
    {"an_event_that_is_recorded_again",
     {record(kEvent, kFirst), wait(kSecond, kEvent), do_first, record(kEvent, kFirst),
      needed_wait(kSecond, kEvent), do_second}},
    {"a_third_stream_that_waits",
     {do_first, record(kEvent, kFirst), needed_wait(kThird, kEvent), record(kOther, kThird),
      wait(kSecond, kOther), do_second}},
    {"a_third_stream_that_is_waited_for",
     {do_first, record(kEvent, kFirst), wait(kThird, kEvent), record(kOther, kThird),
      needed_wait(kSecond, kOther), do_second}},
    {"an_event_among_others",
     {do_first, record(kEvent, kFirst),
      [](Program &p, const Work &) { NEED(cuMemsetD8Async(p.spare + 4000, 1, 8, p.third)); },
      record(kOther, kThird), wait(kSecond, kOther), needed_wait(kSecond, kEvent), do_second}},
    {"an_event_before_and_one_after",
     {record(kEvent, kFirst), do_first, record(kOther, kFirst), wait(kSecond, kEvent),
      needed_wait(kSecond, kOther), do_second}},
    {"an_event_while_the_host_waits_for_another",
     {do_first, record(kEvent, kFirst), record(kOther, kThird),
      [](Program &p, const Work &) {
        NEED(cuEventSynchronize(p.other));
        NEED(cuStreamSynchronize(p.third));
      },
      needed_wait(kSecond, kEvent), do_second}},
    {"an_event_that_is_destroyed",
     {do_first, record(kEvent, kFirst), needed_wait(kSecond, kEvent),
      [](Program &p, const Work &) {
        NEED(cuEventDestroy(p.event));
        NEED(cuEventCreate(&p.event, CU_EVENT_DEFAULT));
      },
      wait(kSecond, kEvent),  // the event is never recorded: no order
      do_second}},
    {"the_host_once_and_an_event_once",
     {write_in_both_streams, do_first, record(kEvent, kFirst), needed_wait(kSecond, kEvent), do_second}},
    {"both_ways",
     {record(kEvent, kSecond), wait(kFirst, kEvent), do_first, record(kOther, kFirst),
      needed_wait(kSecond, kOther), do_second, record(kEvent, kSecond), wait(kFirst, kEvent),
      [](Program &p, const Work &) { NEED(cuMemsetD8Async(p.memory, 0, 64, p.first)); }}},
};

// This order records one event in both streams, so both must be of one context.
constexpr int kBothWays = 9;

}  // namespace

std::vector<Shape> shapes(int count) {
  std::vector<Shape> all;
  for (int i = 0; i < count; ++i) {
    Shape shape{i % kWorks, (i + i / kWorks) % kOrders, (i * 2 + i / kStreamPairs) % kStreamPairs};
    const bool needs_one = kAll[shape.work].is_of_one_context || shape.order == kBothWays;
    if (shape.streams == kTwoContexts && needs_one) shape.streams = 0;
    all.push_back(shape);
  }
  return all;
}

std::string name_of(const Shape &shape) {
  return std::string(kAll[shape.work].name) + "__" + kHow[shape.order].name + "__" +
         kStreamNames[shape.streams];
}

void run(const Shape &shape, Version version) {
  Program program(shape.streams, version);
  for (const Step &step : kHow[shape.order].steps) step(program, kAll[shape.work]);
}

}  // namespace hazards

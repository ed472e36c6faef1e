// SPDX-License-Identifier: Apache-2.0
// Makes random calls of the simulated driver from several threads. All threads create, use and destroy
// contexts, streams, events, memory of every kind and arrays, also through handles and addresses that another
// thread has destroyed. The test fails if a call returns a code that no call may return, if few calls
// succeed, or if memory is left at the end; sanitizers find other errors.
//
//   cushim_sim_stress [--calls N] [--threads N] [--seed N] [--schedule eager|deferred|seeded|background]
//
// Defaults: 20000 calls by 8 threads, seed 1, background. CTest runs a few thousand calls in each schedule;
// the big counts are run by hand in the asan and tsan presets: --calls 10000000 and --calls 1000000.
#include <fcntl.h>
#include <unistd.h>
#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void *file);

namespace {

using namespace cushim;

#if defined(__SANITIZE_THREAD__)
constexpr bool kFindsRaces = true;
#elif defined(__has_feature)
constexpr bool kFindsRaces = __has_feature(thread_sanitizer);
#else
constexpr bool kFindsRaces = false;
#endif

constexpr std::size_t kBytes = 256 << 10;  // of the largest allocation
// Copies of 64 KiB and more run without the machine's lock, so on shared memory they would race in the test
// itself.
constexpr std::size_t kLargestCopy = kFindsRaces ? 32 << 10 : kBytes;
constexpr unsigned kSide = 64;  // of an array side, in bytes
constexpr std::size_t kRegistered = 4096;

struct Settings {
  unsigned long calls = 20'000;
  unsigned threads = 8;
  unsigned long seed = 1;
  std::string schedule = "background";
};

// Handles of one kind that all threads share; 0: no handle.
template <std::size_t count>
class Shared {
 public:
  std::uint64_t any(std::uint64_t random) const { return all_[random % count].load(); }
  std::uint64_t take(std::uint64_t random) { return all_[random % count].exchange(0); }
  // Stores a handle and returns the one that it replaces.
  std::uint64_t put(std::uint64_t random, std::uint64_t handle) {
    return all_[random % count].exchange(handle);
  }
  template <class Visit>
  void drain(Visit visit) {
    for (auto &one : all_)
      if (const std::uint64_t handle = one.exchange(0); handle != 0) visit(handle);
  }

 private:
  std::array<std::atomic<std::uint64_t>, count> all_{};
};

// Gates of the machine. A separate thread opens them, so that no caller waits for itself.
class Gates {
 public:
  void add(sim::Gate &&gate) {
    const std::lock_guard lock(mutex_);
    gates_.push_back(std::move(gate));
    added_.notify_all();
  }

 private:
  void open_all(const std::stop_token &stop) {
    std::unique_lock lock(mutex_);
    while (added_.wait(lock, stop, [this] { return !gates_.empty(); })) gates_.pop_front();
  }

  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<sim::Gate> gates_;
  std::jthread opener_{[this](const std::stop_token &stop) { open_all(stop); }};
};

struct World {
  World(sim::Machine &machine, unsigned long calls) : machine(machine), calls(calls) {}

  sim::Machine &machine;
  const unsigned long calls;  // to be made
  Shared<6> contexts;
  Shared<24> streams;
  Shared<48> events;
  Shared<32> memory;  // device memory, stream-ordered or not, and managed memory
  Shared<12> pinned;
  Shared<12> arrays;
  Shared<6> mipmapped_arrays;
  std::array<std::array<char, kRegistered>, 8> registered{};
  CUcontext primary = nullptr;  // of device 0; retained until the end
  CUdeviceptr flags = 0;        // words from 0 to 7 that only stream operations write
  Gates gates;
  std::atomic<unsigned long> made{0};
  std::mutex mutex;
  std::map<int, unsigned long> answers;  // number of calls by result code
};

template <class Handle>
Handle as(std::uint64_t value) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(value);
  else
    return static_cast<Handle>(value);
}
template <class Handle>
std::uint64_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uint64_t>(handle);
  else
    return handle;
}

class Caller {
 public:
  Caller(World &world, unsigned long seed) : world_(world), random_(seed), host_(kBytes) {}

  void run() {
    prepare();
    while (world_.made < world_.calls) (this->*actions[random_() % std::size(actions)])();
    // Waits for the copies of this worker's own memory.
    d().cuCtxSetCurrent(world_.primary);
    d().cuStreamSynchronize(own_stream_);
    const std::lock_guard lock(world_.mutex);
    for (const auto &[code, count] : answers_) world_.answers[code] += count;
  }

 private:
  static const Driver &d() { return driver(); }

  void prepare() {
    d().cuCtxSetCurrent(world_.primary);
    void *memory = nullptr;
    if (d().cuStreamCreate(&own_stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        d().cuMemAllocHost(&memory, 2 * kBytes) != CUDA_SUCCESS)
      throw std::runtime_error("the driver cannot be used");
    own_ = as<CUdeviceptr>(number_of(memory));
  }

  // Counts a call. If the context has been destroyed, enters another one.
  bool check(CUresult code) {
    ++world_.made;
    ++answers_[code];
    if (code == CUDA_ERROR_CONTEXT_IS_DESTROYED || code == CUDA_ERROR_INVALID_CONTEXT) enter();
    return code == CUDA_SUCCESS;
  }

  std::uint64_t random() { return random_(); }
  std::size_t size() { return 1 + random() % kLargestCopy; }
  std::size_t short_size() { return 1 + random() % 4096; }
  CUstream stream() {
    switch (random() % 16) {
      case 0:
        return nullptr;
      case 1:
        return CU_STREAM_PER_THREAD;
      default:
        return as<CUstream>(world_.streams.any(random()));
    }
  }
  CUevent event() { return as<CUevent>(world_.events.any(random())); }
  CUdeviceptr memory() {
    switch (random() % 8) {
      case 0:
        return world_.pinned.any(random());
      case 1:
        return number_of(world_.registered[random() % 8].data());
      default:
        return world_.memory.any(random());
    }
  }
  CUarray array() { return as<CUarray>(world_.arrays.any(random())); }

  // ---- Contexts ----

  void enter() {
    const std::uint64_t context = world_.contexts.any(random());
    const bool is_other = context != 0 && random() % 2 == 0;
    ++world_.made;
    ++answers_[d().cuCtxSetCurrent(is_other ? as<CUcontext>(context) : world_.primary)];
  }
  void make_context() {
    if (random() % 32 != 0) return enter();
    CUcontext made = nullptr;
    if (!check(d().cuCtxCreate_v2(&made, 0, static_cast<CUdevice>(random() % 2)))) return;
    const std::uint64_t replaced = world_.contexts.put(random(), number_of(made));
    if (replaced != 0) check(d().cuCtxDestroy(as<CUcontext>(replaced)));
  }
  void destroy_context() {
    if (random() % 32 != 0) return enter();
    // Other threads may destroy it, too.
    check(d().cuCtxDestroy(as<CUcontext>(world_.contexts.any(random()))));
  }
  void push_and_pop() {
    if (!check(d().cuCtxPushCurrent(as<CUcontext>(world_.contexts.any(random()))))) return;
    set();
    check(d().cuCtxPopCurrent(nullptr));
  }
  void use_other_primary_context() {
    CUcontext context = nullptr;
    switch (random() % 8) {
      case 0:
        check(d().cuDevicePrimaryCtxRelease(1));
        break;
      case 1:
        if (random() % 8 == 0) check(d().cuDevicePrimaryCtxReset(1));
        break;
      default:
        if (check(d().cuDevicePrimaryCtxRetain(&context, 1))) check(d().cuCtxSetCurrent(context));
    }
  }
  void synchronize_context() {
    if (random() % 8 == 0) check(d().cuCtxSynchronize());
  }

  // ---- Streams, events and host functions ----

  void make_stream() {
    CUstream made = nullptr;
    if (!check(d().cuStreamCreate(&made, random() % 2))) return;
    const std::uint64_t replaced = world_.streams.put(random(), number_of(made));
    if (replaced != 0) check(d().cuStreamDestroy(as<CUstream>(replaced)));
  }
  void destroy_stream() {
    if (random() % 4 == 0) check(d().cuStreamDestroy(as<CUstream>(world_.streams.any(random()))));
  }
  void query_stream() { check(d().cuStreamQuery(stream())); }
  void synchronize_stream() { check(d().cuStreamSynchronize(stream())); }
  void make_event() {
    CUevent made = nullptr;
    if (!check(d().cuEventCreate(&made, random() % 4))) return;
    const std::uint64_t replaced = world_.events.put(random(), number_of(made));
    if (replaced != 0) check(d().cuEventDestroy(as<CUevent>(replaced)));
  }
  void destroy_event() {
    if (random() % 4 == 0) check(d().cuEventDestroy(event()));
  }
  void record() { check(d().cuEventRecord(event(), stream())); }
  void wait_for_event() { check(d().cuStreamWaitEvent(stream(), event(), 0)); }
  void query_event() { check(d().cuEventQuery(event())); }
  void synchronize_event() { check(d().cuEventSynchronize(event())); }
  void measure() {
    float milliseconds = 0;
    check(d().cuEventElapsedTime(&milliseconds, event(), event()));
  }
  void launch_host_function() {
    check(d().cuLaunchHostFunc(
        stream(), [](void *count) { ++*static_cast<std::atomic<unsigned> *>(count); }, &functions_));
  }
  void hold() {
    if (random() % 16 != 0) return;
    try {
      world_.gates.add(world_.machine.gate(stream()));
    } catch (const std::invalid_argument &) {  // the stream has been destroyed
    }
  }

  // ---- Memory ----

  void keep(Shared<32> &where, CUdeviceptr made) {
    if (const std::uint64_t replaced = where.put(random(), made)) check(d().cuMemFree(replaced));
  }
  void allocate() {
    CUdeviceptr made = 0;
    if (check(d().cuMemAlloc(&made, size()))) keep(world_.memory, made);
  }
  void allocate_managed() {
    CUdeviceptr made = 0;
    if (check(d().cuMemAllocManaged(&made, short_size(), CU_MEM_ATTACH_GLOBAL))) keep(world_.memory, made);
  }
  void allocate_async() {
    CUdeviceptr made = 0;
    if (check(d().cuMemAllocAsync(&made, size(), stream()))) keep(world_.memory, made);
  }
  void free() {
    const bool is_taken = random() % 2 == 0;
    check(d().cuMemFree(is_taken ? world_.memory.take(random()) : world_.memory.any(random())));
  }
  void free_async() {
    const bool is_taken = random() % 2 == 0;
    check(
        d().cuMemFreeAsync(is_taken ? world_.memory.take(random()) : world_.memory.any(random()), stream()));
  }
  void allocate_pinned() {
    void *made = nullptr;
    if (!check(d().cuMemAllocHost(&made, short_size()))) return;
    const std::uint64_t replaced = world_.pinned.put(random(), number_of(made));
    if (replaced != 0) check(d().cuMemFreeHost(as<void *>(replaced)));
  }
  void free_pinned() {
    if (random() % 2 == 0) check(d().cuMemFreeHost(as<void *>(world_.pinned.any(random()))));
  }
  void register_memory() {
    auto &buffer = world_.registered[random() % 8];
    check(d().cuMemHostRegister(buffer.data(), random() % 64 == 0 ? ~std::size_t{0} : buffer.size(), 0));
  }
  void unregister_memory() { check(d().cuMemHostUnregister(world_.registered[random() % 8].data())); }

  void set() { check(d().cuMemsetD8Async(memory(), 7, short_size(), stream())); }
  void set_and_wait() { check(d().cuMemsetD32(memory(), 7, short_size() / 4)); }
  void set_rows() { check(d().cuMemsetD2D8Async(memory(), 64, 7, 16, 1 + random() % 16, stream())); }
  void copy() { check(d().cuMemcpyDtoDAsync(memory(), memory(), size(), stream())); }
  void copy_to_device() { check(d().cuMemcpyHtoDAsync(memory(), host_.data(), short_size(), stream())); }
  void copy_to_device_and_wait() { check(d().cuMemcpyHtoD(memory(), host_.data(), short_size())); }
  void copy_to_host() { check(d().cuMemcpyDtoH(host_.data(), memory(), short_size())); }
  void copy_own_memory() { check(d().cuMemcpyAsync(own_, own_ + kBytes, kBytes, own_stream_)); }
  void copy_rows() {
    CUDA_MEMCPY2D copied = {};
    copied.srcMemoryType = copied.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copied.srcDevice = memory();
    copied.dstDevice = memory();
    copied.srcPitch = copied.dstPitch = 64;
    copied.WidthInBytes = 32;
    copied.Height = 1 + random() % 16;
    check(d().cuMemcpy2DAsync(&copied, stream()));
  }
  void write_and_wait_for_words() {
    const CUdeviceptr word = world_.flags + 4 * (random() % 16);
    CUstreamBatchMemOpParams both[2] = {};
    switch (random() % 4) {
      case 0:
        check(d().cuStreamWriteValue32(stream(), memory() & ~CUdeviceptr{7}, 7, 0));
        break;
      case 1:
        check(d().cuStreamWaitValue32(stream(), word, 0, CU_STREAM_WAIT_VALUE_GEQ));
        break;
      default:
        both[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word, {}, 0, 0};
        both[0].writeValue.value = static_cast<cuuint32_t>(random() % 8);
        both[1].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, memory() & ~CUdeviceptr{7}, {}, 0, 0};
        both[1].writeValue.value = 7;
        check(d().cuStreamBatchMemOp(stream(), 2, both, 0));
    }
  }
  void ask() {
    CUdeviceptr base = 0;
    std::size_t bytes = 0, total = 0;
    unsigned type = 0;
    void *values[] = {&type};
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    switch (random() % 4) {
      case 0:
        check(d().cuMemGetAddressRange(&base, &bytes, memory()));
        break;
      case 1:
        check(d().cuPointerGetAttributes(1, attributes, values, memory()));
        break;
      case 2:
        check(d().cuMemGetInfo(&bytes, &total));
        break;
      default:
        check(d().cuPointerGetAttribute(&type, attributes[0], memory()));
    }
    if (random() % 1024 == 0) world_.machine.usage();
  }
  // ---- Arrays ----

  static CUDA_ARRAY3D_DESCRIPTOR shape() {
    CUDA_ARRAY3D_DESCRIPTOR shape = {};
    shape.Width = shape.Height = kSide;
    shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    shape.NumChannels = 1;
    return shape;
  }
  void make_array() {
    CUarray made = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR with = shape();
    if (!check(d().cuArray3DCreate(&made, &with))) return;
    const std::uint64_t replaced = world_.arrays.put(random(), number_of(made));
    if (replaced != 0) check(d().cuArrayDestroy(as<CUarray>(replaced)));
  }
  void destroy_array() {
    if (random() % 2 == 0) check(d().cuArrayDestroy(array()));
  }
  void make_mipmapped_array() {
    CUmipmappedArray made = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR with = shape();
    if (!check(d().cuMipmappedArrayCreate(&made, &with, 3))) return;
    const std::uint64_t replaced = world_.mipmapped_arrays.put(random(), number_of(made));
    if (replaced != 0) check(d().cuMipmappedArrayDestroy(as<CUmipmappedArray>(replaced)));
  }
  void copy_from_level() {
    CUarray level = nullptr;
    const auto whole = as<CUmipmappedArray>(world_.mipmapped_arrays.any(random()));
    if (check(d().cuMipmappedArrayGetLevel(&level, whole, static_cast<unsigned>(random() % 3))))
      check(d().cuMemcpyAtoD(memory(), level, 0, 16));
  }
  void copy_to_array() {
    check(d().cuMemcpyHtoAAsync(array(), 0, host_.data(), 1 + random() % kSide, stream()));
  }
  void copy_from_array() { check(d().cuMemcpyAtoH(host_.data(), array(), 0, 1 + random() % kSide)); }
  void copy_between_arrays() { check(d().cuMemcpyAtoA(array(), 0, array(), 0, 1 + random() % kSide)); }
  // The address of an array does not belong to the program; a stale address may equal it.
  void free_after_array() {
    CUdeviceptr stale = 0;
    if (!check(d().cuMemAlloc(&stale, 64 << 10))) return;
    check(d().cuMemFree(stale));
    make_array();
    check(random() % 2 == 0 ? d().cuMemFree(stale) : d().cuMemFreeAsync(stale, stream()));
  }

  using Action = void (Caller::*)();
  static constexpr Action actions[] = {&Caller::make_context,
                                       &Caller::destroy_context,
                                       &Caller::push_and_pop,
                                       &Caller::use_other_primary_context,
                                       &Caller::synchronize_context,
                                       &Caller::enter,
                                       &Caller::make_stream,
                                       &Caller::destroy_stream,
                                       &Caller::query_stream,
                                       &Caller::synchronize_stream,
                                       &Caller::make_event,
                                       &Caller::destroy_event,
                                       &Caller::record,
                                       &Caller::record,
                                       &Caller::wait_for_event,
                                       &Caller::query_event,
                                       &Caller::synchronize_event,
                                       &Caller::measure,
                                       &Caller::launch_host_function,
                                       &Caller::hold,
                                       &Caller::allocate,
                                       &Caller::allocate,
                                       &Caller::allocate_managed,
                                       &Caller::allocate_async,
                                       &Caller::free,
                                       &Caller::free_async,
                                       &Caller::allocate_pinned,
                                       &Caller::free_pinned,
                                       &Caller::register_memory,
                                       &Caller::unregister_memory,
                                       &Caller::set,
                                       &Caller::set,
                                       &Caller::set_and_wait,
                                       &Caller::set_rows,
                                       &Caller::copy,
                                       &Caller::copy,
                                       &Caller::copy_to_device,
                                       &Caller::copy_to_device_and_wait,
                                       &Caller::copy_to_host,
                                       &Caller::copy_own_memory,
                                       &Caller::copy_rows,
                                       &Caller::write_and_wait_for_words,
                                       &Caller::ask,

                                       &Caller::make_array,
                                       &Caller::destroy_array,
                                       &Caller::make_mipmapped_array,
                                       &Caller::copy_from_level,
                                       &Caller::copy_to_array,
                                       &Caller::copy_from_array,
                                       &Caller::copy_between_arrays,
                                       &Caller::free_after_array};

  World &world_;
  std::mt19937_64 random_;
  std::vector<char> host_;
  CUstream own_stream_ = nullptr;
  CUdeviceptr own_ = 0;
  std::map<int, unsigned long> answers_;
  static inline std::atomic<unsigned> functions_{0};
};

Settings settings_from(int count, char **words) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i], value = words[i + 1];
    if (name == "--calls")
      settings.calls = std::stoul(value);
    else if (name == "--threads")
      settings.threads = static_cast<unsigned>(std::stoul(value));
    else if (name == "--seed")
      settings.seed = std::stoul(value);
    else if (name == "--schedule")
      settings.schedule = value;
    else
      throw std::invalid_argument("unknown option " + name);
  }
  if (count % 2 == 0) throw std::invalid_argument("an option lacks its value");
  return settings;
}

sim::Schedule schedule_named(const std::string &name) {
  for (const sim::Schedule schedule :
       {sim::Schedule::eager, sim::Schedule::deferred, sim::Schedule::seeded, sim::Schedule::background})
    if (name == sim::name_of(schedule)) return schedule;
  throw std::invalid_argument("unknown schedule " + name);
}

// The driver reports each use of a destroyed handle, of which there are many here. Only the output of this
// program and of the sanitizers goes to the terminal.
std::FILE *silence_driver() {
  const int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
  if (__sanitizer_set_report_fd != nullptr)
    __sanitizer_set_report_fd(reinterpret_cast<void *>(static_cast<std::intptr_t>(kept)));
  return fdopen(kept, "w");
}

// Destroys everything that is left, and returns how many bytes of the devices are still in use.
std::size_t end(World &world) {
  const Driver &d = driver();
  world.contexts.drain([&](std::uint64_t context) { d.cuCtxDestroy(as<CUcontext>(context)); });
  d.cuMemFreeHost(as<void *>(world.flags));
  std::size_t used = 0;
  for (CUdevice device = 0; device < 2; ++device) {
    d.cuDevicePrimaryCtxReset(device);
    CUcontext context = nullptr;
    std::size_t left = 0, total = 0;
    if (d.cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS ||
        d.cuMemGetInfo(&left, &total) != CUDA_SUCCESS)
      throw std::runtime_error("the driver cannot be used at the end");
    used += total - left;
    d.cuCtxDestroy(context);
  }
  return used;
}

int run(const Settings &settings) {
  std::FILE *const out = silence_driver();
  sim::Machine machine(
      {.devices = "small,small",
       .schedule = schedule_named(settings.schedule),
       .seed = settings.seed,
       .report = [out](const std::string &text) { std::fputs((text + "\n").c_str(), out); }});
  const ScopedDriver scope(machine.driver());
  World world(machine, settings.calls);
  void *flags = nullptr;
  if (driver().cuInit(0) != CUDA_SUCCESS ||
      driver().cuDevicePrimaryCtxRetain(&world.primary, 0) != CUDA_SUCCESS ||
      driver().cuCtxSetCurrent(world.primary) != CUDA_SUCCESS ||
      driver().cuMemAllocHost(&flags, 64) != CUDA_SUCCESS)
    throw std::runtime_error("the driver cannot be used");
  std::fill_n(static_cast<char *>(flags), 64, '\0');
  world.flags = number_of(flags);

  std::vector<Caller> callers;
  for (unsigned i = 0; i < settings.threads; ++i) callers.emplace_back(world, settings.seed * 1000 + i);
  {
    std::vector<std::jthread> threads;
    for (Caller &caller : callers) threads.emplace_back([&caller] { caller.run(); });
  }
  const std::size_t used = end(world);

  const unsigned long succeeded = world.answers[CUDA_SUCCESS];
  std::fprintf(out, "%s, seed %lu: %lu calls by %u threads, %lu%% of them succeeded; answers:",
               settings.schedule.c_str(), settings.seed, world.made.load(), settings.threads,
               succeeded * 100 / std::max(world.made.load(), 1ul));
  for (const auto &[code, count] : world.answers) std::fprintf(out, " %d: %lu", code, count);
  std::fprintf(out, "\n");
  const auto fail = [&](bool is_wrong, const char *what) {
    if (is_wrong) std::fprintf(out, "wrong: %s\n", what);
    return is_wrong;
  };
  bool is_wrong = fail(used != 0, "memory of a device is in use at the end");
  is_wrong |= fail(succeeded * 2 < world.made, "half of the calls failed");
  for (const int code : {CUDA_ERROR_UNKNOWN, CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_LAUNCH_TIMEOUT,
                         CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_NOT_INITIALIZED})
    is_wrong |= fail(world.answers.contains(code), "an answer that no call may have");
  return is_wrong ? 1 : 0;
}

}  // namespace

int main(int count, char **words) {
  try {
    return run(settings_from(count, words));
  } catch (const std::exception &error) {
    std::printf("cushim_sim_stress: %s\n", error.what());
    return 2;
  }
}

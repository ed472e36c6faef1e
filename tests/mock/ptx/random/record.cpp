// SPDX-License-Identifier: Apache-2.0
// Records the results of the tables and of random programs on a GPU, for at most SECONDS:
//   record FOLDER SECONDS FIRST PROGRAMS [EXPECTED]
// FIRST is the seed of the first program; the tables are recorded with program 0 only.
// Built by hand; opens the driver with dlopen():
//   g++ -std=c++20 -O2 -I ../../../../mock/ptx *.cpp -o record -ldl
// without random_test.cpp, expect.cpp and explain.cpp.
// Writes tables.bin and programs.bin, a hash for each form and program, 0 if the driver refused it, and
// messages of refusals to refused.PROCESS. EXPECTED has files of the same names, with hashes of the executor,
// and threads.bin, a hash for each thread of each program, all written by expect.cpp; the results that differ
// are written to different.PROCESS: see write_difference().
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

#include "suite.hpp"

namespace {

namespace random = cushim::ptx::random;
using random::Batch;

constexpr std::size_t forms_in_batch = 128, programs_in_batch = 20;
constexpr unsigned processes = 14;

// The functions of the driver that the recorder calls.
struct Driver {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  template <class... Arguments>
  int call(const char *name, Arguments... arguments) const {
    auto *const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
    return function == nullptr ? -1 : function(arguments...);
  }
  template <class... Arguments>
  void check(const char *name, Arguments... arguments) const {
    if (const int result = call(name, arguments...); result != 0) {
      std::fprintf(stderr, "%s returns %d\n", name, result);
      std::_Exit(1);
    }
  }
  void open() const {
    void *context = nullptr;
    check("cuInit", 0u);
    check("cuDevicePrimaryCtxRetain", &context, 0);
    check("cuCtxSetCurrent", context);
  }
  std::uint64_t allocate(std::size_t bytes) const {
    std::uint64_t address = 0;
    check("cuMemAlloc_v2", &address, bytes);
    return address;
  }
};

struct Shared {
  std::atomic<std::size_t> next;            // item
  std::atomic<std::size_t> differences[2];  // of forms, of programs
  std::uint32_t hashes[65536];
};

struct Item {
  std::size_t first, count;  // forms, or seeds of programs
  bool is_table;
};

class Recorder {
 public:
  Recorder(Shared &shared, const std::string &folder, std::vector<std::uint32_t> expected,
           std::vector<std::uint32_t> threads, std::size_t forms, std::size_t first)
      : shared_(shared),
        expected_(std::move(expected)),
        threads_(std::move(threads)),
        forms_(forms),
        first_(first) {
    const std::string suffix = "." + std::to_string(getpid());
    refused_.open(folder + "/refused" + suffix);
    different_.open(folder + "/different" + suffix, std::ios::binary);
    driver_.open();
    driver_.check("cuCtxSetLimit", 0, std::size_t{8192});  // stacks of recursive functions
    inputs_ = driver_.allocate(1 << 22);
    to_ = driver_.allocate(random::buffer_bytes);
  }

  void record(const Item &item, const std::vector<random::Form> &forms) {
    const std::span all(forms);
    const Batch batch = item.is_table ? random::table(all.subspan(item.first, item.count))
                                      : random::programs(item.first, item.count);
    void *const module = load(batch.text);
    if (module == nullptr) {
      for (std::size_t i = 0; item.count > 1 && i < item.count; ++i)
        record({item.first + i, 1, item.is_table}, forms);
      return;
    }
    std::size_t index = item.first;
    for (const random::Kernel &kernel : batch.kernels) {
      upload(item.is_table ? table_inputs_ : random::program_inputs_of(index));
      const std::vector<std::byte> out = launch(module, kernel, kernel.outputs * kernel.output_bytes);
      for (std::size_t i = 0; i < kernel.outputs; ++i, ++index) {
        const std::byte *const at = out.data() + i * kernel.output_bytes;
        const std::size_t place = item.is_table ? index : forms_ + index - first_;
        shared_.hashes[place] = random::hash(at, kernel.output_bytes);
        if (place < expected_.size() && expected_[place] != shared_.hashes[place])
          write_difference(item.is_table, index, at, kernel);
      }
    }
    driver_.call("cuModuleUnload", module);
  }

 private:
  // Returns null if the driver refuses the module.
  void *load(const std::string &text) {
    void *module = nullptr;
    static char log[8192];
    log[0] = 0;
    int options[] = {5, 6};  // the error log and its size
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    const int result = driver_.call("cuModuleLoadDataEx", &module, text.c_str(), 2u, &options[0], &values[0]);
    if (result == 0) return module;
    refused_ << result << " " << log << "\n";
    return nullptr;
  }

  void upload(const std::vector<std::uint64_t> &values) {
    driver_.check("cuMemcpyHtoD_v2", inputs_, values.data(), values.size() * 8);
  }

  std::vector<std::byte> launch(void *module, const random::Kernel &kernel, std::size_t bytes) {
    void *function = nullptr;
    driver_.check("cuModuleGetFunction", &function, module, kernel.name.c_str());
    void *parameters[] = {&inputs_, &to_};
    driver_.check("cuMemsetD8_v2", to_, static_cast<unsigned char>(0), random::buffer_bytes);
    driver_.check("cuLaunchKernel", function, kernel.grid, 1u, 1u, kernel.block, 1u, 1u, 0u,
                  static_cast<void *>(nullptr), &parameters[0], static_cast<void **>(nullptr));
    // A kernel that does not end costs its process: another one takes its place.
    constexpr int not_ready = 600, kernel_seconds = 3;
    for (const std::time_t end = std::time(nullptr) + kernel_seconds;
         driver_.call("cuStreamQuery", static_cast<void *>(nullptr)) == not_ready;)
      if (std::time(nullptr) > end) {
        std::fprintf(stderr, "%s does not end\n", kernel.name.c_str());
        std::_Exit(1);
      }
    std::vector<std::byte> out(bytes);
    driver_.check("cuMemcpyDtoH_v2", out.data(), to_, bytes);
    return out;
  }

  // Writes records: u32 kind, u32 index of the form or program, u32 bytes, and the results. Kind 0: the rows
  // of a form, with 4 bytes each if that suffices. Kinds 1 and 2: the first thread of a program that differs,
  // then the words of this thread, of the program and of the traced program. Kind 3: the thread's trace.
  void write_difference(bool is_table, std::size_t index, const std::byte *at, const random::Kernel &kernel) {
    const std::size_t number = shared_.differences[is_table ? 0 : 1]++;
    if (is_table) {
      std::vector<std::byte> low;
      bool narrow = true;
      for (std::size_t i = 0; i < kernel.output_bytes; i += 8)
        narrow =
            narrow && std::all_of(at + i + 4, at + i + 8, [](std::byte one) { return one == std::byte{0}; });
      const std::size_t step = narrow ? 4 : 8, used = number < 900 ? random::rows : 128;
      for (std::size_t i = 0; i < used; ++i) low.insert(low.end(), at + 8 * i, at + 8 * i + step);
      return write(0, index, low.data(), low.size());
    }
    const std::size_t hashes = (index - first_) * random::program_threads;
    if (number > 1500 || threads_.size() < hashes + random::program_threads) return;
    constexpr std::size_t bytes = random::program_outputs * 8;
    std::size_t thread = 0;
    while (thread + 1 < random::program_threads &&
           threads_[hashes + thread] == random::hash(at + thread * bytes, bytes))
      ++thread;
    write_thread(1, index, thread, at + thread * bytes);
    if (number > 400) return;
    const Batch traced = random::program(index, true);
    void *const module = load(traced.text);
    if (module == nullptr) return;
    const std::vector<std::byte> out = launch(module, traced.kernels[0], random::buffer_bytes);
    driver_.call("cuModuleUnload", module);
    write_thread(2, index, thread, out.data() + thread * bytes);
    const std::byte *const trace = out.data() + random::trace_offset() + thread * random::trace_length * 16;
    std::uint64_t length = 0;
    std::memcpy(&length, trace, 8);
    write(3, index, trace, std::min<std::size_t>(length, 16 * random::trace_length));
  }
  void write_thread(std::uint32_t kind, std::size_t index, std::size_t thread, const std::byte *words) {
    std::vector<std::byte> all(8 * (random::program_outputs + 1));
    std::memcpy(all.data(), &thread, 8);
    std::memcpy(all.data() + 8, words, all.size() - 8);
    write(kind, index, all.data(), all.size());
  }
  void write(std::uint32_t kind, std::size_t index, const std::byte *bytes, std::size_t count) {
    const std::uint32_t head[] = {kind, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(count)};
    different_.write(reinterpret_cast<const char *>(head), sizeof head);
    different_.write(reinterpret_cast<const char *>(bytes), static_cast<std::streamsize>(count));
    different_.flush();
  }

  Shared &shared_;
  std::vector<std::uint32_t> expected_, threads_;  // hashes of outputs, and of the words of each thread
  std::vector<std::uint64_t> table_inputs_ = random::table_inputs();
  std::size_t forms_, first_;
  Driver driver_;
  std::ofstream refused_, different_;
  std::uint64_t inputs_ = 0, to_ = 0;
};

std::vector<std::uint32_t> read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::uint32_t> all(bytes.size() / 4);
  std::memcpy(all.data(), bytes.data(), all.size() * 4);
  return all;
}

}  // namespace

int main(int count, char **arguments) {
  if (count < 5) return 2;
  const std::string folder = arguments[1];
  const auto argument = [&](int index) { return std::strtoull(arguments[index], nullptr, 10); };
  const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(argument(2));
  const std::size_t first = argument(3), number = argument(4);
  auto &shared = *static_cast<Shared *>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::vector<random::Form> forms = first == 0 ? random::forms() : std::vector<random::Form>{};
  std::vector<std::uint32_t> expected, threads;
  if (count > 5) {
    const std::string expectations = arguments[5];
    if (first == 0) expected = read(expectations + "/tables.bin");
    const auto second = read(expectations + "/programs.bin");
    expected.insert(expected.end(), second.begin(), second.end());
    threads = read(expectations + "/threads.bin");
  }
  std::vector<Item> items;
  for (std::size_t at = 0; at < number; at += programs_in_batch)
    items.push_back({first + at, std::min(programs_in_batch, number - at), false});
  for (std::size_t at = 0; at < forms.size(); at += forms_in_batch)
    items.push_back({at, std::min(forms_in_batch, forms.size() - at), true});
  const auto work = [&] {
    Recorder recorder(shared, folder, expected, threads, forms.size(), first);
    for (std::size_t item; (item = shared.next++) < items.size();) recorder.record(items[item], forms);
  };
  const auto start = [&] {
    const std::time_t left = end - std::time(nullptr);
    if (left <= 0 || fork() != 0) return;
    alarm(static_cast<unsigned>(left));
    work();
    std::_Exit(0);
  };
  for (unsigned i = 0; i < processes; ++i) start();
  // A process whose kernel faults leaves its item; another one takes its place.
  for (int status = 0; wait(&status) > 0;)
    if (status != 0 && shared.next < items.size()) start();
  // A kernel that faults has taken the others of its item along: each has a process of its own now.
  for (std::size_t index = 0; index < number; ++index) {
    if (shared.hashes[forms.size() + index] != 0 || std::time(nullptr) >= end) continue;
    items.assign(1, {first + index, 1, false});
    shared.next = 0;
    start();
    wait(nullptr);
  }
  std::ofstream tables(folder + "/tables.bin", std::ios::binary),
      programs(folder + "/programs.bin", std::ios::binary);
  tables.write(reinterpret_cast<const char *>(shared.hashes), static_cast<std::streamsize>(4 * forms.size()));
  programs.write(reinterpret_cast<const char *>(shared.hashes + forms.size()),
                 static_cast<std::streamsize>(4 * number));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Measures the kernels of data/h200.tsv on a GPU, and prints that file with new times. Built by hand:
//   g++ -std=c++20 -O2 measure.cpp -I$CUDA/include -ldl && ./a.out data
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t buffer_bytes = 256 << 20;
void *library = nullptr;

template <class Function>
Function *find(const char *name) {
  void *const found = dlsym(library, name);
  if (found != nullptr) return reinterpret_cast<Function *>(found);
  std::fprintf(stderr, "libcuda.so.1 has no %s\n", name);
  std::exit(2);
}

#define CUSHIM_TEXT_(text) #text
#define CUSHIM_TEXT(text) CUSHIM_TEXT_(text)
#define CUSHIM_CALL(name, ...) need(find<decltype(name)>(CUSHIM_TEXT(name))(__VA_ARGS__), #name)

void need(CUresult code, const char *call) {
  if (code == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s returns %d\n", call, static_cast<int>(code));
  std::exit(1);
}

struct Shape {
  unsigned grid_x = 1, grid_y = 1, block_x = 1, block_y = 1;
};

class Gpu {
 public:
  Gpu() {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUSHIM_CALL(cuInit, 0);
    CUSHIM_CALL(cuDeviceGet, &device, 0);
    CUSHIM_CALL(cuDevicePrimaryCtxRetain, &context, device);
    CUSHIM_CALL(cuCtxSetCurrent, context);
    for (CUdeviceptr &buffer : buffers_) CUSHIM_CALL(cuMemAlloc, &buffer, buffer_bytes);
    CUSHIM_CALL(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
    CUSHIM_CALL(cuEventCreate, &begin_, CU_EVENT_DEFAULT);
    CUSHIM_CALL(cuEventCreate, &end_, CU_EVENT_DEFAULT);
  }
  CUmodule load(const std::string &file) {
    std::ifstream from(file);
    std::ostringstream text;
    text << from.rdbuf();
    CUmodule module = nullptr;
    CUSHIM_CALL(cuModuleLoadData, &module, text.str().c_str());
    return module;
  }
  void launch(CUmodule module, const char *kernel, const Shape &shape, int n, int p) {
    CUfunction function = nullptr;
    CUSHIM_CALL(cuModuleGetFunction, &function, module, kernel);
    void *parameters[] = {&buffers_[0], &buffers_[1], &buffers_[2], &n, &p};
    CUSHIM_CALL(cuLaunchKernel, function, shape.grid_x, shape.grid_y, 1, shape.block_x, shape.block_y, 1, 0,
                stream_, parameters, nullptr);
  }
  void set(std::size_t buffer, unsigned word) {
    CUSHIM_CALL(cuMemsetD32Async, buffers_[buffer], word, buffer_bytes / 4, stream_);
  }
  // Returns the nanoseconds of work between two events.
  template <class Work>
  double time_of(Work work) {
    CUSHIM_CALL(cuEventRecord, begin_, stream_);
    work();
    CUSHIM_CALL(cuEventRecord, end_, stream_);
    CUSHIM_CALL(cuStreamSynchronize, stream_);
    float milliseconds = 0;
    CUSHIM_CALL(cuEventElapsedTime, &milliseconds, begin_, end_);
    return 1e6 * static_cast<double>(milliseconds);
  }

 private:
  CUdeviceptr buffers_[4] = {};  // a, b, c, and one to fill the L2 cache with
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int, char **argv) {
  const std::string folder = argv[1];
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return 2;
  Gpu gpu;
  const CUmodule fitted = gpu.load(folder + "/fitted.ptx"), held_out = gpu.load(folder + "/held_out.ptx");
  // The stream is busy while the measured work is enqueued.
  const auto keep_busy = [&] { gpu.launch(fitted, "spin", {}, 0, 40); };
  for (int i = 0; i < 30; ++i)
    gpu.launch(fitted, "fma_parallel", {1056, 1, 256, 1}, 20000, 1);  // raises the clock
  std::vector<double> of_events;
  for (int i = 0; i < 21; ++i) {
    keep_busy();
    of_events.push_back(gpu.time_of([] {}));
  }
  std::ifstream file(folder + "/h200.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) {
      std::puts(line.c_str());
      continue;
    }
    std::istringstream words(line);
    std::string module_name, name, kernel, contents;
    Shape shape;
    int n = 0, p = 0;
    words >> module_name >> name >> kernel >> shape.grid_x >> shape.grid_y >> shape.block_x >>
        shape.block_y >> n >> p >> contents;
    const CUmodule module = module_name == "fitted" ? fitted : held_out;
    gpu.set(0, 0x3f800000);  // 1.0F
    gpu.set(1, 0);
    gpu.set(2, 0);
    if (contents == "hash") gpu.launch(module, "fill_hash", {1024, 1, 256, 1}, n, 0);
    if (contents.starts_with("chain:"))
      gpu.launch(module, "fill_chain", {1024, 1, 256, 1}, n, std::atoi(contents.c_str() + 6));
    const auto launch = [&] { gpu.launch(module, kernel.c_str(), shape, n, p); };
    const int repetitions = gpu.time_of(launch) > 5e6 ? 5 : 15;
    std::vector<double> warm, cold;
    for (int i = 0; i < repetitions; ++i) {
      keep_busy();
      warm.push_back(gpu.time_of(launch));
    }
    for (int i = 0; i < repetitions; ++i) {
      gpu.set(3, static_cast<unsigned>(i));
      cold.push_back(gpu.time_of(launch));
    }
    std::printf("%s\t%s\t%s\t%u\t%u\t%u\t%u\t%d\t%d\t%s\t%.0f\t%.0f\n", module_name.c_str(), name.c_str(),
                kernel.c_str(), shape.grid_x, shape.grid_y, shape.block_x, shape.block_y, n, p,
                contents.c_str(), median(warm) - median(of_events), median(cold) - median(of_events));
  }
}

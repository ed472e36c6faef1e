// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of the corpus on the driver that dlopen() finds, and prints a hash of each output:
//   run_corpus SOURCES PTX [--expect FILE] [--only KERNEL] [--dump FOLDER] [--nvcc NVCC]
// SOURCES is a file or a folder of files *.cu with a line "// run NAME BLOCKS THREADS SHARED_BYTES WORDS_OUT
// [OPTIONS]" for each kernel. PTX has a file SOURCE.ptx for each; with --nvcc, those without one are compiled
// instead, by nvcc 13.0. FILE has the expected hashes, as "KERNEL HASH". Each module runs in a process of its
// own, which ends at a fault or after a time limit. Exit codes: 0 success, 1 a difference, 2 wrong usage, 77
// no such nvcc.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t input_words = 65536;
constexpr unsigned module_seconds = 120;

void *const library = dlopen("libcuda.so.1", RTLD_NOW);

// Calls a function of the driver by its symbol; a failure ends the process.
template <class... Arguments>
void call(const char *symbol, Arguments... arguments) {
  auto *const function = reinterpret_cast<CUresult (*)(Arguments...)>(dlsym(library, symbol));
  const CUresult result = function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
  if (result == CUDA_SUCCESS) return;
  std::printf("%s returns %d\n", symbol, result);
  std::fflush(stdout);
  std::_Exit(1);
}

struct Kernel {
  std::string name;
  unsigned blocks = 1, threads = 1, shared = 0, words = 0, cluster = 1;
  bool is_cooperative = false, has_images = false, has_tensors = false;
};

std::vector<Kernel> kernels_of(const std::filesystem::path &source) {
  std::vector<Kernel> kernels;
  std::ifstream file(source);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("// run ", 0) != 0) continue;
    std::istringstream words(line.substr(7));
    Kernel one;
    words >> one.name >> one.blocks >> one.threads >> one.shared >> one.words;
    for (std::string option; words >> option;) {
      if (option.rfind("cluster=", 0) == 0) one.cluster = static_cast<unsigned>(std::stoul(option.substr(8)));
      one.is_cooperative |= option == "cooperative";
      one.has_images |= option == "images";
      one.has_tensors |= option == "tensors";
    }
    kernels.push_back(one);
  }
  return kernels;
}

std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::uint32_t> random_words() {
  std::vector<std::uint32_t> words(input_words);
  std::uint64_t state = 0x853c49e6748fea9b;
  for (std::uint32_t &one : words) {
    state = state * 6364136223846793005 + 1442695040888963407;
    one = static_cast<std::uint32_t>((state ^ state >> 22) >> 29);
  }
  return words;
}

std::uint64_t hash(const std::vector<std::uint32_t> &words) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const std::uint32_t one : words) sum = (sum ^ one) * 0x100000001b3, sum ^= sum >> 29;
  return sum;
}

constexpr unsigned side = 32;

// A texture of the input and a surface.
struct Images {
  explicit Images(const std::vector<std::uint32_t> &in) {
    std::vector<float> texels(side * side * 4);
    for (std::size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(in[i] >> 16) / 256;
    CUDA_ARRAY_DESCRIPTOR texture_format{side, side, CU_AD_FORMAT_FLOAT, 4};
    call("cuArrayCreate_v2", &texels_array, &texture_format);
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = texels_array;
    copy.WidthInBytes = side * 16;
    copy.Height = side;
    call("cuMemcpy2D_v2", &copy);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = texels_array;
    CUDA_TEXTURE_DESC sampler{};
    sampler.addressMode[0] = CU_TR_ADDRESS_MODE_MIRROR;
    sampler.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    sampler.filterMode = CU_TR_FILTER_MODE_LINEAR;
    sampler.flags = CU_TRSF_NORMALIZED_COORDINATES;
    call("cuTexObjectCreate", &texture, &resource, &sampler, static_cast<void *>(nullptr));
    CUDA_ARRAY3D_DESCRIPTOR surface_format{
        side, side, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST};
    call("cuArray3DCreate_v2", &surface_array, &surface_format);
    resource.res.array.hArray = surface_array;
    call("cuSurfObjectCreate", &surface, &resource);
  }
  void copy_surface_to(CUdeviceptr to) const {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = surface_array;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = to;
    copy.WidthInBytes = copy.dstPitch = side * 4;
    copy.Height = side;
    call("cuMemcpy2D_v2", &copy);
  }
  CUarray texels_array = nullptr, surface_array = nullptr;
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
};

CUtensorMap tensor_map(CUdeviceptr address) {
  CUtensorMap map{};
  const cuuint64_t sizes[] = {64, 64}, strides[] = {256};
  const cuuint32_t box[] = {32, 16}, steps[] = {1, 1};
  call("cuTensorMapEncodeTiled", &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, cuuint32_t{2},
       reinterpret_cast<void *>(address), &sizes[0], &strides[0], &box[0], &steps[0],
       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

class Runner {
 public:
  explicit Runner(const std::string &ptx) {
    CUcontext context = nullptr;
    call("cuInit", 0u);
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("cuCtxSetCurrent", context);
    call("cuCtxSetLimit", CU_LIMIT_STACK_SIZE, std::size_t{16384});
    static char log[16384];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    const auto load = reinterpret_cast<decltype(&cuModuleLoadDataEx)>(dlsym(library, "cuModuleLoadDataEx"));
    if (const CUresult result = load(&module_, ptx.c_str(), 2, options, values); result != CUDA_SUCCESS) {
      std::printf("cuModuleLoadDataEx returns %d: %s\n", result, log);
      std::fflush(stdout);
      std::_Exit(1);
    }
    call("cuMemAlloc_v2", &in_address_, input_words * 4);
    call("cuMemcpyHtoD_v2", in_address_, static_cast<const void *>(in_.data()), input_words * 4);
  }
  bool has(const Kernel &kernel) {
    const auto get = reinterpret_cast<decltype(&cuModuleGetFunction)>(dlsym(library, "cuModuleGetFunction"));
    return get(&function_, module_, kernel.name.c_str()) == CUDA_SUCCESS;
  }
  // Runs the kernel that has() found, and returns its output.
  std::vector<std::uint32_t> run(const Kernel &kernel) {
    const std::size_t bytes = std::size_t{kernel.words} * 4;
    CUdeviceptr out = 0;
    call("cuMemAlloc_v2", &out, bytes);
    call("cuMemsetD8_v2", out, static_cast<unsigned char>(0), bytes);
    if (kernel.shared > 48 * 1024)
      call("cuFuncSetAttribute", function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
           static_cast<int>(kernel.shared));
    unsigned n = input_words;
    std::vector<void *> parameters = {&in_address_, &out, &n};
    CUtensorMap maps[2];
    if (kernel.has_tensors) {
      maps[0] = tensor_map(in_address_);
      maps[1] = tensor_map(out);
      parameters.insert(parameters.end(), {&maps[0], &maps[1]});
    }
    std::vector<Images> images;
    if (kernel.has_images) {
      images.emplace_back(in_);
      parameters.insert(parameters.end(), {&images[0].texture, &images[0].surface});
    }
    launch(kernel, parameters.data());
    call("cuCtxSynchronize");
    if (kernel.name.rfind("surface", 0) == 0) images[0].copy_surface_to(out + side * side * 4);
    std::vector<std::uint32_t> words(kernel.words);
    call("cuMemcpyDtoH_v2", static_cast<void *>(words.data()), out, bytes);
    call("cuMemFree_v2", out);
    return words;
  }

 private:
  void launch(const Kernel &kernel, void **parameters) {
    CUlaunchConfig config{};
    config.gridDimX = kernel.blocks;
    config.blockDimX = kernel.threads;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = kernel.shared;
    CUlaunchAttribute attributes[2]{};
    config.attrs = attributes;
    if (kernel.cluster > 1) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[config.numAttrs++].value.clusterDim = {kernel.cluster, 1, 1};
    }
    if (kernel.is_cooperative) {
      attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes[config.numAttrs++].value.cooperative = 1;
    }
    call("cuLaunchKernelEx", static_cast<const CUlaunchConfig *>(&config), function_, parameters,
         static_cast<void **>(nullptr));
  }

  const std::vector<std::uint32_t> in_ = random_words();
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CUdeviceptr in_address_ = 0;
};

struct Options {
  std::filesystem::path sources, ptx;
  std::string dump, only, nvcc;
  std::map<std::string, std::string> expected;  // hashes of kernels
};

// Returns whether the output of a kernel is expected. A kernel without an expected hash is.
bool report(const Kernel &kernel, const std::vector<std::uint32_t> &words, const Options &options) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash(words)));
  const auto expected = options.expected.find(kernel.name);
  const bool is_expected = expected == options.expected.end() || expected->second == text;
  std::printf("%s\t%s%s\n", kernel.name.c_str(), text, is_expected ? "" : "\tdiffers");
  std::fflush(stdout);
  if (!options.dump.empty()) {
    std::ofstream file(options.dump + "/" + kernel.name + ".bin", std::ios::binary);
    file.write(reinterpret_cast<const char *>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  }
  return is_expected;
}

// Runs the kernels from `first` on in a child, which writes the number of those that it has begun to `begun`.
[[noreturn]] void run_kernels(const std::vector<Kernel> &kernels, std::size_t first, const std::string &ptx,
                              const Options &options, int begun) {
  alarm(module_seconds);
  Runner runner(ptx);
  bool is_expected = true;
  for (std::size_t i = first; i < kernels.size(); ++i) {
    if (!options.only.empty() && kernels[i].name != options.only) continue;
    const char next = static_cast<char>(i + 1);
    if (write(begun, &next, 1) != 1) std::_Exit(2);
    if (runner.has(kernels[i])) is_expected &= report(kernels[i], runner.run(kernels[i]), options);
  }
  std::_Exit(is_expected ? 0 : 3);
}

// Returns whether all outputs are expected, and counts the kernels. After a fault, the rest of the kernels
// run in another process.
bool run_module(const std::vector<Kernel> &kernels, const std::string &ptx, const Options &options,
                std::size_t &count) {
  bool is_expected = true;
  for (std::size_t first = 0; first < kernels.size();) {
    int begun[2];
    if (pipe(begun) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) run_kernels(kernels, first, ptx, options, begun[1]);
    close(begun[1]);
    std::size_t next = first;
    for (char one = 0; read(begun[0], &one, 1) == 1; ++count) next = static_cast<unsigned char>(one);
    close(begun[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const bool is_complete = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
    is_expected &= status == 0;
    if (!is_complete)
      std::printf("%s\tfails: status %d\n", next == first ? "module" : kernels[next - 1].name.c_str(),
                  status);
    first = is_complete || next == first ? kernels.size() : next;
  }
  return is_expected;
}

// Returns the PTX of a source; empty if there is none.
std::string ptx_of(const std::filesystem::path &source, const Options &options) {
  const std::filesystem::path ptx = options.ptx / source.filename().replace_extension(".ptx");
  if (std::filesystem::exists(ptx)) return options.nvcc.empty() ? contents(ptx) : "";
  if (options.nvcc.empty()) return {};
  const auto made =
      std::filesystem::temp_directory_path() / ("cushim_corpus_" + std::to_string(getpid()) + ".ptx");
  const std::string command = "'" + options.nvcc + "' -w -std=c++17 -O3 -arch=sm_90a -ptx '" +
                              source.string() + "' -o '" + made.string() + "'";
  if (std::system(command.c_str()) != 0) return {};
  const std::string text = contents(made);
  std::filesystem::remove(made);
  return text;
}

std::vector<std::filesystem::path> sources_of(const Options &options) {
  if (std::filesystem::is_regular_file(options.sources)) return {options.sources};
  std::vector<std::filesystem::path> sources;
  for (const auto &one : std::filesystem::directory_iterator(options.sources))
    if (one.path().extension() == ".cu") sources.push_back(one.path());
  std::sort(sources.begin(), sources.end());
  return sources;
}

bool read_options(int count, char **arguments, Options &options) {
  if (count < 3 || count % 2 == 0) return false;
  options.sources = arguments[1];
  options.ptx = arguments[2];
  for (int i = 3; i < count; i += 2) {
    const std::string name = arguments[i], value = arguments[i + 1];
    if (name == "--dump") {
      options.dump = value;
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--nvcc") {
      options.nvcc = value;
    } else if (name == "--expect") {
      std::ifstream file(value);
      for (std::string kernel, expected; file >> kernel >> expected;) options.expected[kernel] = expected;
      if (options.expected.empty()) return false;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int count, char **arguments) {
  Options options;
  if (!read_options(count, arguments, options)) return 2;
  const std::string version = "'" + options.nvcc + "' --version 2>&1 | grep -q 'release 13.0'";
  if (!options.nvcc.empty() && std::system(version.c_str()) != 0) {
    std::printf("%s is not nvcc 13.0, with which the results were recorded\n", options.nvcc.c_str());
    return 77;
  }
  bool is_expected = true;
  std::size_t kernels = 0;
  for (const std::filesystem::path &source : sources_of(options)) {
    const std::string ptx = ptx_of(source, options);
    if (ptx.empty()) continue;
    std::printf("# %s\n", source.filename().c_str());
    std::fflush(stdout);
    is_expected &= run_module(kernels_of(source), ptx, options, kernels);
  }
  std::printf("%zu kernels\n", kernels);
  return is_expected && kernels != 0 ? 0 : 1;
}

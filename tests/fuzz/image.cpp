// SPDX-License-Identifier: Apache-2.0
// Fuzzes the images of modules, through the simulated driver: as input of a link of each type, and as module.
// Attributes of the loaded functions are queried; no function is launched.
#include <cushim/driver.hpp>
#include <cushim/sim/machine.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <cushim/detail/fat_binary.hpp>
#include "fuzz.hpp"

namespace {

using cushim::driver;
namespace fat_binary = cushim::fat_binary;

// A machine with a current context.
class Running {
 public:
  Running()
      : machine_({.skips_kernels = true, .report = [](const std::string &) {}}), scope_(machine_.driver()) {
    CUcontext context = nullptr;
    fuzz::promise(driver().cuInit(0) == CUDA_SUCCESS &&
                      driver().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                      driver().cuCtxSetCurrent(context) == CUDA_SUCCESS,
                  "there is a context");
  }

 private:
  cushim::sim::Machine machine_;
  cushim::ScopedDriver scope_;
};

template <class Value>
bool begins_with(std::string_view bytes, const Value &value) {
  return bytes.size() >= sizeof value && std::memcmp(bytes.data(), &value, sizeof value) == 0;
}

void describe(CUfunction function) {
  const char *name = nullptr;
  fuzz::promise(driver().cuFuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr,
                "a function has a name");
  std::size_t end = 0;
  for (std::size_t i = 0, offset = 0, size = 0;
       driver().cuFuncGetParamInfo(function, i, &offset, &size) == CUDA_SUCCESS; ++i) {
    fuzz::promise(offset >= end, "parameters do not overlap");
    end = offset + size;
  }
  for (int attribute = 0; attribute < CU_FUNC_ATTRIBUTE_MAX; ++attribute) {
    int value = 0;
    driver().cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(attribute), function);
  }
  int blocks = 0;
  driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, 0);
}

void load(const void *image) {
  CUmodule module = nullptr;
  if (driver().cuModuleLoadData(&module, image) != CUDA_SUCCESS) return;
  unsigned count = 0;
  fuzz::promise(driver().cuModuleGetFunctionCount(&count, module) == CUDA_SUCCESS, "a module counts");
  std::vector<CUfunction> functions(std::min(count, 100U));
  fuzz::promise(functions.empty() ||
                    driver().cuModuleEnumerateFunctions(
                        functions.data(), static_cast<unsigned>(functions.size()), module) == CUDA_SUCCESS,
                "a module has its functions");
  std::for_each(functions.begin(), functions.end(), describe);
  fuzz::promise(driver().cuModuleUnload(module) == CUDA_SUCCESS, "a module is unloaded");
}

void link(std::string bytes, CUjitInputType type) {
  std::array<char, 512> log{};
  std::array<CUjit_option, 2> names{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void *, 2> values{log.data(), reinterpret_cast<void *>(log.size())};
  CUlinkState state = nullptr;
  fuzz::promise(driver().cuLinkCreate(names.size(), names.data(), values.data(), &state) == CUDA_SUCCESS,
                "a link begins");
  void *image = nullptr;
  std::size_t size = 0;
  if (driver().cuLinkAddData(state, type, bytes.data(), bytes.size(), "input", 0, nullptr, nullptr) ==
          CUDA_SUCCESS &&
      driver().cuLinkComplete(state, &image, &size) == CUDA_SUCCESS)
    load(image);
  fuzz::promise(driver().cuLinkDestroy(state) == CUDA_SUCCESS, "a link ends");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const Running running;
  std::string bytes(fuzz::text_of(data, size));
  // A wrapper contains pointers, which the driver must trust.
  if (begins_with(bytes, fat_binary::kWrapperMagic)) return 0;
  for (const CUjitInputType type : {CU_JIT_INPUT_PTX, CU_JIT_INPUT_FATBINARY, CU_JIT_INPUT_CUBIN,
                                    CU_JIT_INPUT_OBJECT, CU_JIT_INPUT_LIBRARY})
    link(bytes, type);
  // Without a size, the driver trusts the headers of fat binaries and cubins.
  if (begins_with(bytes, fat_binary::kContainerMagic)) {
    fat_binary::Container header;
    if (bytes.size() < sizeof header) return 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.size = header.header_size <= bytes.size() ? bytes.size() - header.header_size : 0;
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.resize(std::max<std::size_t>(bytes.size(), header.header_size));
    load(bytes.data());
    const void *const inputs[] = {bytes.data(), nullptr};
    const fat_binary::Wrapper first{fat_binary::kWrapperMagic, 1, bytes.data(), nullptr};
    const fat_binary::Wrapper second{fat_binary::kWrapperMagic, 2, bytes.data(),
                                     static_cast<const void *>(inputs)};
    load(&first);
    load(&second);
  } else if (!bytes.starts_with("\177ELF")) {
    load(bytes.c_str());
  }
  return 0;
}

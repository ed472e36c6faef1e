// SPDX-License-Identifier: Apache-2.0
// Fat binaries: their wrappers, their compression, and the entry that a device gets. The compressed files are
// the seeds of the fuzz target, which nvcc 13.0 wrote.
#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <cushim/detail/fat_binary.hpp>
#include "support/cubin.hpp"
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

using fat_binary::kWrapperMagic;
using fat_binary::Wrapper;

std::string ptx_for(int target, const std::string &kernel) {
  return ".version 8.0\n.target sm_" + std::to_string(target) + "\n.address_size 64\n.visible .entry " +
         kernel + "() { ret; }\n";
}

// Returns a fat binary of PTX entries, each with the target in its header.
std::string fat_binary_of(const std::vector<std::pair<int, std::string>> &entries) {
  constexpr std::size_t kHeader = 16, kEntryHeader = 72, kTarget = kHeader + 28;
  std::string content;
  for (const auto &[target, ptx] : entries) {
    std::string one = fat_binary_with(ptx);
    one[kTarget] = static_cast<char>(target);
    one.resize((one.size() + 7) / 8 * 8);
    const std::uint64_t size = one.size() - kHeader - kEntryHeader;
    std::memcpy(one.data() + kHeader + 8, &size, sizeof size);
    content += one.substr(kHeader);
  }
  std::string header = fat_binary_with("").substr(0, kHeader);
  const std::uint64_t size = content.size();
  std::memcpy(header.data() + 8, &size, sizeof size);
  return header + content;
}

CUresult load_module(const void *image, CUmodule *module) { return driver().cuModuleLoadData(module, image); }

// Loads an image, and returns whether it has a kernel of this name.
bool has_kernel(const void *image, const char *name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(load_module(image, &module));
  const CUresult found = driver().cuModuleGetFunction(&function, module, name);
  need(driver().cuModuleUnload(module));
  return found == CUDA_SUCCESS;
}

std::string seed(const std::string &name) {
  std::ifstream file(CUSHIM_IMAGES "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + name);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(FatBinaries, Are_loaded_by_wrappers_of_both_versions) {
  const Running on;
  const std::string binary = fat_binary_with(ptx_for(52, "wrapped"));
  const void *const inputs[] = {binary.data(), nullptr};
  const Wrapper first{kWrapperMagic, 1, binary.data(), nullptr};
  const Wrapper second{kWrapperMagic, 2, binary.data(), static_cast<const void *>(inputs)};
  EXPECT_TRUE(has_kernel(&first, "wrapped"));
  EXPECT_TRUE(has_kernel(&second, "wrapped"));
  EXPECT_TRUE(has_kernel(binary.data(), "wrapped"));
}

TEST(FatBinaries, That_nvcc_wrote_are_loaded_compressed_or_not) {
  const Running on;
  EXPECT_TRUE(has_kernel(seed("fat_binary_plain").data(), "scale"));
  for (const auto &[library, file] :
       {std::pair{"liblz4.so.1", "fat_binary_lz4"}, {"libzstd.so.1", "fat_binary_zstd"}})
    EXPECT_TRUE(dlopen(library, RTLD_NOW) == nullptr || has_kernel(seed(file).data(), "scale")) << file;
}

TEST(FatBinaries, That_are_damaged_are_invalid_images) {
  const Running on;
  for (const char *const name : {"fat_binary_lz4", "fat_binary_zstd"}) {
    std::string binary = seed(name);
    constexpr std::size_t kPayload = 16 + 80;
    binary.replace(kPayload, 16, 16, '\0');
    CUmodule module = nullptr;
    EXPECT_EQ(load_module(binary.data(), &module), CUDA_ERROR_INVALID_IMAGE) << name;
  }
}

TEST(FatBinaries, Give_a_device_the_highest_target_that_it_runs) {
  const std::string binary =
      fat_binary_of({{52, ptx_for(52, "oldest")}, {80, ptx_for(80, "newer")}, {100, ptx_for(100, "newest")}});
  for (const auto &[device, kernel] : {std::pair{"a100", "newer"}, {"h200", "newer"}, {"b200", "newest"}}) {
    const Running on({.devices = device});
    for (const char *const other : {"oldest", "newer", "newest"})
      EXPECT_EQ(has_kernel(binary.data(), other), std::string(other) == kernel) << device << ' ' << other;
  }
}

TEST(FatBinaries, Without_code_for_the_device_are_refused) {
  const Running on({.devices = "a100"});
  CUmodule module = nullptr;
  const std::string binary = fat_binary_of({{90, ptx_for(90, "newer")}});
  EXPECT_EQ(load_module(binary.data(), &module), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

}  // namespace
}  // namespace cushim::sim

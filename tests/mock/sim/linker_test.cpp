// SPDX-License-Identifier: Apache-2.0
// Links of object files and archives. The codes are those of driver 580 on an H200 for files that nvcc made.
#include "support/cubin.hpp"
#include "support/linked_ptx.hpp"
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

using test::kCallee;
using test::kCaller;

std::string object_of(const std::string &fat_binary) {
  return elf_with(EM_X86_64,
                  {{".text", "code"}, {"__nv_relfatbin", fat_binary}, {".nvFatBinSegment", "wrapper"}});
}

class Linker : public ::testing::Test {
 protected:
  Linker() { need(driver().cuLinkCreate(4, names, values, &link)); }
  ~Linker() override { EXPECT_EQ(driver().cuLinkDestroy(link), CUDA_SUCCESS); }

  CUresult add(CUjitInputType type, std::string content, const char *name = "input") {
    const std::size_t size = content.size() + (type == CU_JIT_INPUT_PTX ? 1 : 0);
    return driver().cuLinkAddData(link, type, content.data(), size, name, 0, nullptr, nullptr);
  }
  CUresult complete() { return driver().cuLinkComplete(link, &image, &size); }
  // Returns what the kernel `linked` of the image stores.
  unsigned stored() {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr to = running.memory();
    need(driver().cuModuleLoadData(&module, image));
    need(driver().cuModuleGetFunction(&function, module, "linked"));
    void *parameters[] = {&to};
    need(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    return word_at(to);
  }

  Running running;
  CUlinkState link = nullptr;
  void *image = nullptr;
  std::size_t size = 0;
  char error[1024] = "", info[1024] = "";
  CUjit_option names[4] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                           CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void *values[4] = {error, reinterpret_cast<void *>(sizeof error), info,
                     reinterpret_cast<void *>(sizeof info)};
};

TEST_F(Linker, Takes_object_files) {
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, kCaller), CUDA_SUCCESS);
  EXPECT_EQ(add(CU_JIT_INPUT_OBJECT, object_of(fat_binary_with(kCallee))), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_SUCCESS);
  EXPECT_EQ(stored(), 42U);
}

TEST_F(Linker, Takes_archives_of_object_files) {
  const std::string archive =
      archive_of({{"host.o", elf_with(EM_X86_64, {{".data", "x"}})},
                  {"a_name_of_more_than_16_characters.o", object_of(fat_binary_with(kCallee))}});
  EXPECT_EQ(add(CU_JIT_INPUT_LIBRARY, archive), CUDA_SUCCESS);
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, kCaller), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_SUCCESS);
  EXPECT_EQ(stored(), 42U);
}

TEST_F(Linker, Reports_object_files_without_code_for_the_device) {
  const std::string newer = ".version 8.7\n.target sm_100\n.address_size 64\n";
  std::string fat_binary = fat_binary_with(newer);
  fat_binary[16 + 28] = 100;  // the target of the entry
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, kCaller, "caller"), CUDA_SUCCESS);
  EXPECT_EQ(add(CU_JIT_INPUT_OBJECT, object_of(fat_binary), "new.o"), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_STREQ(error, "error   : Undefined reference to 'plus_37' in 'caller'");
  EXPECT_STREQ(info, " No code for sm_90 in new.o; continuing.");
}

TEST_F(Linker, Adds_nothing_of_a_fat_binary_without_code_for_the_device) {
  std::string fat_binary = fat_binary_with(".version 8.7\n.target sm_100\n.address_size 64\n");
  fat_binary[16 + 28] = 100;  // the target of the entry
  EXPECT_EQ(add(CU_JIT_INPUT_FATBINARY, fat_binary), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_SUCCESS);
}

TEST_F(Linker, Makes_functions_trap_that_are_machine_code) {
  std::string machine_code = fat_binary_with(cubin_with({"plus_37"}));
  machine_code[16] = 2;        // the entry is a cubin
  machine_code[16 + 28] = 90;  // its target
  const std::string caller = kCaller + ".visible .entry other() { ret; }\n";
  EXPECT_EQ(add(CU_JIT_INPUT_LIBRARY, archive_of({{"a.o", object_of(machine_code)}})), CUDA_SUCCESS);
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, caller), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_SUCCESS);
  CUmodule module = nullptr;
  need(driver().cuModuleLoadData(&module, image));
  const auto run = [&](const char *name) {
    CUfunction function = nullptr;
    CUdeviceptr to = running.memory();
    void *parameters[] = {&to};
    need(driver().cuModuleGetFunction(&function, module, name));
    need(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    return driver().cuCtxSynchronize();
  };
  EXPECT_EQ(run("other"), CUDA_SUCCESS);
  EXPECT_EQ(run("linked"), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(Linker, Takes_code_that_calls_functions_of_the_driver) {
  const std::string code = test::kPtxHeader +
                           ".extern .func __cuda_syscall_unknown();\n"
                           ".visible .entry linked() { call __cuda_syscall_unknown; ret; }\n";
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, code), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_SUCCESS);
}

TEST_F(Linker, Makes_images_that_cannot_be_linked_again) {
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, kCallee), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_SUCCESS);
  const std::string cubin(static_cast<const char *>(image), size);
  need(driver().cuLinkDestroy(link));
  need(driver().cuLinkCreate(4, names, values, &link));
  EXPECT_EQ(add(CU_JIT_INPUT_CUBIN, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(Linker, Links_for_another_device_and_only_that_device_loads_the_image) {
  CUjit_option name = CU_JIT_TARGET;
  void *target = reinterpret_cast<void *>(std::uintptr_t{CU_TARGET_COMPUTE_80});
  need(driver().cuLinkDestroy(link));
  need(driver().cuLinkCreate(1, &name, &target, &link));
  EXPECT_EQ(add(CU_JIT_INPUT_PTX, kCallee), CUDA_SUCCESS);
  EXPECT_EQ(complete(), CUDA_SUCCESS);
  CUmodule module = nullptr;
  EXPECT_EQ(driver().cuModuleLoadData(&module, image), CUDA_ERROR_NO_BINARY_FOR_GPU);
  const std::string cubin(static_cast<const char *>(image), size);
  const Running ampere{Options{.devices = "a100"}};
  EXPECT_EQ(driver().cuModuleLoadData(&module, cubin.data()), CUDA_SUCCESS);
}

TEST_F(Linker, Adds_the_messages_of_all_calls_to_the_log) {
  EXPECT_EQ(add(CU_JIT_INPUT_OBJECT, "garbage", "one"), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(add(CU_JIT_INPUT_OBJECT, "garbage", "other"), CUDA_ERROR_UNKNOWN);
  EXPECT_STREQ(error, "fatal   : Could not find fatbin in 'one'\nfatal   : Could not find fatbin in 'other'");
}

}  // namespace
}  // namespace cushim::sim

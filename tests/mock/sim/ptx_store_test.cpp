// SPDX-License-Identifier: Apache-2.0
// The folder that keeps the PTX of cubins.
#include "kernels/ptx_store.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/cubin.hpp"
#include "kernels/image.hpp"
#include "kernels/ptx_text.hpp"
#include "support/cubin.hpp"
#include "support/folder.hpp"
#include "support/machine_fixture.hpp"

namespace cushim::sim {
namespace {

const std::string kPtx = ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry empty() { ret; }\n";

std::size_t files_in(const std::string &folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(PtxStore, Finds_what_it_has_kept_by_the_content_of_the_cubin) {
  const Folder folder;
  PtxStore store(folder.path() + "/new/store");
  EXPECT_FALSE(store.find("cubin").has_value());
  ASSERT_TRUE(store.keep("cubin", kPtx, "the test"));
  const PtxStore other(folder.path() + "/new/store");
  const auto found = other.find("cubin");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->text, kPtx);
  EXPECT_EQ(found->origin, "the test");
  EXPECT_FALSE(other.find("cubim").has_value());
}

TEST(PtxStore, Without_a_folder_keeps_nothing) {
  PtxStore store("");
  EXPECT_FALSE(store.keep("cubin", kPtx, "the test"));
  EXPECT_FALSE(store.find("cubin").has_value());
  EXPECT_FALSE(PtxStore("/nonexistent/store").find("cubin").has_value());
}

TEST(PtxStore, Removes_what_was_not_used_for_the_longest_time) {
  const Folder folder;
  PtxStore store(folder.path(), 8 * kPtx.size());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store.keep("cubin " + std::to_string(i), kPtx, "the test"));
  EXPECT_LE(files_in(folder.path()), 9U);
  EXPECT_TRUE(store.find("cubin 99").has_value());
  EXPECT_FALSE(store.find("cubin 0").has_value());
}

// Keeps and finds PTX that other processes keep, too. Returns whether all PTX that it found was complete.
bool keeps_and_finds(const std::string &folder) {
  PtxStore store(folder, 20 * kPtx.size());
  for (int i = 0; i < 500; ++i) {
    const std::string cubin = "cubin " + std::to_string(i % 40);
    store.keep(cubin, kPtx, "the test");
    const auto found = store.find(cubin);  // another process may have removed it
    if (found && (found->text != kPtx || found->origin != "the test")) return false;
  }
  return true;
}

TEST(PtxStore, Gives_processes_that_write_at_the_same_time_complete_PTX) {
  const Folder folder;
  std::vector<pid_t> children(4);
  for (pid_t &child : children) {
    child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(keeps_and_finds(folder.path()) ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_LE(files_in(folder.path()), 40U);
}

TEST(PtxStore, Gives_the_driver_the_PTX_of_a_cubin) {
  const Folder folder;
  const std::string cubin = cubin_with({"empty"});
  PtxStore store(folder.path());
  ASSERT_TRUE(store.keep(cubin, kPtx, "the test"));
  const Running on({.ptx_store = folder.path()});
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(driver().cuModuleLoadData(&module, cubin.data()));
  need(driver().cuModuleGetFunction(&function, module, "empty"));
  need(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  need(driver().cuCtxSynchronize());
  const auto cubins = on.machine.usage().cubins;
  ASSERT_EQ(cubins.size(), 1U);
  EXPECT_EQ(cubins.begin()->first, content_key(cubin));
  EXPECT_EQ(cubins.begin()->second.ptx_from, "the test");
  EXPECT_EQ(cubins.begin()->second.loads, 1U);
}

// Returns the registers of a kernel that uses 120 in PTX, compiled with this limit.
int registers_with_limit(unsigned max_registers, const std::string &directives) {
  const Folder folder;
  std::string body = ".reg .b32 r<120>; ";
  for (int i = 0; i < 120; ++i) body += "mov.u32 r" + std::to_string(i) + ", 1; ";
  const std::string cubin = cubin_with({"k"});
  PtxStore store(folder.path());
  need(store.keep(cubin,
                  ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry k() " + directives + " { " +
                      body + "ret; }\n",
                  "the test", max_registers)
           ? CUDA_SUCCESS
           : CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(store.find(cubin)->origin, "the test");
  const Running on({.ptx_store = folder.path()});
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  need(driver().cuModuleLoadData(&module, cubin.data()));
  need(driver().cuModuleGetFunction(&function, module, "k"));
  int registers = 0;
  need(driver().cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
  return registers;
}

TEST(PtxStore, Gives_PTX_whose_unused_functions_call_undefined_ones) {
  const Folder folder;
  const std::string cubin = cubin_with({"empty"}), other = cubin_with({"empty", "caller"});
  const std::string unused = ".extern .func missing();\n.visible .func unused() { call missing; ret; }\n";
  PtxStore store(folder.path());
  ASSERT_TRUE(store.keep(cubin, kPtx + unused, "the test"));
  ASSERT_TRUE(
      store.keep(other, kPtx + unused + ".visible .entry caller() { call unused; ret; }\n", "the test"));
  const Running on({.ptx_store = folder.path()});
  CUmodule module = nullptr;
  EXPECT_EQ(driver().cuModuleLoadData(&module, cubin.data()), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuModuleLoadData(&module, other.data()), CUDA_ERROR_INVALID_PTX);
}

TEST(PtxStore, Keeps_the_limit_of_registers) {
  EXPECT_GT(registers_with_limit(0, ""), 38);
  EXPECT_EQ(registers_with_limit(38, ""), 38);
  EXPECT_EQ(registers_with_limit(38, ".maxnreg 32"), 32);
  EXPECT_GT(registers_with_limit(38, ".maxntid 64, 1, 1"), 38);  // launch bounds
}

TEST(Cubins, End_where_their_headers_say) {
  const std::string cubin = cubin_with({"first", "second"}), longer = cubin + "more";
  EXPECT_EQ(cubin_at(longer.data()), cubin);
  EXPECT_EQ(cubin_at(longer.data(), longer.size()), cubin);
  EXPECT_EQ(functions_of(cubin), (std::vector<std::string>{"first", "second"}));
  for (std::size_t size = 0; size < cubin.size(); ++size) {
    const std::string shorter = cubin.substr(0, size);
    EXPECT_FALSE(cubin_at(shorter.data(), size).has_value()) << size;
  }
  EXPECT_FALSE(cubin_at("no cubin").has_value());
}

TEST(PtxText, Of_several_inputs_has_one_header) {
  std::string module;
  append_ptx(module, "// first\n" + kPtx);
  append_ptx(module, kPtx);
  EXPECT_TRUE(is_ptx(module));
  EXPECT_EQ(module, "// first\n" + kPtx + "\n.visible .entry empty() { ret; }\n\n");
  EXPECT_FALSE(is_ptx("/* .version"));
}

// Returns the module that two inputs with a common header make, without the header.
std::string linked(const std::string &first, const std::string &second) {
  const std::string header = ".version 7.8\n.target sm_52\n.address_size 64\n";
  std::string module;
  append_ptx(module, header + first);
  append_ptx(module, header + second);
  return module.substr(header.size());
}

TEST(PtxText, Of_several_inputs_has_one_definition_of_a_weak_or_common_name) {
  const std::string defined = ".weak .func (.param .b32 r) f(.param .b32 a)\n{ { ret; } }\n",
                    common = ".common .global .align 8 .u64 c;\n";
  EXPECT_EQ(linked(defined + common, defined + common + ".func g() { ret; }"),
            defined + common + "\n\n.func g() { ret; }\n");
  EXPECT_EQ(linked(".visible .func f() { ret; }", ".weak .func f() { trap; }"),
            ".visible .func f() { ret; }\n\n");
  // A declaration defines nothing.
  EXPECT_EQ(linked(".extern .func f;", ".weak .func f() { ret; }"),
            ".extern .func f;\n.weak .func f() { ret; }\n");
}

TEST(PtxText, Of_several_inputs_has_the_newest_version_and_the_highest_target) {
  const std::string older = "// .version 9.9\n.version 7.8\n.target sm_52, debug\n.address_size 64\n",
                    newer = ".version 8.0\n.target sm_90a\n.address_size 64\n",
                    raised = "// .version 9.9\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n";
  std::string module;
  append_ptx(module, older);
  append_ptx(module, newer);
  EXPECT_EQ(module.substr(0, raised.size()), raised);
  module.clear();
  append_ptx(module, newer);
  append_ptx(module, older);
  EXPECT_EQ(module.substr(0, newer.size()), newer);
}

TEST(PtxText, Limits_the_registers_of_kernels_without_bounds) {
  EXPECT_EQ(with_register_limit(".entry k(.param .b32 a[4]) { { ret; } }\n.func f() { ret; }\n", 32),
            ".entry k(.param .b32 a[4]) .maxnreg 32\n{ { ret; } }\n.func f() { ret; }\n");
  const std::string bounded =
      ".entry k() .maxntid 64 { ret; }\n.entry l() .maxnreg 16 { ret; }\n"
      ".const .b32 entry[2] = {1, 2};\n";
  EXPECT_EQ(with_register_limit(bounded, 32), bounded);
}

TEST(PtxText, Defines_functions_as_traps) {
  EXPECT_EQ(with_traps(".extern .func f(.param .b32 a);\n.extern .func g;\n.entry k() { ret; }\n", {"f"}),
            " .func f(.param .b32 a) { trap; }\n\n.extern .func g;\n.entry k() { ret; }\n");
}

TEST(PtxText, Of_several_inputs_keeps_names_apart_that_are_not_visible) {
  EXPECT_EQ(linked(".global .b32 v[2] = {1, 2}; // f\n.func f;\n.func f() { ret; }",
                   ".global .b32 v;\n.visible .func f() { ld.u32 %r1, [v]; ret; }"),
            ".global .b32 v[2] = {1, 2}; // f$2\n.func f$2;\n.func f$2() { ret; }\n"
            ".global .b32 v$2;\n.visible .func f() { ld.u32 %r1, [v$2]; ret; }\n");
  EXPECT_EQ(linked(".visible .global .b32 v;", ".file 1 \"v\"\n.section .debug_str { v: .b8 1; }"),
            ".visible .global .b32 v;\n.file 1 \"v\"\n.section .debug_str { v: .b8 1; }\n");
}

}  // namespace
}  // namespace cushim::sim

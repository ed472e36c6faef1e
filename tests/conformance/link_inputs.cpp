// SPDX-License-Identifier: Apache-2.0
// Inputs of cuLink*: types, object files and archives, limits of registers, versions of PTX.
#include <elf.h>

#include "../support/cubin.hpp"
#include "kernels.hpp"

namespace conformance {
namespace {

std::string function_text(const std::string &name, unsigned added, const std::string &header = kHeader) {
  return header + ".visible .func (.param .b32 result) " + name +
         "(.param .b32 a) { .reg .u32 x; ld.param.b32 x, [a]; add.u32 x, x, " + std::to_string(added) +
         "; st.param.b32 [result], x; ret; }\n";
}

// Returns a kernel that stores what a function returns for 5.
std::string kernel_text(const std::string &name, const std::string &function) {
  return kHeader + ".extern .func (.param .b32 result) " + function + "(.param .b32 a);\n.visible .entry " +
         name + R"((.param .u64 to) {
  .reg .u32 x; .reg .u64 at;
  .param .b32 argument;
  .param .b32 result;
  ld.param.u64 at, [to];
  st.param.b32 [argument], 5;
  call (result), )" +
         function + R"(, (argument);
  ld.param.b32 x, [result];
  st.global.u32 [at], x;
  ret;
}
)";
}

// Returns a kernel that stores 7.
std::string plain_kernel(const std::string &name, const std::string &header, const std::string &more = "") {
  return header + ".visible .entry " + name + "(.param .u64 to) { .reg .u64 at; ld.param.u64 at, [to]; " +
         more + "st.global.u32 [at], 7; ret; }\n";
}

// Returns a kernel that keeps 96 sums in registers.
std::string heavy_kernel(const std::string &name, const std::string &directives) {
  std::string load, add, store;
  for (int i = 0; i < 96; ++i) {
    const std::string one = std::to_string(i), next = std::to_string((i + 1) % 96);
    load += "ld.global.f32 s" + one + ", [from + " + std::to_string(4 * i) + "]; ";
    add += "fma.rn.f32 s" + one + ", s" + one + ", s" + next + ", x; ";
    store += "st.global.f32 [from + " + std::to_string(4 * i) + "], s" + one + "; ";
  }
  return ".visible .entry " + name + "(.param .u64 at, .param .u32 count) " + directives +
         " { .reg .f32 s<96>, x; .reg .u64 from; .reg .u32 n; .reg .pred more; ld.param.u64 from, [at]; "
         "ld.param.u32 n, [count]; " +
         load + "again: ld.volatile.global.f32 x, [from]; " + add +
         "sub.u32 n, n, 1; setp.ne.u32 more, n, 0; @more bra again; " + store + "ret; }\n";
}

// A fat binary that nvcc 13.0 writes for sm_75 into object files: compressed PTX with the kernel k and the
// function plus_37.
constexpr char kFatBinary[] =
    "\120\355\125\272\001\000\020\000\140\001\000\000\000\000\000\000\001\000\001\001\140\000\000\000\000"
    "\001\000\000\000\000\000\000\376\000\000\000\100\000\000\000\000\000\011\000\113\000\000\000\000\000"
    "\000\000\000\000\000\000\021\200\000\000\000\000\000\000\000\000\000\000\000\000\000\000\315\001\000"
    "\000\000\000\000\000\110\000\000\000\020\000\000\000\055\055\143\157\155\160\151\154\145\055\157\156"
    "\154\171\040\040\000\000\000\000\000\000\000\000\050\265\057\375\140\315\000\245\007\000\102\214\050"
    "\042\120\147\235\003\060\300\377\115\056\174\167\253\215\120\355\122\106\125\225\266\345\333\063\354"
    "\227\303\277\015\143\146\147\014\070\002\000\310\122\220\152\212\316\220\007\135\063\101\107\247\250"
    "\056\126\014\350\161\041\225\205\045\026\224\312\102\101\151\300\121\332\204\237\305\345\263\265\070"
    "\002\024\261\317\230\004\261\132\337\163\147\013\105\042\020\112\037\374\317\022\011\001\027\234\145"
    "\075\302\017\077\132\273\201\111\132\123\260\221\207\003\272\052\056\267\134\111\243\031\071\166\015"
    "\065\044\103\242\012\064\027\066\117\077\312\222\173\360\164\353\136\176\317\351\005\230\026\165\306"
    "\165\330\105\375\241\003\051\115\117\363\126\372\041\040\040\002\042\160\232\074\114\224\035\100\006"
    "\124\055\074\004\246\336\161\267\106\264\001\311\123\234\161\276\130\350\030\350\061\013\371\216\125"
    "\253\143\302\046\212\321\302\032\013\342\243\330\340\313\005\035\074\272\170\277\111\152\030\213\175"
    "\170\334\166\031\147\266\231\203\205\305\223\153\150\262\053\004\000\000";

// Returns an object file with this code, and with or without the section of the program's fat binaries.
std::string object_file(bool has_segment = true) {
  const std::string wrapper = {"\xb1\x43\x62\x46\1\0\0\0", 8};  // and two pointers
  std::vector<std::pair<std::string, std::string>> sections = {
      {"__nv_relfatbin", std::string(kFatBinary, sizeof kFatBinary - 1)}};
  if (has_segment) sections.emplace_back(".nvFatBinSegment", wrapper + std::string(16, '\0'));
  return cushim::elf_with(EM_X86_64, sections);
}

class LinkInputs : public OnModule {
 protected:
  void SetUp() override {
    OnModule::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    create();
  }
  void TearDown() override {
    if (link != nullptr) driver().cuLinkDestroy(link);
    OnModule::TearDown();
  }

 public:
  void create(unsigned registers = 0) {
    if (link != nullptr) driver().cuLinkDestroy(link);
    names[2] = CU_JIT_MAX_REGISTERS;
    log.assign(4096, '\0');
    values[0] = log.data();
    values[1] = reinterpret_cast<void *>(log.size());
    values[2] = reinterpret_cast<void *>(std::size_t{registers});
    NEED(driver().cuLinkCreate(registers != 0 ? 3 : 2, names, values, &link));
  }
  CUresult add(int type, const std::string &content, const char *name = "input", unsigned registers = 0) {
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = reinterpret_cast<void *>(std::size_t{registers});
    return driver().cuLinkAddData(
        link, static_cast<CUjitInputType>(type), const_cast<char *>(content.c_str()),
        content.size() + (type == CU_JIT_INPUT_PTX ? 1 : 0), name, registers != 0 ? 1 : 0, &option, &value);
  }
  CUresult complete() { return driver().cuLinkComplete(link, &image, &size); }
  // Returns the error of a new link for an input.
  CUresult first(int type, const std::string &content) {
    create();
    return add(type, content);
  }
  std::string log_text() const { return {log.data(), reinterpret_cast<std::size_t>(values[1])}; }
  // Returns what a kernel of the linked image stores.
  unsigned stored_by(const char *kernel) {
    CUdeviceptr to = memory();
    NEED(driver().cuModuleLoadData(&module_out, image));
    NEED(driver().cuModuleGetFunction(&function_out, module_out, kernel));
    NEED(launch(function_out, {&to}));
    const unsigned value = word(to);
    NEED(driver().cuModuleUnload(module_out));
    return value;
  }
  int attribute(const char *kernel, CUfunction_attribute which) {
    int value = 0;
    NEED(driver().cuModuleLoadData(&module_out, image));
    NEED(driver().cuModuleGetFunction(&function_out, module_out, kernel));
    NEED(driver().cuFuncGetAttribute(&value, which, function_out));
    NEED(driver().cuModuleUnload(module_out));
    return value;
  }
  // Returns the registers of a kernel that would like 100, linked with these limits.
  int registers(const char *kernel, unsigned of_link, unsigned of_input) {
    create(of_link);
    NEED(add(CU_JIT_INPUT_PTX,
             kHeader + heavy_kernel("heavy", "") + heavy_kernel("bounded", ".maxntid 64, 1, 1"), "heavy",
             of_input));
    NEED(complete());
    return attribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS);
  }

  const std::string callee = function_text("plus_37", 37), caller = kernel_text("linked", "plus_37");
  CUlinkState link = nullptr;
  void *image = nullptr;
  std::string log;
  CUjit_option names[3] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[3] = {};
};

TEST_F(LinkInputs, Define_a_function_once) {
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, callee, "one"), CUDA_SUCCESS);
  // CUDA_ERROR_INVALID_SOURCE or CUDA_ERROR_UNKNOWN; see the next statement.
  EXPECT_VALUE(add(CU_JIT_INPUT_PTX, callee, "other") == CUDA_SUCCESS, false);
  EXPECT_VALUE(complete() == CUDA_SUCCESS, false);
  EXPECT_VALUE(log_text(),
               std::string("error   : Multiple definition of 'plus_37' in 'other', first defined in 'one'"));
}
TEST_F(LinkInputs, That_define_a_function_twice_return_a_code_of_the_compilers_last_error) {
  EXPECT_ANSWER(first(CU_JIT_INPUT_PTX, kHeader + ".visible .entry k() { frob; }"), CUDA_ERROR_INVALID_PTX);
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, callee, "one"), CUDA_SUCCESS);
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, callee, "other"), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(complete(), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(first(CU_JIT_INPUT_PTX, ".version 99.9\n.target sm_52\n"),
                CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, callee, "one"), CUDA_SUCCESS);
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, callee, "other"), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, caller, "third"), CUDA_ERROR_INVALID_SOURCE);
  EXPECT_ANSWER(complete(), CUDA_ERROR_INVALID_SOURCE);
}
TEST_F(LinkInputs, May_be_object_files) {
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, caller), CUDA_SUCCESS);
  EXPECT_ANSWER(add(CU_JIT_INPUT_OBJECT, object_file()), CUDA_SUCCESS);
  EXPECT_ANSWER(complete(), CUDA_SUCCESS);
  EXPECT_VALUE(stored_by("linked"), 42u);
}
TEST_F(LinkInputs, May_be_archives_of_object_files) {
  const std::string host = cushim::elf_with(EM_X86_64, {{".data", "x"}});
  EXPECT_ANSWER(
      add(CU_JIT_INPUT_LIBRARY,
          cushim::archive_of({{"host.o", host}, {"a_name_of_more_than_16_characters.o", object_file()}})),
      CUDA_SUCCESS);
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, caller), CUDA_SUCCESS);
  EXPECT_ANSWER(complete(), CUDA_SUCCESS);
  EXPECT_VALUE(stored_by("linked"), 42u);
}
TEST_F(LinkInputs, Are_object_files_with_a_segment_of_fat_binaries) {
  EXPECT_ANSWER(first(CU_JIT_INPUT_OBJECT, object_file(false)), CUDA_ERROR_INVALID_IMAGE);
}
TEST_F(LinkInputs, Without_device_code_are_invalid) {
  const std::string host = cushim::elf_with(EM_X86_64, {{".data", "x"}});
  EXPECT_ANSWER(first(CU_JIT_INPUT_OBJECT, host), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(first(CU_JIT_INPUT_LIBRARY, cushim::archive_of({{"host.o", host}})),
                CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(first(CU_JIT_INPUT_LIBRARY, cushim::archive_of({{"callee.ptx", callee}})),
                CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(first(CU_JIT_INPUT_LIBRARY, "!<arch>\n"), CUDA_ERROR_INVALID_IMAGE);
}
TEST_F(LinkInputs, Of_another_type_are_invalid) {
  const std::string fat_binary = cushim::fat_binary_with(callee), object = object_file();
  EXPECT_ANSWER(first(CU_JIT_INPUT_PTX, fat_binary), CUDA_SUCCESS);
  EXPECT_ANSWER(first(CU_JIT_INPUT_FATBINARY, callee), CUDA_SUCCESS);
  EXPECT_ANSWER(first(CU_JIT_INPUT_PTX, object), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(first(CU_JIT_INPUT_FATBINARY, object), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(first(CU_JIT_INPUT_OBJECT, callee), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(first(CU_JIT_INPUT_OBJECT, "garbage"), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(first(CU_JIT_INPUT_LIBRARY, callee), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(first(CU_JIT_INPUT_LIBRARY, object), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(first(CU_JIT_INPUT_CUBIN, callee), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(first(CU_JIT_INPUT_CUBIN, object), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(first(CU_JIT_INPUT_NVVM, callee), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_ANSWER(first(6, callee), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(LinkInputs, That_are_no_cubins_end_the_link) {
  EXPECT_ANSWER(add(CU_JIT_INPUT_CUBIN, "garbage"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(complete(), CUDA_ERROR_INVALID_IMAGE);
  create();
  EXPECT_ANSWER(add(CU_JIT_INPUT_NVVM, "garbage"), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_ANSWER(complete(), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  create();
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, "garbage"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_ANSWER(complete(), CUDA_SUCCESS);
  NEED(driver().cuModuleLoadData(&module_out, image));
  NEED(driver().cuModuleUnload(module_out));
}
TEST_F(LinkInputs, May_miss_a_function_that_no_kernel_reaches) {
  std::string unreached = kernel_text("unreached", "missing");
  unreached.replace(unreached.find(".entry"), 6, ".func");
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, unreached), CUDA_SUCCESS);
  EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, plain_kernel("k", kHeader)), CUDA_SUCCESS);
  EXPECT_ANSWER(complete(), CUDA_SUCCESS);
  EXPECT_VALUE(stored_by("k"), 7u);
}
TEST_F(LinkInputs, Have_the_limit_of_registers_of_the_link_or_their_own) {
  EXPECT_VALUE(registers("heavy", 0, 0) > 40, true);
  EXPECT_VALUE(registers("heavy", 32, 0) <= 32, true);
  EXPECT_VALUE(registers("heavy", 0, 32) <= 32, true);
  EXPECT_VALUE(registers("heavy", 64, 32) <= 32, true);
  const int of_input = registers("heavy", 32, 64);
  EXPECT_VALUE(of_input > 32 && of_input <= 64, true);
  EXPECT_VALUE(registers("bounded", 32, 0) > 40, true);  // launch bounds
  EXPECT_VALUE(registers("heavy", 300, 0) > 40, true);
  EXPECT_VALUE(registers("heavy", 1, 0), 24);
}
TEST_F(LinkInputs, May_be_of_different_versions_and_targets) {
  const std::string older = plain_kernel("older", ".version 6.0\n.target sm_50\n.address_size 64\n");
  const std::string newer =
      plain_kernel("newer", ".version 7.8\n.target sm_90\n.address_size 64\n", "griddepcontrol.wait; ");
  for (const bool is_older_first : {true, false}) {
    create();
    EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, is_older_first ? older : newer), CUDA_SUCCESS);
    EXPECT_ANSWER(add(CU_JIT_INPUT_PTX, is_older_first ? newer : older), CUDA_SUCCESS);
    EXPECT_ANSWER(complete(), CUDA_SUCCESS);
    EXPECT_VALUE(stored_by("older"), 7u);
    EXPECT_VALUE(stored_by("newer"), 7u);
    EXPECT_VALUE(attribute("older", CU_FUNC_ATTRIBUTE_PTX_VERSION), 50);
    EXPECT_VALUE(attribute("newer", CU_FUNC_ATTRIBUTE_PTX_VERSION), 50);
  }
}

}  // namespace
}  // namespace conformance

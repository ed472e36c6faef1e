// SPDX-License-Identifier: Apache-2.0
// Loading modules, and their contents.
#include <cstdint>
#include <cstring>

#include "kernels.hpp"

namespace conformance {
namespace {

class Modules : public OnModule {};

// ---- Images ----

STATEMENT(Modules, Text_without_declarations_is_loaded, load(kHeader), CUDA_SUCCESS)
STATEMENT(Modules, Text_without_an_address_size_is_loaded,
          load(".version 7.8\n.target sm_52\n.visible .entry k() { ret; }"), CUDA_SUCCESS)
STATEMENT(Modules, Comments_may_stand_before_the_version, load("// first\n/* second */ " + kHeader),
          CUDA_SUCCESS)
STATEMENT(Modules, Empty_text_is_no_image, load(""), CUDA_ERROR_INVALID_IMAGE)
STATEMENT(Modules, Any_words_are_no_image, load("garbage"), CUDA_ERROR_INVALID_IMAGE)
STATEMENT(Modules, Text_without_a_version_is_no_image, load(".target sm_52\n.visible .entry k() { ret; }"),
          CUDA_ERROR_INVALID_IMAGE)
STATEMENT(Modules, A_later_version_is_unsupported, load(".version 99.0\n.target sm_52\n.address_size 64\n"),
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
STATEMENT(Modules, A_later_target_is_refused,
          load(".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry k() { ret; }"),
          CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, An_unknown_instruction_is_refused,
          load(kHeader + ".visible .entry k() { .reg .u32 a; frob.u32 a, a; ret; }"), CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, An_undeclared_register_is_refused,
          load(kHeader + ".visible .entry k() { add.u32 a, a, 1; ret; }"), CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, A_wrong_type_is_refused,
          load(kHeader + ".visible .entry k() { .reg .u32 a; add.f32 a, a, a; ret; }"),
          CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, A_missing_operand_is_refused,
          load(kHeader + ".visible .entry k() { .reg .u32 a; add.u32 a, a; ret; }"), CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, A_missing_semicolon_is_refused,
          load(kHeader + ".visible .entry k() { .reg .u32 a; add.u32 a, a, 1 ret; }"), CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, An_unknown_label_is_refused, load(kHeader + ".visible .entry k() { bra nowhere; }"),
          CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, A_function_is_defined_once,
          load(kHeader + ".visible .entry k() { ret; }\n.visible .entry k() { ret; }"),
          CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, Text_that_ends_too_early_is_refused, load(kHeader + ".visible .entry k("),
          CUDA_ERROR_INVALID_PTX)
STATEMENT(Modules, A_place_for_the_handle_is_needed, driver().cuModuleLoadData(nullptr, kCode.c_str()),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Modules, An_image_is_needed, driver().cuModuleLoadData(&module_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Modules, A_file_that_is_not_there_is_told, driver().cuModuleLoad(&module_out, "/nonexistent/file"),
          CUDA_ERROR_FILE_NOT_FOUND)
STATEMENT(Modules, A_file_name_is_needed, driver().cuModuleLoad(&module_out, nullptr),
          CUDA_ERROR_INVALID_VALUE)

TEST_F(Modules, An_ELF_header_of_zeros_is_no_image) {
  std::vector<char> image(64);
  std::memcpy(image.data(),
              "\x7f"
              "ELF",
              4);
  EXPECT_ANSWER(driver().cuModuleLoadData(&module_out, image.data()), CUDA_ERROR_INVALID_IMAGE);
}

// Returns a fat binary's header: magic, version 1, header size 16 bytes, and the number of bytes that follow.
std::vector<unsigned char> fat_binary(std::size_t size) {
  std::vector<unsigned char> bytes(16 + size, 0xff);
  const std::uint64_t head[] = {0x00100001BA55ED50, size};
  std::memcpy(bytes.data(), head, sizeof head);
  return bytes;
}

TEST_F(Modules, An_empty_fat_binary_has_no_code_for_the_device) {
  EXPECT_ANSWER(driver().cuModuleLoadData(&module_out, fat_binary(0).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(Modules, A_fat_binary_of_garbage_has_no_code_for_the_device) {
  EXPECT_ANSWER(driver().cuModuleLoadData(&module_out, fat_binary(64).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(Modules, Text_is_loaded_as_a_fat_binary_too) {
  EXPECT_ANSWER(driver().cuModuleLoadFatBinary(&module_out, kHeader.c_str()), CUDA_SUCCESS);
  driver().cuModuleUnload(module_out);
}

TEST_F(Modules, Are_not_loaded_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuModuleLoadData(&module_out, kHeader.c_str()), CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSetCurrent(context));
}

// ---- The compiler's log ----

TEST_F(Modules, The_log_names_an_unknown_instruction) {
  EXPECT_VALUE(log_of(kHeader + ".visible .entry k() { .reg .u32 a; frob.u32 a, a; ret; }"),
               "ptxas application ptx input, line 4; error   : Not a name of any known instruction: 'frob'\n"
               "ptxas fatal   : Ptx assembly aborted due to errors");
}

TEST_F(Modules, The_log_names_an_unknown_label) {
  EXPECT_VALUE(log_of(kHeader + ".visible .entry k() { bra nowhere; }"),
               "ptxas application ptx input, line 4; error   : Unknown symbol 'nowhere'\n"
               "ptxas fatal   : Ptx assembly aborted due to errors");
}

TEST_F(Modules, The_log_tells_where_the_grammar_is_broken) {
  EXPECT_VALUE(log_of(kHeader + ".visible .entry k() { .reg .u32 a; add.u32 a, a, 1 ret; }"),
               "ptxas application ptx input, line 4; fatal   : Parsing error near 'ret': syntax error\n"
               "ptxas fatal   : Ptx assembly aborted due to errors");
}

TEST_F(Modules, The_log_names_the_undefined_function_that_is_used_first) {
  EXPECT_VALUE(log_of(kHeader + ".extern .func f;\n.extern .func g;\n.extern .func h;\n"
                                ".visible .entry k() { call.uni g; call.uni f; ret; }"),
               "ptxas fatal   : Unresolved extern function 'g'");
}

TEST_F(Modules, With_debug_information_are_not_optimized) {
  const auto load_with = [&](std::vector<CUjit_option> names, std::vector<std::uintptr_t> numbers) {
    std::vector<void *> values;
    for (const std::uintptr_t number : numbers) values.push_back(reinterpret_cast<void *>(number));
    const CUresult code = driver().cuModuleLoadDataEx(
        &module_out, kHeader.c_str(), static_cast<unsigned>(names.size()), names.data(), values.data());
    if (code == CUDA_SUCCESS) driver().cuModuleUnload(module_out);
    return code;
  };
  constexpr auto kLevel = CU_JIT_OPTIMIZATION_LEVEL;
  constexpr auto kDebug = CU_JIT_GENERATE_DEBUG_INFO;
  EXPECT_ANSWER(load_with({kDebug, kLevel}, {1, 0}), CUDA_SUCCESS);
  EXPECT_ANSWER(load_with({kDebug, kLevel}, {1, 1}), CUDA_ERROR_INVALID_PTX);
  EXPECT_ANSWER(load_with({kDebug, kLevel, kLevel}, {1, 4, 0}), CUDA_SUCCESS);  // the last value counts
  EXPECT_ANSWER(load_with({kDebug, kLevel, CU_JIT_TARGET}, {1, 4, 7}), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Modules, Do_not_need_a_function_that_is_only_declared) {
  EXPECT_VALUE(static_cast<int>(load(kHeader + ".extern .func f;\n.visible .entry k() { ret; }")),
               static_cast<int>(CUDA_SUCCESS));
}

TEST_F(Modules, The_log_is_empty_if_all_is_well) { EXPECT_VALUE(log_of(kHeader).size(), std::size_t{0}); }

TEST_F(Modules, The_log_is_told_of_what_is_no_image) {
  EXPECT_VALUE(log_of("garbage"), "error   : Binary format for key='0', ident='' is not recognized");
}

// ---- Functions ----

STATEMENT(Modules, A_kernel_is_found, driver().cuModuleGetFunction(&function_out, module, "empty"),
          CUDA_SUCCESS)
STATEMENT(Modules, A_kernel_that_is_not_visible_is_found,
          driver().cuModuleGetFunction(&function_out, module, "internal_kernel"), CUDA_SUCCESS)
STATEMENT(Modules, A_function_of_the_device_is_no_kernel,
          driver().cuModuleGetFunction(&function_out, module, "device_function"), CUDA_ERROR_NOT_FOUND)
STATEMENT(Modules, A_kernel_that_is_not_there_is_not_found,
          driver().cuModuleGetFunction(&function_out, module, "nothing"), CUDA_ERROR_NOT_FOUND)
STATEMENT(Modules, A_kernel_has_a_name, driver().cuModuleGetFunction(&function_out, module, ""),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Modules, A_kernels_name_is_needed, driver().cuModuleGetFunction(&function_out, module, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Modules, A_place_for_the_function_is_needed, driver().cuModuleGetFunction(nullptr, module, "empty"),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Modules, A_kernel_is_of_a_module, driver().cuModuleGetFunction(&function_out, nullptr, "empty"),
          CUDA_ERROR_INVALID_HANDLE)

TEST_F(Modules, A_kernel_has_one_handle) { EXPECT_VALUE(kernel("empty") == kernel("empty"), true); }

TEST_F(Modules, A_kernel_is_found_without_a_context) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  EXPECT_ANSWER(driver().cuModuleGetFunction(&function_out, module, "empty"), CUDA_SUCCESS);
  NEED(driver().cuCtxSetCurrent(context));
}

#if CUDA_VERSION >= 12040
TEST_F(Modules, Kernels_are_counted_and_listed) {
  unsigned count = 0;
  EXPECT_ANSWER(driver().cuModuleGetFunctionCount(&count, module), CUDA_SUCCESS);
  EXPECT_VALUE(count, 11u);
  std::vector<CUfunction> all(count);
  EXPECT_ANSWER(driver().cuModuleEnumerateFunctions(all.data(), count, module), CUDA_SUCCESS);
  for (CUfunction one : all) {
    const char *name = nullptr;
    NEED(driver().cuFuncGetName(&name, one));
    EXPECT_VALUE(kernel(name) == one, true);
  }
  EXPECT_ANSWER(driver().cuModuleEnumerateFunctions(nullptr, count, module), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuModuleEnumerateFunctions(all.data(), 0, module), CUDA_SUCCESS);
}
#endif

// ---- Variables ----

struct Variable {
  const char *name;
  std::size_t size;
  CUresult code = CUDA_SUCCESS;
};
const bool variables_told = [] {
  for (const Variable &one : std::initializer_list<Variable>{{"number", 4},
                                                             {"table", 24},
                                                             {"internal", 4},
                                                             {"constant", 4},
                                                             {"pointer", 8},
                                                             {"shared", 0, CUDA_ERROR_NOT_FOUND},
                                                             {"dynamic", 0, CUDA_ERROR_NOT_FOUND},
                                                             {"nothing", 0, CUDA_ERROR_NOT_FOUND},
                                                             {"empty", 0, CUDA_ERROR_INVALID_VALUE}})
    ADD_TEST(Modules, std::string("The_variable_") + one.name, [one](Modules &test) {
      test.size = 0;
      EXPECT_ANSWER(driver().cuModuleGetGlobal(&test.pointer, &test.size, test.module, one.name), one.code);
      EXPECT_VALUE(test.size, one.size);
    });
  return true;
}();

STATEMENT(Modules, A_variables_size_is_told_alone,
          driver().cuModuleGetGlobal(nullptr, &size, module, "number"), CUDA_SUCCESS)
STATEMENT(Modules, A_variables_address_is_told_alone,
          driver().cuModuleGetGlobal(&pointer, nullptr, module, "number"), CUDA_SUCCESS)
STATEMENT(Modules, Of_a_variable_something_is_asked,
          driver().cuModuleGetGlobal(nullptr, nullptr, module, "number"), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Modules, A_variables_name_is_needed, driver().cuModuleGetGlobal(&pointer, &size, module, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Modules, A_variable_is_of_a_module, driver().cuModuleGetGlobal(&pointer, &size, nullptr, "number"),
          CUDA_ERROR_INVALID_HANDLE)

TEST_F(Modules, Variables_have_their_first_values) {
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "number"));
  EXPECT_VALUE(word(pointer), 7u);
  const CUdeviceptr number_address = pointer;
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "table"));
  EXPECT_VALUE(word(pointer), 0x00030201u);
  EXPECT_VALUE(word(pointer + 20), 0u);
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "constant"));
  EXPECT_VALUE(word(pointer), 11u);
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "pointer"));
  CUdeviceptr held = 0;
  NEED(driver().cuMemcpyDtoH(&held, pointer, sizeof held));
  EXPECT_VALUE(held == number_address, true);
}

TEST_F(Modules, A_variable_is_no_allocation_of_the_program) {
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "number"));
  EXPECT_ANSWER(driver().cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, A_variable_is_set_in_the_context_of_its_module) {
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "number"));
  const CUcontext other = other_context();
  NEED(driver().cuCtxPushCurrent(other));
  EXPECT_ANSWER(driver().cuMemsetD32(pointer, 31, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(word(pointer), 7u);
  NEED(driver().cuCtxPopCurrent(nullptr));
  EXPECT_ANSWER(driver().cuMemsetD32(pointer, 31, 1), CUDA_SUCCESS);
  EXPECT_VALUE(word(pointer), 31u);
}

TEST_F(Modules, A_variables_range_is_its_own) {
  NEED(driver().cuModuleGetGlobal(&pointer, &size, module, "number"));
  CUdeviceptr base = 0;
  EXPECT_ANSWER(driver().cuMemGetAddressRange(&base, &size, pointer), CUDA_SUCCESS);
  EXPECT_VALUE(base == pointer, true);
  EXPECT_VALUE(size, std::size_t{4});
}

// ---- Unloading ----

STATEMENT(Modules, No_module_is_not_unloaded, driver().cuModuleUnload(nullptr), CUDA_ERROR_INVALID_HANDLE)

TEST_F(Modules, Many_are_loaded_and_unloaded) {
  for (int i = 0; i < 100; ++i) {
    NEED(driver().cuModuleLoadData(&module_out, kCode.c_str()));
    EXPECT_ANSWER(driver().cuModuleUnload(module_out), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace conformance

// SPDX-License-Identifier: Apache-2.0
// Tests modules, libraries, functions, kernels and links: the exact driver calls of each operation, and their
// arguments and results.
#include <gmock/gmock.h>

#include <cstring>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Device device() { return Device::from_handle(3); }
ModuleRef module_ref() { return ModuleRef::from_handle(reinterpret_cast<CUmodule>(0x70)); }
LibraryRef library_ref() { return LibraryRef::from_handle(reinterpret_cast<CUlibrary>(0x71)); }
Function function() { return Function::from_handle(reinterpret_cast<CUfunction>(0xf0)); }
Kernel kernel() { return Kernel::from_handle(reinterpret_cast<CUkernel>(0xf8)); }

// The options that a call got, by name.
std::map<int, void *> options_of(unsigned count, const CUjit_option *names, void *const *values) {
  std::map<int, void *> options;
  for (unsigned i = 0; i < count; ++i) options[names[i]] = values[i];
  return options;
}
void write_log(const std::map<int, void *> &options, CUjit_option buffer, const char *text) {
  std::strcpy(static_cast<char *>(options.at(buffer)), text);
}

// ---- Modules -----------------------------------------------------------------------------------

TEST(Module, Loading_is_one_call_and_unloading_is_one) {
  Recording recording;
  { const Module module = Module::load("ptx"); }
  { const Module module = Module::load_file("a.cubin"); }
  { const Module module = Module::load(device(), "ptx"); }
  const Calls calls = recording.calls();
  EXPECT_THAT(calls[0], HasSubstr("cuModuleLoadDataEx(&, "));
  EXPECT_EQ(calls[1], "cuModuleUnload(0x1000)");
  EXPECT_EQ(calls[2], "cuModuleLoad(&, \"a.cubin\")");
  EXPECT_EQ(calls[3], "cuModuleUnload(0x2000)");
  EXPECT_EQ(calls[4], "cuDevicePrimaryCtxRetain(&, 3)");
  EXPECT_EQ(calls[5], "cuCtxPushCurrent_v2(0xc0)");
  EXPECT_THAT(calls[6], HasSubstr("cuModuleLoadDataEx(&, "));
  EXPECT_EQ(calls[7], "cuCtxPopCurrent_v2(&)");
  EXPECT_EQ(calls[8], "cuModuleUnload(0x3000)");
  EXPECT_EQ(calls[9], "cuDevicePrimaryCtxRelease_v2(3)");
  EXPECT_EQ(calls.size(), 10u);
}

TEST(Module, Options_are_those_of_the_call) {
  Recording recording;
  std::map<int, void *> given;
  const void *image = nullptr;
  recording.on<Entry::cuModuleLoadDataEx_v2010>(
      [&](CUmodule *, const void *code, unsigned count, CUjit_option *names, void **values) {
        image = code;
        given = options_of(count, names, values);
        write_log(given, CU_JIT_INFO_LOG_BUFFER, "used 8 registers\n");
        return CUDA_SUCCESS;
      });
  const std::string ptx = "ptx";
  JitLog log;
  static_cast<void>(
      Module::load(ptx, JitOptions().max_registers(32).line_info().target(9, 0).log_size(100), &log)
          .release());
  EXPECT_EQ(image, ptx.c_str());
  EXPECT_EQ(given[CU_JIT_MAX_REGISTERS], reinterpret_cast<void *>(32));
  EXPECT_EQ(given[CU_JIT_GENERATE_LINE_INFO], reinterpret_cast<void *>(1));
  EXPECT_EQ(given[CU_JIT_TARGET], reinterpret_cast<void *>(90));
  EXPECT_EQ(given[CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES], reinterpret_cast<void *>(100));
  EXPECT_EQ(log.info, "used 8 registers");
  EXPECT_EQ(log.errors, "");
}

TEST(Module, A_failure_has_the_compilers_log) {
  Recording recording;
  recording.on<Entry::cuModuleLoadDataEx_v2010>(
      [](CUmodule *, const void *, unsigned count, CUjit_option *names, void **values) {
        write_log(options_of(count, names, values), CU_JIT_ERROR_LOG_BUFFER, "ptxas line 7: unknown\n");
        return CUDA_ERROR_INVALID_PTX;
      });
  try {
    Module::load("ptx");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const JitError &error) {
    EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_PTX);
    EXPECT_STREQ(error.log(), "ptxas line 7: unknown");
    EXPECT_THAT(error.what(), HasSubstr("cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX"));
    EXPECT_THAT(error.what(), HasSubstr("ptxas line 7: unknown"));
    EXPECT_THAT(error.where().file_name(), HasSubstr("module_test.cpp"));
  }
}

TEST(Module, Has_functions_and_variables) {
  Recording recording;
  EXPECT_EQ(module_ref().function("scale").handle(), function().handle());
  const Global<int[16]> table = module_ref().global<int[16]>("table");
  EXPECT_EQ(table.data(), DevicePtr<int>(0x8000));
  EXPECT_EQ(table.size(), 16u);
  EXPECT_EQ(module_ref().global<int[]>("table").size(), 16u);
  EXPECT_THAT(recording.calls(), ElementsAre("cuModuleGetFunction(&, 0x70, \"scale\")",
                                             "cuModuleGetGlobal_v2(&, &, 0x70, \"table\")",
                                             "cuModuleGetGlobal_v2(&, &, 0x70, \"table\")"));
}

TEST(Module, Lists_its_functions) {
  Recording recording;
  recording.on<Entry::cuModuleGetFunctionCount_v12040>(
      [](unsigned *count, CUmodule) { return *count = 2, CUDA_SUCCESS; });
  recording.on<Entry::cuModuleEnumerateFunctions_v12040>([](CUfunction *functions, unsigned, CUmodule) {
    functions[1] = function().handle();
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(module_ref().functions().at(1), function());
  EXPECT_THAT(recording.calls(), ElementsAre("cuModuleGetFunctionCount(&, 0x70)",
                                             testing::StartsWith("cuModuleEnumerateFunctions(")));
}

TEST(Module, Errors_name_what_was_not_found) {
  Recording recording;
  recording.answer(Entry::cuModuleGetFunction, CUDA_ERROR_NOT_FOUND);
  EXPECT_THAT(error_of([] { module_ref().function("scale"); }).what(), HasSubstr("module 0x70, scale"));
  const Error error = error_of([] { module_ref().global<int>("table"); });
  EXPECT_EQ(error.result(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(error.what(), HasSubstr("bytes of the variable 64, bytes of the type 4"));
  EXPECT_EQ(error_of([] { ModuleRef().function("scale"); }).result(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(to_text(module_ref()), "module 0x70");
}

// ---- Functions ---------------------------------------------------------------------------------

TEST(Function, Questions_and_settings_are_one_call_each) {
  Recording recording;
  recording.on<Entry::cuFuncGetAttribute_v2020>(
      [](int *value, CUfunction_attribute, CUfunction) { return *value = 48, CUDA_SUCCESS; });
  const std::size_t shared = function().attribute(function_attribute::max_dynamic_shared_size_bytes);
  EXPECT_EQ(shared, 48u);
  EXPECT_EQ(function().attribute(function_attribute::num_regs), 48);
  function().set(function_attribute::non_portable_cluster_size_allowed, true);
  function().set_cache_preference(CachePreference::shared);
  EXPECT_EQ(function().name(), "function");
  EXPECT_THAT(recording.calls(),
              ElementsAre("cuFuncGetAttribute(&, 8, 0xf0)", "cuFuncGetAttribute(&, 4, 0xf0)",
                          "cuFuncSetAttribute(0xf0, 14, 1)", "cuFuncSetCacheConfig(0xf0, 1)",
                          "cuFuncGetName(&, 0xf0)"));
}

TEST(Function, Has_as_many_parameters_as_the_driver_returns) {
  Recording recording;
  recording.on<Entry::cuFuncGetParamInfo_v12040>(
      [](CUfunction, std::size_t index, std::size_t *offset, std::size_t *size) {
        *offset = 8;
        *size = 4;
        return index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      });
  EXPECT_EQ(function().parameter(0), (KernelParameter{8, 4}));
  EXPECT_EQ(function().parameter(1), std::nullopt);
  EXPECT_EQ(error_of([] { Function().parameter(0); }).result(), CUDA_ERROR_INVALID_HANDLE);
}

// ---- Libraries ---------------------------------------------------------------------------------

TEST(Library, Loading_is_one_call_and_unloading_is_one) {
  Recording recording;
  { const Library library = Library::load("ptx", JitOptions().line_info()); }
  { const Library library = Library::load_file("a.cubin"); }
  const Calls calls = recording.calls();
  EXPECT_THAT(calls[0], testing::MatchesRegex("cuLibraryLoadData.&, 0x[0-9a-f]*, &, &, 1, null, null, 0."));
  EXPECT_EQ(calls[1], "cuLibraryUnload(0x1000)");
  EXPECT_THAT(calls[2], HasSubstr("cuLibraryLoadFromFile(&, \"a.cubin\", "));
  EXPECT_EQ(calls[3], "cuLibraryUnload(0x2000)");
}

TEST(Library, Has_kernels_and_variables) {
  Recording recording;
  recording.on<Entry::cuLibraryGetKernelCount_v12040>(
      [](unsigned *count, CUlibrary) { return *count = 1, CUDA_SUCCESS; });
  EXPECT_EQ(library_ref().kernel("scale"), kernel());
  EXPECT_EQ(library_ref().kernels().size(), 1u);
  EXPECT_EQ(library_ref().global<float[16]>("table").data(), DevicePtr<float>(0x8000));
  EXPECT_EQ(library_ref().managed<float[16]>("table").size(), 16u);
  EXPECT_THAT(
      recording.calls(),
      ElementsAre("cuLibraryGetKernel(&, 0x71, \"scale\")", "cuLibraryGetKernelCount(&, 0x71)",
                  testing::StartsWith("cuLibraryEnumerateKernels("),
                  "cuLibraryGetGlobal(&, &, 0x71, \"table\")", "cuLibraryGetManaged(&, &, 0x71, \"table\")"));
}

TEST(Kernel, Questions_and_settings_are_one_call_each) {
  Recording recording;
  kernel().attribute(function_attribute::num_regs, device());
  kernel().set(function_attribute::preferred_shared_memory_carveout, 50, device());
  kernel().set_cache_preference(CachePreference::l1, device());
  EXPECT_EQ(kernel().name(), "kernel");
  kernel().function();
  EXPECT_EQ(kernel().parameter(0), std::nullopt);
  const Calls calls = recording.calls();
  EXPECT_EQ(calls[0], "cuKernelGetAttribute(&, 4, 0xf8, 3)");
  EXPECT_EQ(calls[1], "cuKernelSetAttribute(9, 50, 0xf8, 3)");
  EXPECT_EQ(calls[2], "cuKernelSetCacheConfig(0xf8, 2, 3)");
  EXPECT_EQ(calls[3], "cuKernelGetName(&, 0xf8)");
  EXPECT_EQ(calls[4], "cuKernelGetFunction(&, 0xf8)");
  EXPECT_EQ(calls[5], "cuKernelGetParamInfo(0xf8, 0, &, &)");
}

// ---- Links -------------------------------------------------------------------------------------

TEST(Linker, Each_step_is_one_call) {
  Recording recording;
  {
    Linker linker = Linker::create();
    linker.add("ptx", "main");
    linker.add_file(LinkInput::library, "lib.a");
    EXPECT_EQ(linker.complete().size(), sizeof "linked");
  }
  const Calls calls = recording.calls();
  ASSERT_EQ(calls.size(), 5u);
  EXPECT_THAT(calls[0], HasSubstr("cuLinkCreate_v2("));
  EXPECT_THAT(calls[1],
              testing::MatchesRegex("cuLinkAddData_v2.0x1000, 1, 0x[0-9a-f]*, 4, \"main\", 0, null, null."));
  EXPECT_EQ(calls[2], "cuLinkAddFile_v2(0x1000, 4, \"lib.a\", 0, null, null)");
  EXPECT_EQ(calls[3], "cuLinkComplete(0x1000, &, &)");
  EXPECT_EQ(calls[4], "cuLinkDestroy(0x1000)");
}

TEST(Linker, A_failure_has_the_log_that_the_options_of_creation_gather) {
  Recording recording;
  std::map<int, void *> given;
  recording.on<Entry::cuLinkCreate_v6050>(
      [&](unsigned count, CUjit_option *names, void **values, CUlinkState *link) {
        given = options_of(count, names, values);
        *link = reinterpret_cast<CUlinkState>(0x70);
        return CUDA_SUCCESS;
      });
  recording.on<Entry::cuLinkAddData_v6050>(
      [&](CUlinkState, CUjitInputType, void *, std::size_t, const char *, unsigned, CUjit_option *, void **) {
        write_log(given, CU_JIT_ERROR_LOG_BUFFER, "undefined symbol");
        return CUDA_ERROR_INVALID_PTX;
      });
  recording.on<Entry::cuLinkDestroy_v5050>([](CUlinkState) { return CUDA_SUCCESS; });
  Linker first = Linker::create();
  Linker linker = std::move(first);  // the driver keeps the addresses of the logs
  EXPECT_THAT(error_of([&] { linker.add("ptx", "main"); }).what(), HasSubstr("main, undefined symbol"));
  EXPECT_EQ(linker.log().errors, "undefined symbol");
  EXPECT_EQ(error_of([&] { first.complete(); }).result(), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace cushim::test

// SPDX-License-Identifier: Apache-2.0
// Libraries, whose code is not bound to a context, and their kernels.
#include <thread>

#include "kernels.hpp"
#include "support/linked_ptx.hpp"

#if CUDA_VERSION >= 12040

namespace conformance {
namespace {

// The options for an error log.
struct Log {
  // Returns what the driver has written.
  std::string text() const { return {bytes.data(), reinterpret_cast<std::size_t>(values[1])}; }

  std::string bytes = std::string(4096, '\0');
  CUjit_option names[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[2] = {bytes.data(), reinterpret_cast<void *>(bytes.size())};
};

class Libraries : public OnLibrary {
 public:
  CUresult load_library(const char *text) {
    CUlibrary made = nullptr;
    const CUresult code = driver().cuLibraryLoadData(&made, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (code == CUDA_SUCCESS) driver().cuLibraryUnload(made);
    return code;
  }

  CUlibrary library_out = nullptr;
  CUkernel kernel_out = nullptr;
};

STATEMENT(Libraries, Are_loaded, load_library(kHeader.c_str()), CUDA_SUCCESS)
STATEMENT(Libraries, Are_read_later, load_library("garbage"), CUDA_SUCCESS)
STATEMENT(Libraries, Need_an_image, load_library(nullptr), CUDA_ERROR_INVALID_VALUE)
STATEMENT(Libraries, Need_a_place,
          driver().cuLibraryLoadData(nullptr, kCode.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Libraries, Of_a_file_that_is_not_there,
          driver().cuLibraryLoadFromFile(&library_out, "/nonexistent/file", nullptr, nullptr, 0, nullptr,
                                         nullptr, 0),
          CUDA_ERROR_FILE_NOT_FOUND)
STATEMENT(Libraries, No_library_is_not_unloaded, driver().cuLibraryUnload(nullptr), CUDA_ERROR_INVALID_HANDLE)

TEST_F(Libraries, Garbage_is_told_when_a_kernel_is_wanted) {
  NEED(driver().cuLibraryLoadData(&library_out, "garbage", nullptr, nullptr, 0, nullptr, nullptr, 0));
  RECORD_VALUE(static_cast<int>(driver().cuLibraryGetKernel(&kernel_out, library_out, "empty")));
  driver().cuLibraryUnload(library_out);
}

TEST_F(Libraries, Broken_code_is_told_when_a_kernel_is_wanted) {
  const std::string broken = kHeader + ".visible .entry k() { frob; }";
  NEED(driver().cuLibraryLoadData(&library_out, broken.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  RECORD_VALUE(static_cast<int>(driver().cuLibraryGetKernel(&kernel_out, library_out, "k")));
  driver().cuLibraryUnload(library_out);
}

TEST_F(Libraries, Write_the_log_when_they_are_loaded) {
  const std::string broken = kHeader + ".visible .entry k() { frob; }";
  Log log;
  NEED(driver().cuLibraryLoadData(&library_out, broken.c_str(), log.names, log.values, 2, nullptr, nullptr,
                                  0));
  const bool is_named = log.text().find("Not a name of any known instruction: 'frob'") != std::string::npos;
  EXPECT_VALUE(is_named, true);
  driver().cuLibraryUnload(library_out);
}

STATEMENT(Libraries, A_kernel_is_found, driver().cuLibraryGetKernel(&kernel_out, library, "empty"),
          CUDA_SUCCESS)
STATEMENT(Libraries, A_kernel_that_is_not_there_is_not_found,
          driver().cuLibraryGetKernel(&kernel_out, library, "nothing"), CUDA_ERROR_NOT_FOUND)
STATEMENT(Libraries, A_kernels_name_is_needed, driver().cuLibraryGetKernel(&kernel_out, library, nullptr),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(Libraries, A_module_of_the_library_is_not_unloaded,
          (driver().cuLibraryGetModule(&module_out, library), driver().cuModuleUnload(module_out)),
          CUDA_ERROR_NOT_PERMITTED)
STATEMENT(Libraries, A_variable_is_found, driver().cuLibraryGetGlobal(&pointer, &size, library, "number"),
          CUDA_SUCCESS)
STATEMENT(Libraries, A_variable_that_is_not_there_is_not_found,
          driver().cuLibraryGetGlobal(&pointer, &size, library, "nothing"), CUDA_ERROR_NOT_FOUND)
STATEMENT(Libraries, A_variable_is_not_managed,
          driver().cuLibraryGetManaged(&pointer, &size, library, "number"), CUDA_ERROR_NOT_FOUND)

TEST_F(Libraries, Kernels_are_counted) {
  unsigned count = 0;
  EXPECT_ANSWER(driver().cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
  EXPECT_VALUE(count, 11u);
}

TEST_F(Libraries, Without_code_have_no_kernels) {
  unsigned count = 77;
  NEED(driver().cuLibraryLoadData(&library_out, "garbage", nullptr, nullptr, 0, nullptr, nullptr, 0));
  EXPECT_ANSWER(driver().cuLibraryGetKernelCount(&count, library_out), CUDA_SUCCESS);
  EXPECT_VALUE(count, 0u);
  EXPECT_ANSWER(driver().cuLibraryEnumerateKernels(&kernel_out, 1, library_out), CUDA_SUCCESS);
  driver().cuLibraryUnload(library_out);
}

TEST_F(Libraries, A_kernel_has_a_function_of_its_own_handle) {
  const CUkernel write = kernel_of_library("write");
  EXPECT_ANSWER(driver().cuKernelGetFunction(&function_out, write), CUDA_SUCCESS);
  EXPECT_VALUE(reinterpret_cast<void *>(function_out) != reinterpret_cast<void *>(write), true);
}

TEST_F(Libraries, A_kernel_knows_its_name_and_library) {
  const char *name = nullptr;
  EXPECT_ANSWER(driver().cuKernelGetName(&name, kernel_of_library("write")), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(name), "write");
#if CUDA_VERSION >= 12050
  EXPECT_ANSWER(driver().cuKernelGetLibrary(&library_out, kernel_of_library("write")), CUDA_SUCCESS);
  EXPECT_VALUE(library_out == library, true);
#endif
}

TEST_F(Libraries, A_null_kernel_has_no_name) {
  const char *name = nullptr;
  EXPECT_ANSWER(driver().cuKernelGetName(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Libraries, A_kernel_knows_its_parameters) {
  std::size_t offset = 99, bytes = 99;
  EXPECT_ANSWER(driver().cuKernelGetParamInfo(kernel_of_library("write"), 1, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_VALUE(offset, std::size_t{8});
  EXPECT_VALUE(bytes, std::size_t{4});
  EXPECT_ANSWER(driver().cuKernelGetParamInfo(kernel_of_library("write"), 2, &offset, &bytes),
                CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Libraries, A_kernels_attribute_is_that_of_its_function) {
  const CUkernel write = kernel_of_library("write");
  NEED(driver().cuKernelGetFunction(&function_out, write));
  EXPECT_ANSWER(
      driver().cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, write, device),
      CUDA_SUCCESS);
  EXPECT_ANSWER(
      driver().cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, write, device),
      CUDA_SUCCESS);
  EXPECT_VALUE(number, 60000);
  EXPECT_ANSWER(
      driver().cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function_out),
      CUDA_SUCCESS);
  EXPECT_VALUE(number, 60000);
}

TEST_F(Libraries, A_kernels_attribute_is_not_that_of_a_function_that_has_its_own) {
  constexpr auto kShared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  const CUkernel write = kernel_of_library("write");
  NEED(driver().cuKernelGetFunction(&function_out, write));
  EXPECT_ANSWER(driver().cuFuncSetAttribute(function_out, kShared, 2000), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuKernelSetAttribute(kShared, 3000, write, device), CUDA_SUCCESS);
  NEED(driver().cuFuncGetAttribute(&number, kShared, function_out));
  EXPECT_VALUE(number, 2000);
  NEED(driver().cuKernelGetAttribute(&number, kShared, write, device));
  EXPECT_VALUE(number, 3000);
}

TEST_F(Libraries, A_kernels_attribute_is_of_a_device) {
  EXPECT_ANSWER(
      driver().cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel_of_library("write"), 77),
      CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Libraries, A_kernel_is_launched_as_a_function) {
  CUdeviceptr to = memory();
  unsigned value = 31;
  EXPECT_ANSWER(launch(reinterpret_cast<CUfunction>(kernel_of_library("write")), {&to, &value}),
                CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 31u);
}

TEST_F(Libraries, A_kernel_has_no_attributes_of_a_function) {
  EXPECT_ANSWER(driver().cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                            reinterpret_cast<CUfunction>(kernel_of_library("write"))),
                CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Libraries, Without_a_context_kernels_are_found_and_functions_are_not) {
  NEED(driver().cuCtxSetCurrent(nullptr));
  const CUkernel write = kernel_of_library("write");
  EXPECT_ANSWER(
      driver().cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, write, device),
      CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuKernelGetFunction(&function_out, write), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuLibraryGetModule(&module_out, library), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuLibraryGetGlobal(&pointer, &size, library, "number"), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuKernelGetParamInfo(write, 0, &size, &size), CUDA_ERROR_INVALID_CONTEXT);
  NEED(driver().cuCtxSetCurrent(context));
}

// ---- Linking ----

using cushim::test::kCallee;
using cushim::test::kCaller;

class Links : public OnModule {
 protected:
  void SetUp() override {
    OnModule::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    NEED(driver().cuLinkCreate(0, nullptr, nullptr, &link));
  }
  void TearDown() override {
    if (link != nullptr) driver().cuLinkDestroy(link);
    OnModule::TearDown();
  }

 public:
  CUresult add(const std::string &text) {
    return driver().cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char *>(text.c_str()), text.size() + 1,
                                  "input", 0, nullptr, nullptr);
  }
  // Calls in a thread in which the compiler has returned no error yet, on which codes of links depend.
  template <class Function>
  void in_new_thread(Function function) {
    std::thread([&] {
      driver().cuCtxSetCurrent(context);
      function();
    }).join();
  }
  CUlinkState link = nullptr;
  void *image = nullptr;
};

TEST_F(Links, Make_one_image_of_two_texts) {
  EXPECT_ANSWER(add(kCaller), CUDA_SUCCESS);
  EXPECT_ANSWER(add(kCallee), CUDA_SUCCESS);
  EXPECT_ANSWER(driver().cuLinkComplete(link, &image, &size), CUDA_SUCCESS);
  NEED(driver().cuModuleLoadData(&module_out, image));
  NEED(driver().cuModuleGetFunction(&function_out, module_out, "linked"));
  CUdeviceptr to = memory();
  EXPECT_ANSWER(launch(function_out, {&to}), CUDA_SUCCESS);
  EXPECT_VALUE(word(to), 42u);
  NEED(driver().cuModuleUnload(module_out));
}

TEST_F(Links, Miss_a_function_that_no_text_has) {
  EXPECT_ANSWER(add(kCaller), CUDA_SUCCESS);
  in_new_thread(
      [&] { EXPECT_ANSWER(driver().cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_SOURCE); });
}

TEST_F(Links, That_miss_a_function_return_another_code_after_an_error_of_the_compiler) {
  EXPECT_ANSWER(add(kCaller), CUDA_SUCCESS);
  EXPECT_ANSWER(load(kHeader + ".visible .entry k() { frob; }"), CUDA_ERROR_INVALID_PTX);
  EXPECT_ANSWER(driver().cuLinkComplete(link, &image, &size), CUDA_ERROR_UNKNOWN);
}

TEST_F(Links, Name_the_function_and_the_input_in_the_log) {
  Log log;
  CUlinkState logged = nullptr;
  NEED(driver().cuLinkCreate(2, log.names, log.values, &logged));
  NEED(driver().cuLinkAddData(logged, CU_JIT_INPUT_PTX, const_cast<char *>(kCaller.c_str()),
                              kCaller.size() + 1, "caller.ptx", 0, nullptr, nullptr));
  in_new_thread(
      [&] { EXPECT_ANSWER(driver().cuLinkComplete(logged, &image, &size), CUDA_ERROR_INVALID_SOURCE); });
  const bool is_named =
      log.text().find("Undefined reference to 'plus_37' in 'caller.ptx'") != std::string::npos;
  EXPECT_VALUE(is_named, true);
  driver().cuLinkDestroy(logged);
}

STATEMENT(Links, Take_no_garbage, add("garbage"), CUDA_ERROR_INVALID_IMAGE)
STATEMENT(Links, Of_nothing_are_complete, driver().cuLinkComplete(link, &image, &size), CUDA_SUCCESS)
STATEMENT(Links, No_link_is_not_destroyed, driver().cuLinkDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE)

TEST_F(Links, Take_no_more_when_they_are_complete) {
  NEED(add(kCallee));
  NEED(driver().cuLinkComplete(link, &image, &size));
  EXPECT_ANSWER(add(kCaller), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuLinkComplete(link, &image, &size), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace conformance

#endif

// SPDX-License-Identifier: Apache-2.0
// Each option of the compiler with valid and invalid values: for modules, links and libraries.
#include <cstdint>

#include "kernels.hpp"

#if CUDA_VERSION >= 12040

namespace conformance {
namespace {

class JitOptions : public OnModule {};

struct Choice {
  int option;
  std::vector<std::intptr_t> values;
};
// Options that take a pointer are given null. 0 threads per block end the process by SIGFPE.
const Choice choices[] = {
    {0, {0, 1, 8, 16, 32, 255, 256, 1000}},
    {1, {1, 32, 256, 1024, 1025}},
    {2, {0, 1}},
    {3, {0}},
    {4, {0, 1, 100}},
    {5, {0}},
    {6, {0, 1, 100}},
    {7, {-1, 0, 1, 2, 3, 4, 5, 100}},
    {8, {0, 1, 2}},
    {9, {0, 10, 20, 30, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 91, 100, 101, 120}},
    {10, {-1, 0, 1, 2}},
    {11, {-1, 0, 1, 2}},
    {12, {-1, 0, 1, 2}},
    {13, {-1, 0, 1, 2}},
    {14, {-1, 0, 1, 2, 3}},
    {15, {0, 1, 2}},
    {16, {0, 1, 2}},
    {17, {0}},
    {18, {0}},
    {19, {0}},
    {20, {0, 1, 2}},
    {21, {0, 1, 2}},
    {22, {0, 1, 2}},
    {23, {0, 1, 2}},
    {24, {0, 1, 2}},
    {25, {0}},
    {26, {0}},
    {27, {0}},
    {28, {0}},
    {29, {0, 1, 2}},
    {30, {0, 1, 2}},
    {31, {0, 1, 2, 32, 33}},
    {32, {0, 1, 128, 1024, 1025}},
    {33, {0, 1, 2}},
    {34, {0, 1, 2, 4}},
    {35, {0, 1}},
    {36, {0, 1}},
    {99, {0, 1}},
    {-1, {0, 1}},
};

CUresult load_module(CUjit_option option, void *value) {
  CUmodule made = nullptr;
  const CUresult code = driver().cuModuleLoadDataEx(&made, kCode.c_str(), 1, &option, &value);
  if (code == CUDA_SUCCESS) driver().cuModuleUnload(made);
  return code;
}

CUresult load_library(CUjit_option option, void *value) {
  CUlibrary made = nullptr;
  const CUresult code =
      driver().cuLibraryLoadData(&made, kCode.c_str(), &option, &value, 1, nullptr, nullptr, 0);
  if (code == CUDA_SUCCESS) driver().cuLibraryUnload(made);
  return code;
}

void record_link(CUjit_option option, void *value) {
  CUlinkState link = nullptr;
  const CUresult code = driver().cuLinkCreate(1, &option, &value, &link);
  answer("cuLinkCreate", code);
  if (code != CUDA_SUCCESS) return;
  std::string text = kCode;
  answer("cuLinkAddData", driver().cuLinkAddData(link, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "text",
                                                 0, nullptr, nullptr));
  void *image = nullptr;
  std::size_t bytes = 0;
  answer("cuLinkComplete", driver().cuLinkComplete(link, &image, &bytes));
  answer("cuLinkDestroy", driver().cuLinkDestroy(link));
}

// An input takes options of its own.
void record_link_input(CUjit_option option, void *value) {
  CUlinkState link = nullptr;
  NEED(driver().cuLinkCreate(0, nullptr, nullptr, &link));
  std::string text = kCode;
  answer("cuLinkAddData", driver().cuLinkAddData(link, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "text",
                                                 1, &option, &value));
  answer("cuLinkDestroy", driver().cuLinkDestroy(link));
}

[[maybe_unused]] const bool choices_added = [] {
  for (const auto &[number, values] : choices)
    for (const std::intptr_t chosen : values) {
      const auto option = static_cast<CUjit_option>(number);
      void *const value = reinterpret_cast<void *>(chosen);
      const std::string which = "Number_" + words(number) + "_as_" + words(chosen) + "_of_a_";
      ADD_TEST(JitOptions, which + "module",
               [=](JitOptions &) { answer("cuModuleLoadDataEx", load_module(option, value)); });
      ADD_TEST(JitOptions, which + "library",
               [=](JitOptions &) { answer("cuLibraryLoadData", load_library(option, value)); });
      ADD_TEST(JitOptions, which + "link", [=](JitOptions &) { record_link(option, value); });
      ADD_TEST(JitOptions, which + "link_input", [=](JitOptions &) { record_link_input(option, value); });
    }
  return true;
}();

// ---- Options of libraries ----

[[maybe_unused]] const bool library_options_added = [] {
  for (const int number : {-1, 1, 2, 99})
    for (const std::intptr_t chosen : {0, 1, 2})
      ADD_TEST(JitOptions, "Library_option_" + words(number) + "_as_" + words(chosen), [=](JitOptions &) {
        auto option = static_cast<CUlibraryOption>(number);
        void *value = reinterpret_cast<void *>(chosen);
        CUlibrary made = nullptr;
        answer("cuLibraryLoadData",
               driver().cuLibraryLoadData(&made, kCode.c_str(), nullptr, nullptr, 0, &option, &value, 1));
        if (made != nullptr) driver().cuLibraryUnload(made);
      });
  return true;
}();

}  // namespace
}  // namespace conformance

#endif

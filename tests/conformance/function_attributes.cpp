// SPDX-License-Identifier: Apache-2.0
// Each attribute of functions: of each kernel of a module and of a library, and set to valid and invalid
// values.
#include "kernels.hpp"

#if CUDA_VERSION >= 12040

namespace conformance {
namespace {

constexpr int kRegisters = CU_FUNC_ATTRIBUTE_NUM_REGS;  // differs between compilers
constexpr int kAttributes = 17;                         // one more than there are
const char *const kKernels[] = {"empty",         "internal_kernel", "write",        "count_threads",
                                "bounded",       "exact",           "dynamic_size", "read_variables",
                                "beyond_memory", "misaligned",      "traps"};
constexpr int kValues[] = {-2, -1, 0, 1, 2, 8, 16, 100, 49153, 1 << 20};

class FunctionAttributes : public OnLibrary {
 public:
  void record_attribute(CUfunction function, int attribute) {
    number = 77;
    answer("cuFuncGetAttribute",
           driver().cuFuncGetAttribute(&number, static_cast<CUfunction_attribute>(attribute), function));
    answer("value", number);
  }
  void record_attribute(CUkernel function, int attribute, CUdevice of) {
    number = 77;
    answer("cuKernelGetAttribute", driver().cuKernelGetAttribute(
                                       &number, static_cast<CUfunction_attribute>(attribute), function, of));
    answer("value", number);
  }
  void set_and_record(CUfunction function, int attribute, int value) {
    answer("cuFuncSetAttribute",
           driver().cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attribute), value));
    record_attribute(function, attribute);
  }
  void set_and_record(CUkernel function, int attribute, int value) {
    answer("cuKernelSetAttribute", driver().cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute),
                                                                 value, function, device));
    record_attribute(function, attribute, device);
  }
};

[[maybe_unused]] const bool values_added = [] {
  for (int attribute = 0; attribute < kAttributes; ++attribute) {
    if (attribute == kRegisters) continue;
    const std::string which = "Number_" + std::to_string(attribute) + "_of_";
    for (const char *const name : kKernels) {
      ADD_TEST(FunctionAttributes, which + "the_function_" + name,
               [=](FunctionAttributes &t) { t.record_attribute(t.kernel(name), attribute); });
      ADD_TEST(FunctionAttributes, which + "the_kernel_" + name, [=](FunctionAttributes &t) {
        t.record_attribute(t.kernel_of_library(name), attribute, t.device);
      });
    }
    ADD_TEST(FunctionAttributes, which + "a_kernel_as_a_function", [=](FunctionAttributes &t) {
      t.record_attribute(reinterpret_cast<CUfunction>(t.kernel_of_library("write")), attribute);
    });
    ADD_TEST(FunctionAttributes, which + "the_function_of_a_kernel", [=](FunctionAttributes &t) {
      NEED(driver().cuKernelGetFunction(&t.function_out, t.kernel_of_library("write")));
      t.record_attribute(t.function_out, attribute);
    });
    ADD_TEST(FunctionAttributes, which + "no_function",
             [=](FunctionAttributes &t) { t.record_attribute(CUfunction{nullptr}, attribute); });
    ADD_TEST(FunctionAttributes, which + "a_kernel_on_device_99",
             [=](FunctionAttributes &t) { t.record_attribute(t.kernel_of_library("write"), attribute, 99); });
  }
  return true;
}();

[[maybe_unused]] const bool settings_added = [] {
  for (int attribute = 0; attribute < kAttributes; ++attribute) {
    if (attribute == kRegisters) continue;
    for (const int value : kValues) {
      const std::string which = "Number_" + std::to_string(attribute) + "_set_to_" + words(value) + "_of_";
      ADD_TEST(FunctionAttributes, which + "a_function",
               [=](FunctionAttributes &t) { t.set_and_record(t.kernel("bounded"), attribute, value); });
      ADD_TEST(FunctionAttributes, which + "a_kernel", [=](FunctionAttributes &t) {
        t.set_and_record(t.kernel_of_library("bounded"), attribute, value);
      });
    }
  }
  return true;
}();

// The largest dynamic shared memory that the program allows, and launches with less and with more.
[[maybe_unused]] const bool launches_added = [] {
  for (const int allowed : {0, 1000, 49152, 60000, 232448})
    for (const unsigned used : {0u, 1000u, 1001u, 49152u, 49153u, 60000u, 60001u, 232448u})
      ADD_TEST(
          FunctionAttributes,
          "Launch_of_" + std::to_string(used) + "_bytes_where_" + std::to_string(allowed) + "_are_allowed",
          [=](FunctionAttributes &t) {
            const CUfunction empty = t.kernel("empty");
            answer(
                "cuFuncSetAttribute",
                driver().cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, allowed));
            answer("cuLaunchKernel", t.launch(empty, {}, 1, 1, used));
          });
  return true;
}();

}  // namespace
}  // namespace conformance

#endif

// SPDX-License-Identifier: Apache-2.0
#include <cushim/error.hpp>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

// Returns null for a code that the driver does not know.
const char *description(CUresult code) {
  switch (static_cast<int>(code)) {
#define CUSHIM_ERROR_TEXT(code, text) \
  case code:                          \
    return text;
#include "api/error_texts.inc"
    default:
      return nullptr;
  }
}

CUresult get_name(Call &, CUresult code, const char **name) {
  require(name != nullptr);  // the real driver crashes
  const bool is_known = description(code) != nullptr;
  *name = is_known ? cushim::name_of(code).data() : nullptr;  // data() is a string literal
  return is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult get_string(Call &, CUresult code, const char **string) {
  require(string != nullptr);
  *string = description(code);
  return *string != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

constinit const Entries entries_of_errors = {
    entry<"cuGetErrorName", get_name, When::anytime>,
    entry<"cuGetErrorString", get_string, When::anytime>,
};

}  // namespace cushim::sim

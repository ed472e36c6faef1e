// SPDX-License-Identifier: Apache-2.0
#include "api/service.hpp"

namespace cushim::sim {
namespace {

struct Text {
  int code;
  const char *name;
  const char *text;
};

constexpr Text kTexts[] = {
#define CUSHIM_ERROR_TEXT(code, name, text) {code, #name, text},
#include "api/error_texts.inc"
};

const Text *find(CUresult code) {
  for (const Text &text : kTexts)
    if (text.code == static_cast<int>(code)) return &text;
  return nullptr;
}

CUresult get_name(Call &, CUresult code, const char **name) {
  require(name != nullptr);  // the real driver crashes
  const Text *const text = find(code);
  *name = text != nullptr ? text->name : nullptr;
  return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult get_string(Call &, CUresult code, const char **string) {
  require(string != nullptr);
  const Text *const text = find(code);
  *string = text != nullptr ? text->text : nullptr;
  return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

void serve_errors(Service &service) {
  service.serve<"cuGetErrorName", get_name, When::anytime>();
  service.serve<"cuGetErrorString", get_string, When::anytime>();
}

}  // namespace cushim::sim

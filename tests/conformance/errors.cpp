// SPDX-License-Identifier: Apache-2.0
#include "conformance.hpp"

namespace conformance {
namespace {

struct Code {
  int number;
  const char *name;
};
const Code codes[] = {
#define CUSHIM_RESULT(code, name) {code, #name},
#include <cushim/results.inc>
};

class ErrorNames : public Initialized {
 public:
  const char *text = nullptr;
  // Records the result of a call that writes `text`, and returns whether the driver knows the code.
  bool knows(const char *routine, CUresult result) {
    answer(routine, result);
    if (result == CUDA_ERROR_INVALID_VALUE)
      EXPECT_EQ(text, nullptr);
    else
      EXPECT_EQ(result, CUDA_SUCCESS);
    return result != CUDA_ERROR_INVALID_VALUE;
  }
};
class ErrorTexts : public ErrorNames {};

// A driver does not know the codes of later releases.
[[maybe_unused]] const bool codes_added = [] {
  for (const Code &code : codes) {
    const auto number = static_cast<CUresult>(code.number);
    ADD_TEST(ErrorNames, std::string("Of_") + code.name, [=](ErrorNames &t) {
      if (t.knows("cuGetErrorName", driver().cuGetErrorName(number, &t.text))) {
        EXPECT_EQ(answer("name", t.text), code.name);
      }
    });
    ADD_TEST(ErrorTexts, std::string("Of_") + code.name, [=](ErrorTexts &t) {
      if (t.knows("cuGetErrorString", driver().cuGetErrorString(number, &t.text))) {
        EXPECT_NE(answer("text", t.text), "");
      }
    });
  }
  return true;
}();

TEST_F(ErrorNames, Of_an_unknown_code_is_null_and_an_error) {
  text = "before";
  EXPECT_ANSWER(driver().cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(text == nullptr, true);
}

TEST_F(ErrorNames, Of_a_negative_code_is_null_and_an_error) {
  text = "before";
  EXPECT_ANSWER(driver().cuGetErrorName(static_cast<CUresult>(-1), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(text == nullptr, true);
}

TEST_F(ErrorNames, Are_the_same_text_each_time) {
  const char *again = nullptr;
  NEED(driver().cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text));
  NEED(driver().cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &again));
  EXPECT_VALUE(text == again, true);
}

// The documentation defines an error only for an unknown code.
TEST_F(ErrorNames, Need_a_place) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuGetErrorName(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorNames, Of_an_unknown_code_need_a_place) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuGetErrorName(static_cast<CUresult>(12345), nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorTexts, Of_an_unknown_code_is_null_and_an_error) {
  text = "before";
  EXPECT_ANSWER(driver().cuGetErrorString(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(text == nullptr, true);
}

TEST_F(ErrorTexts, Need_a_place) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuGetErrorString(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance

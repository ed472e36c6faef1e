// SPDX-License-Identifier: Apache-2.0
// Instantiates the mockers of the signatures that tests use most often, so that test files need not compile
// them.
#include <cushim/mock/mock_driver.hpp>

namespace cushim::mock {

// clang-format off
#define CUSHIM_COMMON_SIGNATURE(...)                                                               \
  template AnyExpected *make_mocker<CUresult(__VA_ARGS__)>(const MockDriver &, const void *, int); \
  template testing::internal::TypedExpectation<CUresult(__VA_ARGS__)>                              \
      &expect<CUresult(__VA_ARGS__)>(AnyExpected &, const SpecLocation &);                            \
  template testing::internal::OnCallSpec<CUresult(__VA_ARGS__)>                                    \
      &set_default<CUresult(__VA_ARGS__)>(AnyExpected &, const SpecLocation &);                       \
  template testing::Action<CUresult(__VA_ARGS__)> detail::return_code<CUresult(__VA_ARGS__)>(CUresult);
CUSHIM_COMMON_SIGNATURES(CUSHIM_COMMON_SIGNATURE)
// clang-format on

}  // namespace cushim::mock

// SPDX-License-Identifier: Apache-2.0
// Matchers for results and arguments of driver calls.
#pragma once

#include <gmock/gmock.h>

#include <cushim/error.hpp>
#include <cushim/mock/printers.hpp>

#include <cstddef>
#include <cstring>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cushim::mock {

// EXPECT_THAT(driver.cuInit(0), Succeeds());
inline testing::Matcher<CUresult> Succeeds() { return testing::Eq(CUDA_SUCCESS); }

// Matches if all of these flags are set, whatever the others: cuEventCreate(_,
// HasFlags(CU_EVENT_DISABLE_TIMING)).
MATCHER_P(HasFlags, flags,
          std::string(negation ? "lacks" : "has") + " flags " + testing::PrintToString(flags)) {
  return (static_cast<unsigned>(arg) & static_cast<unsigned>(flags)) == static_cast<unsigned>(flags);
}

// Matches code that throws a cushim::Error with this result: EXPECT_THAT([&] { stream.synchronize(); },
// Fails(code)).
inline auto Fails(CUresult code) {
  return testing::Throws<Error>(testing::Property("result", &Error::result, code));
}

// Match a batched memory operation, an element of cuStreamBatchMemOp's array.
MATCHER_P2(WritesValue32, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 && arg.writeValue.address == CUdeviceptr(address) &&
         arg.writeValue.value == cuuint32_t(value);
}
MATCHER_P2(WritesValue64, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 && arg.writeValue.address == CUdeviceptr(address) &&
         arg.writeValue.value64 == cuuint64_t(value);
}
MATCHER_P2(WaitsForValue32, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 && arg.waitValue.address == CUdeviceptr(address) &&
         arg.waitValue.value == cuuint32_t(value);
}
MATCHER_P2(WaitsForValue64, address, value, "") {
  return arg.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 && arg.waitValue.address == CUdeviceptr(address) &&
         arg.waitValue.value64 == cuuint64_t(value);
}

// See KernelParameters().
template <class... Types>
class KernelParametersMatcher {
  static_assert((std::is_trivially_copyable_v<Types> && ...), "kernel parameters are copied byte by byte");

 public:
  // Marks the class as a matcher for GoogleTest.
  using is_gtest_matcher = void;

  explicit KernelParametersMatcher(std::tuple<testing::Matcher<Types>...> matchers)
      : matchers_(std::move(matchers)) {}

  // Returns whether each parameter's value matches. Writes to `listener` which one does not.
  bool MatchAndExplain(void *const *parameters, testing::MatchResultListener *listener) const {
    if (parameters == nullptr) {
      *listener << "which is null";
      return sizeof...(Types) == 0;
    }
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (matches<I>(parameters, listener) && ...);
    }
    (std::index_sequence_for<Types...>());
  }
  // Write what the matcher accepts, and what it does not, for messages of GoogleTest.
  void DescribeTo(std::ostream *out) const { describe(*out, "are kernel parameters"); }
  // See DescribeTo().
  void DescribeNegationTo(std::ostream *out) const { describe(*out, "are not kernel parameters"); }

 private:
  template <std::size_t I>
  bool matches(void *const *parameters, testing::MatchResultListener *listener) const {
    if (parameters[I] == nullptr) {
      *listener << "whose #" << I << " is null";
      return false;
    }
    std::tuple_element_t<I, std::tuple<Types...>> value{};
    std::memcpy(&value, parameters[I], sizeof value);
    if (std::get<I>(matchers_).Matches(value)) return true;
    *listener << "whose #" << I << " is " << testing::PrintToString(value);
    return false;
  }

  void describe(std::ostream &out, const char *begin) const {
    out << begin;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((out << (I == 0 ? " whose #" : ", and whose #") << I << ' ', std::get<I>(matchers_).DescribeTo(&out)),
       ...);
    }
    (std::index_sequence_for<Types...>());
  }

  std::tuple<testing::Matcher<Types>...> matchers_;
};

// Matches kernelParams of cuLaunchKernel by the values of the kernel's parameters, each with a matcher or a
// value. The types are those of the kernel: the array tells neither their number nor their sizes.
//
//   EXPECT_CALL(mock, cuLaunchKernel(saxpy, _, _, _, _, _, _, _, _, KernelParameters<int,
//   float>(Gt(0), 2.0F), _));
template <class... Types, class... Matchers>
KernelParametersMatcher<Types...> KernelParameters(Matchers &&...matchers) {
  static_assert(sizeof...(Types) == sizeof...(Matchers), "one matcher for each parameter");
  return KernelParametersMatcher<Types...>(std::tuple<testing::Matcher<Types>...>(
      testing::SafeMatcherCast<Types>(std::forward<Matchers>(matchers))...));
}

}  // namespace cushim::mock

// SPDX-License-Identifier: Apache-2.0
// GoogleMock actions for expectations on driver calls.
#pragma once

#include <gmock/gmock.h>

#include <cushim/mock/printers.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cushim::mock {

namespace detail {

// Not inline: the library contains those of the signatures in common_signatures.hpp.
template <class Signature>
testing::Action<Signature> return_code(CUresult code) {
  return testing::Return(code);
}

class ReturnsAction {
 public:
  explicit ReturnsAction(CUresult code) : code_(code) {}
  template <class Signature>
  operator testing::Action<Signature>() const {
    return return_code<Signature>(code_);
  }

 private:
  CUresult code_;
};

}  // namespace detail

// Returns the code and writes nothing, as testing::Return(code) does. Compiles faster.
inline auto Returns(CUresult code) { return detail::ReturnsAction(code); }

namespace detail {

template <class T>
inline constexpr bool is_out_parameter = false;
template <class T>
inline constexpr bool is_out_parameter<T *> = !std::is_const_v<T> && noun_of<T *> == nullptr;

// Returns the indices of the out-parameters among the arguments.
template <class Arguments>
constexpr auto out_parameters() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    constexpr std::size_t count =
        (std::size_t{0} + ... + std::size_t{is_out_parameter<std::tuple_element_t<i, Arguments>>});
    std::array<std::size_t, count> out_indexes{};
    std::size_t next = 0;
    ((is_out_parameter<std::tuple_element_t<i, Arguments>> ? void(out_indexes[next++] = i) : void()), ...);
    return out_indexes;
  }
  (std::make_index_sequence<std::tuple_size_v<Arguments>>{});
}

template <class... Values>
class GivesAction {
 public:
  explicit GivesAction(Values... values) : values_(std::move(values)...) {}

  template <class Result, class Arguments>
  Result Perform(const Arguments &arguments) const {
    constexpr auto out_indexes = out_parameters<Arguments>();
    static_assert(sizeof...(Values) <= out_indexes.size(),
                  "this call has fewer out-parameters than values given");
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      if (((std::get<out_indexes[i]>(arguments) == nullptr) || ...)) return CUDA_ERROR_INVALID_VALUE;
      (write(std::get<out_indexes[i]>(arguments), std::get<i>(values_)), ...);
      return CUDA_SUCCESS;
    }
    (std::make_index_sequence<sizeof...(Values)>{});
  }

 private:
  template <class Pointee, class Value>
  static void write(Pointee *to, const Value &value) {
    if constexpr (std::is_void_v<Pointee>) {
      static_assert(std::is_trivially_copyable_v<Value>);
      std::memcpy(to, &value, sizeof value);
    } else {
      static_assert(std::is_convertible_v<const Value &, Pointee>, "the out-parameter is of another type");
      *to = static_cast<Pointee>(value);
    }
  }

  std::tuple<Values...> values_;
};

}  // namespace detail

// Writes the values through the call's out-parameters, in order, and returns CUDA_SUCCESS. Values convert
// as in an assignment; through a void * the value's bytes are written. Out-parameters beyond the given
// values keep their contents. Like a driver, writes nothing and returns CUDA_ERROR_INVALID_VALUE (1) if a
// pointer is null.
//
//   EXPECT_CALL(mock, cuMemGetInfo).WillOnce(Gives(free, total));
template <class... Values>
auto Gives(Values... values) {
  return testing::MakePolymorphicAction(detail::GivesAction<Values...>(std::move(values)...));
}

namespace detail {

class GivesTextAction {
 public:
  explicit GivesTextAction(std::string text) : text_(std::move(text)) {}

  template <class Result, class Arguments>
  Result Perform(const Arguments &arguments) const {
    static_assert(std::is_same_v<std::tuple_element_t<0, Arguments>, char *> &&
                      std::is_same_v<std::tuple_element_t<1, Arguments>, int>,
                  "this call has no buffer and length in front");
    char *const buffer = std::get<0>(arguments);
    const int capacity = std::get<1>(arguments);
    if (buffer == nullptr || capacity <= 0) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t length = std::min(text_.size(), static_cast<std::size_t>(capacity) - 1);
    std::memcpy(buffer, text_.data(), length);
    buffer[length] = '\0';
    return CUDA_SUCCESS;
  }

 private:
  std::string text_;
};

}  // namespace detail

// Writes text into the call's buffer, truncated to the length argument, and returns CUDA_SUCCESS. For
// cuDeviceGetName and cuDeviceGetPCIBusId.
inline auto GivesText(std::string text) {
  return testing::MakePolymorphicAction(detail::GivesTextAction(std::move(text)));
}

}  // namespace cushim::mock

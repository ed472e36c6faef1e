// SPDX-License-Identifier: Apache-2.0
// Errors: the exception, its std::error_category, and the handler for failures in destructors. Makes no
// driver calls: names come from cushim's list of results.
#pragma once

#include <cushim/driver.hpp>
#include <cushim/where.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cushim {
inline namespace v1 {

// Returns the name of a result, "CUDA_ERROR_INVALID_HANDLE"; empty for a number that cushim does not know.
constexpr std::string_view name_of(CUresult result) noexcept {
  switch (static_cast<int>(result)) {
#define CUSHIM_RESULT(code, name) \
  case code:                      \
    return #name;
#include <cushim/results.inc>
  }
  return {};
}

// Returns the name in plain words: "invalid handle".
inline std::string text_of(CUresult result) {
  std::string_view name = name_of(result);
  if (name.empty()) return "unknown result";
  for (std::string_view prefix : {"CUDA_ERROR_", "CUDA_"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  std::string text(name);
  for (char &letter : text)
    letter =
        letter == '_' ? ' ' : static_cast<char>(letter + (letter >= 'A' && letter <= 'Z' ? 'a' - 'A' : 0));
  return text;
}

namespace detail {

class Category final : public std::error_category {
 public:
  const char *name() const noexcept override { return "cuda"; }
  std::string message(int code) const override { return text_of(static_cast<CUresult>(code)); }
  std::error_condition default_error_condition(int code) const noexcept override {
    for (const auto &[result, equivalent] : kEquivalents)
      if (code == result) return equivalent;
    return std::error_condition(code, *this);
  }

 private:
  static constexpr std::pair<CUresult, std::errc> kEquivalents[] = {
      {CUDA_ERROR_INVALID_VALUE, std::errc::invalid_argument},
      {CUDA_ERROR_OUT_OF_MEMORY, std::errc::not_enough_memory},
      {CUDA_ERROR_NO_DEVICE, std::errc::no_such_device},
      {CUDA_ERROR_INVALID_DEVICE, std::errc::no_such_device},
      {CUDA_ERROR_FILE_NOT_FOUND, std::errc::no_such_file_or_directory},
      {CUDA_ERROR_NOT_READY, std::errc::resource_unavailable_try_again},
      {CUDA_ERROR_NOT_PERMITTED, std::errc::operation_not_permitted},
      {CUDA_ERROR_NOT_SUPPORTED, std::errc::not_supported},
      {CUDA_ERROR_TIMEOUT, std::errc::timed_out},
  };
};

// Returns advice for a result whose cause is usually not the failed call itself: the advice of `cushim
// explain`.
constexpr std::string_view advice_on(CUresult result) noexcept {
  switch (result) {
    case CUDA_ERROR_NOT_INITIALIZED:
      return "Call cuInit(0) and check its result before anything else. Create worker processes with exec "
             "(\"spawn\"), or before the parent first uses the driver.";
    case CUDA_ERROR_INVALID_CONTEXT:
      return "Call cuCtxSetCurrent in each thread that uses the driver, and keep the context alive during "
             "its calls.";
    default:
      return {};
  }
}

}  // namespace detail

// Returns the category of driver results, "cuda". Results that have an equivalent std::errc compare equal to
// it: error.code() == std::errc::not_enough_memory.
inline const std::error_category &category() noexcept {
  static const detail::Category category;
  return category;
}

// Converts a CUresult to std::error_code.
inline std::error_code make_error_code(CUresult result) noexcept {
  return {static_cast<int>(result), category()};
}

// A driver call that failed, or an argument that the driver would have rejected. what() has the form
//
//   cuEventRecord: CUDA_ERROR_INVALID_HANDLE (400, invalid handle): event 0x7f10, stream 0x7f20 (main.cpp:12)
//
// and ends with advice for NOT_INITIALIZED and INVALID_CONTEXT.
class Error : public std::system_error {
 public:
  // words: the handles and arguments as text, and the reason if it is known; may be empty.
  Error(CUresult result, const char *routine, const std::string &words, const Where &where = {})
      : std::system_error(make_error_code(result)),
        routine_(routine),
        where_(where),
        what_(compose(result, routine, words, where)) {}

  // Returns routine, name, code, text, handles and call site.
  const char *what() const noexcept override { return what_.what(); }
  // Returns the driver's routine, "cuEventRecord", without the suffixes of ABIs and per-thread variants.
  const char *routine() const noexcept { return routine_; }
  CUresult result() const noexcept { return static_cast<CUresult>(code().value()); }
  std::string_view name() const noexcept { return name_of(result()); }
  std::string text() const { return text_of(result()); }
  // Returns the call site in the program; line 0 if it is not known (operators, destructors).
  const Where &where() const noexcept { return where_; }

 private:
  static std::string compose(CUresult result, const char *routine, const std::string &words,
                             const Where &where) {
    const std::string number = std::to_string(static_cast<int>(result));
    const std::string name(name_of(result));
    std::string text = std::string(routine) + ": ";
    text += name.empty() ? "unknown result " + number : name + " (" + number + ", " + text_of(result) + ")";
    if (!words.empty()) text += ": " + words;
    if (where.line() != 0)
      text += std::string(" (") + where.file_name() + ":" + std::to_string(where.line()) + ")";
    // Opening a handle in the process that exported it returns this code too, and the words then say so.
    const bool is_exporter =
        result == CUDA_ERROR_INVALID_CONTEXT && std::string_view(routine).starts_with("cuIpcOpen");
    if (const std::string_view advice = detail::advice_on(result); !advice.empty() && !is_exporter)
      text.append(". ").append(advice);
    return text;
  }

  const char *routine_;
  Where where_;
  std::runtime_error what_;  // holds the text, because its copies do not throw
};

// Receives exceptions that cannot be thrown: a failed release in a destructor (an Error), and exceptions of
// host functions. Called on the thread on which they occur.
using UnreportedHandler = void (*)(const std::exception &) noexcept;

namespace detail {

inline void print_unreported(const std::exception &exception) noexcept {
  std::fprintf(stderr, "cushim: %s\n", exception.what());
}

inline std::atomic<UnreportedHandler> unreported_handler{&print_unreported};

}  // namespace detail

// Sets the unreported handler of this process (of this copy of cushim's headers), and returns the previous
// one. The default handler prints a line to stderr; null restores it.
inline UnreportedHandler set_unreported_handler(UnreportedHandler handler) noexcept {
  return detail::unreported_handler.exchange(handler != nullptr ? handler : &detail::print_unreported);
}

}  // namespace v1
}  // namespace cushim

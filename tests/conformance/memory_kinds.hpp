// SPDX-License-Identifier: Apache-2.0
// The kinds of memory that a call may receive, for statements that test all of them.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "conformance.hpp"

namespace conformance {

enum class Kind { device, managed, pinned, registered, pageable };
inline constexpr std::array kinds = {Kind::device, Kind::managed, Kind::pinned, Kind::registered,
                                     Kind::pageable};
const char *name_of(Kind kind);

// Returns page-aligned memory of a kind. Pageable memory exists until the program ends.
CUdeviceptr memory_of(OnDevice &test, Kind kind, std::size_t bytes = 4096);

// Write and read the bytes of memory, with a plain copy if the host can access it.
void put(Kind kind, CUdeviceptr address, const std::vector<unsigned char> &bytes);
std::vector<unsigned char> take(Kind kind, CUdeviceptr address, std::size_t bytes);

// Returns pinned memory that begins with 1.
unsigned char *pinned_one(OnDevice &test);

// Makes a copy to host memory that begins with 1 in a held stream, and expects that it is made after the hold
// is released, and not before.
template <class Copy>
void expect_copy_waits(OnDevice &test, const unsigned char *to, Copy copy) {
  const CUstream work = test.stream();
  Hold held = hold(work);
  copy(work);
  EXPECT_ANSWER(driver().cuStreamQuery(work), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(answer("static_cast<int>(static_cast<volatile unsigned char *>(to)[0])",
                   int{*static_cast<const volatile unsigned char *>(to)}),
            1);
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

// Makes a copy in a held stream, and sets the first byte of its source to 2 before the hold is released.
template <class Copy>
void change_source_after(OnDevice &test, unsigned char *source, Copy copy) {
  const CUstream work = test.stream();
  Hold held = hold(work);
  copy(work);
  *source = 2;
  held.release();
  EXPECT_ANSWER(driver().cuStreamSynchronize(work), CUDA_SUCCESS);
}

// Sets the elements of a batch, and their count.
template <class Element>
void assign(std::vector<Element> &elements, std::vector<Element> given, std::size_t &count) {
  elements = std::move(given);
  count = elements.size();
}

// Returns bytes of which no two neighbours are equal.
std::vector<unsigned char> pattern(std::size_t bytes, unsigned start = 1);

// Result codes by row and column, as numbers.
struct Row {
  const char *name;
  std::vector<int> codes;
};
inline CUresult code(int number) { return static_cast<CUresult>(number); }

// Calls add(call, use, code) for each call and each use, whose code is that of the call's row.
template <class Calls, class Uses, class Add>
void for_each_row(const std::vector<Row> &rows, const Calls &calls, const Uses &uses, Add add) {
  for (std::size_t c = 0; c < std::size(calls); ++c)
    for (std::size_t u = 0; u < std::size(uses); ++u) add(calls[c], uses[u], code(rows.at(c).codes.at(u)));
}

// Calls add(use, call, code) for each use and each call; a use has the codes of the calls by index. -1: not
// tested.
template <class Uses, class Calls, class Add>
void for_each_code(const Uses &uses, const Calls &calls, Add add) {
  for (const auto &use : uses)
    for (std::size_t c = 0; c < std::size(calls); ++c)
      if (use.codes[c] >= 0) add(use, calls[c], code(use.codes[c]));
}

}  // namespace conformance

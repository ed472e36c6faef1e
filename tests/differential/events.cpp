// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "walk.hpp"

namespace differential {
namespace {

void create(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.e.size()));
  if (w.e[k].handle != nullptr) return;
  const unsigned flags = w.dice.one_of({0U, 0U, 1U, 2U, 2U, 3U, 4U, 6U, 7U, 8U, 16U});
  const Argument event{&w.e[k].handle, fmt::format("&e[{}]", k)};
  if (CALL(w, cuEventCreate, event, number(flags)) != CUDA_SUCCESS) w.e[k].handle = nullptr;
  w.e[k].may_be_waited_for = (flags & CU_EVENT_INTERPROCESS) == 0;
}

void destroy(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.e.size()));
  if (w.e[k].handle == nullptr) {
    if (w.dice.once_in(4)) CALL(w, cuEventDestroy, Argument<CUevent>{nullptr, "nullptr"});
    return;
  }
  if (CALL(w, cuEventDestroy, Argument{w.e[k].handle, fmt::format("e[{}]", k)}) == CUDA_SUCCESS) w.e[k] = {};
}

void record(Walk &w) { CALL(w, cuEventRecord, w.an_event(), w.a_stream()); }

void record_with_flags(Walk &w) {
  CALL(w, cuEventRecordWithFlags, w.an_event(), w.a_stream(), number(w.dice.one_of({0U, 0U, 1U, 2U})));
}

void query(Walk &w) {
  w.settle();
  CALL(w, cuEventQuery, w.an_event());
}

void synchronize(Walk &w) { CALL(w, cuEventSynchronize, w.an_event()); }

void elapsed(Walk &w) {
  w.settle();
  Result<float> milliseconds("milliseconds");
  if (w.dice.once_in(10))
    CALL(w, cuEventElapsedTime, Argument<float *>{nullptr, "nullptr"}, w.an_event(), w.an_event());
  else
    CALL(w, cuEventElapsedTime, milliseconds.argument(), w.an_event(), w.an_event());
}

}  // namespace

std::vector<Choice> event_choices() {
  return {{10, false, create}, {3, false, destroy},    {12, false, record}, {2, false, record_with_flags},
          {10, false, query},  {2, true, synchronize}, {4, false, elapsed}};
}

}  // namespace differential

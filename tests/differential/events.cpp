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
  w.e[k].is_interprocess = (flags & CU_EVENT_INTERPROCESS) != 0;
}

void destroy(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.e.size()));
  if (w.e[k].handle == nullptr) {
    if (w.dice.once_in(4)) CALL(w, cuEventDestroy, Argument<CUevent>{nullptr, "nullptr"});
    return;
  }
  if (w.is_open_elsewhere(w.e[k])) return;
  if (CALL(w, cuEventDestroy, Argument{w.e[k].handle, fmt::format("e[{}]", k)}) != CUDA_SUCCESS) return;
  w.has_ended(w.e[k]);
  w.did(fmt::format("e[{}] = nullptr", k));
}

void record(Walk &w) {
  w.settle_for_the_other();
  const auto stream = w.a_stream();
  CALL(w, cuEventRecord, w.an_event(), stream);
}

void record_with_flags(Walk &w) {
  w.settle_for_the_other();
  const auto flags = number(w.dice.one_of({0U, 0U, 1U, 2U}));
  const auto stream = w.a_stream();
  CALL(w, cuEventRecordWithFlags, w.an_event(), stream, flags);
}

void query(Walk &w) {
  w.settle();
  CALL(w, cuEventQuery, w.an_event());
}

void synchronize(Walk &w) { CALL(w, cuEventSynchronize, w.an_event()); }

void elapsed(Walk &w) {
  w.settle();
  Result<float> milliseconds("milliseconds");
  const bool has_place = !w.dice.once_in(10);
  const auto end = w.an_event(), start = w.an_event();
  CALL(w, cuEventElapsedTime, has_place ? milliseconds.argument() : Argument<float *>{nullptr, "nullptr"},
       start, end);
}

}  // namespace

Choices event_choices() {
  return Choices({
      {10, create},
      {3, destroy},
      {12, record},
      {2, record_with_flags},
      {10, query},
      waiting(2, synchronize),
      {4, elapsed},
  });
}

}  // namespace differential

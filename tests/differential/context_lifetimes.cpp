// SPDX-License-Identifier: Apache-2.0
// Creates and destroys contexts together with their objects. Not while work is held, because these calls
// would wait for it.
#include <fmt/format.h>

#include <algorithm>

#include "walk.hpp"

namespace differential {
namespace {

void create(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.m.size()));
  if (w.m[k] != nullptr) return;
  const auto flags = number(w.dice.one_of({0U, 0U, 0U, 1U, 2U, 4U, 8U, 16U, 3U, 512U}));
  const Argument context{&w.m[k], fmt::format("&m[{}]", k)};
  const auto device = integer(w.dice.once_in(10) ? 99 : 0);
  const CUresult code =
      w.dice.once_in(3) ? CALL(w, cuCtxCreate_v3, context,
                               Argument<CUexecAffinityParam *>{nullptr, "nullptr"}, integer(0), flags, device)
                        : CALL(w, cuCtxCreate_v2, context, flags, device);
  if (code == CUDA_SUCCESS)
    w.has_pushed(w.m[k]);
  else
    w.m[k] = nullptr;
}

void destroy(Walk &w) {
  if (w.dice.once_in(6)) {
    CALL(w, cuCtxDestroy,
         w.dice.one_of<Argument<CUcontext>>({{nullptr, "nullptr"}, {w.shared.c[0], "c[0]"}}));
    return;
  }
  const unsigned k = w.dice.below(static_cast<unsigned>(w.m.size()));
  const CUcontext context = w.m[k];
  if (context == nullptr || w.is_covered(context)) return;
  w.finish();
  if (CALL(w, cuCtxDestroy, Argument{context, fmt::format("m[{}]", k)}) != CUDA_SUCCESS) return;
  if (w.current() == context) w.has_popped();
  w.m[k] = nullptr;
  w.did(fmt::format("m[{}] = nullptr", k));
  w.forget_what_went_with(context);
}

// Ends the primary context, which may stay current.
void end_primary(Walk &w) {
  if (!w.primary_is_active) return;
  w.finish();
  const bool is_reset = w.dice.once_in(2);
  if (is_reset)
    CALL(w, cuDevicePrimaryCtxReset, integer(0));
  else
    CALL(w, cuDevicePrimaryCtxRelease, integer(0));
  w.primary_is_active = false;
  w.did("primary_is_active = false");
  w.forget_what_went_with(w.shared.c[0]);
  if (is_reset) CALL(w, cuDevicePrimaryCtxRelease, integer(0));  // the reset keeps the reference
}

void revive_primary(Walk &w) {
  if (w.primary_is_active) return;
  Result<CUcontext> context("context");
  CALL(w, cuDevicePrimaryCtxRetain, context.argument(), integer(0));
  w.also_name(context);
  w.primary_is_active = true;
  w.did("primary_is_active = true");
}

void release_once_too_often(Walk &w) {
  if (!w.primary_is_active) CALL(w, cuDevicePrimaryCtxRelease, integer(0));
}

bool is_made_by_the_walk(const Walk &w, CUcontext context) {
  return context != nullptr && std::ranges::find(w.m, context) != w.m.end();
}

// Changes settings only of the walk's own contexts: other contexts outlive the walk and would keep them.
void set_flags(Walk &w) {
  if (!is_made_by_the_walk(w, w.current())) return;
  CALL(w, cuCtxSetFlags, number(w.dice.one_of({0U, 1U, 2U, 4U, 8U, 16U, 3U, 512U})));
}

// Sets a limit. On the real driver this waits for held work (stack size, persisting cache).
void set_limit(Walk &w) {
  if (!is_made_by_the_walk(w, w.current())) return;
  const unsigned which = w.dice.below(9);
  const auto size = bytes(w.dice.one_of<std::size_t>({0, 1, 16, 1024, 4096, 1'048'576, 5'000'000}));
  CALL(w, cuCtxSetLimit,
       Argument{static_cast<CUlimit>(which), fmt::format("static_cast<CUlimit>({})", which)}, size);
}

void set_cache_config(Walk &w) {
  if (!is_made_by_the_walk(w, w.current())) return;
  const unsigned which = w.dice.below(5);
  CALL(w, cuCtxSetCacheConfig,
       Argument{static_cast<CUfunc_cache>(which), fmt::format("static_cast<CUfunc_cache>({})", which)});
}

}  // namespace

Choices life_choices() {
  return Choices({
      waiting(8, create),
      waiting(5, destroy),
      waiting(2, end_primary),
      waiting(6, revive_primary),
      {1, release_once_too_often},
      {1, set_flags},
      waiting(2, set_limit),
      {1, set_cache_config},
  });
}

}  // namespace differential

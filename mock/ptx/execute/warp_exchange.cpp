// SPDX-License-Identifier: Apache-2.0
// Operations that exchange values between the lanes of a warp.
#include <iterator>

#include "execute/lane_values.hpp"
#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

const Op *deposit_none(Warp &, const Op *op) { return op + 1; }
template <class T>
const Op *deposit(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const T *const from = reg<T>(w, op->b);
  each(w.mask, [&](unsigned i) { w.exchange[i] = from[i]; });
  return op + 1;
}
const Op *deposit_predicate(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const u32 p = predicate(w, op->b);
  each(w.mask, [&](unsigned i) { w.exchange[i] = p >> i & 1; });
  return op + 1;
}

using Finish = void(WarpState &, const Op *, u32, const u64 *);

void finish_none(WarpState &, const Op *, u32, const u64 *) {}

enum class Shuffle { up, down, butterfly, index };
template <Shuffle Mode>
void finish_shfl(WarpState &w, const Op *op, u32, const u64 *values) {
  const u32 *const b = reg<u32>(w, op->a), *const c = reg<u32>(w, op->c);
  u32 *const d = reg<u32>(w, op->d);
  u32 in_range = 0, result[lanes];
  for (unsigned i = 0; i < lanes; ++i) {
    const u32 clamp = c[i] & 31, segment = c[i] >> 8 & 31, shift = b[i] & 31;
    const u32 last = (i & segment) | (clamp & ~segment), least = i & segment;
    u32 j = 0;
    bool good = false;
    switch (Mode) {
      case Shuffle::up:
        j = i - shift;
        good = s32(j) >= s32(last);
        break;
      case Shuffle::down:
        j = i + shift;
        good = j <= last;
        break;
      case Shuffle::butterfly:
        j = i ^ shift;
        good = j <= last;
        break;
      case Shuffle::index:
        j = least | (shift & ~segment);
        good = j <= last;
        break;
    }
    if (!good) j = i;
    in_range |= (good ? 1u : 0u) << i;
    result[i] = u32(values[j & 31]);
  }
  each(w.mask, [&](unsigned i) { d[i] = result[i]; });
  if (op->immediate >= 0) {
    u32 &p = predicate(w, u32(op->immediate));
    p = (p & ~w.mask) | (in_range & w.mask);
  }
}

u32 ballot(u32 rendezvous_mask, const u64 *values) {
  u32 bits = 0;
  each(rendezvous_mask, [&](unsigned i) { bits |= u32(values[i]) << i; });
  return bits;
}
enum class Vote { all, any, uni, ballot };
template <Vote Mode>
void finish_vote(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  const u32 bits = ballot(rendezvous_mask, values);
  if (Mode == Vote::ballot) {
    u32 *const d = reg<u32>(w, op->d);
    each(w.mask, [&](unsigned i) { d[i] = bits; });
    return;
  }
  const bool result = Mode == Vote::all   ? bits == rendezvous_mask
                      : Mode == Vote::any ? bits != 0
                                          : bits == rendezvous_mask || bits == 0;
  u32 &d = predicate(w, op->d);
  d = result ? d | w.mask : d & ~w.mask;
}
void finish_match_any(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) {
    u32 same = 0;
    each(rendezvous_mask, [&](unsigned j) { same |= (values[i] == values[j] ? 1u : 0u) << j; });
    d[i] = same;
  });
}
void finish_match_all(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  const u64 first = values[__builtin_ctz(rendezvous_mask)];
  bool all = true;
  each(rendezvous_mask, [&](unsigned i) { all = all && values[i] == first; });
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = all ? rendezvous_mask : 0; });
  if (op->immediate >= 0) {
    u32 &p = predicate(w, u32(op->immediate));
    p = all ? p | w.mask : p & ~w.mask;
  }
}
template <class F>
void finish_redux(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  u32 result = u32(values[__builtin_ctz(rendezvous_mask)]);
  each(rendezvous_mask & (rendezvous_mask - 1), [&](unsigned i) { result = F::of(result, u32(values[i])); });
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = result; });
}
#define CUSHIM_PTX_REDUCTION(name, ...)                      \
  struct name {                                              \
    static u32 of(u32 a, u32 b) { return u32(__VA_ARGS__); } \
  };
CUSHIM_PTX_REDUCTION(Sum, a + b)
CUSHIM_PTX_REDUCTION(Both, a &b)
CUSHIM_PTX_REDUCTION(Either, a | b)
CUSHIM_PTX_REDUCTION(Differ, a ^ b)
CUSHIM_PTX_REDUCTION(MinU, a < b ? a : b)
CUSHIM_PTX_REDUCTION(MaxU, a > b ? a : b)
CUSHIM_PTX_REDUCTION(MinS, s32(a) < s32(b) ? a : b)
CUSHIM_PTX_REDUCTION(MaxS, s32(a) > s32(b) ? a : b)

// Reduces f32 by min or max. -0 is less than +0. NaN is the result if an operand is NaN with `Nan`, else if
// all are.
template <bool Maximum, bool Absolute, bool Nan>
void finish_redux_float(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *values) {
  const auto is_nan = [](u32 bits) { return (bits & 0x7fffffff) > 0x7f800000; };
  const auto rank = [](u32 bits) { return bits >> 31 != 0 ? ~bits : bits | 0x80000000; };
  u32 result = 0;
  bool any = false, any_nan = false;
  each(rendezvous_mask, [&](unsigned i) {
    const u32 value = u32(values[i]) & (Absolute ? 0x7fffffff : ~0u);
    any_nan |= is_nan(value);
    if (is_nan(value) || (any && (rank(value) > rank(result)) != Maximum)) return;
    result = value;
    any = true;
  });
  if (!any || (Nan && any_nan)) result = 0x7fffffff;
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = result; });
}

void finish_elect(WarpState &w, const Op *op, u32 rendezvous_mask, const u64 *) {
  const u32 leader = u32(__builtin_ctz(rendezvous_mask));
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = leader; });
  u32 &p = predicate(w, u32(op->immediate));
  p = (p & ~w.mask) | (1u << leader & w.mask);
}

template <Finish *F>
const Op *finish(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  F(w, op, w.rendezvous_mask, w.exchange);
  return op + 1;
}

const Op *activemask(Warp &w, const Op *op) {
  u32 *const d = reg<u32>(w, op->d);
  each(w.mask, [&](unsigned i) { d[i] = w.mask; });
  return op + 1;
}

}  // namespace

constinit const LaneTable exchange_operations = {
    {"activemask", activemask, ""},
    {"activemask.b32", activemask, "4"},
    {"deposit.none", deposit_none, ""},
    {"deposit.1", deposit_predicate, ""},
    {"deposit.4", deposit<u32>, ""},
    {"deposit.8", deposit<u64>, ""},
    {"finish.none", finish<finish_none>, ""},
    {"finish.shfl.up.b32", finish<finish_shfl<Shuffle::up>>, ""},
    {"finish.shfl.down.b32", finish<finish_shfl<Shuffle::down>>, ""},
    {"finish.shfl.bfly.b32", finish<finish_shfl<Shuffle::butterfly>>, ""},
    {"finish.shfl.idx.b32", finish<finish_shfl<Shuffle::index>>, ""},
    {"finish.vote.all.pred", finish<finish_vote<Vote::all>>, ""},
    {"finish.vote.any.pred", finish<finish_vote<Vote::any>>, ""},
    {"finish.vote.uni.pred", finish<finish_vote<Vote::uni>>, ""},
    {"finish.vote.ballot.b32", finish<finish_vote<Vote::ballot>>, ""},
    {"finish.match.any", finish<finish_match_any>, ""},
    {"finish.match.all", finish<finish_match_all>, ""},
    {"finish.redux.add.u32", finish<finish_redux<Sum>>, ""},
    {"finish.redux.add.s32", finish<finish_redux<Sum>>, ""},
    {"finish.redux.and", finish<finish_redux<Both>>, ""},
    {"finish.redux.or", finish<finish_redux<Either>>, ""},
    {"finish.redux.xor", finish<finish_redux<Differ>>, ""},
    {"finish.redux.min.u32", finish<finish_redux<MinU>>, ""},
    {"finish.redux.max.u32", finish<finish_redux<MaxU>>, ""},
    {"finish.redux.min.s32", finish<finish_redux<MinS>>, ""},
    {"finish.redux.max.s32", finish<finish_redux<MaxS>>, ""},
    {"finish.redux.min.f32", finish<finish_redux_float<false, false, false>>, ""},
    {"finish.redux.min.NaN.f32", finish<finish_redux_float<false, false, true>>, ""},
    {"finish.redux.min.abs.f32", finish<finish_redux_float<false, true, false>>, ""},
    {"finish.redux.min.abs.NaN.f32", finish<finish_redux_float<false, true, true>>, ""},
    {"finish.redux.max.f32", finish<finish_redux_float<true, false, false>>, ""},
    {"finish.redux.max.NaN.f32", finish<finish_redux_float<true, false, true>>, ""},
    {"finish.redux.max.abs.f32", finish<finish_redux_float<true, true, false>>, ""},
    {"finish.redux.max.abs.NaN.f32", finish<finish_redux_float<true, true, true>>, ""},
    {"finish.elect", finish<finish_elect>, ""},
};

}  // namespace cushim::ptx::execute

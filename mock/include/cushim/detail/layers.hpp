// SPDX-License-Identifier: Apache-2.0
// Layers that run one function template around calls of any entry point.
#pragma once

#include <cushim/mock/hook.hpp>

namespace cushim::hook::detail {

// A layer of one signature. Runner::run(slot, next, arguments...) makes the call: it calls
// next(arguments...), or returns another result.
template <class Runner, class Signature>
class RunnerLayer;

template <class Runner, class... Arguments>
class RunnerLayer<Runner, CUresult(Arguments...)> final : public mock::Layer<CUresult(Arguments...)> {
 public:
  RunnerLayer(int slot, Runner runner) : slot_(slot), runner_(runner) {}
  CUresult run(const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) override {
    return runner_.run(slot_, next, arguments...);
  }

 private:
  const int slot_;
  const Runner runner_;
};

// Returns a layer that the caller owns.
template <class Runner, class Signature>
mock::AnyLayer *make_layer(int slot, Runner runner) {
  return new RunnerLayer<Runner, Signature>(slot, runner);
}

// make_layer() by slot; null if the CUDA headers lack one of the entry point's types.
template <class Runner>
inline constexpr mock::AnyLayer *(*kMakeLayer[])(int slot, Runner runner) = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) &make_layer<Runner, CUresult parameters>,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace cushim::hook::detail

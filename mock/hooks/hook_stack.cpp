// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/hook.hpp>

#include <algorithm>

namespace cushim::mock {

namespace {

// Makes a snapshot of a stack. The stack holds it while it is current, and so does each call that runs
// through it. The snapshot counts itself in each layer's `inside`, so a call need not.
std::shared_ptr<const Layers> counted(Layers layers) {
  for (const auto &layer : layers) ++layer->inside;
  const auto end = [](const Layers *ended) {
    for (const auto &layer : *ended)
      if (--layer->inside == 0) layer->inside.notify_all();
    delete ended;
  };
  return {new Layers(std::move(layers)), end};
}

}  // namespace

inline std::shared_ptr<const Layers> HookStack::layers() const {
  const std::lock_guard lock(mutex_);
  return layers_;
}

thread_local const HookStack::Call *HookStack::Call::innermost_ = nullptr;

HookStack::Call::Call(const HookStack &stack) : outer_(innermost_), layers_(stack.layers()) {
  innermost_ = this;
}

HookStack::Call::~Call() { innermost_ = outer_; }

bool HookStack::is_inside(const AnyLayer &layer) noexcept {
  for (const Call *call = Call::innermost_; call != nullptr; call = call->outer_)
    for (const auto &one : *call->layers_)
      if (one.get() == &layer) return true;
  return false;
}

template <class Edit>
void HookStack::change(Edit edit) {
  const std::lock_guard lock(mutex_);
  Layers copy = *layers_;
  edit(copy);
  layers_ = counted(std::move(copy));
}

void HookStack::push(std::shared_ptr<AnyLayer> layer) {
  change([&](Layers &layers) { layers.push_back(std::move(layer)); });
}

void HookStack::erase(const AnyLayer &layer) {
  change(
      [&](Layers &layers) { std::erase_if(layers, [&](const auto &one) { return one.get() == &layer; }); });
}

bool HookStack::is_empty() const { return layers()->empty(); }

}  // namespace cushim::mock

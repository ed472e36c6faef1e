// SPDX-License-Identifier: Apache-2.0
// Reports of the engine: the order of operations, and the operations that wait.
#include <cstdio>

#include "engine/engine.hpp"
#include "engine/limits.hpp"

namespace cushim::sim {

void Engine::record_order(const Ran &ran) {
  if (order_.size() < kOrderKept)
    order_.push_back(ran);
  else
    order_[next_in_order_] = ran;
  next_in_order_ = (next_in_order_ + 1) % kOrderKept;
}

std::string Engine::to_text(unsigned long serial, unsigned long stream, const char *name) const {
  std::string text = "#";
  text += std::to_string(serial) + " stream " + std::to_string(stream);
  if (const auto its_name = names_.find(stream); its_name != names_.end())
    text += " (" + its_name->second + ")";
  return text + ": " + name;
}

std::string Engine::order() const {
  std::string text;
  const std::size_t first = order_.size() < kOrderKept ? 0 : next_in_order_;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Ran &ran = order_[(first + i) % order_.size()];
    text += to_text(ran.serial, ran.stream, ran.name) + "\n";
  }
  if (unfinished_ != 0)
    text += "not run: " + std::to_string(unfinished_) + "; at the head of their streams:\n" + stream_heads();
  return text;
}

// Returns the first tasks of the streams and their conditions, as text.
std::string Engine::stream_heads() const {
  std::string text;
  if (in_host_function_ != nullptr) text += "  " + to_text(*in_host_function_) + " runs\n";
  for (const Task *task : host_functions_) text += "  " + to_text(*task) + " waits for the host thread\n";
  for (const Task *task : ready_tasks()) {
    text += "  " + to_text(*task);
    if (task->condition != nullptr) text += " waits for " + task->condition->to_text();
    text += "\n";
  }
  return text;
}

void Engine::report(const std::string &text) const {
  if (options_.report != nullptr)
    options_.report(text);
  else
    std::fprintf(stderr, "cushim[sim]: %s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

}  // namespace cushim::sim

// SPDX-License-Identifier: Apache-2.0
// Calls of functions, and returns from them.
#include <algorithm>
#include <cstring>

#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

// Returns the lanes of the running path whose operand `target` is that of lane `first`.
std::uint32_t lanes_with_target(const Warp &w, const std::uint64_t *target, unsigned first) {
  std::uint32_t same = 0;
  for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    if (target[lane] == target[first]) same |= 1u << lane;
  }
  return same;
}

// Returns the function at an address, or nullptr if a call with these arguments cannot reach one there.
const FunctionCode *function_at(const Code &code, std::uint64_t address, const CallSite &site) {
  const std::uint64_t index = (address - code_window) / 16;
  if (address < code_window || index >= code.functions.size()) return nullptr;
  const FunctionCode &function = code.functions[index];
  return function.has_body && site.arguments.size() == function.parameters.size() ? &function : nullptr;
}

// Leaves the lanes of `mask` in the running path. The others execute the call again; all reconverge after it.
void narrow(WarpState &w, const Op *op, std::uint32_t mask) {
  Path &path = w.paths[w.current];
  path.join = new_join(w, op + 1, path);
  Path others = path;
  others.mask = w.mask & ~mask;
  others.pc = op;
  path.mask = mask;
  w.paths.push_back(others);
  w.mask = mask;
  w.partial = 1;
}

Frame *new_frame(WarpState &w, const FunctionCode &function) {
  auto &spare = w.free_frames[function.index];
  if (!spare.empty()) {
    Frame *const frame = spare.back();
    spare.pop_back();
    return frame;
  }
  Frame &frame = w.frames.emplace_back();
  frame.storage.resize(function.frame_bytes + 64);
  frame.registers = reinterpret_cast<std::byte *>(
      (reinterpret_cast<std::uintptr_t>(frame.storage.data()) + 63) & ~std::uintptr_t{63});
  frame.function = &function;
  std::memcpy(frame.registers, function.constants.data(), function.constants.size());
  return &frame;
}

}  // namespace

const Op *call(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  const auto &site = *static_cast<const CallSite *>(op->data);
  count_run(w, op);
  w.budget -= op->length;
  if (site.builtin != 0) return call_builtin(w, op, site);
  const FunctionCode *callee = site.callee;
  const unsigned first = static_cast<unsigned>(__builtin_ctz(w.mask));
  if (callee == nullptr) {
    const auto *const target = reinterpret_cast<const std::uint64_t *>(w.frame + op->a);
    callee = function_at(*w.block->code, target[first], site);
    if (callee == nullptr) return fault(w, op, FaultKind::illegal_instruction, first, target[first]);
    const std::uint32_t same = lanes_with_target(w, target, first);
    if (same != w.mask) narrow(w, op, same);
  }
  Path &path = w.paths[w.current];
  Frame *const frame = new_frame(w, *callee);
  frame->caller = path.frame;
  frame->call = op;
  frame->users = path.mask;
  frame->local_base = (path.frame->local_top + 15) & ~std::uint64_t{15};
  frame->local_top = frame->local_base + (callee->local_bytes < 16 ? 16 : callee->local_bytes);
  const std::size_t last = callee->parameters.size() - 1;
  const bool has_variadic = callee->variadic && site.arguments.size() > last;
  const std::uint64_t variadic = frame->local_base + variadic_offset(callee->local_bytes);
  if (has_variadic) frame->local_top = std::max(frame->local_top, variadic + site.arguments[last].bytes);
  if (frame->local_top > w.local_bytes) return fault(w, op, FaultKind::stack_overflow, first);
  for (std::size_t i = 0; i < site.arguments.size() && i < callee->parameters.size(); ++i) {
    const Slot &from = site.arguments[i], &to = callee->parameters[i];
    for (unsigned lane = 0; lane < lanes; ++lane)
      std::memcpy(frame->registers + to.at + lane * to.bytes, w.frame + from.at + lane * from.bytes,
                  std::min(to.bytes, from.bytes));
  }
  for (std::uint32_t rest = has_variadic ? w.mask : 0; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    const Slot &from = site.arguments[last];
    std::memcpy(w.local + lane * w.local_bytes + variadic, w.frame + from.at + lane * from.bytes, from.bytes);
  }
  path.frame = frame;
  w.frame = frame->registers;
  return callee->ops.data();
}

const Op *return_(Warp &warp, const Op *op) {
  WarpState &w = state(warp);
  count_run(w, op);
  Path &path = w.paths[w.current];
  Frame *const frame = path.frame;
  Frame *const caller = frame->caller;
  const Op *const from = frame->call;
  const auto &site = *static_cast<const CallSite *>(from->data);
  for (std::size_t i = 0; i < site.results.size() && i < frame->function->results.size(); ++i) {
    const Slot &value = frame->function->results[i], &to = site.results[i];
    for (std::uint32_t rest = path.mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      std::memcpy(caller->registers + to.at + lane * to.bytes,
                  frame->registers + value.at + lane * value.bytes, std::min(to.bytes, value.bytes));
    }
  }
  frame->users &= ~path.mask;
  if (frame->users == 0) w.free_frames[frame->function->index].push_back(frame);
  path.frame = caller;
  w.frame = caller->registers;
  return from + 1;
}

}  // namespace cushim::ptx::execute

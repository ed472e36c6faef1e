// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "check/kernel_checker.hpp"
#include "execute/machine.hpp"
#include "execute/printf.hpp"

// The functions that device code declares and the driver implements.
namespace cushim::ptx {

bool implements(std::string_view function) { return execute::builtin(function) != 0; }

namespace execute {
namespace {

constexpr std::array<std::string_view, 5> names{"vprintf", "malloc", "free", "cudaGraphSetConditional",
                                                "__assertfail"};

std::uint64_t argument(const WarpState &w, const CallSite &site, std::size_t index, unsigned lane) {
  if (index >= site.arguments.size()) return 0;
  const Slot &slot = site.arguments[index];
  std::uint64_t value = 0;
  std::memcpy(&value, w.frame + slot.at + lane * slot.bytes, std::min<std::uint32_t>(8, slot.bytes));
  return value;
}

void give(WarpState &w, const CallSite &site, unsigned lane, std::uint64_t value) {
  if (site.results.empty()) return;
  const Slot &slot = site.results[0];
  std::memcpy(w.frame + slot.at + lane * slot.bytes, &value, std::min<std::uint32_t>(8, slot.bytes));
}

}  // namespace

std::uint32_t builtin(std::string_view name) {
  for (std::uint32_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return i + 1;
  return 0;
}

const Op *call_builtin(WarpState &w, const Op *op, const CallSite &site) {
  Launch &launch = *w.worker->launch;
  for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
    switch (site.builtin) {
      case 1: {
        std::string format, out;
        std::int64_t count = 0;
        if (!read_text(w, op, lane, argument(w, site, 0, lane), format)) return nullptr;
        if (!format_text(w, op, lane, format, argument(w, site, 1, lane), out, count)) return nullptr;
        give(w, site, lane, static_cast<std::uint64_t>(count));
        if (launch.print != nullptr && *launch.print) {
          const std::lock_guard lock(launch.print_mutex);
          (*launch.print)(out);
        }
        break;
      }
      case 2: {
        const std::uint64_t bytes = argument(w, site, 0, lane), made = launch.memory->allocate(bytes);
        if (w.checker != nullptr && made != 0)
          w.checker->allocated(launch.memory->resolve(made, bytes, Access::write).host, bytes);
        give(w, site, lane, made);
        break;
      }
      case 3:
        launch.memory->release(argument(w, site, 0, lane));
        break;
      case 4: {
        const std::uint64_t handle = argument(w, site, 0, lane);
        if (!launch.memory->set_conditional(handle, static_cast<std::uint32_t>(argument(w, site, 1, lane))))
          return fault(w, op, FaultKind::illegal_address, lane, handle,
                       "no conditional handle of the kernel's context");
        break;
      }
      default: {
        std::string text, file, function;
        if (!read_text(w, op, lane, argument(w, site, 0, lane), text)) return nullptr;
        if (!read_text(w, op, lane, argument(w, site, 1, lane), file)) return nullptr;
        if (!read_text(w, op, lane, argument(w, site, 3, lane), function)) return nullptr;
        const std::uint64_t line = argument(w, site, 2, lane) & 0xffffffff;
        return fault(
            w, op, FaultKind::assertion, lane, 0,
            file + ":" + std::to_string(line) + ": " + function + ": Assertion `" + text + "` failed.");
      }
    }
  }
  return op + 1;
}

}  // namespace execute
}  // namespace cushim::ptx

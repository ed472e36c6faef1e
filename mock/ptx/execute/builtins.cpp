// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "check/kernel_checker.hpp"
#include "execute/machine.hpp"

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

// Returns false after a fault.
bool read_text(WarpState &w, const Op *op, unsigned lane, std::uint64_t address, std::string &text) {
  for (;; ++address) {
    const std::byte *const at = resolve_generic(w, op, lane, address, 1, Access::read);
    if (at == nullptr) return false;
    if (*at == std::byte{0}) return true;
    text += static_cast<char>(*at);
  }
}

// Formats as printf() does on a GPU: the arguments are consecutive, each aligned to its size.
bool formatted(WarpState &w, const Op *op, unsigned lane, const std::string &format, std::uint64_t arguments,
               std::string &out, std::int64_t &count) {
  const auto next = [&](unsigned bytes, std::uint64_t &value) {
    arguments = (arguments + bytes - 1) / bytes * bytes;
    const std::byte *const at = resolve_generic(w, op, lane, arguments, bytes, Access::read);
    if (at == nullptr) return false;
    value = 0;
    std::memcpy(&value, at, bytes);
    arguments += bytes;
    ++count;
    return true;
  };
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string spec = "%";
    bool is_long = false;
    for (++i; i < format.size(); ++i) {
      const char c = format[i];
      if (c == '*') {
        std::uint64_t value;
        if (!next(4, value)) return false;
        spec += std::to_string(static_cast<std::int32_t>(value));
      } else if (std::strchr("-+ #0123456789.", c) != nullptr) {
        spec += c;
      } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
        is_long = true;
      } else if (c != 'h') {
        break;
      }
    }
    if (i == format.size()) break;
    const char kind = format[i];
    char buffer[512];
    std::uint64_t value = 0;
    buffer[0] = 0;
    switch (kind) {
      case '%':
        out += '%';
        continue;
      case 'd':
      case 'i':
        if (!next(is_long ? 8 : 4, value)) return false;
        std::snprintf(
            buffer, sizeof buffer, (spec + PRId64).c_str(),
            is_long ? static_cast<std::int64_t>(value) : std::int64_t{static_cast<std::int32_t>(value)});
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        if (!next(is_long ? 8 : 4, value)) return false;
        std::snprintf(buffer, sizeof buffer, (spec + "l" + kind).c_str(), static_cast<unsigned long>(value));
        break;
      case 'c':
        if (!next(4, value)) return false;
        std::snprintf(buffer, sizeof buffer, (spec + "c").c_str(), static_cast<int>(value));
        break;
      case 'p':
        if (!next(8, value)) return false;
        std::snprintf(buffer, sizeof buffer, (spec + "p").c_str(), reinterpret_cast<void *>(value));
        break;
      case 's': {
        if (!next(8, value)) return false;
        std::string text;
        if (!read_text(w, op, lane, value, text)) return false;
        if (spec.size() == 1) {
          out += text;
        } else {
          std::snprintf(buffer, sizeof buffer, (spec + "s").c_str(), text.c_str());
        }
        break;
      }
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        if (!next(8, value)) return false;
        double number;
        std::memcpy(&number, &value, 8);
        std::snprintf(buffer, sizeof buffer, (spec + kind).c_str(), number);
        break;
      }
      default:
        out += spec + kind;
        continue;
    }
    out += buffer;
  }
  return true;
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
        if (!formatted(w, op, lane, format, argument(w, site, 1, lane), out, count)) return nullptr;
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

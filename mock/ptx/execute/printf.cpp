// SPDX-License-Identifier: Apache-2.0
// printf() of device code, as measured on an H200 with driver 580.159. The GPU takes the arguments of the
// conversions that the CUDA programming guide lists: a width may be *, a precision may not; sizes are h, l
// and ll. The result of printf() is their number. The driver then formats on the host, where the other
// conversions (hh, j, q, t, z, a precision of *) take the integers that are next, and an undefined value if
// none are left or if they are floats. Here these values are 0.
#include "execute/printf.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "execute/machine.hpp"

namespace cushim::ptx::execute {
namespace {

bool contains(std::string_view set, char one) { return set.find(one) != std::string_view::npos; }

struct Conversion {
  std::string_view text;                           // all of it
  std::string_view flags, width, precision, size;  // precision: with the dot
  char type = 0;
  bool is_device = false;  // the GPU takes its arguments

  bool is_float() const { return contains("eEfFgGaA", type); }
  unsigned value_bytes() const { return is_float() || contains("spS", type) || contains(size, 'l') ? 8 : 4; }
};

// Returns the conversion that begins with the % at `at`. Its type is 0 if the format ends before.
Conversion conversion_at(std::string_view format, std::size_t at) {
  Conversion made;
  std::size_t end = at + 1;
  const auto take = [&](auto &&accepts) {
    const std::size_t begin = end;
    while (end < format.size() && accepts(format[end])) ++end;
    return format.substr(begin, end - begin);
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&] {
    if (end < format.size() && format[end] == '*') return format.substr(end++, 1);
    return take(is_digit);
  };
  made.flags = take([](char c) { return contains("-+ #0'", c); });
  made.width = number();
  if (end < format.size() && format[end] == '.') {
    const std::size_t begin = end++;
    made.precision = format.substr(begin, 1 + number().size());
  }
  made.size = take([](char c) { return contains("hljqtzL", c); });
  made.type = end < format.size() ? format[end] : char{0};
  made.text = format.substr(at, end + 1 - at);
  made.is_device = contains("cdiouxXpeEfFgGaAsS", made.type) && !contains(made.flags, '\'') &&
                   made.precision != ".*" &&
                   (made.size.empty() || made.size == "h" || made.size == "l" || made.size == "ll");
  return made;
}

std::string formatted(const std::string &spec, auto value) {
  std::string text(static_cast<std::size_t>(std::max(0, std::snprintf(nullptr, 0, spec.c_str(), value))), 0);
  std::snprintf(text.data(), text.size() + 1, spec.c_str(), value);
  return text;
}

// Returns the integer with the size of the conversion.
std::uint64_t sized(const Conversion &one, std::uint64_t value, bool is_signed) {
  const auto narrow = [&](auto signed_one, auto unsigned_one) {
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(signed_one))
                     : std::uint64_t{unsigned_one};
  };
  if (one.size == "hh") return narrow(static_cast<std::int8_t>(value), static_cast<std::uint8_t>(value));
  if (one.size == "h") return narrow(static_cast<std::int16_t>(value), static_cast<std::uint16_t>(value));
  if (one.size.empty()) return narrow(static_cast<std::int32_t>(value), static_cast<std::uint32_t>(value));
  return value;
}

class Formatter {
 public:
  Formatter(Warp &w, const Op *op, unsigned lane, std::string_view format, std::uint64_t arguments)
      : w_(w), op_(op), lane_(lane), format_(format), arguments_(arguments) {}

  bool run(std::string &out, std::int64_t &count) {
    for (const bool prints : {false, true})
      for (std::size_t i = 0; i < format_.size(); ++i) {
        if (format_[i] != '%') {
          if (prints) out += format_[i];
          continue;
        }
        const Conversion one = conversion_at(format_, i);
        if (one.type == 0) break;
        i += one.text.size() - 1;
        if (prints ? !print(one, out) : one.is_device && !read(one)) return false;
      }
    count = count_;
    return true;
  }

 private:
  // Reads the arguments of a conversion.
  bool read(const Conversion &one) {
    std::uint64_t value = 0;
    if (one.width == "*") {
      if (!next(4, value)) return false;
      integers_.push_back(value);
    }
    if (!next(one.value_bytes(), value)) return false;
    (one.is_float() ? floats_ : integers_).push_back(value);
    return true;
  }

  bool next(unsigned bytes, std::uint64_t &value) {
    arguments_ = (arguments_ + bytes - 1) / bytes * bytes;
    const std::byte *const at = resolve_generic(w_, op_, lane_, arguments_, bytes, Access::read);
    if (at == nullptr) return false;
    value = 0;
    std::memcpy(&value, at, bytes);
    arguments_ += bytes;
    ++count_;
    return true;
  }

  std::uint64_t integer() { return integer_at_ < integers_.size() ? integers_[integer_at_++] : 0; }

  bool print(const Conversion &one, std::string &out) {
    std::string spec = "%" + std::string(one.flags);
    const auto width = [this] { return std::to_string(static_cast<std::int32_t>(integer())); };
    spec += one.width == "*" ? width() : std::string(one.width);
    spec += one.precision == ".*" ? "." + width() : std::string(one.precision);
    switch (one.type) {
      case '%':
        out += '%';
        return true;
      case 'm':
        out += "Success";
        return true;
      case 'd':
      case 'i':
        out += formatted(spec + PRId64, static_cast<std::int64_t>(sized(one, integer(), true)));
        return true;
      case 'o':
      case 'u':
      case 'x':
      case 'X':
        out += formatted(spec + "l" + one.type, static_cast<unsigned long>(sized(one, integer(), false)));
        return true;
      case 'c':
      case 'C':
        out += formatted(spec + "c", static_cast<int>(integer()));
        return true;
      case 'p':
        out += formatted(spec + "p", reinterpret_cast<void *>(integer()));
        return true;
      case 's':
        return print_text(one, spec, out);
      case 'S':
        integer();
        return true;
      default:
        break;
    }
    if (!one.is_float()) {
      if (one.type != 'n') out += one.text;
      return true;
    }
    double number = 0;
    if (one.is_device) std::memcpy(&number, &floats_[float_at_++], sizeof number);
    out += formatted(spec + one.type, number);
    return true;
  }

  bool print_text(const Conversion &one, const std::string &spec, std::string &out) {
    const std::uint64_t address = integer();
    std::string text;
    if (contains(one.size, 'l')) return true;  // wide characters
    if (address != 0 && !read_text(w_, op_, lane_, address, text)) return false;
    if (address == 0) {
      const bool is_short =
          spec.find('.') != std::string::npos && std::atoi(spec.c_str() + spec.find('.') + 1) < 6;
      text = is_short ? "" : "(null)";
    }
    out += formatted(spec + "s", text.c_str());
    return true;
  }

  Warp &w_;
  const Op *op_;
  unsigned lane_;
  std::string_view format_;
  std::uint64_t arguments_;
  std::vector<std::uint64_t> integers_, floats_;
  std::size_t integer_at_ = 0, float_at_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace

bool read_text(Warp &w, const Op *op, unsigned lane, std::uint64_t address, std::string &text) {
  for (;; ++address) {
    const std::byte *const at = resolve_generic(w, op, lane, address, 1, Access::read);
    if (at == nullptr) return false;
    if (*at == std::byte{0}) return true;
    text += static_cast<char>(*at);
  }
}

bool format_text(Warp &w, const Op *op, unsigned lane, const std::string &format, std::uint64_t arguments,
                 std::string &out, std::int64_t &count) {
  return Formatter(w, op, lane, format, arguments).run(out, count);
}

}  // namespace cushim::ptx::execute

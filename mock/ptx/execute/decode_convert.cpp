// SPDX-License-Identifier: Apache-2.0
// Conversions: cvt, cvta and isspacep.
#include <algorithm>
#include <cstring>

#include "execute/decode.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_pack(std::string_view type) {
  const std::uint32_t a = source(operand(1), 4), b = source(operand(2), 4);
  const std::uint32_t c = count() > 3 ? source(operand(3), 4) : constant(4, 0);
  const auto modifier = find_modifier(type);
  Op &op = emit("convert_pack", destination(operand(0), 4), a, b, c);
  op.extra = bits(type_of(*modifier)) | (type[0] == 's' ? 1u << 8 : 0);
}

void FunctionDecoder::decode_cvt() {
  Words words = split(mnemonic().ordered);
  if (has(words, "pack")) return decode_pack(words[3]);
  if (words.size() < 3) throw UnsupportedInstruction{"is not supported"};
  const std::string_view to = words[words.size() - 2], from = words.back();
  // Accepted without effect: measured on an H200.
  if (from == "bf16" && (to == "f32" || to == "f64"))
    for (const auto rounding : {"rn", "rz", "rm", "rp"}) take(words, rounding);
  if (to == "f32" && (from[0] == 'u' || from[0] == 's')) take(words, "ftz");
  const auto described = describe_conversion({words.begin() + 1, words.end() - 2}, to, from);
  if (!described) throw UnsupportedInstruction{"is not supported"};
  const unsigned to_bytes = described->to_bytes, from_bytes = described->from_bytes;
  const Operand &d_operand = operand(0);
  const unsigned d_bytes = d_operand.kind == OperandKind::reg ? width(register_type(d_operand)) : to_bytes;
  const std::uint32_t d = destination(d_operand, d_bytes);
  if (described->pair) {
    // cvt.f16x2.f32 d, a, b: a is the upper half of d.
    const std::uint32_t a = source(operand(1), from_bytes, from), b = source(operand(2), from_bytes, from);
    Op &op = emit(find("convert_pair")->run);
    op.d = d;
    op.a = a;
    op.b = b;
    op.extra = d_bytes << 8;
    op.data = keep(*described);
    return;
  }
  if (described->packed) {
    Op &op = emit("convert_packed", d, source(operand(1), from_bytes));
    op.extra = d_bytes << 8;
    op.data = keep(*described);
    return;
  }
  const Operand &a_operand = operand(1);
  const unsigned a_bytes = a_operand.kind == OperandKind::reg ? width(register_type(a_operand)) : from_bytes;
  std::uint32_t a = source(a_operand, std::max(a_bytes, from_bytes), from);
  std::string fast;
  if (described->plain) {
    std::string_view target = to, origin = from;
    const auto is_integer = [](std::string_view t) { return t[0] == 'u' || t[0] == 's'; };
    if (is_integer(to) && is_integer(from) && to_bytes == d_bytes && bytes_of(to) != 1) {
      // Truncation and extension depend only on the source's signedness.
      static const std::map<unsigned, std::string> unsigned_name{{2, "u16"}, {4, "u32"}, {8, "u64"}};
      if (a_bytes == bytes_of(from)) {
        if (bytes_of(to) == bytes_of(from))
          fast = "mov.b" + std::to_string(8 * d_bytes);
        else if (bytes_of(to) < bytes_of(from))
          fast = "convert." + unsigned_name.at(d_bytes) + "." + unsigned_name.at(a_bytes);
        else
          fast = "convert." + unsigned_name.at(d_bytes) + "." + std::string{origin};
      }
    } else if (d_bytes == bytes_of(to) && a_bytes == bytes_of(from)) {
      const bool canonical = to == "f16" || to == "bf16";  // of a NaN
      fast = to == from && canonical ? ""
             : to == from            ? "mov.b" + std::to_string(8 * d_bytes)
                                     : "convert." + std::string{target} + "." + std::string{origin};
    }
  }
  const LaneOperation *row = fast.empty() ? nullptr : find(fast);
  if (row == nullptr) {
    row = find("convert");
    Op &op = emit(row->run);
    op.d = d;
    op.a = a;
    op.extra = std::max(a_bytes, from_bytes) | d_bytes << 8;
    op.data = keep(*described);
    return;
  }
  Op &op = emit(row->run);
  op.d = d;
  op.a = a;
}

const void *FunctionDecoder::keep(const Conversion &conversion) {
  auto &list = code.words.emplace_back((sizeof conversion + 7) / 8);
  std::memcpy(list.data(), &conversion, sizeof conversion);
  return list.data();
}

void FunctionDecoder::decode_cvta() {
  const Words words = split(mnemonic().ordered);
  const unsigned bytes = width_of(words.back());
  const bool back = has(words, "to");
  std::uint64_t window = has(words, "shared") || has(words, "shared::cta") || has(words, "shared::cluster")
                             ? shared_window
                         : has(words, "local") ? local_window
                         : has(words, "param") ? parameter_window
                                               : 0;
  if (bytes == 4 && window != 0) throw UnsupportedInstruction{"needs addresses of 64 bits"};
  const std::uint32_t a = source(operand(1), bytes), d = destination(operand(0), bytes);
  Op &op = emit(find(bytes == 8 ? "add.u64" : "add.u32")->run);
  op.d = d;
  op.a = a;
  op.b = constant(bytes, back ? 0 - window : window);
}

void FunctionDecoder::decode_isspacep() {
  const Words words = split(mnemonic().ordered);
  const std::uint32_t a = source(operand(1), 8), d = destination(operand(0), 1);
  Op &op = emit(find("isspacep")->run);
  op.d = d;
  op.a = a;
  const std::string_view space = words[1];
  op.extra = space == "global" || space == "const" ? (space == "const" ? 4u : 0u)
             : space.substr(0, 6) == "shared"      ? 1u
             : space == "local"                    ? 2u
                                                   : 3u;
  if (space != "global" && space != "const") return;
  // A constant variable is not in global memory.
  std::vector<std::uint64_t> constants{0};
  const auto add = [&](const Variable &variable) {
    const auto found = addresses.find(std::string{variable.name});
    if (variable.space != StateSpace::const_ || found == addresses.end()) return;
    ++constants[0];
    constants.push_back(found->second);
    constants.push_back(found->second + variable.size);
  };
  for (const Variable &variable : module.variables) add(variable);
  for (const Variable &variable : function.body.locals) add(variable);
  if (constants[0] != 0) op.data = code.words.emplace_back(std::move(constants)).data();
}

}  // namespace cushim::ptx::execute

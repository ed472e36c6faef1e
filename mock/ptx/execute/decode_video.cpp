// SPDX-License-Identifier: Apache-2.0
// Video instructions: every v* except vote.
#include <algorithm>
#include <cstring>

#include "execute/decode.hpp"
#include "execute/video.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_video() {
  Words words = split(mnemonic().ordered);
  Video v;
  std::string_view name = words[0].substr(1);
  if (name.back() == '2' || name.back() == '4') {
    v.parts = static_cast<std::uint8_t>(name.back() - '0');
    name.remove_suffix(1);
  }
  static const std::map<std::string_view, VideoOperation> names{
      {"add", VideoOperation::add},      {"sub", VideoOperation::subtract},
      {"min", VideoOperation::min},      {"absdiff", VideoOperation::difference},
      {"max", VideoOperation::max},      {"shl", VideoOperation::left},
      {"shr", VideoOperation::right},    {"set", VideoOperation::set},
      {"avrg", VideoOperation::average}, {"mad", VideoOperation::multiply}};
  v.operation = names.at(name);
  static const std::map<std::string_view, VideoSecond> seconds{
      {"add", VideoSecond::add}, {"min", VideoSecond::min}, {"max", VideoSecond::max}};
  static const std::map<std::string_view, bool Video::*> flags{
      {"sat", &Video::saturate}, {"wrap", &Video::wrap}, {"po", &Video::plus_one}};
  std::vector<bool> is_signed;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view one = words[i];
    static constexpr std::string_view comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const auto compared = std::find(std::begin(comparisons), std::end(comparisons), one);
    if (one == "s32" || one == "u32")
      is_signed.push_back(one == "s32");
    else if (compared != std::end(comparisons))
      v.comparison = static_cast<std::uint8_t>(compared - comparisons);
    else if (const auto flag = flags.find(one); flag != flags.end())
      v.*flag->second = true;
    else if (one == "shr7" || one == "shr15")
      v.shift = one == "shr7" ? 7 : 15;
    else if (const auto second = seconds.find(one); second != seconds.end())
      v.second = second->second;
    else if (one != "clamp")
      throw UnsupportedInstruction{"is not supported"};
  }
  if (v.operation == VideoOperation::set) is_signed.insert(is_signed.begin(), is_signed.at(0));
  if (is_signed.size() != 3) throw UnsupportedInstruction{"is not supported"};
  v.signed_d = is_signed[0];
  v.signed_a = is_signed[1];
  v.signed_b = is_signed[2];
  const auto selector = [](const Operand &one, std::uint8_t &kind, std::uint32_t &digits) {
    if (one.kind != OperandKind::reg || one.component < 'b') return;
    kind = one.component;
    digits = static_cast<std::uint32_t>(one.value);
  };
  const auto plain = [](Operand one, bool &negated) {
    negated = one.negated;
    one.negated = false;
    return one;
  };
  selector(operand(0), v.kind_d, v.digits_d);
  v.count_d = v.kind_d != 0 ? static_cast<std::uint8_t>(operand(0).count) : 0;
  selector(operand(1), v.kind_a, v.digits_a);
  selector(operand(2), v.kind_b, v.digits_b);
  const std::uint32_t a = source(plain(operand(1), v.negated_a), 4);
  const std::uint32_t b = source(plain(operand(2), v.negated_b), 4);
  const std::uint32_t c = count() > 3 ? source(plain(operand(3), v.negated_c), 4) : constant(4, 0);
  const std::uint32_t d = destination(operand(0), 4);
  auto &list = code.words.emplace_back((sizeof v + 7) / 8);
  std::memcpy(list.data(), &v, sizeof v);
  Op &op = emit(video);
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
  op.data = list.data();
  // ptxas 13.0 drops the guard of the instructions that it compiles to two dot products.
  const std::string_view text = mnemonic().ordered;
  const bool all_bytes = (v.count_d == 0 || v.count_d == 4) && (v.kind_a == 0 || v.digits_a == 0x3210) &&
                         (v.kind_b == 0 || v.digits_b == 0x7654);
  if (all_bytes && (text == "vadd4.u32.u32.u32.add" || text == "vsub4.u32.u32.u32.add")) guard_done = true;
}

}  // namespace cushim::ptx::execute

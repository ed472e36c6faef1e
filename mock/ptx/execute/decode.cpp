// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "execute/convert.hpp"
#include "execute/machine.hpp"
#include "execute/matrix.hpp"
#include "execute/video.hpp"

namespace cushim::ptx {
namespace execute {
namespace {

// ---- tables

const std::unordered_map<std::string_view, const LaneOperation *> &operations() {
  static const auto table = [] {
    std::unordered_map<std::string_view, const LaneOperation *> all;
    const auto add = [&all](LaneTable rows) {
      for (const LaneOperation *row = rows.begin; row != rows.end; ++row) all.emplace(row->key, row);
    };
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      add(avx2_lanes());
    else
      add(baseline_lanes());
#else
    add(baseline_lanes());
#endif
    add(scalar_operations());
    return all;
  }();
  return table;
}

const LaneOperation *find(std::string_view key) {
  const auto found = operations().find(key);
  return found == operations().end() ? nullptr : found->second;
}

struct UnsupportedInstruction {
  std::string reason;
};

using Words = std::vector<std::string_view>;

Words split(std::string_view text) {
  Words words;
  while (!text.empty()) {
    std::size_t end = text.find('.');
    if (end == text.npos) end = text.size();
    if (end != 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return words;
}
bool take(Words &words, std::string_view word) {
  const auto found = std::find(words.begin() + 1, words.end(), word);
  if (found == words.end()) return false;
  words.erase(found);
  return true;
}
bool has(const Words &words, std::string_view word) {
  return std::find(words.begin() + 1, words.end(), word) != words.end();
}
std::string joined(const Words &words) {
  std::string text;
  for (const auto word : words) text.append(text.empty() ? "" : ".").append(word);
  return text;
}

// Returns the size in bytes of a register of this type.
unsigned width(Type type) {
  const unsigned size = bits(type);
  return type == Type::pred ? 1 : size <= 16 ? 2 : size / 8;
}
unsigned width_of(std::string_view type) {
  const auto modifier = find_modifier(type);
  if (!modifier || type_of(*modifier) == Type::none) throw UnsupportedInstruction{"has an unknown type"};
  return width(type_of(*modifier));
}
unsigned bytes_of(std::string_view type) {
  const auto modifier = find_modifier(type);
  return modifier ? std::max(1u, bits(type_of(*modifier)) / 8) : 1;
}
std::uint16_t f16_bits(double value) {
  Conversion conversion;
  conversion.from = Kind::f64;
  conversion.to = Kind::f16;
  return static_cast<std::uint16_t>(convert(conversion, __builtin_bit_cast(std::uint64_t, value)));
}

// ---- one function

enum class Flow : std::uint8_t { next, branch, branch_if, indexed, stop };

struct FunctionDecoder {
  const Module &module;
  const Function &function;
  const SymbolAddresses &addresses;
  Code &code;
  FunctionCode &out;
  const std::unordered_map<std::string_view, std::uint32_t> &module_shared;
  std::vector<Diagnostic> &diagnostics;

  std::vector<std::uint32_t> registers;
  std::vector<Slot> locals, slots_of_parameters;
  std::map<std::pair<unsigned, std::uint64_t>, std::uint32_t> constants;
  std::vector<std::pair<std::uint32_t, std::pair<unsigned, std::uint64_t>>> constant_list;
  std::uint32_t frame = 0;
  std::uint32_t zero_predicate = 0;
  std::vector<std::uint32_t> first_op;  // index of the first operation of each instruction
  struct Target {
    std::size_t op;
    std::uint32_t instruction;
  };
  std::vector<Target> targets;
  struct TableTarget {
    std::size_t op;
    std::vector<std::uint32_t> instructions;
  };
  std::vector<TableTarget> table_targets;
  std::vector<Flow> flow;
  std::uint32_t instruction_index = 0;
  const Instruction *instruction = nullptr;
  std::uint8_t next_cache = 0;

  std::uint32_t allocate(unsigned bytes) {
    const unsigned size = bytes == 1 ? 4 : bytes * lanes;
    const unsigned alignment = bytes == 1 ? 4 : 64;
    frame = (frame + alignment - 1) / alignment * alignment;
    const std::uint32_t at = frame;
    frame += size;
    return at;
  }

  std::uint32_t constant(unsigned bytes, std::uint64_t value) {
    if (bytes == 1) value = value != 0;
    if (bytes == 2) value &= 0xffff;
    if (bytes == 4) value &= 0xffffffff;
    const auto [found, added] = constants.try_emplace({bytes, value}, 0);
    if (added) found->second = 0x80000000u + static_cast<std::uint32_t>(constants.size() - 1);
    if (added) constant_list.push_back({found->second, found->first});
    return found->second;
  }

  const Mnemonic &mnemonic() const { return module.mnemonics[instruction->mnemonic]; }
  const Operand &operand(std::size_t index) const {
    if (index >= instruction->operand_count) throw UnsupportedInstruction{"has too few operands"};
    return function.body.operands[instruction->first_operand + index];
  }
  const Operand &element(const Operand &group, std::size_t index) const {
    return function.body.operands[group.index + index];
  }
  std::size_t count() const { return instruction->operand_count; }

  Op &emit(Handler run, Flow kind = Flow::next) {
    Op op;
    op.run = run;
    op.source = instruction_index;
    out.ops.push_back(op);
    flow.push_back(kind);
    return out.ops.back();
  }

  Type register_type(const Operand &operand) const { return function.body.registers[operand.index].type; }

  // Returns the address of a symbol in its state space, and stores that space in `space`.
  std::uint64_t symbol(const Operand &operand, StateSpace &space, bool &frame_local) {
    frame_local = false;
    const auto offset = static_cast<std::uint64_t>(operand.value);
    switch (operand.symbol_kind) {
      case SymbolKind::function:
        space = StateSpace::none;
        return code_window + 16 * std::uint64_t{operand.index};
      case SymbolKind::variable: {
        const Variable &variable = module.variables[operand.index];
        space = variable.space;
        if (variable.space == StateSpace::shared) return module_shared.at(variable.name) + offset;
        return global_address(variable) + offset;
      }
      case SymbolKind::parameter:
        space = StateSpace::param;
        if (!function.is_entry) throw UnsupportedInstruction{"takes the address of a function's parameter"};
        return function.parameters[operand.index].offset + offset;
      case SymbolKind::local: {
        const Variable &variable = function.body.locals[operand.index];
        space = variable.space;
        if (variable.space == StateSpace::shared) return out.static_shared_base + variable.offset + offset;
        if (variable.space == StateSpace::local) {
          frame_local = true;
          return variable.offset + offset;
        }
        if (variable.space == StateSpace::param)
          throw UnsupportedInstruction{"takes the address of a parameter"};
        return global_address(variable) + offset;
      }
      default:
        throw UnsupportedInstruction{"names an unknown symbol"};
    }
  }
  std::uint64_t global_address(const Variable &variable) const {
    const auto found = addresses.find(std::string{variable.name});
    if (found == addresses.end())
      throw UnsupportedInstruction{"uses '" + std::string{variable.name} + "', which has no address"};
    return found->second;
  }

  // Returns the bits of an immediate operand for a register of `bytes` bytes.
  std::uint64_t immediate(const Operand &one, unsigned bytes, std::string_view type) const {
    const auto raw = static_cast<std::uint64_t>(one.value);
    if (one.kind == OperandKind::integer) {
      if (type == "f32") return __builtin_bit_cast(std::uint32_t, static_cast<float>(one.value));
      if (type == "f64") return __builtin_bit_cast(std::uint64_t, static_cast<double>(one.value));
      return raw;
    }
    if (one.kind == OperandKind::f64) {
      const double value = __builtin_bit_cast(double, raw);
      if (type == "f16") return f16_bits(value);
      if (bytes == 4) return __builtin_bit_cast(std::uint32_t, static_cast<float>(value));
      return raw;
    }
    return raw;
  }

  // Returns the frame offset of a source operand in a register of `bytes` bytes per lane.
  std::uint32_t source(const Operand &one, unsigned bytes, std::string_view type = {}) {
    switch (one.kind) {
      case OperandKind::reg: {
        const unsigned declared = width(register_type(one));
        if (declared != bytes && (bytes == 1 || declared == 1 || declared < bytes))
          throw UnsupportedInstruction{"has an operand of the wrong size"};
        std::uint32_t at = registers[one.index];
        if (declared != bytes) at = narrowed(at, declared, bytes);
        if (one.negated && bytes == 1) {
          const std::uint32_t inverse = allocate(1);
          Op &op = emit(find("not.pred")->run);
          op.d = inverse;
          op.a = at;
          return inverse;
        }
        return at;
      }
      case OperandKind::integer:
      case OperandKind::f32:
      case OperandKind::f64:
        return constant(bytes, immediate(one, bytes, type));
      case OperandKind::special: {
        const std::uint32_t at = allocate(bytes);
        special(one, at, bytes);
        return at;
      }
      case OperandKind::symbol: {
        StateSpace space{};
        bool frame_local = false;
        const std::uint64_t address = symbol(one, space, frame_local);
        if (!frame_local) return constant(bytes, address);
        const std::uint32_t at = allocate(bytes);
        Op &op = emit(find(bytes == 8 ? "local_address.8" : "local_address.4")->run);
        op.d = at;
        op.immediate = static_cast<std::int64_t>(address);
        return at;
      }
      default:
        throw UnsupportedInstruction{"has an operand of an unexpected kind"};
    }
  }
  std::uint32_t narrowed(std::uint32_t at, unsigned from, unsigned to) {
    const std::string key = "convert.u" + std::to_string(8 * to) + ".u" + std::to_string(8 * from);
    const LaneOperation *const row = find(key);
    if (row == nullptr) throw UnsupportedInstruction{"has an operand of the wrong size"};
    const std::uint32_t d = allocate(to);
    Op &op = emit(row->run);
    op.d = d;
    op.a = at;
    return d;
  }

  std::uint32_t destination(const Operand &one, unsigned bytes) {
    if (one.kind == OperandKind::sink) return allocate(bytes);
    if (one.kind != OperandKind::reg) throw UnsupportedInstruction{"has a destination that is no register"};
    if (width(register_type(one)) != bytes)
      throw UnsupportedInstruction{"has a destination of the wrong size"};
    return registers[one.index];
  }

  void special(const Operand &one, std::uint32_t d, unsigned bytes) {
    const auto which = static_cast<SpecialRegister>(one.index);
    const Type type = type_of(which);
    if (width(type) != bytes) {
      const unsigned own = width(type);
      const char *const conversion = bytes == 2 && own == 4   ? "convert.u16.u32"
                                     : bytes == 4 && own == 8 ? "convert.u32.u64"
                                     : bytes == 8 && own == 4 ? "convert.u64.u32"
                                                              : nullptr;
      if (conversion == nullptr) throw UnsupportedInstruction{"reads a special register of another size"};
      const std::uint32_t value = allocate(own);
      special(one, value, own);
      Op &op = emit(find(conversion)->run);
      op.d = d;
      op.a = value;
      return;
    }
    Op &op = emit(find(bytes == 8 ? "special.8" : bytes == 1 ? "special.1" : "special.4")->run);
    op.d = d;
    op.extra = static_cast<std::uint32_t>(which);
    op.immediate = one.component;
  }

  // Binds the operands to an operation as its signature says, destination first.
  Op &bind(const LaneOperation &row, std::string_view type) {
    const std::string_view signature = row.signature;
    std::array<std::uint32_t, 5> at{};
    if (signature.size() > count()) throw UnsupportedInstruction{"has too few operands"};
    for (std::size_t i = signature.size(); i-- != 0;) {
      const char size = signature[i];
      const unsigned bytes = size == 'p' ? 1 : size == 'g' ? 16 : static_cast<unsigned>(size - '0');
      at[i] = i == 0 ? destination(operand(0), bytes) : source(operand(i), bytes, type);
    }
    Op &op = emit(row.run);
    op.d = at[0];
    op.a = at[1];
    op.b = at[2];
    op.c = at[3];
    op.extra = at[4];
    return op;
  }

  // ---- instructions

  void decode_one() {
    const Mnemonic &name = mnemonic();
    switch (name.opcode) {
      case Opcode::bra:
        return decode_branch();
      case Opcode::brx:
        return decode_indexed();
      case Opcode::call:
        return decode_call();
      case Opcode::ret:
        return decode_return();
      case Opcode::exit:
        return decode_exit();
      case Opcode::ld:
      case Opcode::ldu:
        return decode_memory(false);
      case Opcode::st:
        return decode_memory(true);
      case Opcode::atom:
        return decode_atomic(true);
      case Opcode::red:
        return decode_atomic(false);
      case Opcode::mov:
        return decode_mov();
      case Opcode::cvt:
        return decode_cvt();
      case Opcode::cvta:
        return decode_cvta();
      case Opcode::isspacep:
        return decode_isspacep();
      case Opcode::setp:
        return decode_setp();
      case Opcode::set:
        return decode_set();
      case Opcode::bar:
      case Opcode::barrier:
        return decode_barrier();
      case Opcode::shfl:
      case Opcode::vote:
      case Opcode::match:
      case Opcode::redux:
      case Opcode::elect:
        return decode_warp();
      case Opcode::membar:
      case Opcode::fence: {
        emit(find("fence")->run);
        return;
      }
      case Opcode::prefetch:
      case Opcode::prefetchu:
      case Opcode::applypriority:
      case Opcode::discard:
      case Opcode::pmevent:
      case Opcode::griddepcontrol:
      case Opcode::setmaxnreg:
        return;
      case Opcode::trap:
      case Opcode::brkpt: {
        Op &op = emit(trap, Flow::stop);
        op.extra = static_cast<std::uint32_t>(FaultKind::trap);
        return;
      }
      case Opcode::lop3:
        return decode_lop3();
      case Opcode::mma:
        return decode_mma();
      case Opcode::ldmatrix:
        return decode_matrix_move(false);
      case Opcode::stmatrix:
        return decode_matrix_move(true);
      default:
        return decode_plain();
    }
  }

  // Decodes the video instructions: every v* except vote.
  void decode_video() {
    Words words = split(mnemonic().text);
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
    std::vector<bool> is_signed;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view one = words[i];
      static constexpr std::string_view comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
      const auto compared = std::find(std::begin(comparisons), std::end(comparisons), one);
      if (one == "s32" || one == "u32")
        is_signed.push_back(one == "s32");
      else if (compared != std::end(comparisons))
        v.comparison = static_cast<std::uint8_t>(compared - comparisons);
      else if (one == "sat")
        v.saturate = true;
      else if (one == "wrap")
        v.wrap = true;
      else if (one == "po")
        v.plus_one = true;
      else if (one == "shr7")
        v.shift = 7;
      else if (one == "shr15")
        v.shift = 15;
      else if (one == "add")
        v.second = VideoSecond::add;
      else if (one == "min")
        v.second = VideoSecond::min;
      else if (one == "max")
        v.second = VideoSecond::max;
      else if (one != "clamp")
        throw UnsupportedInstruction{"is not supported"};
    }
    if (v.operation == VideoOperation::set) is_signed.insert(is_signed.begin(), false);
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
  }

  // Decodes comparisons of packed pairs. setp writes both results to d|q; set writes all ones or 1.0 to each
  // half.
  void decode_compare_pairs(bool to_predicates) {
    Words words = split(mnemonic().text);
    take(words, "ftz");
    const bool brain = words.back() == "bf16x2";
    const std::uint32_t combine = take(words, "and") ? 1 : take(words, "or") ? 2 : take(words, "xor") ? 3 : 0;
    const std::string key = "setp." + std::string{words[1]} + (brain ? ".bf16" : ".f16");
    const LaneOperation *const row = find(key);
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    const std::uint32_t both[2] = {source(operand(1), 4), source(operand(2), 4)};
    const std::uint32_t c = combine != 0 ? source(operand(3), 1) : 0;
    std::uint32_t halves[2][2], results[2];
    for (unsigned side = 0; side < 2; ++side) {
      auto &list = code.words.emplace_back(5);
      const std::uint32_t parts[3] = {2, halves[side][0] = allocate(2), halves[side][1] = allocate(2)};
      std::memcpy(list.data(), parts, sizeof parts);
      part_lists.push_back({list.data(), 1});
      part_lists.push_back({list.data(), 2});
      Op &op = emit(find("unpack.4.2")->run);
      op.a = both[side];
      op.data = list.data();
    }
    const Operand &to = operand(0);
    for (unsigned half = 0; half < 2; ++half) {
      results[half] = allocate(1);
      Op &op = emit(row->run);
      op.d = results[half];
      op.a = halves[0][half];
      op.b = halves[1][half];
      op.c = c;
      op.extra = combine;
    }
    if (to_predicates) {
      for (unsigned half = 0; half < 2; ++half) {
        if (half == 1 && to.kind != OperandKind::pair) break;
        const std::uint32_t d = destination(to.kind == OperandKind::pair ? element(to, half) : to, 1);
        Op &op = emit(find("mov.pred")->run);
        op.d = d;
        op.a = results[half];
      }
      return;
    }
    const std::string_view type = words[words.size() - 2];
    const std::uint64_t yes = type == "f16x2" ? 0x3c00 : type == "bf16x2" ? 0x3f80 : 0xffff;
    const std::uint32_t d = destination(to, 4);
    std::uint32_t kept = constant(4, 0);
    for (unsigned half = 0; half < 2; ++half) {
      const std::uint32_t chosen = allocate(4);
      Op &select = emit(find("selp.b32")->run);
      select.d = chosen;
      select.a = constant(4, yes << 16 * half);
      select.b = constant(4, 0);
      select.c = results[half];
      const std::uint32_t rendezvous_mask = half == 1 ? d : allocate(4);
      Op &op = emit(find("or.b32")->run);
      op.d = rendezvous_mask;
      op.a = kept;
      op.b = chosen;
      kept = rendezvous_mask;
    }
  }

  void decode_plain() {
    Words words = split(mnemonic().text);
    if (words[0][0] == 'v') return decode_video();
    unsigned rounding = 0;
    const std::string_view type = words.back();
    const bool is_float = type == "f32" || type == "f64" || type == "f16" || type == "bf16" ||
                          type == "f16x2" || type == "bf16x2";
    if (is_float) {
      take(words, "rn");
      rounding = take(words, "rz") ? 1 : take(words, "rm") ? 2 : take(words, "rp") ? 3 : 0;
      if (words[0] == "mad") words[0] = "fma";
      if (words[0] == "div" || words[0] == "rcp" || words[0] == "sqrt") {
        if (take(words, "approx") && words[0] == "rcp" && type == "f64") words[0] = "rcp_approx";
        take(words, "full");
      }
    }
    if (words[0] == "selp") normalize_type(words);
    if (words[0] == "slct") {
      const std::string_view kind = words.back();
      words.pop_back();
      normalize_type(words);
      words.push_back(kind);
      take(words, "ftz");
    }
    take(words, "uni");
    const LaneOperation *row = find(joined(words));
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    Op &op = bind(*row, type);
    if (row->signature == std::string_view{"222p"} || row->signature == std::string_view{"444p"} ||
        row->signature == std::string_view{"888p"})
      op.extra = 0;
    if (rounding != 0) {
      op.rounded = op.run;
      op.run = execute::rounded;
      op.extra = rounding;
    }
  }

  static void normalize_type(Words &words) {
    const std::string_view type = words.back();
    words.back() = type == "f32" || type == "u32" || type == "s32" || type == "b32"   ? "b32"
                   : type == "f64" || type == "u64" || type == "s64" || type == "b64" ? "b64"
                   : type == "pred"                                                   ? "pred"
                   : type == "b128"                                                   ? "b128"
                   : type == "f16x2" || type == "bf16x2"                              ? "b32"
                                                                                      : "b16";
  }

  void decode_lop3() {
    if (count() < 5 || mnemonic().text != "lop3.b32") throw UnsupportedInstruction{"is not supported"};
    Op &op = bind(*find("lop3.b32"), "b32");
    op.extra = static_cast<std::uint32_t>(operand(4).value) & 0xff;
  }

  void decode_mov() {
    Words words = split(mnemonic().text);
    const Operand &to = operand(0);
    const Operand &from = operand(1);
    normalize_type(words);
    const unsigned bytes = width_of(words.back());
    if (from.kind == OperandKind::vector || to.kind == OperandKind::vector) {
      const bool packing = from.kind == OperandKind::vector;
      const Operand &group = packing ? from : to;
      const unsigned part = bytes / group.count;
      const LaneOperation *const row =
          find((packing ? "pack." : "unpack.") + std::to_string(bytes) + "." + std::to_string(part));
      if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
      auto &list = code.words.emplace_back(5);
      const auto set = [&list](std::size_t index, std::uint32_t value) {
        std::memcpy(reinterpret_cast<std::byte *>(list.data()) + 4 * index, &value, 4);
      };
      set(0, group.count);
      for (std::uint32_t i = 0; i < group.count; ++i) {
        const Operand &one = element(group, i);
        const bool sink = one.kind == OperandKind::sink;
        set(1 + i, packing ? source(one, part) : sink ? ~0u : destination(one, part));
        if (!sink || packing) part_lists.push_back({list.data(), 1 + i});
      }
      const std::uint32_t whole = packing ? destination(to, bytes) : source(from, bytes);
      Op &op = emit(row->run);
      op.d = op.a = whole;
      op.data = list.data();
      return;
    }
    if (from.kind == OperandKind::special && words.back() != "pred") {
      special(from, destination(to, bytes), bytes);
      return;
    }
    const std::uint32_t a = source(from, bytes, split(mnemonic().text).back());
    const LaneOperation *const row = find(joined(words));
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    const std::uint32_t d = destination(to, bytes);
    Op &op = emit(row->run);
    op.d = d;
    op.a = a;
  }

  void decode_setp() {
    Words words = split(mnemonic().text);
    static const std::map<std::string_view, std::string_view> same{
        {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    if (const auto found = same.find(words[1]); found != same.end()) words[1] = found->second;
    std::uint32_t combine = take(words, "and") ? 1 : take(words, "or") ? 2 : take(words, "xor") ? 3 : 0;
    if (words.back() == "f16x2" || words.back() == "bf16x2") return decode_compare_pairs(true);
    if (words.back() != "f32") take(words, "ftz");
    const LaneOperation *const row = find(joined(words));
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    const unsigned bytes = static_cast<unsigned>(row->signature[1] - '0');
    const std::uint32_t a = source(operand(1), bytes, words.back());
    const std::uint32_t b = source(operand(2), bytes, words.back());
    std::uint32_t c = 0;
    if (combine != 0) c = source(operand(3), 1);
    const Operand &to = operand(0);
    const bool two = to.kind == OperandKind::pair;
    const std::uint32_t d = destination(two ? element(to, 0) : to, 1);
    const std::uint32_t second = two ? destination(element(to, 1), 1) : 0;
    Op &op = emit(row->run);
    op.d = d;
    op.a = a;
    op.b = b;
    op.c = c;
    op.extra = combine | (two ? 8 : 0);
    op.immediate = second;
  }

  // Decodes set as a comparison into a predicate and a selection.
  void decode_set() {
    Words words = split(mnemonic().text);
    const std::string_view from = words.back();
    if (from == "f16x2" || from == "bf16x2") return decode_compare_pairs(false);
    words.pop_back();
    const std::string_view to = words.back();
    words.back() = from;
    words[0] = "setp";
    if (from != "f32") take(words, "ftz");
    std::uint32_t combine = take(words, "and") ? 1 : take(words, "or") ? 2 : take(words, "xor") ? 3 : 0;
    static const std::map<std::string_view, std::string_view> same{
        {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    if (const auto found = same.find(words[1]); found != same.end()) words[1] = found->second;
    const LaneOperation *const row = find(joined(words));
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    const unsigned bytes = static_cast<unsigned>(row->signature[1] - '0');
    const std::uint32_t a = source(operand(1), bytes, from), b = source(operand(2), bytes, from);
    const std::uint32_t c = combine != 0 ? source(operand(3), 1) : 0;
    const std::uint32_t p = allocate(1);
    Op &compare = emit(row->run);
    compare.d = p;
    compare.a = a;
    compare.b = b;
    compare.c = c;
    compare.extra = combine;
    const std::uint64_t yes = to == "f32"    ? 0x3f800000u
                              : to == "f16"  ? 0x3c00
                              : to == "bf16" ? 0x3f80
                                             : ~0ull;
    const unsigned size = width_of(to);
    const std::uint32_t d = destination(operand(0), size);
    Op &select = emit(find("selp.b" + std::to_string(8 * size))->run);
    select.d = d;
    select.a = constant(size, yes);
    select.b = constant(size, 0);
    select.c = p;
  }

  void decode_cvt() {
    Words words = split(mnemonic().text);
    if (words.size() < 3) throw UnsupportedInstruction{"is not supported"};
    const std::string_view to = words[words.size() - 2], from = words.back();
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
    const Operand &a_operand = operand(1);
    const unsigned a_bytes =
        a_operand.kind == OperandKind::reg ? width(register_type(a_operand)) : from_bytes;
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
        fast = to == from ? "mov.b" + std::to_string(8 * d_bytes)
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
  const void *keep(const Conversion &conversion) {
    auto &list = code.words.emplace_back((sizeof conversion + 7) / 8);
    std::memcpy(list.data(), &conversion, sizeof conversion);
    return list.data();
  }

  void decode_cvta() {
    const Words words = split(mnemonic().text);
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

  void decode_isspacep() {
    const Words words = split(mnemonic().text);
    const std::uint32_t a = source(operand(1), 8), d = destination(operand(0), 1);
    Op &op = emit(find("isspacep")->run);
    op.d = d;
    op.a = a;
    const std::string_view space = words[1];
    op.extra = space == "global" || space == "const" ? (space == "const" ? 4u : 0u)
               : space.substr(0, 6) == "shared"      ? 1u
               : space == "local"                    ? 2u
                                                     : 3u;
  }

  struct Address {
    std::uint32_t at = 0;
    unsigned bytes = 8;
    std::int64_t offset = 0;
    StateSpace space = StateSpace::none;  // of the symbol
    const Slot *slot = nullptr;
    bool kernel_parameter = false;  // at a fixed offset
  };

  Address address(const Operand &one) {
    Address result;
    result.offset = one.value;
    if (one.kind != OperandKind::address) throw UnsupportedInstruction{"has no address"};
    if (one.base == Base::reg) {
      Operand base = one;
      base.kind = OperandKind::reg;
      base.negated = false;
      result.bytes = width(register_type(base));
      result.at = registers[one.index];
      return result;
    }
    if (one.base == Base::none) {
      result.at = constant(8, static_cast<std::uint64_t>(one.value));
      result.offset = 0;
      return result;
    }
    if (one.symbol_kind == SymbolKind::parameter && function.is_entry) {
      result.kernel_parameter = true;
      result.space = StateSpace::param;
      result.offset += static_cast<std::int64_t>(function.parameters[one.index].offset);
      return result;
    }
    if (one.symbol_kind == SymbolKind::parameter) {
      result.slot = &out.parameters[one.index];
      return result;
    }
    if (one.symbol_kind == SymbolKind::result) {
      result.slot = &out.results[one.index];
      return result;
    }
    if (one.symbol_kind == SymbolKind::local && function.body.locals[one.index].space == StateSpace::param) {
      result.slot = &locals[one.index];
      return result;
    }
    Operand base = one;
    base.kind = OperandKind::symbol;
    bool frame_local = false;
    const std::uint64_t value = symbol(base, result.space, frame_local);
    result.offset = 0;
    if (frame_local) {
      result.at = source(base, 8);
    } else {
      result.at = constant(8, value);
    }
    return result;
  }

  static StateSpace space_of(const Words &words) {
    for (const auto word : words) {
      if (word == "global") return StateSpace::global;
      if (word.substr(0, 6) == "shared") return StateSpace::shared;
      if (word == "local") return StateSpace::local;
      if (word == "const") return StateSpace::const_;
      if (word.substr(0, 5) == "param") return StateSpace::param;
    }
    return StateSpace::none;
  }

  void decode_memory(bool store) {
    const Words words = split(mnemonic().text);
    const unsigned vector = has(words, "v2") ? 2 : has(words, "v4") ? 4 : has(words, "v8") ? 8 : 1;
    const std::string_view type = words.back();
    const unsigned memory_bytes = bytes_of(type);
    const bool is_signed = type[0] == 's' && !store;
    const Operand &value = operand(store ? 1 : 0);
    Address where = address(operand(store ? 0 : 1));
    StateSpace space = space_of(words);
    if (has(words, "volatile") || has(words, "relaxed") || has(words, "acquire") || has(words, "mmio"))
      emit(find("fence")->run);
    std::vector<std::uint32_t> at;
    unsigned register_bytes = 0;
    for (unsigned i = 0; i < vector; ++i) {
      const Operand &one = value.kind == OperandKind::vector ? element(value, i) : value;
      unsigned bytes = std::max(2u, memory_bytes);
      if (one.kind == OperandKind::reg) bytes = width(register_type(one));
      if (register_bytes != 0 && bytes != register_bytes && one.kind == OperandKind::reg)
        throw UnsupportedInstruction{"mixes registers of several sizes"};
      if (one.kind == OperandKind::reg || register_bytes == 0) register_bytes = bytes;
      if (one.kind == OperandKind::sink)
        at.push_back(~0u);
      else
        at.push_back(store ? source(one, register_bytes, type) : destination(one, register_bytes));
    }
    if (register_bytes == 1) throw UnsupportedInstruction{"moves a predicate"};
    std::string suffix = (is_signed && memory_bytes < register_bytes ? ".s" : ".u") +
                         std::to_string(8 * memory_bytes) + "." + std::to_string(register_bytes);
    if (where.slot != nullptr || where.kernel_parameter) {
      const LaneOperation *const row = find((where.kernel_parameter ? "ld.parameter"
                                             : store                ? "st.slot"
                                                                    : "ld.slot") +
                                            suffix);
      if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
      for (unsigned i = 0; i < vector; ++i) {
        const std::int64_t offset = where.offset + i * memory_bytes;
        if (at[i] == ~0u) continue;
        if (where.slot != nullptr && (offset < 0 || offset + memory_bytes > where.slot->bytes))
          throw UnsupportedInstruction{"reaches beyond a parameter"};
        if (where.kernel_parameter &&
            (offset < 0 || offset + memory_bytes > std::int64_t(out.info.parameter_bytes)))
          throw UnsupportedInstruction{"reaches beyond the parameters"};
        Op &op = emit(row->run);
        op.d = at[i];
        op.immediate = offset;
        if (where.slot != nullptr) {
          op.a = where.slot->at + static_cast<std::uint32_t>(offset);
          op.extra = where.slot->bytes;
        }
      }
      return;
    }
    if (space == StateSpace::none && where.space != StateSpace::none) space = where.space;
    std::string key = store ? "st" : "ld";
    if (space == StateSpace::param) {
      const std::uint32_t generic = allocate(8);
      if (where.bytes != 8) throw UnsupportedInstruction{"needs addresses of 64 bits"};
      Op &op = emit(find("add.u64")->run);
      op.d = generic;
      op.a = where.at;
      op.b = constant(8, parameter_window);
      where.at = generic;
      space = StateSpace::none;
    }
    key += space == StateSpace::shared  ? ".shared"
           : space == StateSpace::local ? ".local"
           : space == StateSpace::none  ? ".generic"
                                        : ".global";
    if (where.bytes == 4 && space != StateSpace::shared && space != StateSpace::local) {
      const std::uint32_t wide = allocate(8);
      Op &op = emit(find("convert.u64.u32")->run);
      op.d = wide;
      op.a = where.at;
      where.at = wide;
      where.bytes = 8;
    }
    if (space == StateSpace::shared || space == StateSpace::local)
      key += where.bytes == 4 ? ".4" : ".8";
    else
      key += ".8";
    const LaneOperation *const row = find(key + suffix);
    if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
    Op &op = emit(row->run);
    op.a = where.at;
    op.d = at[0];
    op.immediate = where.offset;
    op.cache = next_cache;
    op.extra = memory_bytes * vector;
    next_cache = static_cast<std::uint8_t>((next_cache + 1) % cached_ranges);
    if (vector > 1) {
      auto &list = code.words.emplace_back(5);
      const auto set = [&list](std::size_t index, std::uint32_t word) {
        std::memcpy(reinterpret_cast<std::byte *>(list.data()) + 4 * index, &word, 4);
      };
      set(0, vector);
      for (unsigned i = 0; i < vector; ++i) {
        set(1 + i, at[i]);
        if (at[i] != ~0u) part_lists.push_back({list.data(), 1 + i});
      }
      op.data = list.data();
    }
  }
  struct PartOffset {
    std::uint64_t *list;
    std::size_t index;
  };
  std::vector<PartOffset> part_lists;  // may name constants, whose offsets are known at the end

  void decode_atomic(bool returns) {
    Words words = split(mnemonic().text);
    const std::string_view type = words.back();
    static constexpr std::string_view operations[] = {"add", "and", "or",  "xor",  "min",
                                                      "max", "inc", "dec", "exch", "cas"};
    std::uint32_t operation = ~0u;
    for (std::uint32_t i = 0; i < std::size(operations); ++i)
      if (has(words, operations[i])) operation = i;
    if (operation == ~0u || has(words, "v2") || has(words, "v4") || has(words, "v8"))
      throw UnsupportedInstruction{"is not supported"};
    const std::optional<std::uint32_t> kind = atomic_kind(type);
    if (!kind) throw UnsupportedInstruction{"is not supported"};
    const unsigned bytes = width_of(type);
    const std::size_t first = returns ? 1 : 0;
    Address where = address(operand(first));
    if (where.slot != nullptr || where.kernel_parameter) throw UnsupportedInstruction{"is not supported"};
    StateSpace space = space_of(words);
    if (space == StateSpace::none && where.space != StateSpace::none) space = where.space;
    const std::uint32_t b = source(operand(first + 1), bytes, type);
    const std::uint32_t c = operation == 9 ? source(operand(first + 2), bytes, type) : 0;
    const std::uint32_t d = returns ? destination(operand(0), bytes) : allocate(bytes);
    if (where.bytes == 4) {
      const std::uint32_t wide = allocate(8);
      Op &op = emit(find("convert.u64.u32")->run);
      op.d = wide;
      op.a = where.at;
      where.at = wide;
    }
    Op &op = emit(find("atomic")->run);
    op.d = d;
    op.a = where.at;
    op.b = b;
    op.c = c;
    op.immediate = where.offset;
    op.cache = next_cache;
    next_cache = static_cast<std::uint8_t>((next_cache + 1) % cached_ranges);
    op.extra = operation | *kind << 8 | (space == StateSpace::shared ? 1u << 16 : 0);
  }

  // Decodes cp.async, which copies immediately; commit_group, wait_group and wait_all need no operation.
  void decode_copy() {
    const Words words = split(mnemonic().text);
    if (words.size() < 2 || words[1] != "async" || has(words, "bulk") || has(words, "mbarrier"))
      throw UnsupportedInstruction{"is not supported"};
    if (has(words, "commit_group") || has(words, "wait_group") || has(words, "wait_all")) return;
    const Address to = address(operand(0)), from = address(operand(1));
    if (to.slot != nullptr || from.slot != nullptr || from.bytes != 8)
      throw UnsupportedInstruction{"is not supported"};
    std::uint32_t to_at = to.at;
    if (to.bytes == 4) {
      to_at = allocate(8);
      Op &op = emit(find("convert.u64.u32")->run);
      op.d = to_at;
      op.a = to.at;
    }
    const std::uint32_t size = static_cast<std::uint32_t>(operand(2).value);
    const bool partial = count() > 3 && operand(3).kind != OperandKind::sink;
    if (size > 16 ||
        (partial && operand(3).kind == OperandKind::reg && width(register_type(operand(3))) == 1))
      throw UnsupportedInstruction{"is not supported"};
    const std::uint32_t source_size = partial ? source(operand(3), 4) : constant(4, size);
    Op &op = emit(find("copy_async")->run);
    op.d = to_at;
    op.a = from.at;
    op.b = source_size;
    op.c = constant(8, static_cast<std::uint64_t>(to.offset));
    op.immediate = from.offset;
    op.extra = size;
    op.cache = next_cache;
    next_cache = static_cast<std::uint8_t>((next_cache + 1) % cached_ranges);
  }

  static MatrixType matrix_type(std::string_view type) {
    static const std::map<std::string_view, MatrixType> types{
        {"f16", {Kind::f16, 16}},         {"bf16", {Kind::bf16, 16}},
        {"tf32", {Kind::tf32, 32}},       {"f32", {Kind::f32, 32}},
        {"f64", {Kind::f64, 64}},         {"e4m3", {Kind::e4m3, 8}},
        {"e5m2", {Kind::e5m2, 8}},        {"s32", {Kind::integer, 32, true}},
        {"s8", {Kind::integer, 8, true}}, {"u8", {Kind::integer, 8, false}},
        {"s4", {Kind::integer, 4, true}}, {"u4", {Kind::integer, 4, false}}};
    const auto found = types.find(type);
    if (found == types.end()) throw UnsupportedInstruction{"is not supported"};
    return found->second;
  }

  void decode_mma() {
    Words words = split(mnemonic().text);
    for (const auto word : {"sync", "aligned", "row", "rn"}) take(words, word);
    take(words, "col");
    MatrixProduct matrix{};
    matrix.finite = take(words, "satfinite");
    if (words.size() != 6 ||
        std::sscanf(std::string{words[1]}.c_str(), "m%un%uk%u", &matrix.m, &matrix.n, &matrix.k) != 3)
      throw UnsupportedInstruction{"is not supported"};
    matrix.d = matrix_type(words[2]);
    matrix.a = matrix_type(words[3]);
    matrix.b = matrix_type(words[4]);
    matrix.c = matrix_type(words[5]);
    if (matrix.n != 8 || (matrix.m == 8 && matrix.a.bits == 16))
      throw UnsupportedInstruction{"is not supported"};
    auto &list = code.words.emplace_back((sizeof matrix + 7) / 8);
    const auto fill = [&](std::size_t index, const MatrixType &type, std::uint32_t *to, bool result) {
      const Operand &group = operand(index);
      const unsigned bytes = type.bits == 64 ? 8 : 4,
                     several = group.kind == OperandKind::vector ? group.count : 1;
      for (unsigned i = 0; i < several && i < 4; ++i) {
        const Operand &one = group.kind == OperandKind::vector ? element(group, i) : group;
        to[i] = result ? destination(one, bytes) : source(one, bytes);
        part_lists.push_back({list.data(), static_cast<std::size_t>(to + i - &matrix.m)});
      }
    };
    fill(0, matrix.d, matrix.registers_d, true);
    fill(1, matrix.a, matrix.registers_a, false);
    fill(2, matrix.b, matrix.registers_b, false);
    fill(3, matrix.c, matrix.registers_c, false);
    std::memcpy(list.data(), &matrix, sizeof matrix);
    emit(multiply_matrices).data = list.data();
  }

  void decode_matrix_move(bool store) {
    const Words words = split(mnemonic().text);
    const unsigned matrices = has(words, "x4") ? 4 : has(words, "x2") ? 2 : 1;
    if (!has(words, "m8n8") || words.back() != "b16") throw UnsupportedInstruction{"is not supported"};
    Address where = address(operand(store ? 0 : 1));
    if (where.slot != nullptr || where.kernel_parameter) throw UnsupportedInstruction{"is not supported"};
    if (where.bytes == 4) {
      const std::uint32_t wide = allocate(8);
      Op &op = emit(find("convert.u64.u32")->run);
      op.d = wide;
      op.a = where.at;
      where.at = wide;
    }
    const Operand &group = operand(store ? 1 : 0);
    auto &list = code.words.emplace_back(2);
    for (unsigned i = 0; i < matrices; ++i) {
      const Operand &one = group.kind == OperandKind::vector ? element(group, i) : group;
      const std::uint32_t at = store ? source(one, 4) : destination(one, 4);
      std::memcpy(reinterpret_cast<std::byte *>(list.data()) + 4 * i, &at, 4);
      part_lists.push_back({list.data(), i});
    }
    Op &op = emit(move_matrices);
    op.a = where.at;
    op.immediate = where.offset;
    op.data = list.data();
    op.extra = matrices | (has(words, "trans") ? 1u << 8 : 0) | (store ? 1u << 9 : 0);
  }

  void decode_barrier() {
    Words words = split(mnemonic().text);
    if (has(words, "warp")) {
      const std::uint32_t members = source(operand(0), 4);
      Op &op = emit(execute::rendezvous);
      op.guard = members;
      op.inner = find("deposit.none")->run;
      op.rounded = find("finish.none")->run;
      own_guard = true;
      return;
    }
    if (has(words, "cluster")) throw UnsupportedInstruction{"is not supported"};
    const bool arrive = has(words, "arrive");
    const bool reduces = has(words, "red");
    const std::size_t first = reduces ? 1 : 0;
    const std::uint32_t a = source(operand(first), 4);
    const bool counted = reduces ? count() > 3 : count() > 1;
    const std::uint32_t b = counted ? source(operand(first + 1), 4) : constant(4, 0);
    std::uint32_t c = 0, d = 0, kind = arrive ? 4 : 0;
    if (reduces) {
      kind = has(words, "popc") ? 1 : has(words, "and") ? 2 : 3;
      c = source(operand(count() - 1), 1);
      d = destination(operand(0), kind == 1 ? 4 : 1);
    }
    Op &op = emit(execute::barrier);
    op.a = a;
    op.b = b;
    op.c = c;
    op.d = d;
    op.extra = kind;
  }

  // Operands of the operation: b: the value that each lane contributes; a: the second operand; c: the third;
  // immediate: a second destination; guard: member mask.
  void decode_warp() {
    Words words = split(mnemonic().text);
    const bool sync = take(words, "sync");
    const std::string_view name = words[0];
    const Operand &to = operand(0);
    const bool two = to.kind == OperandKind::pair;
    std::uint32_t members = 0, deposit = 0, a = 0, c = 0, d = 0, second = ~0u;
    std::string in = "deposit.4", key = joined(words);
    const std::size_t last = count() - 1;
    if (name == "shfl") {
      deposit = source(operand(1), 4);
      a = source(operand(2), 4);
      c = source(operand(3), 4);
      members = sync ? source(operand(4), 4) : 0;
      d = destination(two ? element(to, 0) : to, 4);
      if (two) second = destination(element(to, 1), 1);
    } else if (name == "vote") {
      deposit = source(operand(1), 1);
      in = "deposit.1";
      members = sync ? source(operand(last), 4) : 0;
      d = destination(to, words.back() == "b32" ? 4 : 1);
    } else if (name == "match") {
      const unsigned bytes = width_of(words.back());
      in = bytes == 8 ? "deposit.8" : "deposit.4";
      deposit = source(operand(1), bytes);
      members = source(operand(2), 4);
      d = destination(two ? element(to, 0) : to, 4);
      if (two) second = destination(element(to, 1), 1);
      words.pop_back();
      key = joined(words);
    } else if (name == "redux") {
      deposit = source(operand(1), 4);
      members = source(operand(2), 4);
      d = destination(to, 4);
      key =
          words[1] == "and" || words[1] == "or" || words[1] == "xor" ? "redux." + std::string{words[1]} : key;
    } else {
      in = "deposit.none";
      members = source(operand(1), 4);
      d = two && element(to, 0).kind != OperandKind::sink ? destination(element(to, 0), 4) : allocate(4);
      second = destination(two ? element(to, 1) : to, 1);
      key = "elect";
    }
    const LaneOperation *const finish = find("finish." + key);
    if (finish == nullptr) throw UnsupportedInstruction{"is not supported"};
    if (!sync) {
      members = allocate(4);
      emit(find("activemask")->run).d = members;
    }
    Op &op = emit(execute::rendezvous);
    op.guard = members;
    op.inner = find(in)->run;
    op.rounded = finish->run;
    op.a = a;
    op.b = deposit;
    op.c = c;
    op.d = d;
    op.immediate = second == ~0u ? -1 : static_cast<std::int64_t>(second);
    own_guard = true;
  }

  // ---- control flow

  void decode_branch() {
    const bool conditional = instruction->guard != no_index;
    Op &op = emit(conditional ? execute::branch_if : execute::branch,
                  conditional ? Flow::branch_if : Flow::branch);
    if (conditional) {
      op.guard = registers[instruction->guard];
      op.guard_negated = instruction->guard_negated;
    }
    targets.push_back({out.ops.size() - 1, operand(0).index});
    guard_done = true;
  }

  void decode_indexed() {
    if (instruction->guard != no_index) throw UnsupportedInstruction{"has a guard"};
    const std::uint32_t a = source(operand(0), 4);
    const Operand &list = operand(1);
    if (list.kind != OperandKind::branch_targets) throw UnsupportedInstruction{"has no list of targets"};
    Op &op = emit(execute::branch_indexed, Flow::indexed);
    op.a = a;
    table_targets.push_back({out.ops.size() - 1, function.body.branch_targets[list.index].instructions});
  }

  void decode_return() {
    if (function.is_entry) return decode_exit();
    const bool conditional = instruction->guard != no_index;
    Op &op = emit(conditional ? execute::branch_if : execute::branch,
                  conditional ? Flow::branch_if : Flow::branch);
    if (conditional) {
      op.guard = registers[instruction->guard];
      op.guard_negated = instruction->guard_negated;
    }
    targets.push_back({out.ops.size() - 1, epilogue});
    guard_done = true;
  }
  static constexpr std::uint32_t epilogue = ~0u;

  void decode_exit() {
    const bool conditional = instruction->guard != no_index;
    Op &op = emit(exit_, conditional ? Flow::next : Flow::stop);
    if (conditional) {
      op.guard = registers[instruction->guard];
      op.guard_negated = instruction->guard_negated;
    }
    guard_done = true;
  }

  Slot call_slot(const Operand &one, bool result) {
    if (one.kind == OperandKind::symbol || one.kind == OperandKind::address) {
      if (one.symbol_kind == SymbolKind::local) return locals[one.index];
      if (one.symbol_kind == SymbolKind::parameter) return out.parameters[one.index];
      if (one.symbol_kind == SymbolKind::result) return out.results[one.index];
    }
    if (one.kind == OperandKind::reg) {
      const unsigned bytes = width(register_type(one));
      if (bytes == 1) throw UnsupportedInstruction{"passes a predicate"};
      return {registers[one.index], bytes, true};
    }
    if (!result && one.kind == OperandKind::integer) return {constant(4, std::uint64_t(one.value)), 4, true};
    throw UnsupportedInstruction{"passes an operand that is not supported"};
  }

  void decode_call() {
    CallSite &site = code.calls.emplace_back();
    const auto slots = [&](const Operand &list, std::vector<Slot> &to, bool result) {
      for (std::uint32_t i = 0; i < list.count; ++i) to.push_back(call_slot(element(list, i), result));
    };
    if (operand(0).kind == OperandKind::list) slots(operand(0), site.results, true);
    const Operand &target = operand(1);
    if (operand(2).kind == OperandKind::list) slots(operand(2), site.arguments, false);
    std::uint32_t pointer = 0;
    if (target.kind == OperandKind::symbol && target.symbol_kind == SymbolKind::function) {
      const Function &callee = module.functions[target.index];
      if (!callee.has_body) {
        site.builtin = builtin(callee.name);
        if (site.builtin == 0)
          throw UnsupportedInstruction{"calls '" + std::string{callee.name} + "', which has no body"};
      }
      site.callee = &code.functions[target.index];
    } else if (target.kind == OperandKind::reg) {
      pointer = source(target, 8);
    } else {
      throw UnsupportedInstruction{"has a target that is not supported"};
    }
    Op &op = emit(execute::call);
    op.a = pointer;
    op.data = &site;
    out.calls = out.calls || site.builtin == 0;
  }

  bool guard_done = false, own_guard = false;

  static bool is_transfer(Handler run) {
    return run == execute::barrier || run == execute::rendezvous || run == execute::call ||
           run == execute::branch_indexed;
  }

  // Applies the guard to the operations from `begin` on. If one of them changes paths, inserts a branch
  // around them.
  void guard(std::size_t begin) {
    if (instruction->guard == no_index || guard_done) return;
    const std::uint32_t p = registers[instruction->guard];
    bool around = false;
    for (std::size_t i = begin; i < out.ops.size(); ++i) around |= is_transfer(out.ops[i].run);
    if (around) {
      Op op;
      op.run = execute::branch_if;
      op.guard = p;
      op.guard_negated = !instruction->guard_negated;
      op.source = instruction_index;
      out.ops.insert(out.ops.begin() + static_cast<std::ptrdiff_t>(begin), op);
      flow.insert(flow.begin() + static_cast<std::ptrdiff_t>(begin), Flow::branch_if);
      targets.push_back({begin, instruction_index + 1});
      return;
    }
    for (std::size_t i = begin; i < out.ops.size(); ++i) {
      Op &op = out.ops[i];
      op.inner = op.run;
      op.run = execute::guarded;
      op.guard = p;
      op.guard_negated = instruction->guard_negated;
      if (flow[i] == Flow::stop) flow[i] = Flow::next;
    }
  }

  // ---- the whole function

  void run() {
    out.name = function.name;
    out.is_entry = function.is_entry;
    out.has_body = function.has_body;
    if (!function.has_body) return;
    const Body &body = function.body;
    zero_predicate = allocate(1);  // offset 0 means no guard
    frame = 64;
    for (const Register &one : body.registers)
      registers.push_back(allocate(one.type == Type::pred ? 1 : width(one.type)));
    const auto slot = [this](const Variable &variable) {
      Slot made;
      made.bytes = static_cast<std::uint32_t>((variable.size + 15) / 16 * 16);
      frame = (frame + 63) & ~63u;
      made.at = frame;
      frame += made.bytes * lanes;
      return made;
    };
    const auto declared = [&](const std::vector<Variable> &variables, const std::vector<std::uint32_t> &names,
                              std::vector<Slot> &to) {
      for (std::size_t i = 0; i < variables.size(); ++i) {
        if (variables[i].space == StateSpace::reg && i < names.size())
          to.push_back({registers[names[i]], width(variables[i].type), true});
        else
          to.push_back(slot(variables[i]));
      }
    };
    if (!function.is_entry) declared(function.parameters, function.parameter_registers, out.parameters);
    declared(function.results, function.result_registers, out.results);
    for (const Variable &one : body.locals)
      locals.push_back(one.space == StateSpace::param ? slot(one) : Slot{});
    out.local_bytes = body.local_size;
    out.info.parameter_bytes = static_cast<std::uint32_t>(function.is_entry ? function.parameter_size : 0);
    if (const auto &required = function.performance.reqntid)
      for (std::size_t i = 0; i < 3; ++i) out.required_block[i] = (*required)[i];

    for (const Instruction &one : body.instructions) {
      instruction = &one;
      instruction_index = static_cast<std::uint32_t>(first_op.size());
      first_op.push_back(static_cast<std::uint32_t>(out.ops.size()));
      InstructionSource source{one.position.line, 0, 0};
      if (one.location != no_index) {
        source.file = body.locations[one.location].file;
        source.source_line = body.locations[one.location].line;
      }
      out.sources.push_back(source);
      guard_done = own_guard = false;
      const std::size_t begin = out.ops.size();
      try {
        decode_one();
        guard(begin);
      } catch (const UnsupportedInstruction &refused) {
        diagnostics.push_back(
            {Severity::error, one.position, "'" + std::string{mnemonic().text} + "' " + refused.reason});
      }
    }
    instruction_index = static_cast<std::uint32_t>(first_op.size());
    first_op.push_back(static_cast<std::uint32_t>(out.ops.size()));
    instruction_index = instruction_index == 0 ? 0 : instruction_index - 1;
    if (function.is_entry)
      emit(exit_, Flow::stop);
    else
      emit(execute::return_, Flow::stop);
    if (!diagnostics.empty()) return;
    connect();
    place_constants();
    out.frame_bytes = frame;
    out.info.local_bytes = static_cast<std::uint32_t>(out.local_bytes);
    out.info.registers = static_cast<std::uint32_t>(body.registers.size());
  }

  std::size_t target_op(std::uint32_t target) const {
    return target == epilogue ? out.ops.size() - 1 : first_op[target];
  }

  // Inserts joins where divergent branches reconverge, and resolves branch targets.
  void connect() {
    const std::size_t n = out.ops.size();
    std::vector<std::vector<std::size_t>> to(n);
    for (std::size_t i = 0; i < n; ++i)
      if (flow[i] == Flow::next && i + 1 < n) to[i].push_back(i + 1);
    for (std::size_t i = 0; i < n; ++i)
      if (flow[i] == Flow::branch_if) to[i].push_back(i + 1);
    for (const Target &one : targets) to[one.op].push_back(target_op(one.instruction));
    for (const TableTarget &one : table_targets)
      for (const std::uint32_t target : one.instructions) to[one.op].push_back(target_op(target));

    // A basic block extends from a leader to the operation before the next leader.
    std::vector<bool> leader(n, false);
    leader[0] = true;
    for (std::size_t i = 0; i < n; ++i) {
      if (flow[i] == Flow::next) continue;
      if (i + 1 < n) leader[i + 1] = true;
      for (const std::size_t one : to[i]) leader[one] = true;
    }
    std::vector<std::size_t> block_of(n), first, last;
    for (std::size_t i = 0; i < n; ++i) {
      if (leader[i]) {
        first.push_back(i);
        last.push_back(i);
      }
      block_of[i] = first.size() - 1;
      last.back() = i;
    }
    const std::vector<std::size_t> joins =
        post_dominators(first.size(), [&](std::size_t block, auto &&visit) {
          for (const std::size_t one : to[last[block]]) visit(block_of[one]);
        });

    std::vector<bool> has_join(n, false);
    for (std::size_t b = 0; b < first.size(); ++b)
      if ((flow[last[b]] == Flow::branch_if || flow[last[b]] == Flow::indexed) && joins[b] < first.size())
        has_join[first[joins[b]]] = true;

    std::vector<std::size_t> place(n);  // new index of each operation, or of the join before it
    std::vector<Op> ops;
    ops.reserve(n + first.size());
    for (std::size_t i = 0; i < n; ++i) {
      place[i] = ops.size();
      if (has_join[i]) {
        Op op;
        op.run = execute::join;
        op.source = out.ops[i].source;
        ops.push_back(op);
      }
      ops.push_back(out.ops[i]);
    }
    const auto moved = [&](std::size_t i) { return place[i] + (has_join[i] ? 1 : 0); };
    for (const Target &one : targets) ops[moved(one.op)].data = &ops[place[target_op(one.instruction)]];
    for (std::size_t b = 0; b < first.size(); ++b) {
      Op &op = ops[moved(last[b])];
      const bool joined_here = joins[b] < first.size();
      if (flow[last[b]] == Flow::branch_if && joined_here)
        op.immediate =
            static_cast<std::int64_t>(place[first[joins[b]]]) - static_cast<std::int64_t>(moved(last[b]));
    }
    for (const TableTarget &one : table_targets) {
      BranchTable &table = code.tables.emplace_back();
      for (const std::uint32_t target : one.instructions)
        table.targets.push_back(&ops[place[target_op(target)]]);
      const std::size_t block = block_of[one.op];
      if (joins[block] < first.size()) table.join = &ops[place[first[joins[block]]]];
      ops[moved(one.op)].data = &table;
    }
    count_instructions(ops);
    out.ops = std::move(ops);
  }

  // Sets Op::length: the number of instructions since the last operation that counts them.
  void count_instructions(std::vector<Op> &ops) const {
    std::uint32_t since = 0, previous = ~0u;
    for (Op &op : ops) {
      if (op.run != execute::join && op.source != previous) {
        ++since;
        previous = op.source;
      }
      if (op.run == execute::branch || op.run == execute::branch_if || op.run == execute::branch_indexed ||
          op.run == execute::call || op.run == execute::return_ || op.run == execute::exit_) {
        op.length = static_cast<std::uint16_t>(std::min<std::uint32_t>(since, 0xffff));
        since = 0;
      }
    }
  }

  // Returns the immediate post-dominator of each block; n (the number of blocks) for the end of the function.
  template <class Successors>
  static std::vector<std::size_t> post_dominators(std::size_t n, Successors &&successors) {
    const std::size_t none = ~std::size_t{0};
    std::vector<std::vector<std::size_t>> next(n), previous(n + 1);
    for (std::size_t b = 0; b < n; ++b) {
      successors(b, [&](std::size_t s) { next[b].push_back(s); });
      if (next[b].empty()) next[b].push_back(n);
      for (const std::size_t s : next[b]) previous[s].push_back(b);
    }
    // Postorder of the reverse graph, from the end of the function.
    std::vector<std::size_t> order, number(n + 1, none);
    std::vector<std::pair<std::size_t, std::size_t>> stack{{n, 0}};
    std::vector<bool> seen(n + 1, false);
    seen[n] = true;
    while (!stack.empty()) {
      auto &[b, i] = stack.back();
      if (i < previous[b].size()) {
        const std::size_t p = previous[b][i++];
        if (!seen[p]) {
          seen[p] = true;
          stack.push_back({p, 0});
        }
      } else {
        number[b] = order.size();
        order.push_back(b);
        stack.pop_back();
      }
    }
    std::vector<std::size_t> dominator(n + 1, none);
    dominator[n] = n;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t k = order.size(); k-- != 0;) {
        const std::size_t b = order[k];
        if (b == n) continue;
        std::size_t common = none;
        for (const std::size_t s : next[b]) {
          if (dominator[s] == none) continue;
          std::size_t x = s;
          if (common != none) {
            std::size_t y = common;
            while (x != y) {
              while (number[x] < number[y]) x = dominator[x];
              while (number[y] < number[x]) y = dominator[y];
            }
          }
          common = x;
        }
        if (common != dominator[b]) {
          dominator[b] = common;
          changed = true;
        }
      }
    }
    dominator.pop_back();
    return dominator;
  }

  // Moves the constants in front of the registers, so that a frame begins with a copy of them, and shifts the
  // offsets of the registers accordingly.
  void place_constants() {
    std::map<std::uint32_t, std::uint32_t> at;
    std::uint32_t end = 64;
    std::vector<std::pair<std::uint32_t, std::pair<unsigned, std::uint64_t>>> sorted = constant_list;
    for (const auto &[placeholder, value] : sorted) {
      const unsigned size = value.first == 1 ? 4 : value.first * lanes;
      end = value.first == 1 ? end : (end + 63) & ~63u;
      at[placeholder] = end;
      end += size;
    }
    end = (end + 63) & ~63u;
    out.constants.assign(end, std::byte{0});
    for (const auto &[placeholder, value] : sorted) {
      std::byte *const to = out.constants.data() + at[placeholder];
      if (value.first == 1) {
        const std::uint32_t word = value.second != 0 ? ~0u : 0;
        std::memcpy(to, &word, 4);
        continue;
      }
      for (unsigned lane = 0; lane < lanes; ++lane) {
        std::memset(to + lane * value.first, 0, value.first);
        std::memcpy(to + lane * value.first, &value.second, std::min(8u, value.first));
      }
    }
    const auto move = [&](std::uint32_t &offset) {
      if (offset >= 0x80000000u)
        offset = at.at(offset);
      else if (offset != 0)
        offset += end - 64;
    };
    for (Op &op : out.ops) {
      move(op.d);
      move(op.a);
      move(op.b);
      move(op.c);
      move(op.guard);
      if (is_setp(op) || is_warp(op)) {
        if (op.immediate > 0) {
          std::uint32_t second = static_cast<std::uint32_t>(op.immediate);
          move(second);
          op.immediate = second;
        }
      }
      if (is_bfi(op)) move(op.extra);
    }
    for (const PartOffset &one : part_lists) {
      std::byte *const word = reinterpret_cast<std::byte *>(one.list) + 4 * one.index;
      std::uint32_t offset;
      std::memcpy(&offset, word, 4);
      move(offset);
      std::memcpy(word, &offset, 4);
    }
    const auto move_slots = [&](std::vector<Slot> &slots) {
      for (Slot &one : slots) move(one.at);
    };
    move_slots(out.parameters);
    move_slots(out.results);
    for (Op &op : out.ops)
      if (op.run == execute::call) {
        auto &site = *const_cast<CallSite *>(static_cast<const CallSite *>(op.data));
        move_slots(site.arguments);
        move_slots(site.results);
      }
    frame += end - 64;
  }
  static Handler effective(const Op &op) { return op.run == execute::guarded ? op.inner : op.run; }
  static bool is_setp(const Op &op) {
    static const auto all = [] {
      std::unordered_map<Handler, bool> found;
      for (const auto &[key, row] : operations())
        if (key.substr(0, 5) == "setp.") found[row->run] = true;
      return found;
    }();
    return all.count(effective(op)) != 0;
  }
  static bool is_warp(const Op &op) { return op.run == execute::rendezvous; }
  static bool is_bfi(const Op &op) {
    return effective(op) == find("bfi.b32")->run || effective(op) == find("bfi.b64")->run;
  }
};

}  // namespace
}  // namespace execute

Program compile(const Module &module, const SymbolAddresses &addresses,
                std::vector<Diagnostic> &diagnostics) {
  using namespace execute;
  auto code = std::make_shared<Code>();
  for (const SourceFile &file : module.files) code->files[file.number] = file.name;
  std::unordered_map<std::string_view, std::uint32_t> module_shared;
  std::uint32_t shared = 0;
  // Dynamic shared memory begins where static shared memory ends, so unsized variables come last.
  for (const Variable &variable : module.variables) {
    if (variable.space != StateSpace::shared || variable.unsized) continue;
    shared = (shared + variable.alignment - 1) / variable.alignment * variable.alignment;
    module_shared[variable.name] = shared;
    shared += static_cast<std::uint32_t>(variable.size);
  }
  std::vector<Diagnostic> found;
  // The shared variables of each function have their own offsets, because a kernel may call any function.
  std::uint32_t functions_shared = 0;
  code->functions.resize(module.functions.size());
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    FunctionCode &out = code->functions[i];
    out.index = static_cast<std::uint32_t>(i);
    const Body &body = module.functions[i].body;
    out.static_shared_base = (shared + functions_shared + body.shared_alignment - 1) /
                             std::max(1u, body.shared_alignment) * std::max(1u, body.shared_alignment);
    if (!module.functions[i].is_entry)
      functions_shared = out.static_shared_base + static_cast<std::uint32_t>(body.shared_size) - shared;
  }
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const Body &body = module.functions[i].body;
    FunctionCode &out = code->functions[i];
    if (!module.functions[i].is_entry) continue;
    const std::uint32_t alignment = std::max(16u, body.shared_alignment);
    out.static_shared_base = (shared + functions_shared + alignment - 1) / alignment * alignment;
    out.static_shared = out.static_shared_base + static_cast<std::uint32_t>(body.shared_size);
    if (shared + functions_shared == 0 && body.shared_size == 0) out.static_shared = 0;
  }
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const Function &function = module.functions[i];
    FunctionCode &out = code->functions[i];
    std::unordered_map<std::string_view, std::uint32_t> places = module_shared;
    for (const Variable &variable : module.variables)
      if (variable.space == StateSpace::shared && variable.unsized) {
        const std::uint32_t alignment = std::max(16u, variable.alignment);
        places[variable.name] = (out.static_shared + alignment - 1) / alignment * alignment;
        if (function.is_entry) out.static_shared = places[variable.name];
      }
    out.info.static_shared_bytes = out.static_shared;
    FunctionDecoder{module, function, addresses, *code, out, places, found, {},      {}, {}, {},    {},
                    0,      0,        {},        {},    {},  {},     0,     nullptr, 0,  {}, false, false}
        .run();
    if (out.is_entry) code->kernels[out.name] = &out;
  }
  if (!found.empty()) {
    diagnostics.insert(diagnostics.end(), found.begin(), found.end());
    return {};
  }
  return Program{code};
}

}  // namespace cushim::ptx

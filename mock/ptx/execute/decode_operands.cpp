// SPDX-License-Identifier: Apache-2.0
// Operands and addresses.
#include <algorithm>
#include <array>

#include "execute/decode.hpp"

namespace cushim::ptx::execute {

namespace {

std::uint16_t f16_bits(double value) {
  Conversion conversion;
  conversion.from = Kind::f64;
  conversion.to = Kind::f16;
  return static_cast<std::uint16_t>(convert(conversion, __builtin_bit_cast(std::uint64_t, value)));
}

}  // namespace

const std::unordered_map<std::string_view, const LaneOperation *> &operations() {
  static const auto table = [] {
    std::unordered_map<std::string_view, const LaneOperation *> all;
    const auto add = [&all](LaneTable rows) {
      for (const LaneOperation &row : rows) all.emplace(row.key, &row);
    };
#ifdef CUSHIM_PTX_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      add(avx2_lanes);
    else
      add(baseline_lanes);
#else
    add(baseline_lanes);
#endif
    for (const auto &table :
         {approximate_operations, asynchronous_operations, atomic_operations, cluster_launch_operations,
          division_operations, exchange_operations, multimem_operations, scalar_operations,
          special_register_operations, surface_operations, texture_operations})
      add(table);
    return all;
  }();
  return table;
}

const LaneOperation *find(std::string_view key) {
  const auto found = operations().find(key);
  return found == operations().end() ? nullptr : found->second;
}

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

std::uint32_t FunctionDecoder::allocate(unsigned bytes) {
  const unsigned size = bytes == 1 ? 4 : bytes * lanes;
  const unsigned alignment = bytes == 1 ? 4 : 64;
  frame = (frame + alignment - 1) / alignment * alignment;
  const std::uint32_t at = frame;
  frame += size;
  return at;
}

std::uint32_t FunctionDecoder::constant(unsigned bytes, std::uint64_t value) {
  if (bytes == 1) value = value != 0;
  if (bytes == 2) value &= 0xffff;
  if (bytes == 4) value &= 0xffffffff;
  const auto [found, added] = constants.try_emplace({bytes, value}, 0);
  if (added) found->second = 0x80000000u + static_cast<std::uint32_t>(constants.size() - 1);
  if (added) constant_list.push_back({found->second, found->first});
  return found->second;
}

std::uint64_t FunctionDecoder::symbol(const Operand &operand, StateSpace &space, bool &frame_local) {
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
      // The arguments of a variadic function are in local memory: nvcc reads them with ld.local.
      if (!function.is_entry && function.parameters[operand.index].unsized) {
        space = StateSpace::local;
        frame_local = true;
        return variadic_offset(function.body.local_size) + offset;
      }
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

std::uint64_t FunctionDecoder::global_address(const Variable &variable) const {
  const auto found = addresses.find(std::string{variable.name});
  if (found == addresses.end())
    throw UnsupportedInstruction{"uses '" + std::string{variable.name} + "', which has no address"};
  return found->second;
}

std::uint64_t FunctionDecoder::immediate(const Operand &one, unsigned bytes, std::string_view type) const {
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

std::uint32_t FunctionDecoder::source(const Operand &one, unsigned bytes, std::string_view type) {
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
    case OperandKind::element:
      return bytes == 8 ? full_address(one) : narrowed(full_address(one), 8, bytes);
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

std::uint32_t FunctionDecoder::narrowed(std::uint32_t at, unsigned from, unsigned to) {
  const std::string key = "convert.u" + std::to_string(8 * to) + ".u" + std::to_string(8 * from);
  const LaneOperation *const row = find(key);
  if (row == nullptr) throw UnsupportedInstruction{"has an operand of the wrong size"};
  const std::uint32_t d = allocate(to);
  Op &op = emit(row->run);
  op.d = d;
  op.a = at;
  return d;
}

std::uint32_t FunctionDecoder::destination(const Operand &one, unsigned bytes) {
  if (one.kind == OperandKind::sink) return allocate(bytes);
  if (one.kind != OperandKind::reg) throw UnsupportedInstruction{"has a destination that is not a register"};
  if (width(register_type(one)) != bytes) throw UnsupportedInstruction{"has a destination of the wrong size"};
  return registers[one.index];
}

void FunctionDecoder::special(const Operand &one, std::uint32_t d, unsigned bytes) {
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

Op &FunctionDecoder::emit(std::string_view key, std::uint32_t d, std::uint32_t a, std::uint32_t b,
                          std::uint32_t c) {
  const LaneOperation *const row = find(key);
  if (row == nullptr) throw UnsupportedInstruction{"is not supported"};
  Op &op = emit(row->run);
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
  return op;
}

std::uint8_t FunctionDecoder::cache() {
  const std::uint8_t range = next_cache;
  next_cache = static_cast<std::uint8_t>((next_cache + 1) % cached_ranges);
  return range;
}

Op &FunctionDecoder::bind(const LaneOperation &row, std::string_view type) {
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

// Returns the address of array[r + c].
FunctionDecoder::Address FunctionDecoder::element_address(const Operand &one) {
  Address array = address(element(one, 0));
  const Operand &index = element(one, 1);
  const Type type = register_type(index);
  std::uint32_t wide = registers[index.index];
  if (width(type) != 8) {
    const bool is_signed = type == Type::s32 || type == Type::s16;
    const std::uint32_t narrow = wide;
    wide = allocate(8);
    emit((is_signed ? "convert.u64.s" : "convert.u64.u") + std::to_string(8 * width(type)), wide, narrow);
  }
  const std::uint32_t distance = allocate(8), at = allocate(8);
  emit("mul.lo.u64", distance, wide, constant(8, static_cast<std::uint64_t>(one.value)));
  emit("add.u64", at, widened(array), distance);
  array.at = at;
  array.bytes = 8;
  return array;
}

FunctionDecoder::Address FunctionDecoder::address(const Operand &one) {
  if (one.kind == OperandKind::element) return element_address(one);
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

std::uint32_t FunctionDecoder::widened(const Address &where) {
  if (where.slot != nullptr || where.kernel_parameter) throw UnsupportedInstruction{"is not supported"};
  if (where.bytes == 8) return where.at;
  const std::uint32_t wide = allocate(8);
  emit("convert.u64.u32", wide, where.at);
  return wide;
}

std::uint32_t FunctionDecoder::full_address(const Operand &one) {
  const Address where = address(one);
  const std::uint32_t base = widened(where);
  if (where.offset == 0) return base;
  const std::uint32_t at = allocate(8);
  emit("add.u64", at, base, constant(8, static_cast<std::uint64_t>(where.offset)));
  return at;
}

}  // namespace cushim::ptx::execute

// SPDX-License-Identifier: Apache-2.0
// An interpreter as one would write it first: one thread after the other, one instruction after the other, by
// a switch over decoded instructions. Knows the instructions of the kernels that ptx_execute_benchmark runs.
#pragma once

#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "cushim/ptx/execute.hpp"
#include "cushim/ptx/module.hpp"

class PlainInterpreter {
 public:
  PlainInterpreter(const cushim::ptx::Module &module, std::string_view kernel) {
    for (const cushim::ptx::Function &one : module.functions)
      if (one.name == kernel) decode(module, one);
  }

  // Runs all threads, with addresses of the host as global memory. Returns the number of thread instructions.
  std::uint64_t run(const cushim::ptx::LaunchShape &shape, const std::vector<std::byte> &parameters) {
    executed_ = 0;
    shared_.assign(shared_size_ / 8 + 1, 0);
    const std::size_t threads = std::size_t{shape.block.x} * shape.block.y;
    std::vector<Thread> block(threads);
    for (std::uint32_t y = 0; y < shape.grid.y; ++y)
      for (std::uint32_t x = 0; x < shape.grid.x; ++x) {
        for (std::size_t i = 0; i < threads; ++i) {
          block[i].pc = 0;
          block[i].registers = initial_;
          const std::uint64_t special[] = {i % shape.block.x, i / shape.block.x, x, y,
                                           shape.block.x,     shape.block.y};
          std::copy(std::begin(special), std::end(special), block[i].registers.begin());
        }
        for (bool waits = true; waits;) {
          waits = false;
          for (Thread &one : block)
            if (one.pc < code_.size()) waits |= run_to_barrier(one, parameters.data());
        }
      }
    return executed_;
  }

 private:
  enum class Code {
    load_parameter,
    move,
    mad,
    at_least,
    differs,
    branch,
    widen,
    widen_signed,
    add_64,
    add,
    subtract,
    left,
    right,
    load,
    store,
    load_shared,
    store_shared,
    add_float,
    fma,
    barrier,
    end
  };
  static constexpr std::uint32_t always = ~0u;
  struct Op {
    Code code = Code::end;
    std::uint32_t d = 0, a = 0, b = 0, c = 0;  // registers
    std::int64_t value = 0;                    // an offset, or an instruction
    std::uint32_t guard = always, bytes = 4;
    bool guard_negated = false;
  };
  struct Thread {
    std::size_t pc = 0;
    std::vector<std::uint64_t> registers;
  };

  void decode(const cushim::ptx::Module &module, const cushim::ptx::Function &function) {
    using namespace cushim::ptx;
    static const std::unordered_map<std::string_view, Code> codes = {{"ld.param.u64", Code::load_parameter},
                                                                     {"ld.param.u32", Code::load_parameter},
                                                                     {"mov.u32", Code::move},
                                                                     {"mov.f32", Code::move},
                                                                     {"mad.lo.s32", Code::mad},
                                                                     {"mad.lo.u32", Code::mad},
                                                                     {"setp.ge.s32", Code::at_least},
                                                                     {"setp.ne.u32", Code::differs},
                                                                     {"bra", Code::branch},
                                                                     {"mul.wide.u32", Code::widen},
                                                                     {"mul.wide.s32", Code::widen_signed},
                                                                     {"add.s64", Code::add_64},
                                                                     {"add.u32", Code::add},
                                                                     {"sub.u32", Code::subtract},
                                                                     {"shl.b32", Code::left},
                                                                     {"shr.u32", Code::right},
                                                                     {"ld.global.f32", Code::load},
                                                                     {"st.global.f32", Code::store},
                                                                     {"ld.shared.f32", Code::load_shared},
                                                                     {"st.shared.f32", Code::store_shared},
                                                                     {"add.f32", Code::add_float},
                                                                     {"fma.rn.f32", Code::fma},
                                                                     {"bar.sync", Code::barrier},
                                                                     {"ret", Code::end}};
    const Body &body = function.body;
    constexpr std::uint32_t specials = 6;  // tid.x, tid.y, ctaid.x, ctaid.y, ntid.x, ntid.y
    initial_.assign(specials + body.registers.size(), 0);
    shared_size_ = body.shared_size;
    const auto constant = [this](std::uint64_t value) {
      initial_.push_back(value);
      return static_cast<std::uint32_t>(initial_.size() - 1);
    };
    const auto place = [&](const Operand &one) -> std::uint32_t {
      if (one.kind == OperandKind::reg) return specials + one.index;
      if (one.kind == OperandKind::address) return one.base == Base::reg ? specials + one.index : 0;
      if (one.kind == OperandKind::symbol) return constant(body.locals[one.index].offset);
      if (one.kind == OperandKind::label) return 0;
      if (one.kind != OperandKind::special) return constant(static_cast<std::uint64_t>(one.value));
      const auto reg = static_cast<SpecialRegister>(one.index);
      return (reg == SpecialRegister::tid ? 0u : reg == SpecialRegister::ctaid ? 2u : 4u) + one.component;
    };
    for (const Instruction &one : body.instructions) {
      const auto found = codes.find(module.mnemonics[one.mnemonic].text);
      if (found == codes.end()) throw std::runtime_error(std::string{module.mnemonics[one.mnemonic].text});
      Op op;
      op.code = found->second;
      std::uint32_t *const to[] = {&op.d, &op.a, &op.b, &op.c};
      for (std::size_t i = 0; i < one.operand_count; ++i) {
        const Operand &operand = body.operands[one.first_operand + i];
        *to[i] = place(operand);
        if (operand.kind == OperandKind::address) op.value = operand.value;
        if (operand.kind == OperandKind::label) op.value = operand.index;
        if (op.code == Code::load_parameter && i == 1)
          op.value = static_cast<std::int64_t>(function.parameters[operand.index].offset);
      }
      if (found->first == "ld.param.u64") op.bytes = 8;
      if (one.guard != no_index) op.guard = specials + one.guard;
      op.guard_negated = one.guard_negated;
      code_.push_back(op);
    }
  }

  // Returns false if the thread has ended.
  bool run_to_barrier(Thread &thread, const std::byte *parameters) {
    std::uint64_t *const r = thread.registers.data();
    const auto word = [r](std::uint32_t i) { return static_cast<std::uint32_t>(r[i]); };
    const auto number = [&](std::uint32_t i) { return std::bit_cast<float>(word(i)); };
    auto *const shared = reinterpret_cast<std::byte *>(shared_.data());
    for (std::size_t pc = thread.pc;;) {
      if (pc >= code_.size()) return thread.pc = pc, false;
      const Op &op = code_[pc++];
      if (op.guard != always && (r[op.guard] != 0) == op.guard_negated) continue;
      ++executed_;
      const auto address = [&](std::uint32_t base) { return r[base] + static_cast<std::uint64_t>(op.value); };
      std::uint32_t loaded = 0;
      switch (op.code) {
        case Code::load_parameter:
          r[op.d] = 0;
          std::memcpy(&r[op.d], parameters + op.value, op.bytes);
          break;
        case Code::move:
          r[op.d] = r[op.a];
          break;
        case Code::mad:
          r[op.d] = word(op.a) * word(op.b) + word(op.c);
          break;
        case Code::at_least:
          r[op.d] = static_cast<std::int32_t>(word(op.a)) >= static_cast<std::int32_t>(word(op.b));
          break;
        case Code::differs:
          r[op.d] = word(op.a) != word(op.b);
          break;
        case Code::branch:
          pc = static_cast<std::size_t>(op.value);
          break;
        case Code::widen:
          r[op.d] = std::uint64_t{word(op.a)} * word(op.b);
          break;
        case Code::widen_signed:
          r[op.d] = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(word(op.a))} *
                                               static_cast<std::int32_t>(word(op.b)));
          break;
        case Code::add_64:
          r[op.d] = r[op.a] + r[op.b];
          break;
        case Code::add:
          r[op.d] = word(op.a) + word(op.b);
          break;
        case Code::subtract:
          r[op.d] = word(op.a) - word(op.b);
          break;
        case Code::left:
          r[op.d] = word(op.a) << word(op.b);
          break;
        case Code::right:
          r[op.d] = word(op.a) >> word(op.b);
          break;
        case Code::load:
          std::memcpy(&loaded, reinterpret_cast<const void *>(address(op.a)), 4);
          r[op.d] = loaded;
          break;
        case Code::store:
          loaded = word(op.a);
          std::memcpy(reinterpret_cast<void *>(address(op.d)), &loaded, 4);
          break;
        case Code::load_shared:
          std::memcpy(&loaded, shared + address(op.a), 4);
          r[op.d] = loaded;
          break;
        case Code::store_shared:
          loaded = word(op.a);
          std::memcpy(shared + address(op.d), &loaded, 4);
          break;
        case Code::add_float:
          r[op.d] = std::bit_cast<std::uint32_t>(number(op.a) + number(op.b));
          break;
        case Code::fma:
          r[op.d] = std::bit_cast<std::uint32_t>(number(op.a) * number(op.b) + number(op.c));
          break;
        case Code::barrier:
          return thread.pc = pc, true;
        case Code::end:
          return thread.pc = code_.size(), false;
      }
    }
  }

  std::vector<Op> code_;
  std::vector<std::uint64_t> initial_;  // special registers, registers, constants
  std::vector<std::uint64_t> shared_;
  std::uint64_t shared_size_ = 0, executed_ = 0;
};

// SPDX-License-Identifier: Apache-2.0
// Decodes whole functions and modules.
#include <algorithm>

#include "execute/count.hpp"
#include "execute/decode.hpp"

namespace cushim::ptx::execute {

void FunctionDecoder::decode_one() {
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
    case Opcode::multimem:
      return decode_multimem();
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
    case Opcode::cp:
      return decode_copy();
    case Opcode::tensormap:
      return decode_tensor_map();
    case Opcode::clusterlaunchcontrol:
      return decode_cluster_launch_control();
    case Opcode::mbarrier:
      return decode_mbarrier();
    case Opcode::alloca:
    case Opcode::stacksave:
    case Opcode::stackrestore:
      return decode_stack();
    case Opcode::createpolicy:  // cache policies have no effect
      emit("mov.b64", destination(operand(0), 8), constant(8, 0));
      return;
    case Opcode::tex:
    case Opcode::tld4:
      return decode_fetch();
    case Opcode::txq:
    case Opcode::suq:
      return decode_image_query();
    case Opcode::suld:
    case Opcode::sust:
    case Opcode::sured:
      return decode_surface();
    case Opcode::mma:
      return decode_mma();
    case Opcode::wmma:
      return decode_wmma();
    case Opcode::wgmma:
      return decode_wgmma();
    case Opcode::movmatrix:
      return decode_transpose();
    case Opcode::ldmatrix:
      return decode_matrix_move(false);
    case Opcode::stmatrix:
      return decode_matrix_move(true);
    default:
      return decode_plain();
  }
}

void FunctionDecoder::run() {
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
  out.variadic = !function.is_entry && !function.parameters.empty() && function.parameters.back().unsized;
  out.info.parameter_bytes = static_cast<std::uint32_t>(function.is_entry ? function.parameter_size : 0);
  if (const auto &required = function.performance.reqnctapercluster)
    out.required_cluster = {(*required)[0], (*required)[1], (*required)[2]};

  contracted = contractions(module, function, literals);
  prepare_definitions();
  for (const Instruction &one : body.instructions) {
    instruction = &one;
    instruction_index = static_cast<std::uint32_t>(first_op.size());
    if (begins_block[instruction_index]) block = instruction_index;
    first_op.push_back(static_cast<std::uint32_t>(out.ops.size()));
    InstructionSource source{.line = one.position.line};
    if (one.location != no_index) {
      source.file = body.locations[one.location].file;
      source.source_line = body.locations[one.location].line;
    }
    source.traits = traits_of(mnemonic());
    if (code.counts) {
      source.kind = class_of(mnemonic());
      source.is_branch = one.opcode == Opcode::bra || one.opcode == Opcode::brx;
      if (!code.costs.empty()) {
        InstructionCost &cost = code.costs[out.first_instruction + instruction_index];
        cost = cost_of(module, function, one);
        cost.function = out.index;
      }
      count_execution();
    }
    out.sources.push_back(source);
    guard_done = own_guard = false;
    const std::size_t begin = out.ops.size();
    try {
      decode_one();
      guard(begin);
      note_definitions();
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

}  // namespace cushim::ptx::execute

namespace cushim::ptx {

Program compile(const Module &module, const SymbolAddresses &addresses, std::vector<Diagnostic> &diagnostics,
                const CompileOptions &options) {
  using namespace execute;
  auto code = std::make_shared<Code>();
  code->counts = options.counts || options.costs;
  for (const SourceFile &file : module.files) code->files[file.number] = file.name;
  std::unordered_map<std::string_view, std::uint32_t> module_shared;
  std::uint32_t shared = reserved_shared_bytes;
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
    out.first_instruction = code->instructions;
    code->instructions += static_cast<std::uint32_t>(body.instructions.size());
    out.static_shared_base = (shared + functions_shared + body.shared_alignment - 1) /
                             std::max(1u, body.shared_alignment) * std::max(1u, body.shared_alignment);
    if (!module.functions[i].is_entry)
      functions_shared = out.static_shared_base + static_cast<std::uint32_t>(body.shared_size) - shared;
  }
  if (options.costs) code->costs.resize(code->instructions);
  std::uint32_t most_static_shared = shared + functions_shared;
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const Body &body = module.functions[i].body;
    FunctionCode &out = code->functions[i];
    if (!module.functions[i].is_entry) continue;
    const std::uint32_t alignment = std::max(16u, body.shared_alignment);
    out.static_shared_base = (shared + functions_shared + alignment - 1) / alignment * alignment;
    std::uint32_t own = 0;
    for (const Variable &variable : body.locals)
      if (variable.space == StateSpace::shared)
        own = std::max(own, static_cast<std::uint32_t>(variable.offset + variable.size));
    out.static_shared = out.static_shared_base + own;
    most_static_shared = std::max(most_static_shared, out.static_shared);
  }
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const Function &function = module.functions[i];
    FunctionCode &out = code->functions[i];
    std::unordered_map<std::string_view, std::uint32_t> places = module_shared;
    for (const Variable &variable : module.variables)
      if (variable.space == StateSpace::shared && variable.unsized) {
        const std::uint32_t alignment = std::max(16u, variable.alignment);
        const std::uint32_t before = function.is_entry ? out.static_shared : most_static_shared;
        places[variable.name] = (before + alignment - 1) / alignment * alignment;
        if (function.is_entry) out.static_shared = places[variable.name];
      }
    out.info.static_shared_bytes = static_cast<std::uint32_t>(function.body.shared_size);
    FunctionDecoder{module, function, addresses, *code, out, places, found}.run();
    if (out.is_entry) code->kernels[out.name] = &out;
  }
  if (!found.empty()) {
    diagnostics.insert(diagnostics.end(), found.begin(), found.end());
    return {};
  }
  return Program{code};
}

}  // namespace cushim::ptx

// SPDX-License-Identifier: Apache-2.0
#include "execute/count.hpp"

#include <algorithm>
#include <bit>

#include "execute/decode.hpp"
#include "execute/request.hpp"

namespace cushim::ptx::execute {
namespace {

constexpr double schedulers = 4;  // of a multiprocessor; each issues one instruction a cycle

void count_sectors(const Request &request, AccessCounts &to) {
  Distinct addresses, sectors;
  request.each([&](unsigned, std::uint64_t address) {
    addresses.add(address);
    sectors.add(address / sector_bytes);
  });
  addresses.finish();
  sectors.finish();
  to.transactions += sectors.count;
  to.ideal += units(std::uint64_t{addresses.count} * request.bytes, sector_bytes);
}

// The local memory of a warp is interleaved: word N of its lanes is one line of 128 bytes.
void count_local_sectors(const Request &request, AccessCounts &to) {
  Distinct sectors;
  request.each([&](unsigned lane, std::uint64_t address) {
    for (std::uint64_t word = address / 4; word <= (address + request.bytes - 1) / 4; ++word)
      sectors.add(word * 4 + lane / 8);
  });
  sectors.finish();
  to.transactions += sectors.count;
  to.ideal +=
      units(std::uint64_t{request.bytes} * static_cast<unsigned>(std::popcount(request.mask)), sector_bytes);
}

void count_addresses(const Request &request, AccessCounts &to) {
  Distinct addresses;
  request.each([&](unsigned, std::uint64_t address) { addresses.add(address); });
  addresses.finish();
  to.transactions += addresses.count;
  ++to.ideal;
}

void count_request(const Request &request, const CountedAccess &access, CountedSpace space,
                   InstructionCounts &counts) {
  if (request.mask == 0) return;
  AccessCounts &to = counts[space];
  const auto active = static_cast<unsigned>(std::popcount(request.mask));
  ++to.requests;
  to.lanes += active;
  if (access.reads) to.read_bytes += std::uint64_t{active} * request.bytes;
  if (access.writes) to.written_bytes += std::uint64_t{active} * request.bytes;
  if (access.reads && access.writes) {
    Distinct addresses;
    request.each([&](unsigned, std::uint64_t address) { addresses.add(address); });
    addresses.finish();
    to.collisions += active - addresses.count;
  }
  switch (space) {
    case CountedSpace::global:
      return count_sectors(request, to);
    case CountedSpace::local:
      return count_local_sectors(request, to);
    case CountedSpace::shared:
      return count_passes(request, !access.writes, to);
    case CountedSpace::constant:
      return count_addresses(request, to);
  }
}

InstructionClass arithmetic_class(const Mnemonic &mnemonic) {
  switch (mnemonic.type(mnemonic.types.empty() ? 0 : mnemonic.types.size() - 1)) {
    case Type::f32:
    case Type::f32x2:
      return InstructionClass::f32;
    case Type::f64:
      return InstructionClass::f64;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      return InstructionClass::half;
    default:
      return InstructionClass::integer;
  }
}

}  // namespace

// A pass serves one word of each bank, for a group of lanes that access 128 bytes. Lanes of a group that
// access the same word share it. Two groups of a load are merged if each active lane i has the address of
// lane i ^ 1, or each has that of lane i ^ 2. Measured on an H200 with 270 patterns:
// tests/mock/ptx/data/shared_*.tsv.
void count_passes(const Request &request, bool is_load, AccessCounts &to) {
  const auto size = static_cast<unsigned>(std::min<std::uint64_t>(lanes, pass_bytes / request.bytes));
  const auto is_paired = [&](unsigned first, unsigned end, unsigned distance) {
    for (unsigned lane = first; lane < end; ++lane) {
      const unsigned other = lane ^ distance;
      if ((request.mask >> lane & 1) != 0 && (request.mask >> other & 1) != 0 &&
          request.address[lane] != request.address[other])
        return false;
    }
    return true;
  };
  for (unsigned first = 0, end; first < lanes; first = end) {
    end = std::min(lanes, first + size);
    const unsigned end_of_two = std::min(lanes, first + 2 * size);
    if (is_load && (is_paired(first, end_of_two, 1) || is_paired(first, end_of_two, 2))) end = end_of_two;
    Distinct words;
    for (unsigned lane = first; lane < end; ++lane)
      if ((request.mask >> lane & 1) != 0)
        for (std::uint64_t byte = 0; byte < request.bytes; byte += bank_bytes)
          words.add((request.address[lane] + byte) / bank_bytes);
    if (words.count == 0) continue;
    words.finish();
    unsigned of_bank[banks] = {}, most = 0;
    for (unsigned i = 0; i < words.count; ++i) most = std::max(most, ++of_bank[words.values[i] % banks]);
    to.transactions += most;
    ++to.ideal;
  }
}

InstructionClass class_of(const Mnemonic &mnemonic) {
  using Class = InstructionClass;
  const bool is_parameter = mnemonic.has(Modifier::param);
  switch (mnemonic.opcode) {
    case Opcode::sin:
    case Opcode::cos:
    case Opcode::ex2:
    case Opcode::lg2:
    case Opcode::tanh:
    case Opcode::rcp:
    case Opcode::rsqrt:
    case Opcode::sqrt:
    case Opcode::div: {
      const Class kind = arithmetic_class(mnemonic);
      return kind == Class::f64 || kind == Class::integer ? kind : Class::special;
    }
    case Opcode::cvt:
    case Opcode::cvta:
      return Class::conversion;
    case Opcode::mov:
    case Opcode::selp:
      return Class::move;
    case Opcode::setp:
    case Opcode::set:
    case Opcode::testp:
    case Opcode::slct:
    case Opcode::isspacep:
      return Class::compare;
    case Opcode::bra:
    case Opcode::brx:
    case Opcode::call:
    case Opcode::ret:
    case Opcode::exit:
    case Opcode::trap:
    case Opcode::brkpt:
      return Class::control;
    case Opcode::ld:
    case Opcode::ldu:
      return is_parameter ? Class::parameter : Class::load;
    case Opcode::st:
      return is_parameter ? Class::parameter : Class::store;
    case Opcode::atom:
    case Opcode::red:
    case Opcode::multimem:
      return Class::atomic;
    case Opcode::cp:
    case Opcode::prefetch:
    case Opcode::prefetchu:
    case Opcode::applypriority:
    case Opcode::discard:
      return Class::copy;
    case Opcode::bar:
    case Opcode::barrier:
    case Opcode::mbarrier:
    case Opcode::membar:
    case Opcode::fence:
    case Opcode::griddepcontrol:
      return Class::barrier;
    case Opcode::shfl:
    case Opcode::vote:
    case Opcode::match:
    case Opcode::redux:
    case Opcode::elect:
    case Opcode::activemask:
      return Class::warp;
    case Opcode::mma:
    case Opcode::wmma:
    case Opcode::wgmma:
    case Opcode::tcgen05:
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
    case Opcode::movmatrix:
      return Class::matrix;
    case Opcode::tex:
    case Opcode::tld4:
    case Opcode::txq:
    case Opcode::suld:
    case Opcode::sust:
    case Opcode::sured:
    case Opcode::suq:
      return Class::texture;
    case Opcode::pmevent:
    case Opcode::nanosleep:
    case Opcode::setmaxnreg:
    case Opcode::createpolicy:
    case Opcode::alloca:
    case Opcode::stacksave:
    case Opcode::stackrestore:
    case Opcode::tensormap:
    case Opcode::clusterlaunchcontrol:
      return Class::other;
    default:
      return arithmetic_class(mnemonic);
  }
}

CountedAccess::Space counted_space(StateSpace space) {
  switch (space) {
    case StateSpace::global:
      return CountedAccess::Space::global;
    case StateSpace::shared:
      return CountedAccess::Space::shared;
    case StateSpace::local:
      return CountedAccess::Space::local;
    case StateSpace::const_:
      return CountedAccess::Space::constant;
    default:
      return CountedAccess::Space::generic;
  }
}

bool is_counter(Handler run) { return run == count_execution || run == count_access; }

const Op *count_execution(Warp &w, const Op *op) {
  InstructionCounts &counts = w.worker->counts[op->extra];
  if (w.block->is_sampled) {
    const InstructionCost &cost = w.block->code->costs[op->extra];
    SampledCosts &sum = w.worker->costs;
    state(w).costs.issue(cost);
    sum.pipe_cycles[static_cast<std::size_t>(Pipe::issue)] += static_cast<double>(cost.slots) / schedulers;
    sum.pipe_cycles[static_cast<std::size_t>(cost.pipe)] += static_cast<double>(cost.pipe_cycles);
    sum.barriers += cost.is_barrier;
  }
  const auto active = static_cast<unsigned>(std::popcount(w.mask));
  ++counts.executions;
  counts.active_lanes += active;
  std::uint32_t guarded = w.mask;
  if (op->guard != 0) {
    const std::uint32_t p = *reinterpret_cast<const std::uint32_t *>(w.frame + op->guard);
    guarded &= op->guard_negated ? ~p : p;
  }
  counts.guarded_lanes += static_cast<unsigned>(std::popcount(guarded));
  const auto branch = static_cast<Branch>(op->immediate);
  if (branch == Branch::direct && guarded != 0 && guarded != w.mask) ++counts.divergent;
  if (branch == Branch::indexed) {
    const auto *const index = reinterpret_cast<const std::uint32_t *>(w.frame + op->a);
    const std::uint32_t first = index[std::countr_zero(w.mask)];
    for (std::uint32_t rest = w.mask; rest != 0; rest &= rest - 1)
      if (index[std::countr_zero(rest)] != first) {
        ++counts.divergent;
        break;
      }
  }
  return op + 1;
}

const Op *count_access(Warp &w, const Op *op) {
  const auto &access = *static_cast<const CountedAccess *>(op->data);
  InstructionCounts &counts = w.worker->counts[access.instruction];
  Request request;
  request.bytes = access.bytes;
  request.mask = access.rows == 0 ? w.mask : access.rows >= lanes ? ~0u : (1u << access.rows) - 1;
  const std::byte *const from = w.frame + op->a;
  for (unsigned lane = 0; lane < lanes; ++lane)
    request.address[lane] =
        access.is_wide
            ? reinterpret_cast<const std::uint64_t *>(from)[lane] + static_cast<std::uint64_t>(op->immediate)
            : static_cast<std::uint32_t>(reinterpret_cast<const std::uint32_t *>(from)[lane] +
                                         static_cast<std::uint32_t>(op->immediate));
  if (access.space != CountedAccess::Space::generic) {
    count_request(request, access, static_cast<CountedSpace>(access.space), counts);
    cost_request(w, request, access, static_cast<CountedSpace>(access.space));
    return op + 1;
  }
  const std::uint32_t all = request.mask;
  std::uint32_t of_space[counted_spaces] = {};
  request.each([&](unsigned lane, std::uint64_t address) {
    if (address >= parameter_window) return;
    const CountedSpace space = address < shared_window  ? CountedSpace::global
                               : address < local_window ? CountedSpace::shared
                                                        : CountedSpace::local;
    of_space[static_cast<std::size_t>(space)] |= 1u << lane;
  });
  for (std::size_t space = 0; space < counted_spaces; ++space) {
    request.mask = all & of_space[space];
    count_request(request, access, static_cast<CountedSpace>(space), counts);
    cost_request(w, request, access, static_cast<CountedSpace>(space));
  }
  return op + 1;
}

void count_move(Warp &warp, const Op *op, std::uint64_t address, std::uint64_t bytes, bool in_shared,
                bool writes) {
  WarpState &w = state(warp);
  if (w.worker->counts.empty() || bytes == 0) return;
  const FunctionCode &function = *w.paths[w.current].frame->function;
  InstructionCounts &counts = w.worker->counts[function.first_instruction + op->source];
  if (!in_shared && address >= shared_window) in_shared = address < local_window;
  AccessCounts &to = counts[in_shared ? CountedSpace::shared : CountedSpace::global];
  ++to.requests;
  ++to.lanes;
  (writes ? to.written_bytes : to.read_bytes) += bytes;
  const std::uint64_t unit = in_shared ? pass_bytes : sector_bytes;
  to.transactions += in_shared ? units(bytes, unit) : (address + bytes - 1) / unit - address / unit + 1;
  to.ideal += units(bytes, unit);
}

void FunctionDecoder::count_execution() {
  if (!code.counts) return;
  Branch branch = Branch::none;
  std::uint32_t index = 0;
  if (instruction->opcode == Opcode::bra) branch = Branch::direct;
  if (instruction->opcode == Opcode::brx) {
    branch = Branch::indexed;
    index = source(operand(0), 4);
  }
  Op &op = emit(execute::count_execution);
  op.extra = out.first_instruction + instruction_index;
  op.a = index;
  op.immediate = static_cast<std::int64_t>(branch);
  if (instruction->guard != no_index) {
    op.guard = registers[instruction->guard];
    op.guard_negated = instruction->guard_negated;
  }
}

void FunctionDecoder::count_access(CountedAccess access, std::uint32_t address, std::int64_t offset) {
  if (!code.counts) return;
  access.instruction = out.first_instruction + instruction_index;
  Op &op = emit(execute::count_access);
  op.a = address;
  op.immediate = offset;
  op.data = &code.counted_accesses.emplace_back(access);
}

}  // namespace cushim::ptx::execute

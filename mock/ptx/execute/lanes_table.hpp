// SPDX-License-Identifier: Apache-2.0
// The operation table of one instruction set. The including file defines the name CUSHIM_PTX_TABLE.
#include "execute/lanes.hpp"
#include "execute/memory_lanes.hpp"

namespace cushim::ptx::execute {
namespace {

// One table entry for each type. S: the signature for the type's size.
#define UNARY(K, F, t) {K "." #t, unary<t, t, F<t>>, S2##t},
#define BINARY(K, F, t) {K "." #t, binary<t, t, t, F<t>>, S3##t},
#define TERNARY(K, F, t) {K "." #t, ternary<t, t, t, t, F<t>>, S4##t},
#define S2u16 "22"
#define S2s16 "22"
#define S2u32 "44"
#define S2s32 "44"
#define S2u64 "88"
#define S2s64 "88"
#define S3u16 "222"
#define S3s16 "222"
#define S3u32 "444"
#define S3s32 "444"
#define S3u64 "888"
#define S3s64 "888"
#define S4u16 "2222"
#define S4s16 "2222"
#define S4u32 "4444"
#define S4s32 "4444"
#define S4u64 "8888"
#define S4s64 "8888"
#define ALL_INTEGERS(M, K, F) M(K, F, u16) M(K, F, s16) M(K, F, u32) M(K, F, s32) M(K, F, u64) M(K, F, s64)
#define BITS(K, F)                                                                                    \
  {K ".b16", binary<u16, u16, u16, F<u16>>, "222"}, {K ".b32", binary<u32, u32, u32, F<u32>>, "444"}, \
      {K ".b64", binary<u64, u64, u64, F<u64>>, "888"},
#define BITS1(K, F)                                                                     \
  {K ".b16", unary<u16, u16, F<u16>>, "22"}, {K ".b32", unary<u32, u32, F<u32>>, "44"}, \
      {K ".b64", unary<u64, u64, F<u64>>, "88"},

#define COMPARE(K, F, t, sig) {"setp." K "." #t, compare<t, F>, sig},
#define COMPARE_INTEGERS(K, F) \
  COMPARE(K, F, u16, "p22")    \
  COMPARE(K, F, s16, "p22")    \
  COMPARE(K, F, u32, "p44") COMPARE(K, F, s32, "p44") COMPARE(K, F, u64, "p88") COMPARE(K, F, s64, "p88")
#define COMPARE_BITS(K, F)                                                                \
  {"setp." K ".b16", compare<u16, F>, "p22"}, {"setp." K ".b32", compare<u32, F>, "p44"}, \
      {"setp." K ".b64", compare<u64, F>, "p88"},
#define COMPARE_FLOATS(K, F)                                                  \
  COMPARE(K, F, f32, "p44")                                                   \
  COMPARE(K, F, f64, "p88"){"setp." K ".ftz.f32", compare_flushed<F>, "p44"}, \
      {"setp." K ".f16", compare_half<F16, F, false>, "p22"},                 \
      {"setp." K ".ftz.f16", compare_half<F16, F, true>, "p22"},              \
      {"setp." K ".bf16", compare_half<BF16, F, false>, "p22"},

#define T2(t) t, t
#define T3(t) t, t, t
#define T4(t) t, t, t, t
#define FLOAT_ROWS(K, M, F, T, s4, s8)                                                                 \
  {K ".f32", M<T(f32), F<f32, false, false>>, s4}, {K ".ftz.f32", M<T(f32), F<f32, true, false>>, s4}, \
      {K ".sat.f32", M<T(f32), F<f32, false, true>>, s4},                                              \
      {K ".ftz.sat.f32", M<T(f32), F<f32, true, true>>, s4},                                           \
      {K ".f64", M<T(f64), F<f64, false, false>>, s8},
#define EXTREME_ROWS(K, Max)                                                                  \
  {K ".f32", binary<T3(f32), FExtreme<f32, false, false, false, Max>>, "444"},                \
      {K ".ftz.f32", binary<T3(f32), FExtreme<f32, true, false, false, Max>>, "444"},         \
      {K ".NaN.f32", binary<T3(f32), FExtreme<f32, false, true, false, Max>>, "444"},         \
      {K ".ftz.NaN.f32", binary<T3(f32), FExtreme<f32, true, true, false, Max>>, "444"},      \
      {K ".xorsign.abs.f32", binary<T3(f32), FXorsign<f32, false, false, Max>>, "444"},       \
      {K ".ftz.xorsign.abs.f32", binary<T3(f32), FXorsign<f32, true, false, Max>>, "444"},    \
      {K ".NaN.xorsign.abs.f32", binary<T3(f32), FXorsign<f32, false, true, Max>>, "444"},    \
      {K ".ftz.NaN.xorsign.abs.f32", binary<T3(f32), FXorsign<f32, true, true, Max>>, "444"}, \
      {K ".f64", binary<T3(f64), FExtreme<f64, false, false, false, Max>>, "888"},
#define HALF_ROW(K, M, F, T, s2, s4, ftz, sat, relu)                                                      \
  {K ".f16", M<T(u16), F<F16, ftz, sat, relu>>, s2}, {K ".bf16", M<T(u16), F<BF16, ftz, sat, relu>>, s2}, \
      {K ".f16x2", M<T(u32), Two<F<F16, ftz, sat, relu>>>, s4},                                           \
      {K ".bf16x2", M<T(u32), Two<F<BF16, ftz, sat, relu>>>, s4},
#define HALF_ROWS(K, M, F, T, s2, s4)                     \
  HALF_ROW(K, M, F, T, s2, s4, false, false, false)       \
  HALF_ROW(K ".ftz", M, F, T, s2, s4, true, false, false) \
  HALF_ROW(K ".sat", M, F, T, s2, s4, false, true, false) \
  HALF_ROW(K ".ftz.sat", M, F, T, s2, s4, true, true, false)
#define HALF_EXTREMES(K, F)                                                      \
  HALF_ROW(K, binary, F, T3, "222", "444", false, false, false)                  \
  HALF_ROW(K ".ftz", binary, F, T3, "222", "444", true, false, false)            \
  HALF_ROW(K ".NaN", binary, F, T3, "222", "444", false, true, false)            \
  HALF_ROW(K ".ftz.NaN", binary, F, T3, "222", "444", true, true, false)         \
  HALF_ROW(K ".xorsign.abs", binary, F, T3, "222", "444", false, false, true)    \
  HALF_ROW(K ".NaN.xorsign.abs", binary, F, T3, "222", "444", false, true, true) \
  HALF_ROW(K ".ftz.xorsign.abs", binary, F, T3, "222", "444", true, false, true) \
  HALF_ROW(K ".ftz.NaN.xorsign.abs", binary, F, T3, "222", "444", true, true, true)

// Keys of loads and stores: type in memory, register size in bytes. The arguments name a template of both
// types.
#define MEMORY(K, ...)                                                                  \
  {K ".u8.2", __VA_ARGS__<u8, u16>, ""}, {K ".u8.4", __VA_ARGS__<u8, u32>, ""},         \
      {K ".u8.8", __VA_ARGS__<u8, u64>, ""}, {K ".u16.2", __VA_ARGS__<u16, u16>, ""},   \
      {K ".u16.4", __VA_ARGS__<u16, u32>, ""}, {K ".u16.8", __VA_ARGS__<u16, u64>, ""}, \
      {K ".u32.4", __VA_ARGS__<u32, u32>, ""}, {K ".u32.8", __VA_ARGS__<u32, u64>, ""}, \
      {K ".u64.8", __VA_ARGS__<u64, u64>, ""}, {K ".u128.16", __VA_ARGS__<u128, u128>, ""},
#define SIGNED_MEMORY(K, ...)                                                         \
  {K ".s8.2", __VA_ARGS__<s8, u16>, ""}, {K ".s8.4", __VA_ARGS__<s8, u32>, ""},       \
      {K ".s8.8", __VA_ARGS__<s8, u64>, ""}, {K ".s16.4", __VA_ARGS__<s16, u32>, ""}, \
      {K ".s16.8", __VA_ARGS__<s16, u64>, ""}, {K ".s32.8", __VA_ARGS__<s32, u64>, ""},
// Keys of accesses by an address: space, address size, then as above.
#define SPACE(k, Space, A, a)                                          \
  MEMORY("ld" k "." a, Accesses<false, Space, A>::template run)        \
  SIGNED_MEMORY("ld" k "." a, Accesses<false, Space, A>::template run) \
  MEMORY("st" k "." a, Accesses<true, Space, A>::template run)

}  // namespace

constinit const LaneTable CUSHIM_PTX_TABLE = {
    ALL_INTEGERS(BINARY, "add", Add) ALL_INTEGERS(BINARY, "sub", Sub) ALL_INTEGERS(BINARY, "mul.lo", MulLo)
        ALL_INTEGERS(BINARY, "mul.hi", MulHi) ALL_INTEGERS(TERNARY, "mad.lo", MadLo)
            ALL_INTEGERS(TERNARY, "mad.hi", MadHi) ALL_INTEGERS(BINARY, "div", Div)
                ALL_INTEGERS(BINARY, "rem", Rem) ALL_INTEGERS(BINARY, "min", Min)
                    ALL_INTEGERS(BINARY, "max", Max) ALL_INTEGERS(TERNARY, "sad", Sad) UNARY("abs", Abs, s16)
                        UNARY("abs", Abs, s32) UNARY("abs", Abs, s64) UNARY("neg", Neg, s16)
                            UNARY("neg", Neg, s32) UNARY("neg", Neg, s64) BINARY("min.relu", MinRelu, s32)
                                BINARY("max.relu", MaxRelu, s32){"mul.wide.u16",
                                                                 binary<u32, u16, u16, MulWide<u16>>, "422"},
    {"mul.wide.s16", binary<s32, s16, s16, MulWide<s16>>, "422"},
    {"mul.wide.u32", binary<u64, u32, u32, MulWide<u32>>, "844"},
    {"mul.wide.s32", binary<s64, s32, s32, MulWide<s32>>, "844"},
    {"mad.wide.u16", ternary<u32, u16, u16, u32, MadWide<u16>>, "4224"},
    {"mad.wide.s16", ternary<s32, s16, s16, s32, MadWide<s16>>, "4224"},
    {"mad.wide.u32", ternary<u64, u32, u32, u64, MadWide<u32>>, "8448"},
    {"mad.wide.s32", ternary<s64, s32, s32, s64, MadWide<s32>>, "8448"},
    {"add.sat.s32", binary<s32, s32, s32, AddSat>, "444"},
    {"sub.sat.s32", binary<s32, s32, s32, SubSat>, "444"},
    {"add.u16x2", binary<u32, u32, u32, TwoInts<Add<u16>>>, "444"},
    {"add.s16x2", binary<u32, u32, u32, TwoInts<Add<s16>>>, "444"},
    {"min.u16x2", binary<u32, u32, u32, TwoInts<Min<u16>>>, "444"},
    {"min.s16x2", binary<u32, u32, u32, TwoInts<Min<s16>>>, "444"},
    {"max.u16x2", binary<u32, u32, u32, TwoInts<Max<u16>>>, "444"},
    {"max.s16x2", binary<u32, u32, u32, TwoInts<Max<s16>>>, "444"},
    {"min.relu.s16x2", binary<u32, u32, u32, TwoInts<MinRelu<s16>>>, "444"},
    {"max.relu.s16x2", binary<u32, u32, u32, TwoInts<MaxRelu<s16>>>, "444"},
    BINARY("mul24.lo", Mul24, u32) BINARY("mul24.lo", Mul24, s32) BINARY("mul24.hi", Mul24Hi, u32)
        BINARY("mul24.hi", Mul24Hi, s32) TERNARY("mad24.lo", Mad24, u32) TERNARY("mad24.lo", Mad24, s32)
            TERNARY("mad24.hi", Mad24Hi, u32) TERNARY("mad24.hi", Mad24Hi, s32) BITS("and", And)
                BITS("or", Or) BITS("xor", Xor) BITS1("not", Not) BITS1("cnot", Cnot)
                    BITS1("mov", Mov){"mov.b128", unary<u128, u128, Mov<u128>>, "gg"},
    {"and.pred", predicate_and, "ppp"},
    {"or.pred", predicate_or, "ppp"},
    {"xor.pred", predicate_xor, "ppp"},
    {"not.pred", predicate_not, "pp"},
    {"mov.pred", predicate_mov, "pp"},
    {"shl.b16", binary<u16, u16, u32, Shl<u16>>, "224"},
    {"shl.b32", binary<u32, u32, u32, Shl<u32>>, "444"},
    {"shl.b64", binary<u64, u64, u32, Shl<u64>>, "884"},
    {"shr.u16", binary<u16, u16, u32, Shr<u16>>, "224"},
    {"shr.u32", binary<u32, u32, u32, Shr<u32>>, "444"},
    {"shr.u64", binary<u64, u64, u32, Shr<u64>>, "884"},
    {"shr.b16", binary<u16, u16, u32, Shr<u16>>, "224"},
    {"shr.b32", binary<u32, u32, u32, Shr<u32>>, "444"},
    {"shr.b64", binary<u64, u64, u32, Shr<u64>>, "884"},
    {"shr.s16", binary<s16, s16, u32, Shr<s16>>, "224"},
    {"shr.s32", binary<s32, s32, u32, Shr<s32>>, "444"},
    {"shr.s64", binary<s64, s64, u32, Shr<s64>>, "884"},
    {"shf.l.wrap.b32", ternary<u32, u32, u32, u32, ShfWrap<true>>, "4444"},
    {"shf.r.wrap.b32", ternary<u32, u32, u32, u32, ShfWrap<false>>, "4444"},
    {"shf.l.clamp.b32", ternary<u32, u32, u32, u32, ShfClamp<true>>, "4444"},
    {"shf.r.clamp.b32", ternary<u32, u32, u32, u32, ShfClamp<false>>, "4444"},
    {"popc.b32", unary<u32, u32, Popc<u32>>, "44"},
    {"popc.b64", unary<u32, u64, Popc<u64>>, "48"},
    {"clz.b32", unary<u32, u32, Clz<u32>>, "44"},
    {"clz.b64", unary<u32, u64, Clz<u64>>, "48"},
    {"brev.b32", unary<u32, u32, Brev<u32>>, "44"},
    {"brev.b64", unary<u64, u64, Brev<u64>>, "88"},
    {"bfe.u32", ternary<u32, u32, u32, u32, Bfe<u32>>, "4444"},
    {"bfe.s32", ternary<s32, s32, u32, u32, Bfe<s32>>, "4444"},
    {"bfe.u64", ternary<u64, u64, u32, u32, Bfe<u64>>, "8844"},
    {"bfe.s64", ternary<s64, s64, u32, u32, Bfe<s64>>, "8844"},
    {"bfi.b32", bfi<u32>, "44444"},
    {"bfi.b64", bfi<u64>, "88844"},
    {"bfind.u32", unary<u32, u32, Bfind<u32>>, "44"},
    {"bfind.s32", unary<u32, s32, Bfind<s32>>, "44"},
    {"bfind.u64", unary<u32, u64, Bfind<u64>>, "48"},
    {"bfind.s64", unary<u32, s64, Bfind<s64>>, "48"},
    {"bfind.shiftamt.u32", unary<u32, u32, BfindShift<u32>>, "44"},
    {"bfind.shiftamt.s32", unary<u32, s32, BfindShift<s32>>, "44"},
    {"bfind.shiftamt.u64", unary<u32, u64, BfindShift<u64>>, "48"},
    {"bfind.shiftamt.s64", unary<u32, s64, BfindShift<s64>>, "48"},
    {"prmt.b32", ternary<u32, u32, u32, u32, Prmt>, "4444"},
    {"prmt.f4e.b32", ternary<u32, u32, u32, u32, PrmtOf<PrmtMode::forward>>, "4444"},
    {"prmt.b4e.b32", ternary<u32, u32, u32, u32, PrmtOf<PrmtMode::backward>>, "4444"},
    {"prmt.rc8.b32", ternary<u32, u32, u32, u32, PrmtOf<PrmtMode::replicate>>, "4444"},
    {"prmt.ecl.b32", ternary<u32, u32, u32, u32, PrmtOf<PrmtMode::clamp_left>>, "4444"},
    {"prmt.ecr.b32", ternary<u32, u32, u32, u32, PrmtOf<PrmtMode::clamp_right>>, "4444"},
    {"prmt.rc16.b32", ternary<u32, u32, u32, u32, PrmtOf<PrmtMode::replicate16>>, "4444"},
    {"mad.hi.sat.s32", ternary<s32, s32, s32, s32, MadHiSat>, "4444"},
    {"mad24.hi.sat.s32", ternary<s32, s32, s32, s32, Mad24HiSat>, "4444"},
    {"lop3.b32", lop3, "4444"},
    {"dp4a.u32.u32", ternary<u32, u32, u32, u32, Dp4a<u8, u8>>, "4444"},
    {"dp4a.u32.s32", ternary<u32, u32, u32, u32, Dp4a<u8, s8>>, "4444"},
    {"dp4a.s32.u32", ternary<u32, u32, u32, u32, Dp4a<s8, u8>>, "4444"},
    {"dp4a.s32.s32", ternary<u32, u32, u32, u32, Dp4a<s8, s8>>, "4444"},
    {"dp2a.lo.u32.u32", ternary<u32, u32, u32, u32, Dp2a<u8, u8, false>>, "4444"},
    {"dp2a.lo.u32.s32", ternary<u32, u32, u32, u32, Dp2a<u8, s8, false>>, "4444"},
    {"dp2a.lo.s32.u32", ternary<u32, u32, u32, u32, Dp2a<s8, u8, false>>, "4444"},
    {"dp2a.lo.s32.s32", ternary<u32, u32, u32, u32, Dp2a<s8, s8, false>>, "4444"},
    {"dp2a.hi.u32.u32", ternary<u32, u32, u32, u32, Dp2a<u8, u8, true>>, "4444"},
    {"dp2a.hi.u32.s32", ternary<u32, u32, u32, u32, Dp2a<u8, s8, true>>, "4444"},
    {"dp2a.hi.s32.u32", ternary<u32, u32, u32, u32, Dp2a<s8, u8, true>>, "4444"},
    {"dp2a.hi.s32.s32", ternary<u32, u32, u32, u32, Dp2a<s8, s8, true>>, "4444"},
    {"bmsk.clamp.b32", binary<u32, u32, u32, Bmsk<true>>, "444"},
    {"bmsk.wrap.b32", binary<u32, u32, u32, Bmsk<false>>, "444"},
    {"szext.clamp.u32", binary<u32, u32, u32, Szext<u32, true>>, "444"},
    {"szext.wrap.u32", binary<u32, u32, u32, Szext<u32, false>>, "444"},
    {"szext.clamp.s32", binary<s32, s32, u32, Szext<s32, true>>, "444"},
    {"szext.wrap.s32", binary<s32, s32, u32, Szext<s32, false>>, "444"},

    COMPARE_INTEGERS("eq", Eq) COMPARE_INTEGERS("ne", Ne) COMPARE_INTEGERS("lt", Lt)
        COMPARE_INTEGERS("le", Le) COMPARE_INTEGERS("gt", Gt) COMPARE_INTEGERS("ge", Ge)
            COMPARE_BITS("eq", Eq) COMPARE_BITS("ne", Ne) COMPARE_FLOATS("eq", Eq)
                COMPARE_FLOATS("ne", OrderedNe) COMPARE_FLOATS("lt", Lt) COMPARE_FLOATS("le", Le)
                    COMPARE_FLOATS("gt", Gt) COMPARE_FLOATS("ge", Ge) COMPARE_FLOATS("equ", Equ)
                        COMPARE_FLOATS("neu", Ne) COMPARE_FLOATS("ltu", Ltu) COMPARE_FLOATS("leu", Leu)
                            COMPARE_FLOATS("gtu", Gtu) COMPARE_FLOATS("geu", Geu) COMPARE_FLOATS("num", Num)
                                COMPARE_FLOATS("nan", Nan){"selp.b16", selp<u16>, "222p"},
    {"selp.b32", selp<u32>, "444p"},
    {"selp.b64", selp<u64>, "888p"},
    {"slct.b16.s32", ternary<u16, u16, u16, s32, Slct<u16>>, "2224"},
    {"slct.b32.s32", ternary<u32, u32, u32, s32, Slct<u32>>, "4444"},
    {"slct.b64.s32", ternary<u64, u64, u64, s32, Slct<u64>>, "8884"},
    {"slct.b16.f32", ternary<u16, u16, u16, f32, SlctFloat<u16>>, "2224"},
    {"slct.b32.f32", ternary<u32, u32, u32, f32, SlctFloat<u32>>, "4444"},
    {"slct.b64.f32", ternary<u64, u64, u64, f32, SlctFloat<u64>>, "8884"},
    {"slct.ftz.b16.f32", ternary<u16, u16, u16, f32, SlctFlushed<u16>>, "2224"},
    {"slct.ftz.b32.f32", ternary<u32, u32, u32, f32, SlctFlushed<u32>>, "4444"},
    {"slct.ftz.b64.f32", ternary<u64, u64, u64, f32, SlctFlushed<u64>>, "8884"},

    {"sub.reversed.f64", binary<T3(f64), FReversedSub<f64, false, false>>, "888"},
    FLOAT_ROWS("add", binary, FAdd, T3, "444", "888") FLOAT_ROWS("sub", binary, FSub, T3, "444", "888")
        FLOAT_ROWS("mul", binary, FMul, T3, "444", "888") FLOAT_ROWS("fma", ternary, FFma, T4, "4444", "8888")
            FLOAT_ROWS("div", binary, FDiv, T3, "444", "888") FLOAT_ROWS("rcp", unary, FRcp, T2, "44", "88")
                FLOAT_ROWS("sqrt", unary, FSqrt, T2, "44", "88"){
                    "abs.f32", unary<f32, f32, FAbs<f32, false, false>>, "44"},
    {"abs.ftz.f32", unary<f32, f32, FAbs<f32, true, false>>, "44"},
    {"abs.f64", unary<f64, f64, FAbs<f64, false, false>>, "88"},
    {"neg.f32", unary<f32, f32, FNeg<f32, false, false>>, "44"},
    {"neg.ftz.f32", unary<f32, f32, FNeg<f32, true, false>>, "44"},
    {"neg.f64", unary<f64, f64, FNeg<f64, false, false>>, "88"},
    {"copysign.f32", binary<f32, f32, f32, FCopysign<f32, false, false>>, "444"},
    {"copysign.f64", binary<f64, f64, f64, FCopysign<f64, false, false>>, "888"},
    EXTREME_ROWS("min", false) EXTREME_ROWS("max", true){"testp.finite.f32", testp_finite<f32>, "p4"},
    {"testp.finite.f64", testp_finite<f64>, "p8"},
    {"testp.infinite.f32", testp_infinite<f32>, "p4"},
    {"testp.infinite.f64", testp_infinite<f64>, "p8"},
    {"testp.number.f32", testp_number<f32>, "p4"},
    {"testp.number.f64", testp_number<f64>, "p8"},
    {"testp.notanumber.f32", testp_notanumber<f32>, "p4"},
    {"testp.notanumber.f64", testp_notanumber<f64>, "p8"},
    {"testp.normal.f32", testp_normal<f32>, "p4"},
    {"testp.normal.f64", testp_normal<f64>, "p8"},
    {"testp.subnormal.f32", testp_subnormal<f32>, "p4"},
    {"testp.subnormal.f64", testp_subnormal<f64>, "p8"},

    HALF_ROWS("add", binary, HAdd, T3, "222", "444") HALF_ROWS("sub", binary, HSub, T3, "222", "444")
        HALF_ROWS("mul", binary, HMul, T3, "222", "444") HALF_ROWS("fma", ternary, HFma, T4, "2222", "4444")
            HALF_ROW("fma.relu", ternary, HFma, T4, "2222", "4444", false, false, true)
                HALF_ROW("fma.ftz.relu", ternary, HFma, T4, "2222", "4444", true, false, true)
                    HALF_ROW("fma.oob", ternary, HFmaOob, T4, "2222", "4444", false, false, false)
                        HALF_ROW("fma.oob.relu", ternary, HFmaOob, T4, "2222", "4444", false, false, true)
                            HALF_ROW("neg", unary, HNeg, T2, "22", "44", false, false, false)
                                HALF_ROW("neg.ftz", unary, HNeg, T2, "22", "44", true, false, false)
                                    HALF_ROW("abs", unary, HAbs, T2, "22", "44", false, false, false)
                                        HALF_ROW("abs.ftz", unary, HAbs, T2, "22", "44", true, false, false)
                                            HALF_EXTREMES("min", HMin) HALF_EXTREMES("max", HMax)

    // Conversions: to.from, by the size of the register contents.
    {"convert.u16.u32", unary<u16, u32, Convert<u16, u32>>, "24"},
    {"convert.u16.u64", unary<u16, u64, Convert<u16, u64>>, "28"},
    {"convert.u32.u16", unary<u32, u16, Convert<u32, u16>>, "42"},
    {"convert.u32.s16", unary<u32, s16, Convert<u32, s16>>, "42"},
    {"convert.u32.u64", unary<u32, u64, Convert<u32, u64>>, "48"},
    {"convert.u64.u16", unary<u64, u16, Convert<u64, u16>>, "82"},
    {"convert.u64.s16", unary<u64, s16, Convert<u64, s16>>, "82"},
    {"convert.u64.u32", unary<u64, u32, Convert<u64, u32>>, "84"},
    {"convert.u64.s32", unary<u64, s32, Convert<u64, s32>>, "84"},
    {"convert.f32.s32", unary<f32, s32, Convert<f32, s32>>, "44"},
    {"convert.f32.u32", unary<f32, u32, Convert<f32, u32>>, "44"},
    {"convert.f32.s64", unary<f32, s64, Convert<f32, s64>>, "48"},
    {"convert.f32.u64", unary<f32, u64, Convert<f32, u64>>, "48"},
    {"convert.f64.s32", unary<f64, s32, Convert<f64, s32>>, "84"},
    {"convert.f64.u32", unary<f64, u32, Convert<f64, u32>>, "84"},
    {"convert.f64.s64", unary<f64, s64, Convert<f64, s64>>, "88"},
    {"convert.f64.u64", unary<f64, u64, Convert<f64, u64>>, "88"},
    {"convert.f64.f32", unary<f64, f32, F64OfF32>, "84"},
    {"convert.f32.f64", unary<f32, f64, F32OfF64>, "48"},
    {"convert.f32.f16", unary<f32, u16, F32OfF16>, "42"},
    {"convert.f16.f32", unary<u16, f32, F16OfF32>, "24"},
    {"convert.f32.bf16", unary<f32, u16, F32OfBF16>, "42"},
    {"convert.bf16.f32", unary<u16, f32, BF16OfF32>, "24"},
    {"convert.s32.f32", unary<s32, f32, Truncate<s32, f32>>, "44"},
    {"convert.u32.f32", unary<u32, f32, Truncate<u32, f32>>, "44"},

    {"pack.8.4", pack<u64, u32>, ""},
    {"pack.8.2", pack<u64, u16>, ""},
    {"pack.4.2", pack<u32, u16>, ""},
    {"pack.16.8", pack<u128, u64>, ""},
    {"pack.16.4", pack<u128, u32>, ""},
    {"unpack.8.4", unpack<u64, u32>, ""},
    {"unpack.8.2", unpack<u64, u16>, ""},
    {"unpack.4.2", unpack<u32, u16>, ""},
    {"unpack.16.8", unpack<u128, u64>, ""},
    {"unpack.16.4", unpack<u128, u32>, ""},

    SPACE(".global", Global, u64, "8") SPACE(".generic", Generic, u64, "8") SPACE(".shared", Shared, u32, "4")
        SPACE(".shared", Shared, u64, "8") SPACE(".local", Local, u32, "4") SPACE(".local", Local, u64, "8")
            MEMORY("ld.parameter", parameter) SIGNED_MEMORY("ld.parameter", parameter) MEMORY(
                "ld.slot", load_slot) SIGNED_MEMORY("ld.slot", load_slot) MEMORY("st.slot", store_slot)};

}  // namespace cushim::ptx::execute

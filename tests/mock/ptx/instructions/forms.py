#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the instruction forms whose results are recorded on a GPU: forms() yields (body, input types, output type).

A body is PTX over the registers %a, %b, %c (inputs) and %d (output). Inputs are typed by the names in VALUES;
an output type is a PTX type that `st` accepts. See record.py for the kernel around a body.
"""
from itertools import product

ROUND = ("rn", "rz", "rm", "rp")
INTEGER = ("u16", "s16", "u32", "s32", "u64", "s64")
BITS = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
        "b16": 16, "b32": 32, "b64": 64, "f16x2": 32, "bf16x2": 32, "u8": 8, "s8": 8}


def register(kind):
    """Returns the register type that holds a value of this PTX type."""
    return f"b{max(BITS[kind], 16)}"


def integer_forms():
    for t in INTEGER:
        bits, signed = BITS[t], t[0] == "s"
        i = f"i{bits}"
        wide = f"{t[0]}{2 * bits}"
        for op in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            yield f"{op}.{t} %d, %a, %b;", (i, i), t
        for op in ("mad.lo", "mad.hi", "sad"):
            yield f"{op}.{t} %d, %a, %b, %c;", (i, i, i), t
        if bits < 64:
            yield f"mul.wide.{t} %d, %a, %b;", (i, i), wide
            yield f"mad.wide.{t} %d, %a, %b, %c;", (i, i, f"i{2 * bits}"), wide
        if signed:
            yield f"abs.{t} %d, %a;", (i,), t
            yield f"neg.{t} %d, %a;", (i,), t
        yield f"shr.{t} %d, %a, %b;", (i, "n32"), t
        if bits >= 32:
            for carry in ("", ".cc"):
                extra = "" if not carry else f" {{.reg .{t} t; addc.{t} t, 0, 0; xor.b{bits} %d, %d, t;}}"
                yield f"add.cc.{t} %d, %a, %b; addc{carry}.{t} %d, %d, %c;{extra}", (i, i, i), t
                yield f"sub.cc.{t} %d, %a, %b; subc{carry}.{t} %d, %d, %c;{extra}", (i, i, i), t
                yield f"mad.lo.cc.{t} %d, %a, %b, %c; madc.hi{carry}.{t} %d, %a, %b, %d;{extra}", (i, i, i), t
                yield f"mad.hi.cc.{t} %d, %a, %b, %c; madc.lo{carry}.{t} %d, %a, %b, %d;{extra}", (i, i, i), t
            yield f"bfind.{t} %d, %a;", (i,), "u32"
            yield f"bfind.shiftamt.{t} %d, %a;", (i,), "u32"
            yield f"bfe.{t} %d, %a, %b, %c;", (i, "n32", "n32"), t
    for t in ("u32", "s32"):
        for half in ("lo", "hi"):
            yield f"mul24.{half}.{t} %d, %a, %b;", ("i32", "i32"), t
            yield f"mad24.{half}.{t} %d, %a, %b, %c;", ("i32",) * 3, t
        for mode in ("wrap", "clamp"):
            yield f"szext.{mode}.{t} %d, %a, %b;", ("i32", "n32"), t
    for op in ("add.sat.s32", "sub.sat.s32"):
        yield f"{op} %d, %a, %b;", ("i32", "i32"), "s32"
    yield "mad.hi.sat.s32 %d, %a, %b, %c;", ("i32",) * 3, "s32"
    yield "mad24.hi.sat.s32 %d, %a, %b, %c;", ("i32",) * 3, "s32"
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            yield f"{op}.{t} %d, %a, %b;", ("i32", "i32"), "b32"
    for op in ("min", "max"):
        yield f"{op}.relu.s16x2 %d, %a, %b;", ("i32", "i32"), "b32"
        yield f"{op}.relu.s32 %d, %a, %b;", ("i32", "i32"), "s32"
    for mode in ("wrap", "clamp"):
        yield f"bmsk.{mode}.b32 %d, %a, %b;", ("n32", "n32"), "b32"
    for bits in (32, 64):
        i = f"i{bits}"
        yield f"popc.b{bits} %d, %a;", (i,), "u32"
        yield f"clz.b{bits} %d, %a;", (i,), "u32"
        yield f"brev.b{bits} %d, %a;", (i,), f"b{bits}"
        yield f"bfi.b{bits} %d, %a, %b, %c, 5;", (i, i, "n32"), f"b{bits}"
        yield f"bfi.b{bits} %d, %a, %b, 7, %c;", (i, i, "n32"), f"b{bits}"
    yield "fns.b32 %d, %a, %b, %c;", ("i32", "b5", "s5"), "b32"
    for a, b in product(("u32", "s32"), repeat=2):
        out = "s32" if "s" in a + b else "u32"
        yield f"dp4a.{a}.{b} %d, %a, %b, %c;", ("i32",) * 3, out
        for half in ("lo", "hi"):
            yield f"dp2a.{half}.{a}.{b} %d, %a, %b, %c;", ("i32",) * 3, out


def logic_forms():
    for bits in (16, 32, 64):
        i, t = f"i{bits}", f"b{bits}"
        for op in ("and", "or", "xor"):
            yield f"{op}.{t} %d, %a, %b;", (i, i), t
        for op in ("not", "cnot"):
            yield f"{op}.{t} %d, %a;", (i,), t
        for op in ("shl", "shr"):
            yield f"{op}.{t} %d, %a, %b;", (i, "n32"), t
        yield f"selp.{t} %d, %a, %b, %pc;", (i, i, "p"), t
    for op in ("and", "or", "xor"):
        yield f"{{.reg .pred q; {op}.pred q, %pa, %pb; selp.u32 %d, 1, 0, q;}}", ("p", "p"), "u32"
    yield "{.reg .pred q; not.pred q, %pa; selp.u32 %d, 1, 0, q;}", ("p",), "u32"
    for lut in (0x00, 0x1A, 0x3C, 0x40, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0xFE, 0xFF):
        yield f"lop3.b32 %d, %a, %b, %c, {lut:#x};", ("i32",) * 3, "b32"
    for op in ("or", "and"):
        yield (f"{{.reg .pred q, r; setp.lt.s32 r, %a, %b; lop3.{op}.b32 %d|q, %a, %b, %c, 0x96, r; "
               "selp.b32 %d, %d, 12345, q;}"), ("i32",) * 3, "b32"
    for side, mode in product("lr", ("wrap", "clamp")):
        yield f"shf.{side}.{mode}.b32 %d, %a, %b, %c;", ("i32", "i32", "n32"), "b32"
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield f"prmt.b32{mode} %d, %a, %b, %c;", ("i32",) * 3, "b32"


def comparison_forms():
    signed, unsigned, bits = ("eq", "ne", "lt", "le", "gt", "ge"), ("lo", "ls", "hi", "hs"), ("eq", "ne")
    real = signed + ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    kinds = [(t, f"i{BITS[t]}", signed + (unsigned if t[0] == "u" else ())) for t in INTEGER]
    kinds += [(f"b{n}", f"i{n}", bits) for n in (16, 32, 64)]
    kinds += [("f32", "f32", real), ("f32.ftz", "f32", real), ("f64", "f64", real), ("f16", "f16", real),
              ("bf16", "bf16", real)]
    for t, i, comparisons in kinds:
        t, ftz = t.split(".")[0], ".ftz" if "ftz" in t else ""
        for compare in comparisons:
            yield f"{{.reg .pred q; setp.{compare}{ftz}.{t} q, %a, %b; selp.u32 %d, 1, 0, q;}}", (i, i), "u32"
            if t not in ("f16", "bf16"):
                yield f"set.{compare}{ftz}.u32.{t} %d, %a, %b;", (i, i), "u32"
                if compare in ("lt", "eq", "neu", "nan"):
                    yield f"set.{compare}{ftz}.f32.{t} %d, %a, %b;", (i, i), "f32"
        if t in ("s32", "f32", "u64"):
            for op in ("and", "or", "xor"):
                yield (f"{{.reg .pred q, r; setp.lt.{op}{ftz}.{t} q|r, %a, %b, %pc; selp.u32 %d, 1, 0, q; "
                       "selp.u32 %a2, 2, 0, r; or.b32 %d, %d, %a2;}"), (i, i, "p"), "u32"
                yield f"set.lt.{op}{ftz}.s32.{t} %d, %a, %b, %pc;", (i, i, "p"), "s32"
    for t, compare in product(("f16", "bf16"), real):
        yield f"set.{compare}.{t}.{t} %d, %a, %b;", (t, t), "b16"
        yield f"set.{compare}.{t}x2.{t}x2 %d, %a, %b;", (f"{t}x2", f"{t}x2"), "b32"
        yield f"set.{compare}.u32.{t} %d, %a, %b;", (t, t), "u32"
        yield (f"{{.reg .pred q, r; setp.{compare}.{t}x2 q|r, %a, %b; selp.u32 %d, 1, 0, q; @r add.u32 %d, %d, 2;}}",
               (f"{t}x2", f"{t}x2"), "u32")
    for t in ("u32", "s32", "f32", "f64", "b16", "u64"):
        i = t if t[0] == "f" else f"i{BITS[t]}"
        yield f"slct.{t}.s32 %d, %a, %b, %c;", (i, i, "i32"), t
        yield f"slct.{t}.f32 %d, %a, %b, %c;", (i, i, "f32"), t
    yield "slct.ftz.u32.f32 %d, %a, %b, %c;", ("i32", "i32", "f32"), "u32"


def float_forms():
    for t in ("f32", "f64"):
        flush = ("", ".ftz") if t == "f32" else ("",)
        saturate = ("", ".sat") if t == "f32" else ("",)
        for f in flush:
            for r, s in product(ROUND, saturate):
                for op in ("add", "sub", "mul"):
                    yield f"{op}.{r}{f}{s}.{t} %d, %a, %b;", (t, t), t
                yield f"fma.{r}{f}{s}.{t} %d, %a, %b, %c;", (t, t, t), t
            for r in ROUND:
                yield f"div.{r}{f}.{t} %d, %a, %b;", (t, t), t
                yield f"rcp.{r}{f}.{t} %d, %a;", (t,), t
                yield f"sqrt.{r}{f}.{t} %d, %a;", (t,), t
            for op in ("abs", "neg"):
                yield f"{op}{f}.{t} %d, %a;", (t,), t
            for op in ("min", "max"):
                for nan in ("", ".NaN") if t == "f32" else ("",):
                    for sign in ("", ".xorsign.abs") if t == "f32" else ("",):
                        yield f"{op}{f}{nan}{sign}.{t} %d, %a, %b;", (t, t), t
        yield f"copysign.{t} %d, %a, %b;", (t, t), t
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield f"{{.reg .pred q; testp.{test}.{t} q, %a; selp.u32 %d, 1, 0, q;}}", (t,), "u32"
    for f in ("", ".ftz"):
        for op in ("div.full", "div.approx"):
            yield f"{op}{f}.f32 %d, %a, %b;", ("f32", "f32"), "f32"
        for op in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"):
            yield f"{op}.approx{f}.f32 %d, %a;", ("f32",), "f32"
        yield f"rsqrt.approx{f}.f64 %d, %a;", ("f64",), "f64"
    yield "tanh.approx.f32 %d, %a;", ("f32",), "f32"
    yield "rcp.approx.ftz.f64 %d, %a;", ("f64",), "f64"
    for base, pair in product(("f16", "bf16"), ("", "x2")):
        t = base + pair
        out = register(t)
        flush = ("", ".ftz") if base == "f16" else ("",)
        for f in flush:
            for op in ("add", "sub", "mul"):
                for s in ("", ".sat") if base == "f16" else ("",):
                    for r in ("", ".rn"):
                        yield f"{op}{r}{f}{s}.{t} %d, %a, %b;", (t, t), out
            for s in ("", ".sat", ".relu") if base == "f16" else ("", ".relu"):
                yield f"fma.rn{f}{s}.{t} %d, %a, %b, %c;", (t, t, t), out
            for op, nan, sign in product(("min", "max"), ("", ".NaN"), ("", ".xorsign.abs")):
                yield f"{op}{f}{nan}{sign}.{t} %d, %a, %b;", (t, t), out
            for op in ("abs", "neg"):
                yield f"{op}{f}.{t} %d, %a;", (t,), out
        yield f"tanh.approx.{t} %d, %a;", (t,), out
        yield f"ex2.approx{'.ftz' if base == 'bf16' else ''}.{t} %d, %a;", (t,), out
        yield f"fma.rn.oob.{t} %d, %a, %b, %c;", (t, t, t), out


def conversion_forms():
    narrow = {"u8": "i16", "s8": "i16"}
    whole = ("u8", "s8") + INTEGER
    for to, source in product(whole, repeat=2):
        i = narrow.get(source, f"i{BITS[source]}")
        if to != source:
            yield f"cvt.{to}.{source} %d, %a;", (i,), f"u{max(16, BITS[to])}"
        yield f"cvt.sat.{to}.{source} %d, %a;", (i,), f"u{max(16, BITS[to])}"
    for t, source in product(("f16", "bf16", "f32", "f64"), whole):
        i = narrow.get(source, f"i{BITS[source]}")
        for r in ROUND:
            yield f"cvt.{r}.{t}.{source} %d, %a;", (i,), register(t)
        yield f"cvt.rn.sat.{t}.{source} %d, %a;", (i,), register(t)
    for to, t in product(whole, ("f16", "bf16", "f32", "f64")):
        for r in ("rni", "rzi", "rmi", "rpi"):
            for f in ("", ".ftz") if t == "f32" else ("",):
                for s in ("", ".sat"):
                    yield f"cvt.{r}{f}{s}.{to}.{t} %d, %a;", (t,), f"u{max(16, BITS[to])}"
    for to, t in product(("f16", "bf16", "f32", "f64"), repeat=2):
        rounded = BITS[to] < BITS[t] or (BITS[to] == BITS[t] and to != t)
        for r in ROUND if rounded else ("", "rni", "rzi", "rmi", "rpi") if to == t else ("",):
            for f in ("", ".ftz") if "f32" in (to, t) else ("",):
                for s in ("", ".sat", ".relu"):
                    yield f"cvt{'.' + r if r else ''}{f}{s}.{to}.{t} %d, %a;", (t,), register(to)
    for t in ("f16", "bf16"):
        for r, s, p in product(("rn", "rz"), ("", ".relu"), ("", ".satfinite")):
            yield f"cvt.{r}{s}{p}.{t}.f32 %d, %a;", ("f32",), "b16"
            yield f"cvt.{r}{s}{p}.{t}x2.f32 %d, %a, %b;", ("f32", "f32"), "b32"
    for r, s, p in product(("rn", "rz", "rna"), ("", ".relu"), ("", ".satfinite")):
        yield f"cvt.{r}{s}{p}.tf32.f32 %d, %a;", ("f32",), "b32"
    for small, s in product(("e4m3x2", "e5m2x2"), ("", ".relu")):
        yield f"cvt.rn.satfinite{s}.{small}.f32 %d, %a, %b;", ("f32", "f32"), "b16"
        yield f"cvt.rn.satfinite{s}.{small}.f16x2 %d, %a;", ("f16x2",), "b16"
        yield f"cvt.rn{s}.f16x2.{small} %d, %a;", ("i16",), "b32"
    for t, small in product(("u16", "s16"), (("s32",))):
        yield f"cvt.pack.sat.{t}.{small} %d, %a, %b;", ("i32", "i32"), "b32"
    for t in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield f"cvt.pack.sat.{t}.s32.b32 %d, %a, %b, %c;", ("i32",) * 3, "b32"


def video_forms():
    pick = 0
    selectors = [f".b{n}" for n in range(4)] + [f".h{n}" for n in range(2)] + [""]
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl.wrap", "vshl.clamp", "vshr.wrap", "vshr.clamp"):
        name, _, mode = op.partition(".")
        for to, a, b in product(("u32", "s32"), repeat=3):
            if "sh" in name and b != "u32":
                continue
            sats = ("", ".sat")
            for s in sats:
                pick += 1
                x, y = selectors[pick % 7], selectors[(pick * 3 + 2) % 7]
                m = f".{mode}" if mode else ""
                yield f"{name}.{to}.{a}.{b}{s}{m} %d, %a{x}, %b{y};", ("i32", "i32"), to
                merge = (".b0", ".b3", ".h1")[pick % 3]
                yield f"{name}.{to}.{a}.{b}{s}{m} %d{merge}, %a{x}, %b{y}, %c;", ("i32",) * 3, to
                second = ("add", "min", "max")[pick % 3]
                yield f"{name}.{to}.{a}.{b}{s}{m}.{second} %d, %a{x}, %b{y}, %c;", ("i32",) * 3, to
    for a, b, s, shift in product(("u32", "s32"), ("u32", "s32"), ("", ".sat"), ("", ".shr7", ".shr15")):
        to = "u32" if a == b == "u32" else "s32"
        pick += 1
        x, y = selectors[pick % 6], selectors[(pick * 5 + 1) % 6]
        yield f"vmad.{to}.{a}.{b}{s}{shift} %d, %a{x}, %b{y}, %c;", ("i32",) * 3, to
        yield f"vmad.{to}.{a}.{b}.po{s}{shift} %d, %a{x}, %b{y}, %c;", ("i32",) * 3, to
    for a, b, compare in product(("u32", "s32"), ("u32", "s32"), ("eq", "ne", "lt", "le", "gt", "ge")):
        pick += 1
        yield f"vset.{a}.{b}.{compare} %d, %a{selectors[pick % 7]}, %b{selectors[(pick * 3) % 7]};", ("i32", "i32"), "u32"
        for n in (2, 4):
            yield f"vset{n}.{a}.{b}.{compare} %d, %a, %b, %c;", ("i32",) * 3, "u32"
            yield f"vset{n}.{a}.{b}.{compare}.add %d, %a, %b, %c;", ("i32",) * 3, "u32"
    for n, op in product((2, 4), ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")):
        for to, a, b in product(("u32", "s32"), repeat=3):
            yield f"{op}{n}.{to}.{a}.{b} %d, %a, %b, %c;", ("i32",) * 3, to
            yield f"{op}{n}.{to}.{a}.{b}.sat %d, %a, %b, %c;", ("i32",) * 3, to
            yield f"{op}{n}.{to}.{a}.{b}.add %d, %a, %b, %c;", ("i32",) * 3, to
    yield "vadd2.s32.s32.s32 %d.h0, %a.h10, %b.h32, %c;", ("i32",) * 3, "s32"
    yield "vadd4.s32.s32.s32 %d.b20, %a.b7531, %b.b0246, %c;", ("i32",) * 3, "s32"


def warp_forms():
    for mode, mask in product(("up", "down", "bfly", "idx"), (0, 0x1F, 0x1C1F, 0x1807, 0x001E, 0x0F0F)):
        yield (f"{{.reg .pred q; and.b32 %b, %b, 63; shfl.sync.{mode}.b32 %d|q, %a, %b, {mask:#x}, -1; "
               "@!q xor.b32 %d, %d, 0x5a5a5a5a;}", ("i32", "n32"), "b32")
    for mode in ("all", "any", "uni"):
        yield f"{{.reg .pred q; vote.sync.{mode}.pred q, %pa, -1; selp.u32 %d, 1, 0, q;}}", ("p",), "u32"
    yield "vote.sync.ballot.b32 %d, %pa, -1;", ("p",), "b32"
    for bits in (32, 64):
        narrow = f"and.b{bits} %a, %a, 3;"
        yield f"{narrow} match.any.sync.b{bits} %d, %a, -1;", (f"i{bits}",), "b32"
        yield (f"and.b{bits} %a, %a, 0; {{.reg .pred q; match.all.sync.b{bits} %d|q, %a, -1; @q add.u32 %d, %d, 5;}}",
               (f"i{bits}",), "b32")
        yield (f"{narrow} {{.reg .pred q; match.all.sync.b{bits} %d|q, %a, -1; @q add.u32 %d, %d, 5;}}",
               (f"i{bits}",), "b32")
    for op, t in product(("add", "min", "max"), ("u32", "s32")):
        yield f"redux.sync.{op}.{t} %d, %a, -1;", ("i32",), t
    for op in ("and", "or", "xor"):
        yield f"redux.sync.{op}.b32 %d, %a, -1;", ("i32",), "b32"
    yield "activemask.b32 %d;", ("i32",), "b32"
    yield "{.reg .pred q; elect.sync %d|q, -1; @q add.u32 %d, %d, 100;}", ("i32",), "b32"
    # Only some lanes of the warp participate.
    yield "mov.u32 %d, 77; @%pa activemask.b32 %d;", ("p",), "b32"
    yield ("{.reg .b32 m; vote.sync.ballot.b32 m, %pb, -1; mov.u32 %d, 77; @%pb redux.sync.add.u32 %d, %a, m;}",
           ("i32", "p"), "b32")
    yield ("{.reg .b32 m; vote.sync.ballot.b32 m, %pb, -1; mov.u32 %d, 77; and.b32 %a, %a, 3; "
           "@%pb match.any.sync.b32 %d, %a, m;}", ("i32", "p"), "b32")


def memory_forms():
    """Atomic arithmetic. Each thread has its own element, so the results do not depend on the order of threads."""
    def at(space, size):
        if space == "shared":
            return f"{{.shared .align 16 .b8 m[{512 * size}]; .reg .b32 p; mov.b32 p, m; mad.lo.u32 p, %i, {size}, p; "
        return f"{{.reg .b64 p; ld.param.u64 p, [to]; mad.wide.u32 p, %i, {size}, p; "
    for t, space in product(("f16", "bf16", "f16x2", "bf16x2", "f32", "f64"), ("shared", "global")):
        b, op = f"b{BITS[t]}", "add" if t in ("f32", "f64") else "add.noftz"
        before = f"{at(space, BITS[t] // 8)}st.{space}.{b} [p], %a; "
        yield f"{before}atom.{space}.{op}.{t} %d, [p], %b; ld.{space}.{b} %d, [p];}}", (t, t), b
        yield f"{before}red.{space}.{op}.{t} [p], %b; ld.{space}.{b} %d, [p];}}", (t, t), b
    for t, ops in (("f32", ("add",)), ("f16x2", ("add", "min", "max")), ("bf16x2", ("add", "min", "max"))):
        noftz = "" if t == "f32" else ".noftz"
        for op in ops:
            yield (f"{at('global', 8)}.reg .b32 x, y; st.global.v2.b32 [p], {{%a, %b}}; "
                   f"atom.global.v2.{t}.{op}{noftz} {{x, y}}, [p], {{%c, %a}}; ld.global.b64 %d, [p];}}"), (t,) * 3, "b64"
            yield (f"{at('global', 8)}st.global.v2.b32 [p], {{%a, %b}}; "
                   f"red.global.v2.{t}.{op}{noftz} [p], {{%c, %a}}; ld.global.b64 %d, [p];}}"), (t,) * 3, "b64"
    for t, op in product(("f16", "bf16"), ("add", "min", "max")):
        yield (f"{at('global', 4)}.reg .b16 x, y; st.global.v2.b16 [p], {{%a, %b}}; "
               f"atom.global.v2.{t}.{op}.noftz {{x, y}}, [p], {{%c, %a}}; ld.global.b32 %d, [p];}}"), (t,) * 3, "b32"
    for t, op in product(("u32", "s32", "u64", "s64"), ("add", "min", "max", "inc", "dec")):
        if op in ("inc", "dec") and t != "u32" or t == "s64" and op == "add":
            continue
        yield (f"{at('global', BITS[t] // 8)}st.global.{t} [p], %a; atom.global.{op}.{t} %d, [p], %b; "
               f"ld.global.{t} %d, [p];}}"), (f"i{BITS[t]}",) * 2, t


def relaxed_forms():
    """Yields forms that the PTX manual does not list, but that ptxas accepts."""
    integers = ("u8", "s8") + INTEGER
    for r in ROUND:
        for t in integers:
            i = f"i{max(BITS[t], 16)}"
            yield f"cvt.{r}.ftz.f32.{t} %d, %a;", (i,), "f32"
            yield f"cvt.{r}.ftz.sat.f32.{t} %d, %a;", (i,), "f32"
        yield f"cvt.{r}.f32.bf16 %d, %a;", ("bf16",), "f32"
        yield f"cvt.{r}.ftz.f32.bf16 %d, %a;", ("bf16",), "f32"
        yield f"cvt.{r}.f64.bf16 %d, %a;", ("bf16",), "f64"
        yield f"rcp.{r}.ftz.f64 %d, %a;", ("f64",), "f64"
    yield "cvt.bf16.f16 %d, %a;", ("f16",), "b16"
    for r, mode in product(("rz", "rm", "rp"), ("", ".relu")):
        yield f"fma.{r}{mode}.bf16x2 %d, %a, %b, %c;", ("bf16x2",) * 3, "b32"
    for source, bits in (("f16", 32), ("f16", 64), ("f32", 64)):
        wide = f"{{.reg .b{bits} t; mov.b{bits} t, {{{', '.join(['%a'] * (bits // BITS[source]))}}}; "
        for t in integers:
            yield f"{wide}cvt.rzi.{t}.{source} %d, t;}}", (source,), f"b{max(BITS[t], 16)}"
        yield f"{wide}cvt.f64.{source} %d, t;}}", (source,), "f64"
        yield f"{wide}cvt.rzi.s8.{source} %d, t;}}", (source,), "b64"
    for out in ("b32", "b64"):
        for t in integers:
            i = f"i{max(BITS[t], 16)}"
            yield f"cvt.rn.f16.{t} %d, %a;", (i,), out
            if out == "b64":
                yield f"cvt.rn.f32.{t} %d, %a;", (i,), out
        yield "cvt.rn.f16.f32 %d, %a;", ("f32",), out
        yield "cvt.rn.f16.f64 %d, %a;", ("f64",), out
    yield "cvt.f32.f16 %d, %a;", ("f16",), "b64"
    yield "cvt.rn.f32.f64 %d, %a;", ("f64",), "b64"


FAMILIES = {"integer": integer_forms, "logic": logic_forms, "comparison": comparison_forms, "float": float_forms,
            "conversion": conversion_forms, "video": video_forms, "warp": warp_forms, "memory": memory_forms,
            "relaxed": relaxed_forms}


def forms(families=tuple(FAMILIES)):
    for family in families:
        yield from FAMILIES[family]()


if __name__ == "__main__":
    for body, inputs, output in forms():
        print(body, ",".join(inputs), output, sep="\t")

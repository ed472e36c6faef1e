/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that table slots hold before the driver's own. In assembly because they must forward
 * arguments of every type, including types that the headers of this build do not declare.
 *
 * Two functions return an error for any arguments. The default driver's table starts with lazy stubs,
 * one for each slot, 16 bytes apart. At the first call a stub saves the arguments, calls cushim_bind(),
 * which stores the driver's function in the table, and jumps to that function. */
#define CAPACITY 1024 /* CUSHIM_TABLE_CAPACITY; driver.c asserts that they agree */

        .text
        .macro  returning name, code
        .balign 16
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
#if defined(__x86_64__)
        endbr64
        movl    $\code, %eax
#else
        hint    #34             /* bti c */
        mov     w0, #\code
#endif
        ret
        .cfi_endproc
        .size   \name, . - \name
        .endm

        returning cushim_missing_symbol, 302 /* CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND */
        returning cushim_missing_driver, 303 /* CUDA_ERROR_SHARED_OBJECT_INIT_FAILED */

        .balign 16
        .globl  cushim_lazy_stubs
        .hidden cushim_lazy_stubs
        .type   cushim_lazy_stubs, %function
cushim_lazy_stubs:
        .cfi_startproc
#if defined(__x86_64__)
        .set    slot, 0
        .rept   CAPACITY
        .balign 16
        endbr64
        pushq   $slot
        jmp     bind
        .set    slot, slot + 1
        .endr
        .cfi_endproc
        .size   cushim_lazy_stubs, . - cushim_lazy_stubs

        .balign 16
        .type   bind, %function
bind:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        subq    $192, %rsp      /* keeps the stack aligned to 16 for the call */
        .cfi_adjust_cfa_offset 192
        movq    %rdi, 0(%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movups  %xmm0, 64(%rsp)
        movups  %xmm1, 80(%rsp)
        movups  %xmm2, 96(%rsp)
        movups  %xmm3, 112(%rsp)
        movups  %xmm4, 128(%rsp)
        movups  %xmm5, 144(%rsp)
        movups  %xmm6, 160(%rsp)
        movups  %xmm7, 176(%rsp)
        movl    192(%rsp), %edi
        call    cushim_bind
        movq    %rax, %r11
        movq    0(%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movups  64(%rsp), %xmm0
        movups  80(%rsp), %xmm1
        movups  96(%rsp), %xmm2
        movups  112(%rsp), %xmm3
        movups  128(%rsp), %xmm4
        movups  144(%rsp), %xmm5
        movups  160(%rsp), %xmm6
        movups  176(%rsp), %xmm7
        addq    $200, %rsp
        .cfi_adjust_cfa_offset -200
        jmp     *%r11
        .cfi_endproc
        .size   bind, . - bind
#elif defined(__aarch64__)
        .set    slot, 0
        .rept   CAPACITY
        hint    #34             /* bti c */
        mov     w16, #slot
        b       bind
        nop
        .set    slot, slot + 1
        .endr
        .cfi_endproc
        .size   cushim_lazy_stubs, . - cushim_lazy_stubs

        /* Stores or loads all registers that can have arguments: stp and str, or ldp and ldr. */
        .macro  arguments pair, single
        \pair   x0, x1, [sp, #16]
        \pair   x2, x3, [sp, #32]
        \pair   x4, x5, [sp, #48]
        \pair   x6, x7, [sp, #64]
        \single x8, [sp, #80]
        \pair   q0, q1, [sp, #96]
        \pair   q2, q3, [sp, #128]
        \pair   q4, q5, [sp, #160]
        \pair   q6, q7, [sp, #192]
        .endm

        .balign 16
        .type   bind, %function
bind:
        .cfi_startproc
        stp     x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset 29, -224
        .cfi_offset 30, -216
        mov     x29, sp
        arguments stp, str
        mov     w0, w16
        bl      cushim_bind
        mov     x16, x0
        arguments ldp, ldr
        ldp     x29, x30, [sp], #224
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   bind, . - bind
#else
#error "cushim supports x86-64 and aarch64 only, for now"
#endif
        .hidden cushim_bind

        .section .data.rel.local.cushim_default, "aw", %progbits
        .balign 64
        .globl  cushim_default
        .hidden cushim_default
        .type   cushim_default, %object
cushim_default:
        .quad   (CAPACITY + 2) * 8
        .quad   cushim_default_state
        .set    slot, 0
        .rept   CAPACITY
        .quad   cushim_lazy_stubs + slot * 16
        .set    slot, slot + 1
        .endr
        .size   cushim_default, . - cushim_default
        .hidden cushim_default_state

/* ELF notes, read by external tools. */

/* The dlopen dependency, in the layout of the FDO packaging metadata specification. */
        .section .note.dlopen, "a", %note
        .balign 4
        .long   1f - 0f
        .long   3f - 2f
        .long   0x407c0c0a
0:      .asciz  "FDO"
1:      .balign 4
2:      .asciz  "[{\"feature\":\"cuda\",\"description\":\"The NVIDIA driver, used if it is there\",\"priority\":\"recommended\",\"soname\":[\"libcuda.so.1\"]}]"
3:      .balign 4

/* Marks a file that contains a copy of cushim, with its version. */
#define CUSHIM_NOTE_TYPE 1
#include "notes.inc"

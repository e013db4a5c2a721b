/* Assembler of x86-64 (System V): see delayed.h. Included by the generated delayed.S only. */

/* A stub must leave every register as the caller set it: arguments, rax (the number of vector registers that a variadic call uses) and r10. */
#define DELAYED_STUB(name, index)        \
  .text;                                 \
  .hidden name;                          \
  .globl name;                           \
  .type name, @function;                 \
  .balign 16;                            \
  name:;                                 \
  endbr64;                               \
  jmp *pawl_delayed_slots + 8 * index(%rip); \
  .Lfirst_##index:;                      \
  pushq $index;                          \
  jmp pawl_delayed_first;                \
  .size name, . - name;

#define DELAYED_SLOTS_BEGIN \
  .data;                    \
  .balign 8;                \
  .hidden pawl_delayed_slots; \
  .globl pawl_delayed_slots; \
  pawl_delayed_slots:;
#define DELAYED_SLOT(index) .quad .Lfirst_##index;
#define DELAYED_SLOTS_END .section .note.GNU-stack, "", @progbits;

/* The first call of a function. On the stack: its index, then the address that it returns to. */
        .text
        .type pawl_delayed_first, @function
pawl_delayed_first:
        .cfi_startproc
        .cfi_adjust_cfa_offset 8
        pushq %rax
        .cfi_adjust_cfa_offset 8
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        pushq %rcx
        .cfi_adjust_cfa_offset 8
        pushq %r8
        .cfi_adjust_cfa_offset 8
        pushq %r9
        .cfi_adjust_cfa_offset 8
        pushq %r10
        .cfi_adjust_cfa_offset 8
        subq $128, %rsp                 /* ten words above: aligned to 16 */
        .cfi_adjust_cfa_offset 128
        movups %xmm0, (%rsp)
        movups %xmm1, 16(%rsp)
        movups %xmm2, 32(%rsp)
        movups %xmm3, 48(%rsp)
        movups %xmm4, 64(%rsp)
        movups %xmm5, 80(%rsp)
        movups %xmm6, 96(%rsp)
        movups %xmm7, 112(%rsp)
        movq 192(%rsp), %rdi
        call pawl_delayed_load
        movq %rax, %r11
        movups (%rsp), %xmm0
        movups 16(%rsp), %xmm1
        movups 32(%rsp), %xmm2
        movups 48(%rsp), %xmm3
        movups 64(%rsp), %xmm4
        movups 80(%rsp), %xmm5
        movups 96(%rsp), %xmm6
        movups 112(%rsp), %xmm7
        addq $128, %rsp
        .cfi_adjust_cfa_offset -128
        popq %r10
        .cfi_adjust_cfa_offset -8
        popq %r9
        .cfi_adjust_cfa_offset -8
        popq %r8
        .cfi_adjust_cfa_offset -8
        popq %rcx
        .cfi_adjust_cfa_offset -8
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        popq %rax
        .cfi_adjust_cfa_offset -8
        addq $8, %rsp                   /* the index */
        .cfi_adjust_cfa_offset -8
        jmp *%r11
        .cfi_endproc
        .size pawl_delayed_first, . - pawl_delayed_first

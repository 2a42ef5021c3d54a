// Hides from a program what its processor has beyond AVX2, at full speed: the instruction CPUID
// faults, and is answered without AVX-512, VNNI and AMX. For Linux on Intel, where /proc/cpuinfo
// lists cpuid_fault; benchmarks/processors.py compiles and preloads it. Programs but Python stay as
// they are, since some have a use of their own for faults.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static void answer(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)registers[REG_RIP];
    if (at[0] != 0x0f || at[1] != 0xa2) {  // another fault
        signal(number, SIG_DFL);
        return;
    }
    uint32_t leaf = (uint32_t)registers[REG_RAX], part = (uint32_t)registers[REG_RCX];
    uint32_t a = leaf, b, c = part, d;
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
    if (leaf == 7 && part == 0) {
        b &= ~0xdc230000u;  // AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL
        c &= ~0x00005842u;  // AVX-512 VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
        d &= ~0x03c0010cu;  // AVX-512 4VNNIW, 4FMAPS, VP2INTERSECT, FP16; AMX
    } else if (leaf == 7 && part == 1) {
        a &= ~0x00800030u;  // AVX-VNNI, AVX-512 BF16, AVX-IFMA
        d &= ~0x00080430u;  // AVX-VNNI-INT8, AVX-NE-CONVERT, AVX-VNNI-INT16, AVX10
    }
    registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void hide(void) {
    if (strncmp(program_invocation_short_name, "python", 6) != 0) return;
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, 0);
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
}

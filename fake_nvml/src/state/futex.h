/* The kernel's futex operations. A C library other than glibc may be installed without the kernel's headers. */
#ifndef FNVML_FUTEX_H
#define FNVML_FUTEX_H

#include <sys/syscall.h>

#if __has_include(<linux/futex.h>)
#include <linux/futex.h>
#else
#define FUTEX_WAKE 1
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129
#define FUTEX_BITSET_MATCH_ANY 0xffffffffu
#endif

#endif

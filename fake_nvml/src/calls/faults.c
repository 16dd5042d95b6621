/* Fault rules of the node: which calls fail, are slow or hang. Only reached while the node has rules.
 *
 * A rule counts the calls of programs, over all processes of the node: each exported function applies rules once, under its own
 * name (fn_enter or fn_device), and calls no other exported function. */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "calls/faults.h"

static void sleep_ms(uint32_t ms) {
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

/* A name, or a beginning of one that ends in a star. */
static bool matches(const char *pattern, size_t size, const char *function) {
    size_t length = strnlen(pattern, size);
    if (length > 0 && pattern[length - 1] == '*') return strncmp(pattern, function, length - 1) == 0;
    return strlen(function) == length && memcmp(pattern, function, length) == 0;
}

/* The same draw for the same seed and call number, whichever process makes the call. */
static uint32_t draw(uint32_t seed, uint32_t number) {
    uint64_t v = ((uint64_t)seed << 32 | number) + 0x9E3779B97F4A7C15ull;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9ull;
    v = (v ^ v >> 27) * 0x94D049BB133111EBull;
    return (uint32_t)((v ^ v >> 31) >> 32);
}

static bool due(const fn_Fault *rule) {
    if (rule->seen < rule->after || (rule->times != 0 && rule->hits >= rule->times)) return false;
    if (rule->every > 1 && (rule->seen - rule->after + 1) % rule->every != 0) return false;
    return rule->probability == 0 || draw(rule->seed, rule->seen) < rule->probability;
}

static bool armed(unsigned int number, uint64_t epoch) {
    const fn_map *map = fn_current();
    uint32_t alive = 0, active = 0;
    size_t rule = offsetof(fn_State, faults) + number * sizeof(fn_Fault);
    if (__atomic_load_n(&map->header->epoch, __ATOMIC_ACQUIRE) != epoch) return false;
    if (map_snapshot(map, offsetof(fn_State, alive), &alive, sizeof(alive)) != OK || alive != 1) return false;
    return map_snapshot(map, rule + offsetof(fn_Fault, active), &active, sizeof(active)) == OK && active;
}

/* Until the rule is cleared, the driver is reloaded, the session or the node ends; no lock of the node is held meanwhile. */
static void hang(unsigned int number) {
    const fn_map *map = fn_current();
    bool in_session = fn_initialized(); /* not in nvmlInit itself */
    uint64_t epoch = __atomic_load_n(&map->header->epoch, __ATOMIC_ACQUIRE);
    while (armed(number, epoch) && (!in_session || fn_initialized()))
        (void)map_wait(map, map_gen(map), monotonic_ns() + 100000000);
}

/* Counting is a transaction; a process that may not write still gets the fault, uncounted. */
nvmlReturn_t fault(const char *function, int gpu) {
    uint32_t count = 0;
    if (map_snapshot(fn_current(), offsetof(fn_State, fault_count), &count, sizeof(count)) != OK || count == 0) return OK;
    fn_Fault rules[MAX_FAULTS];
    if (map_snapshot(fn_current(), offsetof(fn_State, faults), rules, sizeof(rules)) != OK) return OK;
    char program[16] = "";
    for (unsigned int i = 0; i < MAX_FAULTS; i++) {
        fn_Fault *rule = &rules[i];
        if (!rule->active || !matches(rule->function, sizeof(rule->function), function)) continue;
        if (rule->gpu >= 0 && rule->gpu != gpu) continue;
        if (rule->pid != 0 && rule->pid != (uint32_t)getpid()) continue;
        if (rule->program[0] != 0) {
            if (program[0] == 0) program_name(program);
            if (strncmp(rule->program, program, sizeof(program)) != 0) continue;
        }
        bool applies = due(rule);
        fn_txn txn;
        if (fn_write(&txn) == OK) {
            fn_Fault *live = &txn.state->faults[i];
            applies = live->active && due(live);
            live->seen++;
            if (applies) live->hits++;
            txn_commit(&txn);
        }
        if (!applies) continue;
        if (rule->delay_ms != 0) sleep_ms(rule->delay_ms);
        if (rule->hang != 0) hang(i);
        if (rule->rc != OK) return rule->rc;
    }
    return OK;
}


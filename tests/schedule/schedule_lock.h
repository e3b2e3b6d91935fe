/* The header's locks over fibers: each taking and leaving is a step at which another fiber may go on. Judges their
   order (of spins inside each other: that in which they were made), that none is taken twice, nor ended while it is
   taken, nor left as a hit's if it was not taken for one. An ended one may be taken: the state that it guarded tells
   of the end. It must not know the state that locks guard. Named by GPUARENA_TEST_LOCK, included by gpuarena.h
   itself; behind schedule.h. */
#ifndef TESTS_SCHEDULE_LOCK_H
#define TESTS_SCHEDULE_LOCK_H

enum { LOCK_NONE, LOCK_MADE = 0x6d616465, LOCK_ENDED = 0x656e6465 };
typedef struct schedule_lock {
    uint32_t state;                              /* LOCK_NONE: static, or not made */
    int      is_taken, owner, is_hit;
    uint64_t order;                              /* it is taken inside those with less: 0 a mutex, then spins in the
                                                    order in which they were made, then the registry's */
} schedule_lock;
typedef schedule_lock gpuarena__spin, gpuarena__mutex;

#define GPUARENA__MUTEX_INIT { LOCK_MADE, 0, 0, 0, UINT64_MAX }
static gpuarena__mutex gpuarena__registry_lock = GPUARENA__MUTEX_INIT;

/* The locks that each fiber holds; the last entry is for code outside of fibers. */
enum { LOCK_MOST = 40 };
typedef struct lock_held { int count; const schedule_lock *locks[LOCK_MOST]; } lock_held;
static lock_held lock_helds[SCHEDULE_FIBERS + 1];

static inline lock_held *lock_held_now(void)
{
    return &lock_helds[schedule_is_on() ? schedule.current : SCHEDULE_FIBERS];
}

/* Tells whether a lock is held that every call needs: any but a mutex. */
static inline int lock_blocks_all(void)
{
    const lock_held *held = lock_held_now();
    for (int at = 0; at < held->count; at++) if (held->locks[at]->order) return 1;
    return 0;
}

static inline int lock_make(schedule_lock *lock, uint64_t order)
{
    *lock = (schedule_lock){ .state = LOCK_MADE, .order = order };
    return 1;
}

static inline void lock_end(schedule_lock *lock)
{
    if (lock->state != LOCK_MADE) schedule_blame("a lock is ended that is none");
    if (lock->is_taken) schedule_blame("a lock is ended while it is taken");
    lock->state = LOCK_ENDED;
}

static inline void lock_take(schedule_lock *lock, const char *what)
{
    lock_held *held = lock_held_now();
    int me = schedule.current;
    if (held->count == LOCK_MOST) schedule_give_up("more locks are taken than the judge knows");
    for (int at = 0; at < held->count; at++)
        if (held->locks[at]->order > lock->order) schedule_blame("%s inside a lock that it goes before", what);
    schedule_point(what);
    if (lock->is_taken && lock->owner == me) {
        schedule_blame("a lock is taken twice by one thread: %s", what);
        if (schedule_is_on()) schedule_give_up("");
    }
    while (lock->is_taken && schedule_is_on()) schedule_wait(lock, what);
    if (lock->state == LOCK_NONE) schedule_blame("a lock is taken that was not made: %s", what);
    lock->is_taken = 1;
    lock->is_hit = 0;
    lock->owner = me;
    held->locks[held->count++] = lock;
}

static inline void lock_leave(schedule_lock *lock, const char *what)
{
    lock_held *held = lock_held_now();
    int at = 0;
    while (at < held->count && held->locks[at] != lock) at++;
    if (at < held->count) held->locks[at] = held->locks[--held->count];
    if (!lock->is_taken || lock->owner != schedule.current)
        schedule_blame("a lock is left that this thread does not have");
    lock->is_taken = 0;
    schedule_wake(lock);
    schedule_point(what);
}

static inline int gpuarena__spin_make(gpuarena__spin *spin)
{
    static uint64_t count;
    return lock_make(spin, ++count);
}
static inline void gpuarena__spin_end(gpuarena__spin *spin) { lock_end(spin); }
static inline void gpuarena__spin_lock(gpuarena__spin *spin) { lock_take(spin, "spin_lock"); }
static inline void gpuarena__spin_claim(gpuarena__spin *spin) { lock_take(spin, "spin_lock"); }
static inline void gpuarena__spin_unlock(gpuarena__spin *spin) { lock_leave(spin, "spin_unlock"); }
static inline void gpuarena__spin_stay(gpuarena__spin *spin) { spin->is_hit = 0; }
static inline void gpuarena__spin_lock_hit(gpuarena__spin *spin)
{
    lock_take(spin, "spin_lock");
    spin->is_hit = 1;
}
static inline void gpuarena__spin_enter(gpuarena__spin *spin) { gpuarena__spin_lock_hit(spin); }
static inline void gpuarena__spin_unlock_hit(gpuarena__spin *spin)
{
    if (!spin->is_hit) schedule_blame("a spin is left as a hit's that others may sleep for");
    lock_leave(spin, "spin_unlock");
}

static inline int  gpuarena__mutex_make(gpuarena__mutex *mutex) { return lock_make(mutex, 0); }
static inline void gpuarena__mutex_end(gpuarena__mutex *mutex) { lock_end(mutex); }
static inline void gpuarena__mutex_lock(gpuarena__mutex *mutex)
{
    lock_take(mutex, mutex->order ? "registry_lock" : "mutex_lock");
}
static inline void gpuarena__mutex_unlock(gpuarena__mutex *mutex)
{
    lock_leave(mutex, mutex->order ? "registry_unlock" : "mutex_unlock");
}

/* A waiting loop: other fibers go on, or time does. */
static void (*lock_time_passes)(void);
static inline void gpuarena__pause(uint32_t times)
{
    (void)times;
    if (lock_blocks_all()) schedule_blame("a pause inside a lock that every call needs");
    if (schedule_pauses() && lock_time_passes) lock_time_passes();
    schedule_yield("pause");
}

#endif

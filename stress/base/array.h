/* Arrays that grow: each time to twice the room, so that n additions cost O(n).
   It must not know what the items are. */
#ifndef STRESS_BASE_ARRAY_H
#define STRESS_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Room for so many items in `list`, which has room for `capacity` now. capacity is a variable of 32 or of 64 bits;
   wanted is evaluated twice. New items hold anything. Without host memory, or where the capacity's type cannot say as
   much, program_no_memory. */
#define ARRAY_RESERVE(list, capacity, wanted) \
    ((wanted) <= (capacity) ? (void)0 \
     : array_grow(&(list), sizeof *(list), NULL, 0, &(capacity), sizeof(capacity), wanted))

/* The same of two lists that have room for as many items. */
#define ARRAY_RESERVE_BOTH(list, other, capacity, wanted) \
    ((wanted) <= (capacity) ? (void)0 \
     : array_grow(&(list), sizeof *(list), &(other), sizeof *(other), &(capacity), sizeof(capacity), wanted))

/* *rank: how many of so many items come first, of which `is_first` is true, an expression in the item's index `i`; it
   is of none behind them. O(log count). */
#define ARRAY_RANK(rank, count, i, is_first) \
    do { \
        size_t array_low = 0, array_high = (count); \
        while (array_low < array_high) { \
            size_t i = array_low + (array_high - array_low) / 2; \
            if (is_first) array_low = i + 1; \
            else array_high = i; \
        } \
        *(rank) = array_low; \
    } while (0)

/* A function that qsort compares with: items by a member, as ->op, or by themselves: [0]. */
#define ARRAY_ORDER(function, type, member) \
    static int function(const void *left, const void *right) \
    { \
        const type *one = left, *other = right; \
        return (one member > other member) - (one member < other member); \
    }

/* For RESERVE and RESERVE_BOTH: list and other point to the lists' pointers, of whatever type. */
void array_grow(void *list, size_t item_bytes, void *other, size_t other_bytes, void *capacity,
                size_t capacity_bytes, uint64_t wanted);

#endif

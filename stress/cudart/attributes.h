/* What the simulated device says of itself: one table for attributes and properties.
   It must not know of calls. */
#ifndef STRESS_CUDART_ATTRIBUTES_H
#define STRESS_CUDART_ATTRIBUTES_H

#include "call.h"

/* 1: the toolkit knows the attribute. Features that are not served are 0. */
int attributes_read(const sim_device *device, int attribute, int *value);
int attributes_of(const sim_device *device, enum cudaDeviceAttr attribute);  /* of one that the toolkit knows */

#endif

/* What only nvidia-smi can tell, asked of the program where it is found in PATH.
   It must not be needed: everything may be unknown.
   Tested by tests/cuda_stress.t with a program of that name. */
#ifndef STRESS_DEVICE_NVIDIA_SMI_H
#define STRESS_DEVICE_NVIDIA_SMI_H

#include <stddef.h>

enum { NVIDIA_SMI_UNKNOWN = -1, NVIDIA_SMI_HANGS = -2 };    /* HANGS: it will for every other question, too */

/* Compute processes on the device other than this one, or one of those. uuid: letters, digits and '-'. */
int nvidia_smi_processes(const char *uuid);
/* The driver's version, such as 570.133.20; "": not known. */
void nvidia_smi_driver(const char *uuid, char *text, size_t size);
/* "1980 MHz, 1980 MHz, 2619 MHz": of the processors now and at most, of the memory now; "": not known. */
void nvidia_smi_clocks(const char *uuid, char *text, size_t size);
/* "Enabled, Enabled, Disabled, Default": persistence, ECC, MIG and compute mode; "": not known. */
void nvidia_smi_modes(const char *uuid, char *text, size_t size);
/* "0x0000000000000001": why the clocks are not higher now, by bits that NVML names; "": not known. */
void nvidia_smi_throttle(const char *uuid, char *text, size_t size);

#endif

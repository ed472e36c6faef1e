/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a fake driver share, and what tests look up in it. */
#ifndef CUSHIM_TESTS_FAKE_H
#define CUSHIM_TESTS_FAKE_H

/* Every entry point calls this with its slot, and returns what this returns. */
int fake_called(int slot);

/* The function that cuGetProcAddress shall answer, or null; status becomes what it reports. */
void *fake_find(const char *base, int version, unsigned long long flags, int *status);

/* For tests: the slot that this thread called last, and how many calls all threads made. */
int fake_last_call(void);
int fake_calls(void);

/* For tests: how many lookups asked for a version above the driver's. */
int fake_lookups_too_new(void);

#endif

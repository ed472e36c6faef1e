/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the files of a fake driver, and the functions that tests look up in it. */
#ifndef CUSHIM_TESTS_FAKE_H
#define CUSHIM_TESTS_FAKE_H

/* Every entry point calls this with its slot and returns the result. */
int fake_called(int slot);

/* Returns the function that cuGetProcAddress must return, or null. Sets status to the value it reports. */
void *fake_find(const char *base, int version, unsigned long long flags, int *status);

/* For tests: the slot of this thread's last call, and the number of calls by all threads. */
int fake_last_call(void);
int fake_calls(void);

/* For tests: the number of lookups that requested a version newer than the driver. */
int fake_lookups_too_new(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILL_H
#define FILL_H

/* Fills memory on device 0 with the value and reads it back. Returns 1 if it read the same value,
 * otherwise 0. Prints the name of a call that fails. */
int fill_on_device(unsigned value);

#endif

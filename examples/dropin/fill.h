/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILL_H
#define FILL_H

/* Fills memory on device 0 with the value and reads it back. Returns whether it came back, else 0, having
 * printed which call failed. */
int fill_on_device(unsigned value);

#endif

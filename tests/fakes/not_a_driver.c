/* SPDX-License-Identifier: Apache-2.0 */
/* A sound library that has nothing of a driver. */
int not_a_driver(void);
int not_a_driver(void) { return 0; }

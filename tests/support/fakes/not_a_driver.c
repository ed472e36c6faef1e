/* SPDX-License-Identifier: Apache-2.0 */
/* A valid library without any driver function. */
int not_a_driver(void);
int not_a_driver(void) { return 0; }

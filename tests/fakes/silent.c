/* SPDX-License-Identifier: Apache-2.0 */
/* A library that has a driver's function but does not do what it should: the version stays unset. */
int silent(int *version) __asm__("cuDriverGetVersion");
int silent(int *version) {
  (void)version;
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose cuDriverGetVersion does not set the version. */
int silent(int *version) __asm__("cuDriverGetVersion");
int silent(int *version) {
  (void)version;
  return 0;
}

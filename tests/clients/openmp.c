/* SPDX-License-Identifier: Apache-2.0 */
/* Adds two vectors through LLVM's OpenMP offload plugin, with the kernel of a cubin. The compiler would
 * generate these calls of libomptarget for a target region; here they are written out, so that the test needs
 * no compiler for the device. Usage: openmp CUBIN */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* As the library's interface (omptarget.h of LLVM 14) declares them. */
struct Entry {
  void *address;
  const char *name;
  size_t size;
  int32_t flags, reserved;
};
struct DeviceImage {
  void *begin, *end;
  struct Entry *entries_begin, *entries_end;
};
struct Descriptor {
  int32_t image_count;
  struct DeviceImage *images;
  struct Entry *entries_begin, *entries_end;
};
void __tgt_register_requires(int64_t flags);
void __tgt_register_lib(struct Descriptor *descriptor);
void __tgt_unregister_lib(struct Descriptor *descriptor);
int __tgt_target_teams_mapper(void *location, int64_t device, void *host_address, int32_t count, void **bases,
                              void **begins, int64_t *sizes, int64_t *types, void **names, void **mappers,
                              int32_t teams, int32_t threads);
int omp_get_num_devices(void);
enum { kNoRequirements = 1, kTo = 0x01, kFrom = 0x02, kParameter = 0x20, kLiteral = 0x100, kCount = 1000 };

static char region; /* the address names the target region */

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) exit(2);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = malloc(*size);
  if (fread(bytes, 1, *size, file) != *size) exit(2);
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  static float a[kCount], b[kCount], sum[kCount];
  size_t size = 0;
  if (argc != 2) return 2;
  char *const image = read_file(argv[1], &size);
  struct Entry entry = {&region, "add", 0, 0, 0};
  struct DeviceImage device_image = {image, image + size, &entry, &entry + 1};
  struct Descriptor descriptor = {1, &device_image, &entry, &entry + 1};
  __tgt_register_requires(kNoRequirements);
  __tgt_register_lib(&descriptor);
  printf("%d devices\n", omp_get_num_devices());
  for (int i = 0; i < kCount; ++i) a[i] = (float)i, b[i] = (float)(2 * i);
  void *begins[] = {sum, a, b, (void *)(uintptr_t)kCount};
  int64_t sizes[] = {sizeof sum, sizeof a, sizeof b, 8};
  int64_t types[] = {kFrom | kParameter, kTo | kParameter, kTo | kParameter, kLiteral | kParameter};
  const int result =
      __tgt_target_teams_mapper(NULL, 0, &region, 4, begins, begins, sizes, types, NULL, NULL, 4, 256);
  int right = 0;
  for (int i = 0; i < kCount; ++i) right += sum[i] == (float)(3 * i);
  printf("%d: %d of %d sums\n", result, right, kCount);
  __tgt_unregister_lib(&descriptor);
  free(image);
  return result != 0 || right != kCount;
}

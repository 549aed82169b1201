// Kernels of the executor's tests, in the calling convention of Plan.h, as a compiler would emit them.
#include <stdint.h>

// out = a + b
void add_f32(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  (void)coordinates;
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] + b[i];
}

// out = a + 100 * first coordinate + second coordinate
void add_coordinates(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  const float *a = buffers[0];
  float *out = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] + (float)(100 * coordinates[0] + coordinates[1]);
}

// x = max(x, 0) over rows of 16 columns, in place
void relu_rows16(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  float *x = buffers[0];
  (void)coordinates;
  for (int64_t i = 16 * begin; i < 16 * end; ++i)
    x[i] = x[i] > 0 ? x[i] : 0;
}

// counter = 0
void clear_i32(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  (void)begin, (void)end, (void)coordinates;
  *(int32_t *)buffers[0] = 0;
}

// counter += 1
void increment_i32(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  (void)begin, (void)end, (void)coordinates;
  *(int32_t *)buffers[0] += 1;
}

// predicate = a < b
void less_i32(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  (void)begin, (void)end, (void)coordinates;
  *(uint8_t *)buffers[2] = *(const int32_t *)buffers[0] < *(const int32_t *)buffers[1];
}

// predicate = counter < limit - first coordinate: differs among devices, which no program may do
void less_by_coordinate(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  (void)begin, (void)end;
  *(uint8_t *)buffers[2] = *(const int32_t *)buffers[0] < *(const int32_t *)buffers[1] - coordinates[0];
}

// The function of the loop that is step 1: counter += 1 until it is the limit, or `poll` says that the job is over
void loop_1(void *const *buffers, const int64_t *coordinates, _Bool (*poll)(void *), void *context) __asm__("loop.1");
void loop_1(void *const *buffers, const int64_t *coordinates, _Bool (*poll)(void *), void *context) {
  int32_t *counter = buffers[1];
  (void)coordinates;
  while (*counter < *(const int32_t *)buffers[2] && !poll(context))
    *counter += 1;
}

// Works for long: some 1 ms per iteration.
void slow(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  volatile float *x = buffers[0];
  (void)coordinates;
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < 500000; ++j)
      x[0] = x[0] + 1;
}

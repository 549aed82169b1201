//===- BigStack.cpp - a large stack for deep recursion --------------------===//

#include "frontend/syntax/BigStack.h"

#include <exception>
#include <pthread.h>

namespace spmdc {

namespace {

constexpr size_t stackBytes = size_t(512) << 20;

/// True if this thread has the big stack already.
thread_local bool isOnBigStack = false;

struct Job {
  const std::function<void()> &body;
  std::exception_ptr exception;
};

void *runJob(void *argument) {
  auto &job = *static_cast<Job *>(argument);
  isOnBigStack = true;
  try {
    job.body();
  } catch (...) {
    job.exception = std::current_exception();
  }
  return nullptr;
}

} // namespace

void runOnBigStack(const std::function<void()> &body) {
  if (isOnBigStack)
    return body();
  Job job{body, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  // If address space is limited, runs on the caller's stack.
  bool isStarted = pthread_attr_setstacksize(&attributes, stackBytes) == 0 &&
                   pthread_create(&thread, &attributes, runJob, &job) == 0;
  pthread_attr_destroy(&attributes);
  if (isStarted)
    pthread_join(thread, nullptr);
  else
    job.body();
  if (job.exception)
    std::rethrow_exception(job.exception);
}

} // namespace spmdc

//===- SanitizerOptions.cpp - options of the sanitizers -------------------===//
//
// Linked into every executable of the presets asan, ubsan and tsan, so that tests, the processes that they start and
// tools run by hand have the same options without environment variables (which may still override them).
//
//===----------------------------------------------------------------------===//

// Tests expect certain exit statuses (1, 2, 66 ...) of the processes they start; a report exits with one that no test
// expects.
#define COMMON_OPTIONS "exitcode=86:external_symbolizer_path=" SPMDC_SYMBOLIZER

#define EXPORTED extern "C" __attribute__((used, visibility("default"), no_sanitize("all")))

// allow_user_poisoning: LLVM's headers, compiled here, poison the memory of its allocators; the code in LLVM's
// archives, which are not instrumented, would use that memory without unpoisoning it.
EXPORTED const char *__asan_default_options() {
  return COMMON_OPTIONS ":allow_user_poisoning=0:check_initialization_order=1:strict_string_checks=1";
}

EXPORTED const char *__ubsan_default_options() { return COMMON_OPTIONS ":print_stacktrace=1"; }

// halt_on_error: processes that end by _exit, or are killed, would lose their reports.
EXPORTED const char *__tsan_default_options() {
  return COMMON_OPTIONS ":halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1";
}

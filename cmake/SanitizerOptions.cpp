//===- SanitizerOptions.cpp - how sanitizers behave in this tree ----------===//
//
// Linked into every executable of the presets asan, ubsan and tsan, so that tests, the processes that they start and
// tools run by hand have the same options without anything in the environment (which may still override them).
//
//===----------------------------------------------------------------------===//

// Tests expect statuses of their own (1, 2, 66 ...) of the processes they start; a report has one that none expects.
#define COMMON_OPTIONS "exitcode=86:external_symbolizer_path=" SPMDC_SYMBOLIZER

#define EXPORTED extern "C" __attribute__((used, visibility("default"), no_sanitize("all")))

// allow_user_poisoning: LLVM's headers, compiled here, poison the memory of its allocators; the code in LLVM's
// archives, which are not instrumented, would take memory from them without lifting that.
EXPORTED const char *__asan_default_options() {
  return COMMON_OPTIONS ":allow_user_poisoning=0:check_initialization_order=1:strict_string_checks=1";
}

EXPORTED const char *__ubsan_default_options() { return COMMON_OPTIONS ":print_stacktrace=1"; }

// halt_on_error: processes that leave by _exit, or are killed, would take their reports with them.
EXPORTED const char *__tsan_default_options() {
  return COMMON_OPTIONS ":halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1";
}

# Compiler flags, linker, compiler cache, sanitizers, and the external packages of the whole tree.

add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter -ffunction-sections -fdata-sections)
add_link_options(-fuse-ld=lld-19 -Wl,--gc-sections)
add_compile_definitions(SPMDC_VERSION="${PROJECT_VERSION}")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED ENV{CCACHE_DISABLE})
  # base_dir allows cache hits from another checkout folder; precompiled headers need the sloppiness.
  set(SPMDC_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${SPMDC_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SPMDC_LAUNCHER})
else()
  # No binary names the folder of the sources (std::source_location): ccache's base_dir makes paths relative, too.
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")

set(SPMDC_SANITIZER "" CACHE STRING "address, undefined, address,undefined or thread: build everything under these sanitizers")
# Tests multiply their time limits by this (tests/support/TimeLimit.h), as do the limits given to ctest.
set(SPMDC_TEST_TIME_SCALE 1)
if(SPMDC_SANITIZER)
  set(SPMDC_TEST_TIME_SCALE 10)
  add_compile_definitions(SPMDC_TEST_TIME_SCALE=${SPMDC_TEST_TIME_SCALE})
  add_compile_options(-fsanitize=${SPMDC_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SPMDC_SANITIZER})
  if(SPMDC_SANITIZER MATCHES "undefined")
    # vptr checks need compatible type info of LLVM's classes; function checks reject LLVM's callbacks.
    add_compile_options(-fno-sanitize=vptr,function)
  endif()
endif()

option(SPMDC_FUZZ "Build libFuzzer's targets, and everything with the coverage that guides them" OFF)
if(SPMDC_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
find_package(Threads REQUIRED)
# Linked statically, so that `spmd-run` needs nothing but the C library.
set(OPENSSL_USE_STATIC_LIBS TRUE)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)

if(SPMDC_SANITIZER)
  add_library(spmdcSanitizerOptions OBJECT cmake/SanitizerOptions.cpp)
  target_compile_definitions(spmdcSanitizerOptions PRIVATE SPMDC_SYMBOLIZER="${LLVM_TOOLS_BINARY_DIR}/llvm-symbolizer")
  link_libraries("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:spmdcSanitizerOptions>>")
endif()

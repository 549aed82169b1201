# spmdc_library, spmdc_executable, spmdc_gtest: they create every target of the tree.
# The sources are all files of the folder, so a new file needs no entry in a list.

# LLVM and MLIR as one link item. Debian's exported targets name the shared libLLVM; mixing it with the static
# archives would put two LLVMs into one process, so the archives are listed by path instead (lld ignores their order and
# takes only the members that are used).
file(GLOB SPMDC_MLIR_ARCHIVES ${LLVM_LIBRARY_DIRS}/libMLIR*.a)
list(FILTER SPMDC_MLIR_ARCHIVES EXCLUDE REGEX "libMLIR(CAPI|Test|Sparse_|Mlir)")
llvm_map_components_to_libnames(SPMDC_LLVM_COMPONENTS
  Core Support Analysis TransformUtils Passes Target MC Object BinaryFormat IRReader BitReader BitWriter Linker Option
  CodeGen AsmPrinter SelectionDAG GlobalISel TargetParser OrcJIT
  X86CodeGen X86AsmParser X86Desc X86Info NVPTXCodeGen NVPTXDesc NVPTXInfo)
set(SPMDC_LLVM_ARCHIVES "")
file(GLOB SPMDC_LLVM_ALL_ARCHIVES ${LLVM_LIBRARY_DIRS}/libLLVM*.a)
list(FILTER SPMDC_LLVM_ALL_ARCHIVES EXCLUDE REGEX "libLLVM(AArch64|AMDGPU|ARM|AVR|BPF|Hexagon|Lanai|LoongArch|M68k|MSP430|Mips|PowerPC|RISCV|Sparc|SystemZ|VE|WebAssembly|XCore|Xtensa|SPIRV|DirectX|ARC|CSKY)")
add_library(spmdc_llvm INTERFACE)
target_include_directories(spmdc_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(spmdc_llvm INTERFACE ${LLVM_DEFINITIONS})
target_link_libraries(spmdc_llvm INTERFACE ${SPMDC_MLIR_ARCHIVES} ${SPMDC_LLVM_ALL_ARCHIVES}
  ZLIB::ZLIB zstd m dl rt Threads::Threads)
add_library(spmdc_lld INTERFACE)
target_link_libraries(spmdc_lld INTERFACE ${LLVM_LIBRARY_DIRS}/liblldELF.a ${LLVM_LIBRARY_DIRS}/liblldCommon.a spmdc_llvm)

# spmdc_precompiled_header(NAME HEADER [LINK libs...]): for targets that spmdc_reuse it.
function(spmdc_precompiled_header name header)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${header})
endfunction()

# spmdc_reuse(TARGET NAMES...): reuses the first of these precompiled headers that exists.
function(spmdc_reuse target)
  foreach(name ${ARGN})
    if(TARGET ${name})
      # The header was compiled for a library with -fPIC; an executable's -fPIE would be another language mode.
      target_compile_options(${target} PRIVATE -fPIC)
      target_precompile_headers(${target} REUSE_FROM ${name})
      return()
    endif()
  endforeach()
endfunction()

# The standard library and JSON: half of the compile time of most files of the runtime without it.
spmdc_precompiled_header(spmdc_std_pch ${CMAKE_SOURCE_DIR}/cmake/Pch.h)
spmdc_precompiled_header(spmdc_small_pch ${CMAKE_SOURCE_DIR}/cmake/Pch.h)
target_compile_options(spmdc_small_pch PRIVATE $<$<CONFIG:Release>:-Os>)

# spmdc_library(NAME [MLIR] [SMALL] [PCH name] [DEPENDS libs...]): the .cpp files of this folder (not of its subfolders) as
# a static library. SMALL: optimised for size. PCH: its precompiled header, if it is not that of most files with MLIR.
function(spmdc_library name)
  cmake_parse_arguments(ARG "MLIR;SMALL" "PCH" "DEPENDS;SOURCES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  add_library(${name} STATIC ${sources} ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_MLIR)
    target_link_libraries(${name} PUBLIC spmdc_llvm)
    spmdc_reuse(${name} ${ARG_PCH} spmdc_ir_pch spmdc_pch)
  elseif(ARG_SMALL)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Os>)
    spmdc_reuse(${name} spmdc_small_pch)
  else()
    spmdc_reuse(${name} spmdc_std_pch)
  endif()
endfunction()

# spmdc_small(FILES...): these files of a library are optimised for size, which its precompiled header is not.
function(spmdc_small)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# spmdc_gtest(NAME LABEL [MLIR] [DEPENDS libs...]): the *Test.cpp files of this folder as one GoogleTest binary.
function(spmdc_gtest name label)
  cmake_parse_arguments(ARG "MLIR" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *Test.cpp)
  if(NOT sources)
    return()
  endif()
  file(GLOB helpers CONFIGURE_DEPENDS *Helper.cpp)
  add_executable(${name} ${sources} ${helpers})
  # Optimising takes more than half of a test's compile time; files that compute say otherwise.
  set(plain ${sources})
  if(ARG_MLIR)
    list(APPEND plain ${helpers})
  endif()
  set_source_files_properties(${plain} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O0>")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SPMDC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SPMDC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(ARG_MLIR)
    spmdc_reuse(${name} spmdc_ir_test_pch)
  else()
    spmdc_reuse(${name} spmdc_test_pch)
    set_source_files_properties(${helpers} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  include(GoogleTest)
  math(EXPR timeout "300 * ${SPMDC_TEST_TIME_SCALE}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT ${timeout} ENVIRONMENT SPMD_NO_CACHE=1)
endfunction()

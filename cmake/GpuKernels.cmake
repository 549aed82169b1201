# Kernels for a GPU that are written in CUDA C++, compiled by clang and by llc. No CUDA toolkit is needed or searched
# for (--cuda-path names an invalid folder).
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(SPMDC_GPU_CLANG ${CMAKE_CXX_COMPILER})
else()
  find_program(SPMDC_GPU_CLANG clang++-19 REQUIRED)
endif()

# spmdc_gpu_code(STEM SOURCE [SM80] [DEFINES definitions...]): the .cu file as optimised LLVM IR in STEM.bc, and as PTX in
# STEM.ptx, generated from it. The target is sm_70, which the driver of every newer GPU translates, or sm_80; PTX 6.3 and
# 7.0 are the first versions that support them fully.
# The PTX is that of one compilation: the order of a value's uses is kept, since code generation numbers registers in
# that order; and a product and a sum become one instruction, which CUDA allows by default.
function(spmdc_gpu_code stem source)
  cmake_parse_arguments(ARG "SM80" "" "DEFINES" ${ARGN})
  set(chip sm_70)
  set(version ptx63)
  if(ARG_SM80)
    set(chip sm_80)
    set(version ptx70)
  endif()
  list(TRANSFORM ARG_DEFINES PREPEND -D)
  add_custom_command(OUTPUT ${stem}.bc
    COMMAND ${SPMDC_GPU_CLANG} -x cuda --cuda-device-only --cuda-gpu-arch=${chip} --cuda-path=/nonexistent -nocudainc
      -nocudalib -Xclang -target-feature -Xclang +${version} -std=c++20 -O3 -Wall -Wextra -Werror -I${CMAKE_SOURCE_DIR}
      -MD -MF ${stem}.d -MT ${stem}.bc ${ARG_DEFINES}
      -c -emit-llvm -Xclang -emit-llvm-uselists ${source} -o ${stem}.bc
    DEPENDS ${source}
    DEPFILE ${stem}.d
    COMMENT "Compiling ${stem}.bc for GPUs"
    VERBATIM)
  add_custom_command(OUTPUT ${stem}.ptx
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llc -O3 -mcpu=${chip} -mattr=+${version} --fp-contract=fast ${stem}.bc -o ${stem}.ptx
    DEPENDS ${stem}.bc
    COMMENT "Compiling ${stem}.ptx for GPUs"
    VERBATIM)
endfunction()

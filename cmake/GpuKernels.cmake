# Kernels for a GPU that are written in CUDA C++, compiled by clang alone: no CUDA toolkit is needed, nor looked for
# (--cuda-path names a folder that is none).
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(SPMDC_GPU_CLANG ${CMAKE_CXX_COMPILER})
else()
  find_program(SPMDC_GPU_CLANG clang++-19 REQUIRED)
endif()

# spmdc_gpu_code(OUTPUT SOURCE OPTIONS... [DEFINES definitions...]): the .cu file as PTX or, with -emit-llvm, as LLVM IR.
# For sm_70, which every newer GPU's driver translates for itself; PTX 6.3 is the first version that knows it in full.
function(spmdc_gpu_code output source)
  cmake_parse_arguments(ARG "" "" "DEFINES" ${ARGN})
  list(TRANSFORM ARG_DEFINES PREPEND -D)
  add_custom_command(OUTPUT ${output}
    COMMAND ${SPMDC_GPU_CLANG} -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 --cuda-path=/nonexistent -nocudainc
      -nocudalib -Xclang -target-feature -Xclang +ptx63 -std=c++20 -O3 -Wall -Wextra -Werror -I${CMAKE_SOURCE_DIR}
      -MD -MF ${output}.d -MT ${output} -S ${ARG_UNPARSED_ARGUMENTS} ${ARG_DEFINES} ${source} -o ${output}
    DEPENDS ${source}
    DEPFILE ${output}.d
    COMMENT "Compiling ${output} for GPUs"
    VERBATIM)
endfunction()

# find_package(spmd): spmd::spmd (the C++ interface with the compiler) and spmd::spmdApi (without it: load, no jit). A
# program links one of the two.
include(${CMAKE_CURRENT_LIST_DIR}/spmdTargets.cmake)

# `cmake --install` installs the commands, two shared libraries with their headers, and the package by which
# find_package(spmd) finds them; all paths are relative, so the folder may move. The libraries are self-contained: a
# program that uses them needs neither LLVM nor this tree.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# spmdc_shared_library(NAME libs...): NAME is the public name, of the files and of the target spmd::NAME.
function(spmdc_shared_library name)
  set(target ${name}Shared)
  # Links the objects themselves: from an archive the linker would take only the members that the library itself uses.
  set(objects "")
  foreach(library ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_library(${target} SHARED ${objects})
  target_link_libraries(${target} PRIVATE ${ARGN})
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/Exports.map)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name} LINKER_LANGUAGE CXX
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/Exports.map
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} INTERFACE cxx_std_20)
  install(TARGETS ${target} EXPORT spmdTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

spmdc_shared_library(spmd spmdJit spmdApi spmdSupport)
spmdc_shared_library(spmdApi spmdApi spmdSupport)

install(TARGETS spmdc spmd-run spmd-opt spmd-lsp-server)
install(DIRECTORY runtime/api/include/spmd DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The public headers include these by the tree's paths; the compiler finds a file next to the including one first.
install(FILES runtime/support/DType.h runtime/support/Error.h runtime/support/NanError.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/spmd/runtime/support)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/spmd)
install(EXPORT spmdTargets NAMESPACE spmd:: DESTINATION ${package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/spmdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/spmdConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/spmdConfigVersion.cmake DESTINATION ${package})

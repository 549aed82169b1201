# cmake -DMODULES=a,b -DFOLDER=... -DOUTPUT=... -P EmbedPtx.cmake: writes FOLDER/a.ptx and so on, without comments, as
# the C++ source of findLibraryPtx. Literals with `sv`: the compiler takes ten seconds to count the characters of others.
string(REPLACE "," ";" modules "${MODULES}")
set(cases "")
foreach(module ${modules})
  file(READ ${FOLDER}/${module}.ptx text)
  string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n+" "\n" text "${text}")
  string(APPEND cases "  if (module == \"${module}\")\n    return R\"ptx(${text})ptx\"sv;\n")
endforeach()
file(WRITE ${OUTPUT} "// Made from runtime/device/cuda/kernels by CMake.
#include \"runtime/device/cuda/LibraryKernels.h\"

namespace spmd::cuda {

using namespace std::string_view_literals;

std::string_view findLibraryPtx(std::string_view module) {
${cases}  return {};
}

} // namespace spmd::cuda
")

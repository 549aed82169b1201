# cmake -DMODULES=a,b -DFOLDER=... -DGZIP=... -DOUTPUT=... -P EmbedPtx.cmake: writes FOLDER/a.ptx and so on, without
# comments and compressed, as the C++ source of findLibraryPtx. PTX is a tenth of its size then.
string(REPLACE "," ";" modules "${MODULES}")
set(cases "")
foreach(module ${modules})
  file(READ ${FOLDER}/${module}.ptx text)
  string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n+" "\n" text "${text}")
  string(LENGTH "${text}" length)
  set(file ${FOLDER}/${module}.embedded)
  file(WRITE ${file} "${text}")
  # Without the name and time of the file, so that equal texts are equal bytes.
  execute_process(COMMAND ${GZIP} --best --no-name --force ${file} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${file}.gz bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(APPEND cases "  if (module == \"${module}\")\n    return {\"${bytes}\"sv, ${length}};\n")
endforeach()
file(WRITE ${OUTPUT} "// Made from runtime/device/cuda/kernels by CMake.
#include \"runtime/device/cuda/LibraryPtx.h\"

namespace spmd::cuda {

using namespace std::string_view_literals;

CompressedPtx findCompressedPtx(std::string_view module) {
${cases}  return {};
}

} // namespace spmd::cuda
")

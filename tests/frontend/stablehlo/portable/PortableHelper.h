//===- PortableHelper.h - exports in bytes ----------------------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace spmdc {

/// The folder with NAME.bin, what exp.serialize() wrote, and NAME.mlir, the text of the same export: the sample of
/// make_exported.py, or another one that it has written (SPMD_PORTABLE).
std::string portableFolder();

/// The names of the folder's exports, in order.
std::vector<std::string> listExports();

std::string readBytes(const std::string &path);

/// The text of an export; or the cause, behind "error: ".
std::string textOrCause(const std::string &bytes);

/// IR of the stage `array` of a text, or its errors.
std::string importedIr(const std::string &text, bool withLocations = false);

} // namespace spmdc

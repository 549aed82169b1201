//===- LocationTexts.h - source positions in an exported text ---*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace spmdc::stablehlo {

/// Takes a string off the front of an MLIR text, which begins behind the opening quote, and returns what it says: MLIR
/// writes each byte of a letter beyond ASCII, and a quote, as `\22`.
std::string takeQuoted(std::string_view &text);

/// The locations of an MLIR text, which is exported with `debug_info=True`; all are empty for one without. The text
/// must outlive the object.
class LocationTexts {
public:
  explicit LocationTexts(std::string_view text);

  /// `model.py:12:5`: the position in the user's program of the operation on whose line `offset` is, the innermost call
  /// of it. Empty if unknown.
  std::string placeAt(size_t offset) const;

  /// `tanh`: JAX's name of the operation on whose line `offset` is, without the functions around it. Empty if unknown.
  std::string operationAt(size_t offset) const;

private:
  std::string_view locationAt(size_t offset) const;
  std::string_view definitionOf(std::string_view location) const;
  std::string placeOf(std::string_view location, int depth) const;

  std::string_view text;
  std::unordered_map<std::string_view, std::string_view> aliases; ///< `#loc7`: the text of what it names.
};

} // namespace spmdc::stablehlo

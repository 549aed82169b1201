//===- ShardingTexts.h - shardings in an exported text ----------*- C++ -*-===//
#pragma once

#include "frontend/syntax/Annotations.h"
#include "runtime/sharding/Sharding.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmdc::stablehlo {

/// The shardings that a user of JAX wrote, as they are in the text of an export; dimensions are `{"a", ?}`, one for
/// each entry of P(...). A sharding that names a part of an axis is left out, since P(...) cannot.
struct ShardingTexts {
  std::vector<std::optional<Annotation>> arguments, results; ///< Of the entry; in_shardings and out_shardings.
  std::vector<std::optional<Annotation>> constraints;        ///< with_sharding_constraint, in the order of the text.
};

ShardingTexts findShardings(const Source &source, std::string_view entry);

/// The text with a sharding of open dimensions for each argument of the entry that has none, and with a mesh of these
/// axes if it has none: then every argument has an annotation that can be edited. Unchanged if there is no mesh at all.
std::string withOpenShardings(const Source &source, std::string_view entry, const std::vector<spmd::MeshAxis> &axes);

/// The text of a dimension's sharding, as Shardy writes it.
std::string writeShardyDim(const std::vector<std::string> &axes, bool isOpen, int64_t priority);

/// A sharding as JAX writes it: `P('a', None, ('a', 'b'))`; an open dimension is P.UNCONSTRAINED.
std::string writePartitionSpec(const std::vector<AnnotatedDim> &dims);

} // namespace spmdc::stablehlo

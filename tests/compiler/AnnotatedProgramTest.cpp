//===- AnnotatedProgramTest.cpp - keys of edits ---------------------------===//

#include "compiler/explain/AnnotatedProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <map>

using namespace spmdc;

namespace {

/// Edits have one key where they give one text.
void checkKeys(const std::string &file, const std::string &text) {
  AnnotatedProgram program(file, text, "main");
  const spmd::MeshShape mesh{{{"a", 2}, {"b", 2}}};
  std::vector<ForcingAnnotation> causes;
  for (const Annotation &annotation : program.getAnnotations())
    for (unsigned dim = 0; dim < annotation.dims.size(); ++dim)
      for (const char *axis : {"a", "b"})
        causes.push_back({annotation.range.str(), dim, axis, /*isReplicated=*/false, "", {}});
  std::vector<AnnotationEdit> edits = {{}};
  for (auto list : {listEdits, listAlignments, listWiderEdits})
    for (const AnnotationEdit &edit : list(program.getAnnotations(), mesh, {"a", "b"}, causes))
      edits.push_back(program.spell(edit));
  // An edit that leaves a dimension as it is.
  const Range kept = program.getAnnotations().back().dims.back().suffix;
  for (AnnotationEdit edit : std::vector(edits))
    if (llvm::none_of(edit, [&](const DimEdit &dim) { return dim.suffix == kept; })) {
      edit.push_back({kept, "", "", "", std::string(kept.text())});
      edits.push_back(edit);
    }
  ASSERT_GT(edits.size(), 20u);
  std::map<std::string, std::string> keyOfText, textOfKey;
  for (const AnnotationEdit &edit : edits) {
    std::string key = program.keyOf(edit), edited = program.apply(edit);
    EXPECT_EQ(keyOfText.try_emplace(edited, key).first->second, key);
    EXPECT_EQ(textOfKey.try_emplace(key, edited).first->second, edited);
  }
  EXPECT_LT(keyOfText.size(), edits.size());
}

} // namespace

TEST(AnnotatedProgram, KeysOfEdits) {
  checkKeys("t.spmd", "mesh m(a=2, b=2)\nfn main(x: f32[8@a, 8@b], y: f32[8@(a, b), 8@_]) { return x @ y; }");
}

TEST(AnnotatedProgram, KeysOfEditsOfAnExport) {
  checkKeys("t.mlir", R"(module @jit_f attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.add %x, %y : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
)");
}

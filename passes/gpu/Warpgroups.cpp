//===- Warpgroups.cpp - products of tiles by warpgroups -------------------===//

#include "passes/gpu/Warpgroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Fields of a descriptor: addresses and distances in units of 16 bytes.
constexpr int64_t kUnitBytes = 16, kAddressMask = 0x3ffff;
constexpr int64_t kPanelField = 16, kStrideField = 32, kSwizzle128 = int64_t{1} << 62;
/// 8 rows of 128 bytes.
constexpr int64_t kStrideBytes = 1024;

std::string operand(size_t number) { return "$" + std::to_string(number); }

/// Begins a block of products: predicates `all` and `none` say whether a product adds to its results.
constexpr const char *kBegin = "{\n.reg .b64 left, right;\n.reg .pred all, none;\nsetp.ne.u32 all, 1, 0;\n"
                               "setp.ne.u32 none, 0, 0;\nwgmma.fence.sync.aligned;\n";
constexpr const char *kEnd = "wgmma.commit_group.sync.aligned;\n}";

std::string advance(const char *name, size_t number, int64_t bytes) {
  return std::string("add.s64 ") + name + ", " + operand(number) + ", " + std::to_string(bytes / kUnitBytes) + ";\n";
}

} // namespace

Value Warpgroups::describe(Value pointer, int64_t panelBytes) {
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value { return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value)); };
  Value address = b.create<LLVM::PtrToIntOp>(loc, i64, pointer);
  address = b.create<arith::ShRUIOp>(loc, b.create<arith::AndIOp>(loc, address, constant(kAddressMask)), constant(4));
  int64_t fields = (panelBytes / kUnitBytes) << kPanelField | (kStrideBytes / kUnitBytes) << kStrideField | kSwizzle128;
  return b.create<arith::OrIOp>(loc, address, constant(fields));
}

SmallVector<Value> Warpgroups::emit(const std::string &text, ArrayRef<Value> sums, size_t results,
                                    ArrayRef<Value> operands, const std::string &constraints) {
  SmallVector<Value> all(sums);
  llvm::append_range(all, operands);
  std::string registers;
  for (size_t i = 0; i < results; ++i)
    registers += (i ? "," : "") + std::string("=f");
  for (size_t i = 0; i < sums.size(); ++i)
    registers += "," + std::to_string(i);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(results, b.getF32Type()));
  Value together = b.create<LLVM::InlineAsmOp>(loc, type, all, text, registers + constraints, /*has_side_effects=*/true,
                                               /*is_align_stack=*/false, LLVM::AsmDialectAttr(), ArrayAttr())
                       .getResult(0);
  SmallVector<Value> values;
  for (size_t i = 0; i < results; ++i)
    values.push_back(b.create<LLVM::ExtractValueOp>(loc, together, static_cast<int64_t>(i)));
  return values;
}

SmallVector<Value> Warpgroups::start(const Product &product, ArrayRef<Value> sums, int64_t columns) {
  auto results = static_cast<size_t>(columns / 2);
  size_t first = results + sums.size(); // Operands begin behind the results and their first values.
  std::string type = product.elementType.isBF16() ? "bf16" : "f16", target, constraints;
  for (size_t i = 0; i < results; ++i)
    target += (i ? ", " : "") + operand(i);
  SmallVector<Value> operands;
  auto add = [&](Value value, const char *constraint) {
    operands.push_back(value);
    constraints += constraint;
    return first + operands.size() - 1;
  };
  size_t right = add(product.right, ",l"), leftOperand = product.left ? add(product.left, ",l") : 0;
  std::string text = kBegin;
  for (auto [step, rightBytes] : llvm::enumerate(product.rightSteps)) {
    text += advance("right", right, rightBytes);
    std::string left = "left", isLeftTransposed = "0, ";
    if (product.left) {
      text += advance("left", leftOperand, product.leftSteps[step]);
    } else {
      left = isLeftTransposed = "";
      for (Value word : product.leftRows[step])
        left += (left.empty() ? "{" : ", ") + operand(add(word, ",r"));
      left += "}";
    }
    text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." + type + "." + type + " {" +
            target + "}, " + left + ", right, " + (step || !sums.empty() ? "all" : "none") + ", 1, 1, " +
            isLeftTransposed + (product.isRightTransposed ? "1" : "0") + ";\n";
  }
  return emit(text + kEnd, sums, results, operands, constraints);
}

SmallVector<Value> Warpgroups::finish(ArrayRef<Value> started, int64_t running) {
  return emit("wgmma.wait_group.sync.aligned " + std::to_string(running) + ";", started, started.size(), {}, "");
}

void Warpgroups::publishCopies() {
  // Copies write as other instructions do, and products read by another way ("async proxy").
  b.create<LLVM::InlineAsmOp>(loc, TypeRange(), ValueRange(), "fence.proxy.async.shared::cta;", "~{memory}",
                              /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::AsmDialectAttr(), ArrayAttr());
}

} // namespace spmdc

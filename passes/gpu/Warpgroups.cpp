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
/// Ends it: all results are in their registers.
constexpr const char *kEnd = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}";

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

std::string Warpgroups::getProduct(Type elementType, size_t results, const std::string &left,
                                   const std::string &accumulates, bool isRightTransposed) {
  std::string type = elementType.isBF16() ? "bf16" : "f16", registers;
  for (size_t i = 0; i < results; ++i)
    registers += (i ? ", " : "") + operand(i);
  bool isInMemory = left.front() != '{';
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(results * 2) + "k16.f32." + type + "." + type + " {" +
         registers + "}, " + left + ", right, " + accumulates + ", 1, 1, " + (isInMemory ? "0, " : "") +
         (isRightTransposed ? "1" : "0") + ";\n";
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

SmallVector<Value> Warpgroups::multiply(Type elementType, Value left, ArrayRef<int64_t> leftSteps, Value right,
                                        ArrayRef<int64_t> rightSteps, int64_t columns) {
  auto results = static_cast<size_t>(columns / 2);
  std::string text = kBegin;
  for (auto [step, leftBytes, rightBytes] : llvm::enumerate(leftSteps, rightSteps))
    text += advance("left", results, leftBytes) + advance("right", results + 1, rightBytes) +
            getProduct(elementType, results, "left", step ? "all" : "none", /*isRightTransposed=*/false);
  return emit(text + kEnd, {}, results, {left, right}, ",l,l");
}

SmallVector<Value> Warpgroups::multiplyAdd(Type elementType, ArrayRef<TensorCores::Left> left, Value right,
                                           ArrayRef<int64_t> rightSteps, ArrayRef<Value> sums) {
  size_t first = 2 * sums.size(); // Operands begin behind the results and their first values.
  std::string text = kBegin, constraints = ",l";
  SmallVector<Value> operands = {right};
  for (auto [step, rows, bytes] : llvm::enumerate(left, rightSteps)) {
    std::string registers;
    for (Value word : rows) {
      registers += (registers.empty() ? "" : ", ") + operand(first + operands.size());
      operands.push_back(word);
      constraints += ",r";
    }
    text += advance("right", first, bytes) +
            getProduct(elementType, sums.size(), "{" + registers + "}", "all", /*isRightTransposed=*/true);
  }
  return emit(text + kEnd, sums, sums.size(), operands, constraints);
}

void Warpgroups::publishCopies() {
  b.create<LLVM::InlineAsmOp>(loc, TypeRange(), ValueRange(), "fence.proxy.async.shared::cta;", "",
                              /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::AsmDialectAttr(), ArrayAttr());
}

} // namespace spmdc

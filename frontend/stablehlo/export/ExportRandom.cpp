//===- ExportRandom.cpp - the Threefry-2x32 block cipher ------------------===//
//
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011); 20 rounds. A composite gives both words: its
// decomposition for XLA is a private function of the module for each shape, and the importer knows it by its name.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The constants of the cipher: rotations of each round, of which groups of four alternate, and the parity of the key.
constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
constexpr int64_t kParity = 0x1BD11BDA;
constexpr int kGroups = 5;

SmallVector<Value> cipher(Exporter &e, ValueRange arguments) {
  auto add = [&](Value x, Value y) -> Value { return e.create<AddOp>(x.getType(), x, y); };
  auto exclusive = [&](Value x, Value y) -> Value { return e.create<XorOp>(x.getType(), x, y); };
  auto rotate = [&](Value x, int distance) -> Value {
    Value left = e.create<ShiftLeftOp>(x.getType(), x, e.splatLike(x, distance));
    Value right = e.create<ShiftRightLogicalOp>(x.getType(), x, e.splatLike(x, 32 - distance));
    return e.create<OrOp>(x.getType(), left, right);
  };
  Value keys[] = {arguments[0], arguments[1],
                  exclusive(exclusive(arguments[0], arguments[1]), e.splatLike(arguments[0], kParity))};
  Value x = add(arguments[2], keys[0]), y = add(arguments[3], keys[1]);
  for (int group = 0; group < kGroups; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x = add(x, y);
      y = exclusive(rotate(y, rotation), x);
    }
    x = add(x, keys[(group + 1) % 3]);
    y = add(add(y, keys[(group + 2) % 3]), e.splatLike(y, group + 1));
  }
  return {x, y};
}

LogicalResult threefry(Exporter &e, spmdc::Threefry2x32Op op) {
  if (e.get(op.getResult())) // Written with the other word.
    return success();
  RankedTensorType type = Exporter::typeOf(op.getResult());
  std::string name = "threefry2x32";
  for (int64_t size : type.getShape())
    name += "_" + std::to_string(size);
  SmallVector<Value> words = e.composite(kThreefry, name, e.get(op.getOperands()), {type, type},
                                         [&](ValueRange arguments) { return cipher(e, arguments); });
  for (Operation *user : op.getC1().getUsers())
    if (auto word = llvm::dyn_cast<spmdc::Threefry2x32Op>(user);
        word && word->getBlock() == op->getBlock() && llvm::equal(word.getOperands(), op.getOperands()))
      e.set(word.getResult(), words[word.getWord()]);
  return success();
}

} // namespace

void addRandomExports(ExportRules &rules) { rules.addMany<spmdc::Threefry2x32Op>(threefry); }

} // namespace spmdc::stablehlo

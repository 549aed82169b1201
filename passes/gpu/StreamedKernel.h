//===- StreamedKernel.h - the code of a streamed kernel ---------*- C++ -*-===//
//
// A block holds the rows of its first factors in shared memory (StreamTiles.h) and streams tiles of columns through
// buffers: copies fill some while matrix units read another (StreamedCopies.cpp). Each warp has 16 or 32 rows: it
// multiplies their scores with all columns of a tile, computes weights in registers, and multiplies these with the
// tile's other factors. The registers that hold results of a product are those that hold left factors of the next one,
// so weights move between no threads.
//
// Warpgroups multiply without waiting: the scores of a tile and the products of the tile before run at the same time,
// and the softmax of the tile is computed beside these products (StreamedOverlap.cpp; Shah et al., FlashAttention-3,
// 2024).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/CopyRing.h"
#include "passes/gpu/Turns.h"
#include "passes/gpu/Warpgroups.h"
#include "passes/kernel/PositionMask.h"
#include "passes/kernel/StreamTiles.h"

namespace spmdc {

/// exp(x) is exp2(x kLog2E).
inline constexpr double kLog2E = 1.4426950408889634;

class StreamedKernel {
public:
  StreamedKernel(plan::KernelOp kernel, StreamedProducts products, StreamTiles tiles, mlir::gpu::GPUModuleOp target);

  /// Adds the gpu.func.
  void emit();

private:
  /// One value for each of a thread's elements of a tile: 4 for each 16 x 8.
  using Elements = llvm::SmallVector<mlir::Value>;
  using Emitted = ElementEmitter::Emitted;

  //===--- The function (StreamedKernel.cpp) -------------------------------===//

  void emitBlock(mlir::Value blockNumber);
  /// The position in the batch, and the number of the rows, of the block that begins as number `number`.
  std::pair<mlir::Value, mlir::Value> placeBlock(mlir::Value number);
  /// The bounds of the mask's condition in a tile, from row `firstRow` on.
  PositionBounds::Bounds boundMask(mlir::Value firstRow, int64_t rows, mlir::Value tile);
  /// Finds the tiles of which the mask keeps a weight, and those of which it keeps all.
  void findTiles(mlir::Value lane, mlir::Value firstRow);
  /// Calls emitLoop(begin, end) for ranges of the kept tiles from `first` on that need different code: those before the
  /// full ones, the full ones, those behind them, and the last one if it ends behind the last column. Sets `isKept` and
  /// `isWhole`.
  void emitLoops(mlir::Value first, llvm::function_ref<void(mlir::Value, mlir::Value)> emitLoop);
  /// Emits the loop over the tiles from `begin` to `end`.
  void emitTiles(mlir::Value begin, mlir::Value end);
  /// Whether the last tile ends behind the last column.
  bool hasTail() const { return products.columns % tiles.columns != 0; }
  int64_t countWholeTiles() const { return products.columns / tiles.columns; }

  //===--- Results (StreamedResults.cpp) -----------------------------------===//

  /// Words of 32 bits in a unit of 16 bytes.
  static constexpr int64_t kUnitWords = 4;

  void storeResults();
  void storeProduct(const StreamedProducts::Result &result, unsigned number);
  void storeRows(const StreamedProducts::Result &result, unsigned number);
  /// Runs the code with a row of this thread bound, where the array has one.
  void atRow(int64_t rowNumber, llvm::function_ref<void()> emitBody);
  /// Exchanges the words of four lanes: word number i of lane l becomes word l of lane i.
  std::array<mlir::Value, kUnitWords> transposeQuads(std::array<mlir::Value, kUnitWords> words);
  /// Stores 8 features of a row: those of one of four groups, by the position of the lane in its four.
  void storeUnit(const StreamedProducts::Result &result, unsigned number, int64_t firstGroup,
                 llvm::ArrayRef<mlir::Value> words);
  /// Stores the thread's two features of a group, as f32.
  void storePair(const StreamedProducts::Result &result, unsigned number, int64_t group,
                 std::array<mlir::Value, 2> pair);
  mlir::Value addressOf(const StreamedProducts::Result &result, unsigned number);

  //===--- Copies (StreamedCopies.cpp) -------------------------------------===//

  /// Starts the copies of `tile.rows` rows from `firstRow` on into shared memory at `memory`; with a `limit`, zeros
  /// behind this many rows of the array.
  void copy(const StreamTiles::Tile &tile, mlir::Value memory, const IndexExpr &variable, mlir::Value firstRow,
            std::optional<int64_t> limit);
  mlir::Value positionOf(const StreamTiles::Tile &tile, mlir::Value row, mlir::Value unit);
  /// All streamed factors.
  llvm::SmallVector<const StreamTiles::Tile *> listStreamed() const {
    return llvm::map_to_vector(tiles.streamed, [](const StreamTiles::Tile &tile) { return &tile; });
  }
  /// Starts the copies of a tile of these factors.
  void copyStreamed(llvm::ArrayRef<const StreamTiles::Tile *> factors, mlir::Value tile);
  /// Waits until all threads' copies have arrived, and no warp reads a buffer of an earlier tile any more.
  void arrive();
  /// The buffer of a streamed factor that has this tile.
  mlir::Value bufferOf(const StreamTiles::Tile &streamed, mlir::Value tile);
  /// Prepares the rings, whose barriers count from the first tile on, and starts the first copies.
  void startRings();
  /// Copies of streamed factors that are read at the same time.
  struct Stream {
    CopyRing ring;
    llvm::SmallVector<const StreamTiles::Tile *> tiles;
    int64_t ahead = 0; ///< How many tiles' copies begin before a tile is read.
  };
  mlir::Value getUse(mlir::Value tile);
  /// Starts the copies of a tile, if there is one.
  void fill(Stream &stream, mlir::Value tile);
  /// Starts the copies of the tile that is `ahead` of this one.
  void fillAhead(Stream &stream, mlir::Value tile);
  /// Waits for the copies of a tile, and if given, of another stream's.
  void waitForCopies(Stream &stream, mlir::Value tile, Stream *other = nullptr, mlir::Value otherTile = {});
  void release(Stream &stream, mlir::Value tile);

  //===--- Overlapped products (StreamedOverlap.cpp) -----------------------===//

  /// Emits the code for all tiles, with products that run beside the softmax of the next tile.
  void emitOverlapped();
  void emitOverlappedTiles(mlir::Value begin, mlir::Value end);
  /// Keeps the waits that follow behind the code of these values, which are not negative: a release that would happen
  /// if one was. ptxas moves a wait for products over arithmetic, but not over this instruction.
  void keepBehind(llvm::ArrayRef<mlir::Value> values, Stream &stream, mlir::Value tile);
  /// Loads the left factors of scores into registers.
  void loadHeld();
  /// Keeps a tile's weights for its products, which the next tile starts.
  void keepWeights(const Elements &weights);
  llvm::SmallVector<TensorCores::Left> getKeptWeights();

  //===--- Weights that need several scores (StreamedWaits.cpp) ------------===//

  /// A value of which weights are computed, at an index: an input that is the same for all columns, or for all rows, or
  /// an exponential that does not need all scores.
  struct EarlyValue {
    enum Kind { OfRow, OfColumn, Exponential };
    mlir::Value value;
    Index index;
    Kind kind = Exponential;
    unsigned score = 0; ///< An input is loaded before the wait for this score, an exponential computed behind it.
    Elements values;    ///< By row, column or element of the thread, once they are computed; of columns in a tile.
  };
  /// Adds the value, and all of which it is computed, to those that are needed behind the first score.
  void addNeeded(mlir::Value value);
  /// Lets the scores that exponentials need be first.
  void orderScores();
  std::optional<unsigned> findLastScore(mlir::Value value) const;
  /// Finds all early values, and loads those of rows.
  void findEarlyValues();
  std::optional<EarlyValue> describeEarlyValue(mlir::Value value, llvm::ArrayRef<IndexExpr> index) const;
  void noteEarlyValue(mlir::Value value, llvm::ArrayRef<IndexExpr> index);
  const EarlyValue *findEarlyValue(mlir::Value value, llvm::ArrayRef<IndexExpr> index) const;
  /// The value for the element whose code is emitted; null if it has not been computed before.
  mlir::Value readEarlyValue(mlir::Value value, llvm::ArrayRef<IndexExpr> index) const;
  /// Loads the value at positions of the variable; with a `limit`, some of these may be behind it.
  void load(EarlyValue &early, const IndexExpr &variable, llvm::ArrayRef<mlir::Value> positions,
            std::optional<int64_t> limit);
  void loadColumns(unsigned score, mlir::Value firstColumn);
  /// Computes the exponentials that need this score, and none behind it; returns them.
  Elements computeExponentials(unsigned score, mlir::Value firstColumn);
  /// A warpgroup's tile without a softmax.
  void emitBesideProducts(mlir::Value tile);

  //===--- A tile of columns (StreamedTiles.cpp) ---------------------------===//

  void emitTile(mlir::Value tile);
  void multiplyScores(mlir::Value buffer);
  Elements multiplyInWarp(const StreamedProducts::Score &score, mlir::Value buffer);
  /// The products of a warpgroup: of scores, and of weights with the factor in this buffer.
  Warpgroups::Product describeScore(const StreamedProducts::Score &score, mlir::Value buffer);
  Warpgroups::Product describeProduct(const StreamedProducts::Result &result,
                                      llvm::SmallVector<TensorCores::Left> weights, mlir::Value buffer);
  void scaleProducts(llvm::ArrayRef<mlir::Value> scales);
  /// The left factor that the weights of 16 columns, from `firstColumn` of the tile on, are.
  TensorCores::Left packWeights(mlir::Type type, const Elements &weights, int64_t rowTile, int64_t firstColumn);
  /// Starts a warpgroup's product of weights with the tile in a buffer; returns what `Warpgroups::finish` needs.
  Elements startProduct(const StreamedProducts::Result &result, unsigned number, const Elements &weights,
                        mlir::Value buffer);
  void addInWarp(const StreamedProducts::Result &result, unsigned number, const Elements &weights, mlir::Value buffer);
  void addToRows(const StreamedProducts::Result &result, unsigned number, const Elements &weights);

  //===--- Weights (StreamedWeights.cpp) -----------------------------------===//

  /// The value of an array at each of the thread's elements. Behind the last column: `padding`, if it is given.
  Elements emitElements(mlir::Value value, llvm::ArrayRef<IndexExpr> index, mlir::Value firstColumn,
                        std::optional<double> padding = std::nullopt);
  /// Weights of a result, and a positive number by which it is multiplied behind their product.
  std::pair<mlir::Value, double> findResultFactor(const StreamedProducts::Result &result);
  /// These weights; they are no softmax.
  Elements emitWeights(const StreamedProducts::Result &result, mlir::Value firstColumn);
  std::optional<Emitted> readElement(mlir::Value value, llvm::ArrayRef<IndexExpr> index);
  /// Whether the value is a product of the rows' and the columns' factors.
  bool isScore(mlir::Value value) const;
  /// exp(x factor - base). For a score, one multiplication and addition is precise enough. A number that stands for
  /// minus infinity, such as -1e30 or the least one of f32, needs the difference first: its multiple of log2(e) is
  /// rounded by more than any exponent, or infinite, and rows that have only such numbers so far would be infinite
  /// instead of 1.
  mlir::Value expOfDifference(mlir::Value x, double factor, mlir::Value base);
  /// The operand that a selection by the mask's condition takes in a tile that the mask keeps; null if it may be
  /// either.
  mlir::Value findKept(mlir::Value value) const;
  /// An array and a positive number whose product the array is, in a tile that the mask keeps if `isKept`.
  std::pair<mlir::Value, double> findFactor(mlir::Value value) const;
  /// The exponentials of a tile relative to the largest exponent so far, and by row of the thread the factor for sums
  /// of earlier tiles.
  Elements emitSoftmax(mlir::Value firstColumn, llvm::SmallVectorImpl<mlir::Value> &scales);

  //===--- Registers --------------------------------------------------------===//

  /// Groups of 8 columns of a tile, and rows of a thread.
  int64_t getGroups() const { return tiles.columns / kMmaColumns; }
  int64_t getThreadRows() const { return 2 * tiles.rowTiles; }
  /// Position of element e of group g and row tile r among a thread's elements.
  int64_t at(int64_t r, int64_t g, int64_t e) const { return (r * getGroups() + g) * 4 + e; }
  mlir::Value get(mlir::Value memory, int64_t position);
  void set(mlir::Value memory, int64_t position, mlir::Value value);
  Elements getAll(mlir::Value memory, int64_t count);
  void setAll(mlir::Value memory, const Elements &values);
  /// A thread's accumulators of a result.
  int64_t getSumCount(const StreamedProducts::Result &result) const;
  mlir::Value f32(double value);
  mlir::Value reduceOverLanes(ReductionKind kind, mlir::Value value);

  plan::KernelOp kernel;
  StreamedProducts products;
  StreamTiles tiles;
  mlir::gpu::GPUModuleOp target;
  mlir::Location loc;
  mlir::OpBuilder b;
  KernelBody body;
  KernelSchedule schedule; ///< Only its index expressions.
  ElementEmitter emitter;
  GpuCode code;
  std::optional<TensorCores> cores;
  Warpgroups warpgroups;
  std::optional<PositionMask> mask;
  bool isKept = false;  ///< The mask keeps all weights of the tile whose code is emitted.
  bool isWhole = false; ///< That tile does not end behind the last column.

  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::SmallVector<mlir::Value> outputs;
  mlir::Value coordinates, thread;
  mlir::Value warpRow, groupRow; ///< In the block: the first row of the warp, and of the warps that multiply together.
  llvm::SmallVector<mlir::Value> threadRows;   ///< In the array; may be behind its end.
  mlir::Value pairColumn;                      ///< The first of the thread's two columns of a group.
  llvm::SmallVector<mlir::Value> accumulators; ///< Local memory, by result.
  mlir::Value maxima, sums;                    ///< Of the softmax's rows.
  /// Tiles from the first to the one behind the last.
  struct TileRange {
    mlir::Value begin, end;
  };
  /// From the first to the last tile of which the mask keeps something; those of which it keeps all and that do not end
  /// behind the last column, if no other ones are between them.
  TileRange keptTiles, fullTiles;
  mlir::Value laneTiles; ///< Local memory: both ranges as far as they are found, and the number of full tiles.
  llvm::SmallVector<Elements> scores; ///< By score.
  llvm::SmallVector<EarlyValue> earlyValues;
  llvm::DenseMap<mlir::Value, unsigned> lastScores; ///< By value that needs a score.
  llvm::DenseSet<mlir::Value> neededFirst;          ///< For exponentials, and for weights without the last score.
  bool findsEarlyValues = false;                    ///< Elements' code is emitted only to find them.
  /// Of overlapped products: the left factors of scores by held tile, and local memory with the weights.
  llvm::SmallVector<llvm::SmallVector<TensorCores::Left>> heldRows;
  mlir::Value keptWeights;
  /// Of warpgroups: if products are overlapped, the scores' factors and those of the products, else all.
  llvm::SmallVector<Stream> streams;
  std::optional<Turns> turns; ///< Of several warpgroups with overlapped products.
  mlir::Value isFirstLane;
  int64_t element = 0; ///< Whose code is emitted.
};

} // namespace spmdc

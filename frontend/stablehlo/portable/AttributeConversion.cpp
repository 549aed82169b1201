//===- AttributeConversion.cpp - from VHLO's attributes to StableHLO's ----===//

#include "frontend/stablehlo/portable/VhloOperations.h"

#include "frontend/stablehlo/dialect/Dialects.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace spmdc::stablehlo::portable {

namespace {

/// The longest list of dimensions. A constant of one number for all of its elements may have any length.
constexpr int64_t kMaxDims = 4096;

/// Lists of numbers, which VHLO has as tensors.
constexpr StringRef kLists[] = {"base_dilations",
                                "broadcast_dimensions",
                                "dimensions",
                                "edge_padding_high",
                                "edge_padding_low",
                                "fft_length",
                                "interior_padding",
                                "lhs_batching_dimensions",
                                "lhs_contracting_dimensions",
                                "lhs_dilation",
                                "limit_indices",
                                "permutation",
                                "rhs_batching_dimensions",
                                "rhs_contracting_dimensions",
                                "rhs_dilation",
                                "slice_sizes",
                                "start_indices",
                                "strides",
                                "window_dilations",
                                "window_dimensions",
                                "window_strides"};

/// How exactly a function or product is computed: no effect (docs/jax.md). Layouts in memory have none either.
constexpr StringRef kWithoutEffect[] = {"accumulation_type",        "allow_imprecise_accumulation",
                                        "lhs_component_count",      "lhs_precision_type",
                                        "num_primitive_operations", "operand_layouts",
                                        "precision_config",         "result_accuracy",
                                        "result_layouts",           "result_tilings",
                                        "rhs_component_count",      "rhs_precision_type"};

class Converter {
public:
  Converter(NamedAttrList &attributes, MLIRContext *context, ReadFailure &failure)
      : attributes(attributes), builder(context), failure(failure) {}

  void convert(StringRef target) {
    for (StringRef name : kWithoutEffect)
      attributes.erase(name);
    for (StringRef name : kLists)
      if (attributes.get(name))
        attributes.set(name, builder.getDenseI64ArrayAttr(takeList(name)));
    eraseDefaults();
    for (StringRef name : {"callee", "decomposition"})
      if (auto symbol = llvm::dyn_cast_or_null<StringAttr>(attributes.get(name)))
        attributes.set(name, FlatSymbolRefAttr::get(symbol));
    if (attributes.get("channel_id"))
      if (int64_t channel = takeNumber("channel_id"))
        attributes.set("channel_handle", ChannelHandleAttr::get(builder.getContext(), channel, /*type=*/0));
    if (attributes.get("use_global_device_ids") && takeBool("use_global_device_ids"))
      attributes.set("use_global_device_ids", builder.getUnitAttr());
    if (target == "stablehlo.gather")
      groupGather();
    else if (target == "stablehlo.scatter")
      groupScatter();
    else if (target == "stablehlo.convolution")
      groupConvolution();
    else if (target == "func.func")
      checkFunction();
  }

private:
  SmallVector<int64_t> takeList(StringRef name) {
    auto list = llvm::dyn_cast_or_null<DenseIntElementsAttr>(attributes.erase(name));
    if (!list || !list.getElementType().isSignlessInteger(64) || list.getNumElements() > kMaxDims) {
      failure.setDamaged("operations");
      return {};
    }
    return llvm::to_vector(list.getValues<int64_t>());
  }

  /// The list of an attribute that an older version does not have; then it is empty.
  SmallVector<int64_t> takeOptionalList(StringRef name) {
    return attributes.get(name) ? takeList(name) : SmallVector<int64_t>();
  }

  int64_t takeNumber(StringRef name) {
    auto number = llvm::dyn_cast_or_null<IntegerAttr>(attributes.erase(name));
    if (!number || !number.getType().isSignlessInteger()) {
      failure.setDamaged("operations");
      return 0;
    }
    return number.getInt();
  }

  bool takeBool(StringRef name) { return takeNumber(name) != 0; }

  /// StableHLO does not write what VHLO writes as a default.
  void eraseDefaults() {
    auto isEmpty = [](Attribute value) {
      auto text = llvm::dyn_cast<StringAttr>(value);
      auto list = llvm::dyn_cast<ArrayAttr>(value);
      auto dictionary = llvm::dyn_cast<DictionaryAttr>(value);
      return (text && text.empty()) || (list && list.empty()) || (dictionary && dictionary.empty());
    };
    for (StringRef name : {"arg_attrs", "res_attrs", "sym_visibility", "composite_attributes", "backend_config",
                           "called_computations", "output_operand_aliases"})
      if (Attribute value = attributes.get(name); value && isEmpty(value))
        attributes.erase(name);
    if (auto type = llvm::dyn_cast_or_null<ComparisonTypeAttr>(attributes.get("compare_type"));
        type && type.getValue() == "NOTYPE")
      attributes.erase("compare_type");
    if (attributes.get("has_side_effect") == builder.getBoolAttr(false))
      attributes.erase("has_side_effect");
  }

  void groupGather() {
    SmallVector<int64_t> offset = takeList("offset_dims"), collapsed = takeList("collapsed_slice_dims"),
                         operandBatching = takeOptionalList("operand_batching_dims"),
                         indicesBatching = takeOptionalList("start_indices_batching_dims"),
                         map = takeList("start_index_map");
    attributes.set("dimension_numbers", GatherDimsAttr::get(builder.getContext(), offset, collapsed, operandBatching,
                                                            indicesBatching, map, takeNumber("index_vector_dim")));
  }

  void groupScatter() {
    SmallVector<int64_t> window = takeList("update_window_dims"), inserted = takeList("inserted_window_dims"),
                         inputBatching = takeOptionalList("input_batching_dims"),
                         indicesBatching = takeOptionalList("scatter_indices_batching_dims"),
                         map = takeList("scatter_dims_to_operand_dims");
    attributes.set("scatter_dimension_numbers",
                   ScatterDimsAttr::get(builder.getContext(), window, inserted, inputBatching, indicesBatching, map,
                                        takeNumber("index_vector_dim")));
  }

  /// One letter for each dimension (StablehloOps.td).
  StringAttr takeLayout(char first, StringRef firstName, char second, StringRef secondName, StringRef positionsName) {
    int64_t firstDim = takeNumber(firstName), secondDim = takeNumber(secondName);
    SmallVector<int64_t> positions = takeList(positionsName);
    std::string letters(positions.size() + 2, ' ');
    auto write = [&](int64_t dim, char letter) {
      if (dim < 0 || dim >= static_cast<int64_t>(letters.size()) || letters[static_cast<size_t>(dim)] != ' ')
        failure.setDamaged("operations");
      else
        letters[static_cast<size_t>(dim)] = letter;
    };
    write(firstDim, first);
    write(secondDim, second);
    for (auto [number, dim] : llvm::enumerate(positions))
      write(dim, static_cast<char>('0' + std::min<size_t>(number, 10)));
    if (positions.size() > 10)
      failure.setDamaged("operations");
    return builder.getStringAttr(letters);
  }

  void groupConvolution() {
    attributes.set("lhs_layout", takeLayout('b', "input_batch_dimension", 'f', "input_feature_dimension",
                                            "input_spatial_dimensions"));
    attributes.set("rhs_layout", takeLayout('i', "kernel_input_feature_dimension", 'o',
                                            "kernel_output_feature_dimension", "kernel_spatial_dimensions"));
    attributes.set("result_layout", takeLayout('b', "output_batch_dimension", 'f', "output_feature_dimension",
                                               "output_spatial_dimensions"));
    attributes.set("padding", builder.getDenseI64ArrayAttr(takeList("padding")));
    auto reversal = llvm::dyn_cast_or_null<DenseElementsAttr>(attributes.get("window_reversal"));
    if (!reversal || !reversal.getElementType().isSignlessInteger(1) || reversal.getNumElements() > kMaxDims)
      return failure.setDamaged("operations");
    attributes.set("window_reversal", builder.getDenseBoolArrayAttr(llvm::to_vector(reversal.getValues<bool>())));
  }

  /// The interfaces of functions assume these.
  void checkFunction() {
    auto name = llvm::dyn_cast_or_null<StringAttr>(attributes.get("sym_name"));
    auto type = llvm::dyn_cast_or_null<TypeAttr>(attributes.get("function_type"));
    auto function = type ? llvm::dyn_cast<FunctionType>(type.getValue()) : FunctionType();
    auto areDictionaries = [&](StringRef list, unsigned count) {
      Attribute attribute = attributes.get(list);
      auto array = llvm::dyn_cast_or_null<ArrayAttr>(attribute);
      return !attribute || (array && array.size() == count &&
                            llvm::all_of(array, [](Attribute each) { return llvm::isa<DictionaryAttr>(each); }));
    };
    if (!name || !function || !areDictionaries("arg_attrs", function.getNumInputs()) ||
        !areDictionaries("res_attrs", function.getNumResults()))
      failure.setDamaged("operations");
  }

  NamedAttrList &attributes;
  Builder builder;
  ReadFailure &failure;
};

} // namespace

void convertAttributes(StringRef target, NamedAttrList &attributes, MLIRContext *context, ReadFailure &failure) {
  Converter(attributes, context, failure).convert(target);
}

} // namespace spmdc::stablehlo::portable

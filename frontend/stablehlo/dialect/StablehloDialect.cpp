//===- StablehloDialect.cpp - StableHLO: attributes and operations --------===//

#include "frontend/stablehlo/dialect/Assembly.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "frontend/stablehlo/dialect/StablehloOpsDialect.cpp.inc"

namespace spmdc::stablehlo {

//===- Attributes of named lists: #stablehlo.gather<offset_dims = [1], ...> ===//

namespace {

/// One entry: a name, and a list of dimensions or a number.
struct Field {
  StringRef name;
  SmallVector<int64_t> *list = nullptr;
  int64_t *number = nullptr;
};

ParseResult parseFields(AsmParser &parser, ArrayRef<Field> fields) {
  auto parseField = [&]() -> ParseResult {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return failure();
    const auto *field = llvm::find_if(fields, [&](const Field &field) { return field.name == word; });
    if (field == fields.end())
      return parser.emitError(loc, "unknown entry '") << word << "'";
    if (field->number)
      return parser.parseInteger(*field->number);
    field->list->clear();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(field->list->emplace_back()); });
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseField);
}

/// Prints the lists that are not empty, and the number.
void printFields(AsmPrinter &printer, ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> lists, StringRef name,
                 int64_t number) {
  printer << "<";
  for (auto [list, values] : lists)
    if (!values.empty()) {
      printer << list << " = [";
      llvm::interleaveComma(values, printer);
      printer << "], ";
    }
  printer << name << " = " << number << ">";
}

} // namespace

Attribute GatherDimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> offset, collapsed, operandBatching, indicesBatching, map;
  int64_t vectorDim = 0;
  Field fields[] = {{"offset_dims", &offset},
                    {"collapsed_slice_dims", &collapsed},
                    {"operand_batching_dims", &operandBatching},
                    {"start_indices_batching_dims", &indicesBatching},
                    {"start_index_map", &map},
                    {"index_vector_dim", nullptr, &vectorDim}};
  if (parseFields(parser, fields))
    return {};
  return get(parser.getContext(), offset, collapsed, operandBatching, indicesBatching, map, vectorDim);
}

void GatherDimsAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"offset_dims", getOffsetDims()},
               {"collapsed_slice_dims", getCollapsedSliceDims()},
               {"operand_batching_dims", getOperandBatchingDims()},
               {"start_indices_batching_dims", getStartIndicesBatchingDims()},
               {"start_index_map", getStartIndexMap()}},
              "index_vector_dim", getIndexVectorDim());
}

Attribute ScatterDimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> window, inserted, inputBatching, indicesBatching, map;
  int64_t vectorDim = 0;
  Field fields[] = {{"update_window_dims", &window},         {"inserted_window_dims", &inserted},
                    {"input_batching_dims", &inputBatching}, {"scatter_indices_batching_dims", &indicesBatching},
                    {"scatter_dims_to_operand_dims", &map},  {"index_vector_dim", nullptr, &vectorDim}};
  if (parseFields(parser, fields))
    return {};
  return get(parser.getContext(), window, inserted, inputBatching, indicesBatching, map, vectorDim);
}

void ScatterDimsAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"update_window_dims", getUpdateWindowDims()},
               {"inserted_window_dims", getInsertedWindowDims()},
               {"input_batching_dims", getInputBatchingDims()},
               {"scatter_indices_batching_dims", getScatterIndicesBatchingDims()},
               {"scatter_dims_to_operand_dims", getScatterDimsToOperandDims()}},
              "index_vector_dim", getIndexVectorDim());
}

Attribute OutputOperandAliasAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> outputs, operands;
  int64_t index = 0;
  Field fields[] = {
      {"output_tuple_indices", &outputs}, {"operand_tuple_indices", &operands}, {"operand_index", nullptr, &index}};
  return parseFields(parser, fields) ? Attribute() : get(parser.getContext(), outputs, index, operands);
}

void OutputOperandAliasAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"output_tuple_indices", getOutputTupleIndices()}, {"operand_tuple_indices", getOperandTupleIndices()}},
              "operand_index", getOperandIndex());
}

//===- Attributes of one word: #stablehlo<precision DEFAULT> --------------===//

template <typename Attr> static Attribute parseWord(AsmParser &parser) {
  StringRef word;
  return failed(parser.parseKeyword(&word)) ? Attribute() : Attr::get(parser.getContext(), word);
}

Attribute PrecisionAttr::parse(AsmParser &parser, Type) { return parseWord<PrecisionAttr>(parser); }
Attribute ComparisonDirectionAttr::parse(AsmParser &parser, Type) { return parseWord<ComparisonDirectionAttr>(parser); }
Attribute ComparisonTypeAttr::parse(AsmParser &parser, Type) { return parseWord<ComparisonTypeAttr>(parser); }
Attribute FftTypeAttr::parse(AsmParser &parser, Type) { return parseWord<FftTypeAttr>(parser); }
Attribute TransposeAttr::parse(AsmParser &parser, Type) { return parseWord<TransposeAttr>(parser); }
void FftTypeAttr::print(AsmPrinter &printer) const { printer << " " << getValue(); }
void TransposeAttr::print(AsmPrinter &printer) const { printer << " " << getValue(); }
Attribute RngAlgorithmAttr::parse(AsmParser &parser, Type) { return parseWord<RngAlgorithmAttr>(parser); }
void PrecisionAttr::print(AsmPrinter &printer) const { printer << " " << getValue(); }
void ComparisonDirectionAttr::print(AsmPrinter &printer) const { printer << " " << getValue(); }
void ComparisonTypeAttr::print(AsmPrinter &printer) const { printer << " " << getValue(); }
void RngAlgorithmAttr::print(AsmPrinter &printer) const { printer << " " << getValue(); }

void StablehloDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "frontend/stablehlo/dialect/StablehloOpsAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "frontend/stablehlo/dialect/StablehloOps.cpp.inc"
      >();
}

} // namespace spmdc::stablehlo

#define GET_ATTRDEF_CLASSES
#include "frontend/stablehlo/dialect/StablehloOpsAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "frontend/stablehlo/dialect/StablehloOps.cpp.inc"

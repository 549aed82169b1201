//===- Inference.cpp - the types of an expression -------------------------===//

#include "runtime/jit/Inference.h"

#include "frontend/Frontend.h"
#include "runtime/jit/EndingThread.h"
#include "runtime/jit/LanguageText.h"
#include "runtime/support/Error.h"

#include "mlir/IR/MLIRContext.h"

#include <mutex>
#include <unordered_map>

namespace spmd {
namespace {

/// The result of the front end: types, or the message of an error.
struct Answer {
  std::vector<InferredType> types;
  std::string mistake;
};

Answer ask(mlir::MLIRContext &context, const std::string &text, const std::string &expression) {
  Answer answer;
  spmdc::Diagnostics diagnostics;
  std::optional<std::vector<spmdc::EntryResult>> results =
      spmdc::inferResults(text, "<traced>", spmdc::FrontendOptions(), context, diagnostics);
  if (results) {
    for (spmdc::EntryResult &result : *results)
      answer.types.push_back({result.dtype, std::move(result.shape)});
    return answer;
  }
  for (const spmdc::Diagnostic &error : diagnostics.getErrors()) {
    answer.mistake += (answer.mistake.empty() ? "" : "\n") + error.message;
    for (const spmdc::DiagnosticNote &note : error.notes)
      answer.mistake += "\nnote: " + note.message;
  }
  answer.mistake += "\n  in " + expression;
  return answer;
}

} // namespace

std::vector<InferredType> inferTypes(const std::string &declarations, const std::string &parameters,
                                     const std::string &expression, const std::source_location &where) {
  // Programs that are traced once have few expressions. The limit is for expressions with ever new constants.
  constexpr size_t kMaxAnswers = 10000;
  static std::mutex mutex;
  static std::unordered_map<std::string, Answer> answers;
  std::string text = declarations + "fn main(" + parameters + ") {\n  return " + expression + ";\n}\n";
  std::lock_guard lock(mutex);
  auto known = answers.find(text);
  if (known == answers.end()) {
    checkMayCompile(where);
    static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    if (answers.size() >= kMaxAnswers)
      answers.clear();
    known = answers.emplace(text, ask(context, text, expression + " (" + parameters + ")")).first;
  }
  if (!known->second.mistake.empty())
    throw Error(placeText(where) + ": error: " + known->second.mistake);
  return known->second.types;
}

} // namespace spmd

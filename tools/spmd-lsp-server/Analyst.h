//===- Analyst.h - background analysis of open documents --------*- C++ -*-===//
//
// The Analyst has two threads. The first finds names, types and shardings of the newest version of each document, which
// takes milliseconds. The second finds the costs of versions without errors, which may take seconds; only warnings and
// budgets wait for it. After an edit, the analysis of the older version ends at its next step, and its results are
// dropped.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/BackgroundThread.h"
#include "tools/spmd-lsp-server/Analysis.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace spmdc {

/// Owns the analyses of all open documents. Thread-safe.
class Analyst {
public:
  /// Receives all messages about a version of a document, and all of them again if a later step finds more. Called on
  /// either thread, one call at a time.
  using Publish =
      std::function<void(const mlir::lsp::URIForFile &, std::optional<int64_t> version, const EditorDiagnostics &)>;

  Analyst(FrontendOptions options, Publish publish);
  /// Waits until both threads have ended their current step.
  ~Analyst();

  /// Opens a document, or sets the text of an open one.
  void setText(const mlir::lsp::URIForFile &uri, int64_t version, std::string text);
  /// The newest text; null if the document is not open.
  std::shared_ptr<const DocumentText> getText(const mlir::lsp::URIForFile &uri);
  /// Closes the document, and clears its messages.
  void close(const mlir::lsp::URIForFile &uri);

  /// The newest snapshot of a document. Waits until it has the wanted knowledge, or until `patience` after the last
  /// edit. Null if the document is not open.
  std::shared_ptr<const Snapshot> get(const mlir::lsp::URIForFile &uri, Knowledge wanted);
  /// Enough for all but huge programs, and about as long as a user waits for a hover.
  static constexpr std::chrono::milliseconds patience{1000};
  /// The costs thread starts after this time without an edit.
  static constexpr std::chrono::milliseconds pause{300};

  /// Waits until all analyses are complete. Later ones start without pauses.
  void finish();
  /// Whether the costs thread is working, which may take seconds.
  bool isBusy();

private:
  struct Document {
    mlir::lsp::URIForFile uri;
    std::shared_ptr<const Snapshot> newest; ///< The latest snapshot of the newest version.
    std::chrono::steady_clock::time_point changed;
    bool isWaiting = false;             ///< The analysis of the newest version has not started.
    std::unique_ptr<Analysis> uncosted; ///< An analysis for the costs thread.
    std::string published;              ///< The messages that were sent last,
    uint64_t publishedNumber = 0;       ///< and the number of their text.
  };

  void analyseAll();
  void analyse(Analysis &analysis);
  void findAllCosts();
  /// The document with this version as its newest; null if there is none.
  Document *find(llvm::StringRef uri, uint64_t number);
  Document *find(const Analysis &analysis) { return find(analysis.getUri().uri(), analysis.getSnapshot().number); }
  bool tell(const Analysis &analysis);
  void publishMessages(const Analysis &analysis);

  FrontendOptions options;
  Publish publish;
  std::mutex mutex;      ///< Protects all members below; not held while a step of an analysis runs.
  std::mutex publishing; ///< Keeps messages in the order of their versions; locked before `mutex`.
  std::condition_variable changed;
  std::map<std::string, Document> documents; ///< By URI.
  uint64_t lastNumber = 0;
  bool isEnding = false, isHurrying = false, isAnalysing = false, isCosting = false;
  spmd::BackgroundThread analyses, costs;
};

} // namespace spmdc

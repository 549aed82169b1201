//===- Analyst.h - analyses of open documents, in the background -*- C++ -*-===//
//
// Two threads of its own. One finds names, types and shardings of the newest version of each document, which takes
// milliseconds; the other one what programs cost, which may take seconds, of versions that have no errors. An edit
// makes whatever is under way for an older version of no use: it ends at its next step, and nothing is told of it. The
// second thread holds up nothing but warnings.
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

class Analyst {
public:
  /// Gets all messages about each version of a document, and again if more are found; on either thread, one call at a
  /// time.
  using Publish =
      std::function<void(const mlir::lsp::URIForFile &, std::optional<int64_t> version, const EditorDiagnostics &)>;

  Analyst(FrontendOptions options, Publish publish);
  /// Waits until both threads have ended the step that they are at.
  ~Analyst();

  /// A document is open with this text, or has it now.
  void setText(const mlir::lsp::URIForFile &uri, int64_t version, std::string text);
  /// The newest text; null where the document is not open.
  std::shared_ptr<const DocumentText> getText(const mlir::lsp::URIForFile &uri);
  /// The document is closed; its messages go.
  void close(const mlir::lsp::URIForFile &uri);

  /// What is known of the newest version of a document. Waits for more knowledge, up to `patience` behind the edit that
  /// made the version. Null where the document is not open.
  std::shared_ptr<const Snapshot> get(const mlir::lsp::URIForFile &uri, Knowledge wanted);
  /// Long enough for any program but monsters, and no longer than a person waits for an answer.
  static constexpr std::chrono::milliseconds patience{1000};
  /// Costs are looked for once there has been no edit for so long.
  static constexpr std::chrono::milliseconds pause{300};

  /// Waits until nothing is left to be done; from now on there are no pauses.
  void finish();
  /// Whether the second thread is at work, and may be for seconds.
  bool isBusy();

private:
  struct Document {
    mlir::lsp::URIForFile uri;
    std::shared_ptr<const Snapshot> newest; ///< Of the newest version what is known so far.
    std::chrono::steady_clock::time_point changed;
    bool isWaiting = false;             ///< Its newest version has not been begun.
    std::unique_ptr<Analysis> uncosted; ///< Its costs are to be found.
    std::string published;              ///< The messages that were sent last,
    uint64_t publishedNumber = 0;       ///< and of which text.
  };

  void analyseAll();
  void analyse(Analysis &analysis);
  void findAllCosts();
  /// The document of a version that is still its newest; else null.
  Document *find(llvm::StringRef uri, uint64_t number);
  Document *find(const Analysis &analysis) { return find(analysis.getUri().uri(), analysis.getSnapshot().number); }
  bool tell(const Analysis &analysis);
  void publishMessages(const Analysis &analysis);

  FrontendOptions options;
  Publish publish;
  std::mutex mutex;      ///< Over all below; never held while an analysis is at work.
  std::mutex publishing; ///< Keeps messages in the order of their versions; taken before `mutex`.
  std::condition_variable changed;
  std::map<std::string, Document> documents; ///< By URI.
  uint64_t lastNumber = 0;
  bool isEnding = false, isHurrying = false, isAnalysing = false, isCosting = false;
  spmd::BackgroundThread analyses, costs;
};

} // namespace spmdc

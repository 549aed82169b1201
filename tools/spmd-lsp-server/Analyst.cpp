//===- Analyst.cpp - background analysis of open documents ----------------===//

#include "tools/spmd-lsp-server/Analyst.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/resource.h>
#include <unistd.h>

namespace spmdc {

Analyst::Analyst(FrontendOptions options, Publish publish)
    : options(std::move(options)), publish(std::move(publish)), analyses("analyses", [this] { analyseAll(); }),
      costs("costs", [this] { findAllCosts(); }) {}

Analyst::~Analyst() {
  std::lock_guard lock(mutex);
  isEnding = true;
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// Documents
//===----------------------------------------------------------------------===//

void Analyst::setText(const mlir::lsp::URIForFile &uri, int64_t version, std::string text) {
  auto newest = std::make_shared<Snapshot>();
  newest->version = version;
  newest->text = std::make_shared<DocumentText>(std::move(text));
  std::lock_guard lock(mutex);
  newest->number = ++lastNumber;
  Document &known = documents[uri.uri().str()];
  known.uri = uri;
  known.newest = std::move(newest);
  known.changed = std::chrono::steady_clock::now();
  known.isWaiting = true;
  known.uncosted.reset();
  changed.notify_all();
}

std::shared_ptr<const DocumentText> Analyst::getText(const mlir::lsp::URIForFile &uri) {
  std::lock_guard lock(mutex);
  auto known = documents.find(uri.uri().str());
  return known == documents.end() ? nullptr : known->second.newest->text;
}

void Analyst::close(const mlir::lsp::URIForFile &uri) {
  std::lock_guard turn(publishing);
  bool hadMessages = false;
  {
    std::lock_guard lock(mutex);
    auto known = documents.find(uri.uri().str());
    if (known == documents.end())
      return;
    hadMessages = !known->second.published.empty();
    documents.erase(known);
    changed.notify_all();
  }
  if (hadMessages)
    publish(uri, std::nullopt, {});
}

std::shared_ptr<const Snapshot> Analyst::get(const mlir::lsp::URIForFile &uri, Knowledge wanted) {
  std::unique_lock lock(mutex);
  auto known = documents.find(uri.uri().str());
  if (known == documents.end())
    return nullptr;
  Document &document = known->second;
  changed.wait_until(lock, document.changed + patience, [&] { return document.newest->knowledge >= wanted; });
  return document.newest;
}

void Analyst::finish() {
  std::unique_lock lock(mutex);
  isHurrying = true;
  changed.notify_all();
  changed.wait(lock, [&] {
    return !isAnalysing && !isCosting &&
           llvm::none_of(documents, [](const auto &d) { return d.second.isWaiting || d.second.uncosted; });
  });
}

bool Analyst::isBusy() {
  std::lock_guard lock(mutex);
  return isCosting;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Analyst::Document *Analyst::find(llvm::StringRef uri, uint64_t number) {
  auto known = documents.find(uri.str());
  bool isNewest = known != documents.end() && known->second.newest->number == number;
  return isNewest && !isEnding ? &known->second : nullptr;
}

/// Publishes the snapshot after a step to waiting requests. Returns false if the version is outdated.
bool Analyst::tell(const Analysis &analysis) {
  std::lock_guard lock(mutex);
  Document *document = find(analysis);
  if (!document)
    return false;
  document->newest = std::make_shared<Snapshot>(analysis.getSnapshot());
  changed.notify_all();
  return true;
}

void Analyst::publishMessages(const Analysis &analysis) {
  EditorDiagnostics messages = analysis.diagnostics();
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const mlir::lsp::Diagnostic &message : messages)
    stream << llvm::json::Value(toJSON(message));
  std::lock_guard turn(publishing);
  {
    std::lock_guard lock(mutex);
    Document *document = find(analysis);
    uint64_t number = analysis.getSnapshot().number;
    if (!document || (document->publishedNumber == number && document->published == text))
      return;
    document->published = text;
    document->publishedNumber = number;
  }
  publish(analysis.getUri(), analysis.getSnapshot().version, messages);
}

void Analyst::analyseAll() {
  std::unique_lock lock(mutex);
  while (true) {
    auto next = documents.end();
    changed.wait(lock, [&] {
      next = llvm::find_if(documents, [](const auto &d) { return d.second.isWaiting; });
      return isEnding || next != documents.end();
    });
    if (isEnding)
      return;
    Document &document = next->second;
    document.isWaiting = false;
    isAnalysing = true;
    auto shouldContinue = [this, uri = document.uri.uri().str(), number = document.newest->number] {
      std::lock_guard lock(mutex);
      return find(uri, number) != nullptr;
    };
    auto analysis = std::make_unique<Analysis>(document.uri, *document.newest, options, shouldContinue);
    lock.unlock();
    analyse(*analysis);
    bool isGood = !analysis->hasErrors();
    lock.lock();
    if (Document *known = isGood ? find(*analysis) : nullptr)
      known->uncosted = std::move(analysis);
    lock.unlock();
    analysis.reset(); // Slow, so outside of the lock.
    lock.lock();
    isAnalysing = false;
    changed.notify_all();
  }
}

void Analyst::analyse(Analysis &analysis) {
  analysis.findNames();
  if (!tell(analysis))
    return;
  analysis.findTypes();
  if (!tell(analysis))
    return;
  analysis.findShardings();
  if (tell(analysis))
    // Without errors, the costs thread will publish warnings; this removes the errors of an older version until then.
    publishMessages(analysis);
}

void Analyst::findAllCosts() {
  // Lower the priority, so that answers come first on a machine with few processors. On Linux niceness is per thread.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);
  std::unique_lock lock(mutex);
  while (true) {
    auto next = documents.end();
    changed.wait(lock, [&] {
      next = llvm::find_if(documents, [](const auto &d) { return d.second.uncosted != nullptr; });
      return isEnding || next != documents.end();
    });
    if (isEnding)
      return;
    auto due = next->second.changed + pause;
    if (!isHurrying && std::chrono::steady_clock::now() < due) {
      changed.wait_until(lock, due);
      continue; // The document may be closed, or have a newer text.
    }
    isCosting = true;
    std::unique_ptr<Analysis> analysis = std::move(next->second.uncosted);
    lock.unlock();
    analysis->findCosts();
    publishMessages(*analysis);
    analysis.reset();
    lock.lock();
    isCosting = false;
    changed.notify_all();
  }
}

} // namespace spmdc

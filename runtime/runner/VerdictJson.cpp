//===- VerdictJson.cpp - a verdict as JSON --------------------------------===//

#include "runtime/runner/VerdictJson.h"

#include "runtime/support/Process.h"

namespace spmd {

const char *causeName(Verdict::Cause cause) {
  constexpr const char *names[] = {"lost",   "killed",   "exited",  "hung",       "stuck",
                                   "failed", "mismatch", "missing", "interrupted"};
  return names[static_cast<int>(cause)];
}

nlohmann::ordered_json verdictJson(const Verdict &verdict) {
  nlohmann::ordered_json json = {{"cause", causeName(verdict.cause)},
                                 {"process", nullptr},
                                 {"host", nullptr},
                                 {"pid", nullptr},
                                 {"signal", nullptr},
                                 {"signal_name", nullptr},
                                 {"exit_code", nullptr},
                                 {"launch", nullptr},
                                 {"step", nullptr},
                                 {"location", nullptr},
                                 {"message", verdict.str()}};
  if (verdict.culprit >= 0)
    json["process"] = verdict.culprit;
  if (!verdict.host.empty())
    json["host"] = verdict.host;
  if (verdict.pid != 0)
    json["pid"] = verdict.pid;
  if (verdict.cause == Verdict::Cause::Killed || verdict.cause == Verdict::Cause::Interrupted) {
    json["signal"] = verdict.detail;
    json["signal_name"] = signalName(static_cast<int>(verdict.detail));
  }
  if (verdict.cause == Verdict::Cause::Exited)
    json["exit_code"] = verdict.detail;
  if (verdict.position.launch != 0 || verdict.position.step >= 0) {
    json["launch"] = verdict.position.launch;
    json["step"] = verdict.position.step;
  }
  if (!verdict.position.location.empty())
    json["location"] = verdict.position.location;
  return json;
}

std::string jsonText(const nlohmann::ordered_json &json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace spmd

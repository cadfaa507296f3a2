// The page around the sections.
#include "report/html_report.hpp"

#include "report/html_sections.hpp"
#include "report/html_style.hpp"
#include "report/html_text.hpp"

#include <fmt/format.h>

namespace rollcall::report {
namespace {

std::string section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : fmt::format("<section><h2>{}</h2>{}</section>\n", title, body);
}

std::string header(const ReportInput& input) {
  std::string sub;
  if (!input.run_id.empty()) sub += fmt::format("run <code>{}</code>", escape(input.run_id));
  if (!input.policy_sha256.empty()) {
    sub += fmt::format(R"({}policy <code title="SHA-256 {}">{}</code>)",
                       sub.empty() ? "" : " &middot; ", escape(input.policy_sha256),
                       escape(input.policy_sha256.substr(0, 16)));
  }
  return fmt::format("<h1>{}</h1>\n<p class=\"sub\">{}</p>\n",
                     escape(input.title.empty() ? "Rollcall run" : input.title), sub);
}

}  // namespace

std::string html_report(const ReportInput& input) {
  const std::string body =
      section("The run", facts(input)) + section("What the last steps say", diagnoses(input)) +
      section("Learning", learning_charts(input)) +
      section("Held-out results by level", level_results(input)) +
      section("Rollout budget", budget_charts(input)) +
      section("Difficulty bins", bin_charts(input)) +
      section("Health of the update", health_charts(input)) +
      section("What moves", moving_charts(input)) + section("Time", time_charts(input)) +
      section("Groups in full", exhibits(input)) +
      section("Settings that are no defaults", settings(input));
  // The content security policy forbids scripts and everything from outside, in case some text is
  // ever left unescaped.
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}{}{}<footer>Curves are "
      "read from metrics.jsonl of the run folder. "
      "Point at a chart to read its numbers.</footer>\n</main>\n</body>\n</html>\n",
      escape(input.title.empty() ? "Rollcall run" : input.title), kStyle, header(input),
      tiles(input),
      body.empty() ? "<p class=\"sub\">The run has recorded nothing yet.</p>\n" : body);
}

}  // namespace rollcall::report

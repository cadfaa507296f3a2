// report.html: nothing from a run becomes markup, nothing comes from outside, and every part may be
// missing.
#include "report/html_report.hpp"
#include "report/html_text.hpp"
#include "report/svg_frame.hpp"
#include "report/svg_sheet.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace rollcall::report {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

TEST(Escape, MarkupControlsAndBadUtf8) {
  EXPECT_EQ(escape("<a href=\"x\" id='y'>&"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(escape(std::string("\0\x1b[2J\x7f", 6)), "&#x2400;&#x241B;[2J&#x2421;");
  EXPECT_EQ(escape("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(escape("z\xc3\xbc \xe4\xb8\xad \xf0\x9f\x99\x82"),
            "z\xc3\xbc \xe4\xb8\xad \xf0\x9f\x99\x82");
  EXPECT_EQ(escape("\xe2\x80\xaegpj"), "\\u202Egpj");  // right-to-left override
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(escape("\xc0\xaf"), bad + bad);                      // overlong
  EXPECT_EQ(escape("\xed\xa0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // beyond Unicode
  EXPECT_EQ(escape("x\xe4\xb8"), "x" + bad + bad);               // cut
}

TEST(Escape, AnyBytesBecomeTextOnly) {
  EXPECT_TRUE(rc::check("no markup character survives", [](const std::string& bytes) {
    const std::string safe = escape(bytes);
    RC_ASSERT(safe.find_first_of("<>\"'") == std::string::npos);
    RC_ASSERT(escape(escape(bytes)).find_first_of("<>\"'") == std::string::npos);
  }));
}

ReportInput full(const std::string& text) {
  ReportInput in;
  in.title = in.run_id = in.policy_sha256 = text;
  in.facts = {{text, text}};
  in.groups = {{text, text, {{text, 1.0}, {"", std::nan("")}}}};
  in.stage_seconds = {{text, 3.0}, {"update", 2.0}};
  in.rollouts_per_level = {{2, 10}};
  std::vector<PromptOutcome> outcomes(2);
  outcomes[0] = {2, {1, 0}, {"a", "b"}};
  outcomes[1] = {3, {0, 0}, {text, text}};
  in.evaluations["before"] = in.evaluations["after"] = evaluate(outcomes, 2, 20, 1);
  for (std::uint64_t step = 0; step < 60; ++step) {
    in.metrics.push_back({"train",
                          step,
                          {{"critic/rewards/mean", step % 7 == 3 ? std::nan("") : double(step)},
                           {"actor/entropy", 1.0},
                           {"actor/ratio_min", 0.99},
                           {"actor/ratio_max", INFINITY},
                           {"timing_s/update", 0.5},
                           {"rollout_alloc/class_share/" + text, 1.0}}});
    in.metrics.push_back(
        {"validation", step, {{"pass_at_1" + text, 0.5}, {text + "pass_at_2", 0.5}}});
  }
  return in;
}

TEST(HtmlReport, HostileTextStaysText) {
  const std::string hostile =
      "</title></style></pre><script>alert(1)</script><img src=x onerror=alert(2)>\" onload=\"x {}";
  const std::string page = html_report(full(hostile)), benign = html_report(full("abc"));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("\" onload"), std::string::npos);
  EXPECT_EQ(count(page, "</style>"), 1U);
  EXPECT_EQ(count(page, "<"), count(benign, "<"));  // the same tags, whatever the text
  EXPECT_GT(count(page, "&lt;script&gt;"), 8U);
}

TEST(HtmlReport, IsSelfContained) {
  const std::string page = html_report(full("x"));
  for (const char* outside : {"http:", "https:", "src=", "url(", "@import", "<link", "<script"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);  // no coordinate may be one
  EXPECT_EQ(page.find("inf\""), std::string::npos);
}

TEST(HtmlReport, EveryPartMayBeMissing) {
  EXPECT_NE(html_report({}).find("recorded nothing yet"), std::string::npos);
  for (int missing = 0; missing < 6; ++missing) {
    ReportInput in = full("x");
    if (missing == 0) in.metrics.clear();
    if (missing == 1) in.evaluations.clear();
    if (missing == 2) in.evaluations.erase("before");
    if (missing == 3) in.evaluations.erase("after");
    if (missing == 4) in.groups.clear(), in.facts.clear();
    if (missing == 5) in.stage_seconds.clear(), in.rollouts_per_level.clear();
    const std::string page = html_report(in);
    EXPECT_EQ(count(page, "<figure>"), count(page, "</figure>"));
    EXPECT_EQ(page.find("recorded nothing yet"), std::string::npos);
  }
}

TEST(HtmlReport, ADifferenceHasAColourOnlyWhereItsIntervalExcludesZero) {
  ReportInput in;
  const std::pair<const char*, double> results[] = {{"before", 0.25}, {"after", 0.5}};
  for (const auto& [when, mean] : results) {
    Evaluation& evaluation = in.evaluations[when];
    evaluation.prompts = 4, evaluation.samples = 8, evaluation.k = 1;
    evaluation.pass_at_1 = {mean, mean - 0.1, mean + 0.1};
  }
  const auto colour = [&](double low, double high) {
    in.gains = {{"pass@1", {(low + high) / 2, low, high}}};
    const std::string page = html_report(in);
    const auto at = page.find("points");
    EXPECT_NE(page.find(fmt::format("[{:+.1f}, {:+.1f}]", 100 * low, 100 * high)),
              std::string::npos);
    const auto span = page.rfind("<span class=\"", at) + 13;
    return page.substr(span, page.find('"', span) - span);
  };
  EXPECT_EQ(colour(0.01, 0.49), "up");
  EXPECT_EQ(colour(-0.3, -0.1), "down");
  EXPECT_EQ(colour(-0.01, 0.51), "unclear");
  EXPECT_EQ(colour(0.0, 0.5), "unclear");
  in.gains.clear();
  EXPECT_NE(html_report(in).find("class=\"unclear\""), std::string::npos)
      << "without an interval nothing is claimed";
}

TEST(HtmlReport, DrawsLengthsAndTheCutShare) {
  ReportInput in;
  for (std::uint64_t step = 0; step < 3; ++step)
    in.metrics.push_back({"train",
                          step,
                          {{"response_length/mean", 20.0 + double(step)},
                           {"response_length/clip_ratio", 0.1 * double(step)}}});
  const std::string page = html_report(in);
  for (const char* title : {"Mean response length (tokens)", "Responses cut at the token limit"})
    EXPECT_EQ(count(page, std::string("<figcaption>") + title), 1U) << title;
}

TEST(HtmlReport, ShowsBinsOverTimeOneChartAQuantity) {
  ReportInput in;
  EXPECT_EQ(html_report(in).find("Difficulty bins"), std::string::npos);
  for (std::uint64_t step = 0; step < 3; ++step) {
    in.metrics.push_back({"train",
                          step,
                          {{"gdro/population/0", 5.0},
                           {"gdro/population/1", 7.0},
                           {"gdro/population/10", 1.0},
                           {"gdro/price", 0.1},
                           {"gdro/weight/0", 2.0},
                           {"gdro/something_new/0", 3.0},
                           {"gdro/weight/1", 1.0}}});
  }
  const std::string page = html_report(in);
  EXPECT_NE(page.find("Difficulty bins"), std::string::npos);
  for (const char* title : {"Prompts by bin", "Weight of the advantages by bin",
                            "Price of a rollout", "something_new"}) {
    EXPECT_EQ(count(page, std::string("<figcaption>") + title), 1U) << title;
  }
  EXPECT_EQ(count(page, "<figure>"), 4U);
  EXPECT_EQ(count(page, "bin 10</span>"), 1U);
  EXPECT_LT(page.find("bin 1</span>"), page.find("bin 10</span>"));
}

TEST(HtmlReport, ShowsDrawnAndTrainedRolloutsWhereTheyDiffer) {
  ReportInput in;
  const auto shown = [&] {
    return html_report(in).find("Rollouts drawn and trained") != std::string::npos;
  };
  for (std::uint64_t step = 0; step < 3; ++step)
    in.metrics.push_back(
        {"train", step, {{"rollout_alloc/drawn", 8.0}, {"rollout_alloc/trained", 8.0}}});
  EXPECT_FALSE(shown());
  in.metrics.back().values[1].second = 6.0;
  EXPECT_TRUE(shown());
  in.metrics.back().values = {{"rollout_alloc/drawn", 6.0}, {"rollout_alloc/trained", 6.0}};
  EXPECT_TRUE(shown());
}

TEST(SvgSheet, IsOnePictureThatNeedsNoPage) {
  const Series a{"a<b", sheet_color(0), {0, 1, 2}, {0.1, 0.4, std::nan("")}},
      b{"b", sheet_color(1), {0, 1, 2}, {0.1, 0.2, 0.3}};
  const std::string svg =
      svg_sheet("title & more", {{{"first", "", "step", Unit::share}, {a, b}},
                                 {{"second", "", "step", Unit::plain}, {b, a}}});
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_EQ(count(svg, "<svg"), 1U);
  EXPECT_EQ(count(svg, "class=\"curve\""), 4U);
  EXPECT_EQ(count(svg, "a&lt;b</text>"), 1U);  // one legend
  EXPECT_NE(svg.find("title &amp; more"), std::string::npos);
  for (const char* absent : {"var(", "nan", "<div", "<figure", "http://www.w3.org/1999"})
    EXPECT_EQ(svg.find(absent), std::string::npos) << absent;
}

TEST(HtmlReport, LongRunsStaySmall) {
  ReportInput in;
  for (std::uint64_t step = 0; step < 20000; ++step)
    in.metrics.push_back(
        {"train",
         step,
         {{"critic/rewards/mean", std::sin(double(step))}, {"timing_s/update", 1.0}}});
  EXPECT_LT(html_report(in).size(), 200000U);
}

TEST(Charts, TicksAreRoundAndInside) {
  EXPECT_EQ(ticks({0, 10}, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_TRUE(rc::check("any span is widened to hold its ends", [](double a, double b) {
    RC_PRE(std::isfinite(a) && std::isfinite(b) && std::abs(a) < 1e200 && std::abs(b) < 1e200);
    const Span data{std::min(a, b), std::max(a, b)}, shown = rounded(data);
    RC_ASSERT(shown.low < shown.high);
    const double slack = 1e-6 * (shown.high - shown.low);
    RC_ASSERT(shown.low <= data.low + slack && data.high <= shown.high + slack);
    const auto t = ticks(shown, 5);
    RC_ASSERT(t.size() >= 2U && t.size() <= 12U);
  }));
}

TEST(HtmlReport, ShowsWhatMoves) {
  ReportInput in;
  for (std::uint64_t step = 1; step <= 3; ++step)
    in.metrics.push_back({"train",
                          step,
                          {{"moving/kl_coef", 0.01 * double(step)},
                           {"gdro/weight/0", 1.0 + double(step)},
                           {"greso/p_easy", 0.5}}});
  const std::string page = html_report(in);
  for (const char* shown :
       {"What moves", "kl_coef", "greso/p_easy", "Weight of the advantages by bin"})
    EXPECT_NE(page.find(shown), std::string::npos) << shown;
  EXPECT_EQ(html_report({}).find("What moves"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::report

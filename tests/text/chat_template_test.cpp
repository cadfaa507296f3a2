// Chat templates against what Python's jinja2 said of them (fixtures/chat_templates.json), errors
// with their places, limits.
#include "text/chat/chat_template.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "base/time/clock.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace rollcall::text {
namespace {

using Json = nlohmann::ordered_json;

std::string message_of(const std::string& source, const Json& variables = Json::object(),
                       const TemplateLimits& limits = {}) {
  try {
    return "rendered: " + ChatTemplate(source, "t.jinja").render(variables, limits);
  } catch (const InputError& e) {
    return e.what();
  }
}

std::string render(const std::string& source, const Json& variables = Json::object()) {
  return ChatTemplate(source, "t.jinja").render(variables);
}

Json fixture() {
  Json json;
  std::ifstream(ROLLCALL_TEMPLATE_FIXTURE) >> json;
  setenv("SOURCE_DATE_EPOCH", json.at("epoch").get<std::string>().c_str(), 1);
  return json;
}

/// `wanted`: the output, or null where jinja2 fails.
void expect_like_jinja(const std::string& source, const Json& variables, const Json& wanted) {
  const std::string told = message_of(source, variables);
  if (wanted.is_null()) {
    EXPECT_TRUE(told.starts_with("t.jinja, line ")) << source << "\n" << told;
  } else {
    EXPECT_EQ(told, "rendered: " + wanted.get<std::string>()) << source;
  }
}

TEST(ChatTemplate, EveryRowRendersAsInPython) {
  const Json json = fixture();
  ASSERT_GT(json.at("rows").size(), 900U);
  for (const auto& row : json.at("rows"))
    expect_like_jinja(row[0], json.at("row_variables"), row[1]);
}

TEST(ChatTemplate, EveryFamilyRendersAsInPython) {
  const Json json = fixture();
  ASSERT_GT(json.at("families").size(), 10U);
  for (const auto& [family, outputs] : json.at("families").items()) {
    std::ifstream file(std::string(ROLLCALL_TEMPLATE_FAMILIES) + "/" + family + ".jinja");
    const std::string source(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(source.empty()) << family;
    for (const auto& [given, wanted] : outputs.items()) {
      SCOPED_TRACE(family + ", " + given);
      expect_like_jinja(source, json.at("variables").at(given), wanted);
    }
  }
}

struct FaultCase {
  const char *source, *wanted;
};

TEST(ChatTemplate, FaultsHaveLineColumnAndAClearText) {
  for (const auto& [source, wanted] : {
           FaultCase{"a\n  {% include 'x' %}",
                     "t.jinja, line 2, column 6: the tag 'include' is not supported"},
           {"{% block a %}{% endblock %}", "column 4: the tag 'block' is not supported"},
           {"{{ x|pprint }}", "column 6: the filter 'pprint' is not supported"},
           {"{{ x|nofilter }}", "No filter named 'nofilter'."},
           {"é\né{{ x.y }}", "line 2, column 6: 'x' is undefined (Python's Jinja stops there too)"},
           {"{% if a", "expected token 'end of statement block', got 'end of template'"},
           {"\n\n{{ raise_exception('no ' ~ 1) }}",
            "line 3, column 19: no 1 (the template itself refuses this conversation)"},
           {"{{ 99999999999999999999 }}",
            "an integer beyond 64 bits (99999999999999999999) is not supported"},
           {"{{ 2 ** 64 }}", "a whole number beyond 64 bits is not supported"},
           {"{{ [1]|map('upper') }}", "printing a generator"},
           {"{{ 'a'.encode() }}", "the attribute 'encode' of str is not supported"},
           {"\xFF", "the template is not UTF-8"},
       }) {
    EXPECT_NE(message_of(source).find(wanted), std::string::npos) << source << "\n"
                                                                  << message_of(source);
  }
}

TEST(ChatTemplate, NumbersAtTheEndOf64Bits) {
  const std::string least = "(-9223372036854775807 - 1)";
  EXPECT_EQ(render("{{ 9223372036854775804 | round(-1) }}"), "9223372036854775800");
  EXPECT_EQ(
      render("{{ -9223372036854775804 | round(-1) }} {{ -15 | round(-1) }} {{ -25 | round(-1) }}"),
      "-9223372036854775800 -20 -20");
  EXPECT_EQ(render("{{ " + least + " | round(-18) }}"), "-9000000000000000000");
  for (const std::string& source :
       {std::string("{{ 9223372036854775807 | round(-1) }}"), "{{ " + least + " | round(-1) }}"})
    EXPECT_NE(message_of(source).find("a whole number beyond 64 bits"), std::string::npos)
        << message_of(source);
  EXPECT_NE(message_of("{{ '%*d' % (" + least + ", 1) }}").find("width too big"),
            std::string::npos);
  EXPECT_NE(message_of("{{ '%.*f' % (9223372036854775807, 1.0) }}").find("width too big"),
            std::string::npos);
}

TEST(ChatTemplate, TellsWhetherItReadsTheClock) {
  const ChatTemplate dated("{{ date_string if date_string is defined else strftime_now('%Y') }}",
                           "t.jinja");
  EXPECT_TRUE(dated.reads_clock(Json::object()));
  EXPECT_FALSE(dated.reads_clock({{"date_string", "1 Jan 2026"}})) << "named, not called";
  EXPECT_FALSE(ChatTemplate("strftime_now", "t.jinja").reads_clock(Json::object()));
}

TEST(ChatTemplate, StepsBytesAndDepthAreBounded) {
  const auto loops =
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  EXPECT_NE(message_of(loops).find("too many steps"), std::string::npos);
  EXPECT_NE(message_of("{{ 'ab' * 1000000000000 }}").find("too much memory"), std::string::npos);
  EXPECT_NE(message_of("{{ '%99999999999s' % 1 }}").find("width too big"), std::string::npos);
  EXPECT_NE(message_of("{{ '%999999999s' % 1 }}").find("too much memory"), std::string::npos);
  EXPECT_NE(
      message_of(
          "{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}")
          .find("too much memory"),
      std::string::npos);
  EXPECT_NE(
      message_of(
          "{% set n = namespace(s=[]) %}{% for a in range(99999) %}{% set n.s = [n.s] %}{% endfor %}")
          .find("nested too deeply"),
      std::string::npos);
  EXPECT_NE(
      message_of(
          "{% set n = namespace(s=[1]) %}{% for a in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}")
          .find("too m"),
      std::string::npos);
  EXPECT_NE(message_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(message_of("{{ " + std::string(100'000, '(')).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(message_of("{{ 1" +
                       [] {
                         std::string s;
                         for (int i = 0; i < 100'000; ++i) s += "+1";
                         return s;
                       }())
                .find("too many parts"),
            std::string::npos);
  EXPECT_NE(message_of("{{ x }}{{ x }}", {{"x", std::string(600, 'x')}}, {.bytes = 1500})
                .find("too much memory"),
            std::string::npos);
}

/// Each of these looks at all of a long text, or copies many values, in a single step of
/// evaluation.
TEST(ChatTemplate, WorkOnALongTextIsCharged) {
  constexpr TemplateLimits kLimits{.steps = 60'000};
  for (const char* expression : {
           "'b' in s",
           "'b' not in s",
           "s.find('b')",
           "s.rfind('b')",
           "s.count('b')",
           "s.partition('b')[1]",
           "s.rpartition('b')[1]",
           "s.replace('b', '')|length",
           "s|replace('b', '')|length",
           "s.split('b')|length",
           "s.rsplit('b')|length",
           "s.split()|length",
           "s.rsplit()|length",
           "s.splitlines()|length",
           "s.strip('a')",
           "s|trim('a')",
           "s.lstrip('ab')",
           "s.upper()|length",
           "s.title()|length",
           "s.swapcase()|length",
           "s|title|length",
           "s|lower|length",
           "s.isalpha()",
           "s.isupper()",
           "s.istitle()",
           "s.isidentifier()",
           "s is lower",
           "s|wordcount",
           "s|urlencode|length",
           "s|e|length",
           "s|striptags|length",
           "s|indent|length",
           "s|tojson|length",
           "[s]|string|length",
           "[s]|unique|list|length",
           "[s]|max|length",
           "s.format()|length",
           "(s % ())|length",
           "s.expandtabs()|length",
           "s|int",
           "s|float",
           "s[::2]|length",
           "s.find('a', 1, 3)",
       }) {
    const std::string source = "{% set s = 'a' * 3200000 %}{{ " + std::string(expression) + " }}";
    EXPECT_NE(message_of(source, Json::object(), kLimits).find("too many steps"), std::string::npos)
        << expression << ": " << message_of(source, Json::object(), kLimits).substr(0, 200);
  }
  const std::string pairs =
      "{% set d = dict(range(4000) | batch(2)) %}{% set s = 'a' * 100000 %}{% for i in range(99) %}{% set x = ";
  for (const char* expression : {"dict(d)", "namespace(d)", "'%.0s' % (s,)"}) {
    const std::string source = pairs + expression + " %}{% endfor %}";
    EXPECT_NE(message_of(source, Json::object(), kLimits).find("too many steps"), std::string::npos)
        << expression << ": " << message_of(source, Json::object(), kLimits).substr(0, 200);
  }
}

TEST(ChatTemplate, NamesThatAreOnlyHiddenAreCharged) {
  std::string source = "{% for i in range(200) %}{% if true %}{% continue %}{% endif %}";
  for (int i = 0; i < 1000; ++i)
    source += "{% set v" + std::to_string(i) + " = 1 %}{{ v" + std::to_string(i) + " }}";
  EXPECT_NE(
      message_of(source + "{% endfor %}", Json::object(), {.steps = 60'000}).find("too many steps"),
      std::string::npos);
}

/// A search that looks at each place for the whole of what it seeks takes minutes here.
TEST(ChatTemplate, SearchesTakeTimeInProportion) {
  const Stopwatch clock;
  for (const char* expression : {"w in s", "s.find(w)", "s.count(w)", "s.partition(w)|length",
                                 "s.replace(w, '')|length", "s.split(w)|length", "v in s",
                                 "s.rfind(v)", "s.rpartition(v)|length", "s.rsplit(v)|length"})
    render(
        "{% set s = 'a' * 1000000 %}{% set w = 'a' * 500000 ~ 'b' %}{% set v = 'b' ~ 'a' * 500000 %}{{ " +
        std::string(expression) + " }}");
  EXPECT_LT(clock.seconds(), 5.0);
}

TEST(ChatTemplate, SearchesFromTheRightAreThoseOfPython) {
  EXPECT_EQ(render("{{ 'aXXXb'.rsplit('XX') }}{{ 'aXXXb'.split('XX') }}{{ 'XX'.rsplit('XX') }}"),
            "['aX', 'b']['a', 'Xb']['', '']");
  EXPECT_EQ(render("{{ 'a.b.c'.rsplit('.', 1) }}{{ 'a.b.c'.rsplit('.', 0) }}{{ ''.rsplit('.') }}"),
            "['a.b', 'c']['a.b.c']['']");
  EXPECT_EQ(render("{{ 'übübü'.rfind('bü') }}{{ 'übübü'.rpartition('üb') }}{{ 'ab'.rfind('') }}"),
            "3('üb', 'üb', 'ü')2");
  EXPECT_EQ(render("{{ 'xyaxbyx'.strip('xy') }}{{ 'üaü'.lstrip('ü') }}{{ 'aab'.rstrip('') }}"),
            "axbaüaab");
}

TEST(ChatTemplate, NamespacesThatHoldThemselvesAreFreed) {
  EXPECT_EQ(
      render(
          "{% set n = namespace() %}{% set n.self_ = n %}{% for i in [1, 2] %}{{ loop.changed(loop, n) }}{% endfor %}"),
      "TrueFalse");
  EXPECT_EQ(
      render(
          "{% set n = namespace() %}{% for i in range(50000) %}{% set m = namespace(n=n) %}{% set n.x = m %}{% endfor %}"),
      "");
}

TEST(ChatTemplate, WhatTransformersAlwaysPassesIsDefined) {
  EXPECT_EQ(
      render(
          "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ messages is none }}"),
      "TrueTrueFalseTrue");
  EXPECT_EQ(render("{{ tools }}", {{"tools", {1}}}), "[1]");
}

TEST(ChatTemplate, MessagesAreReadAsTransformersPassesThem) {
  const Json call = {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({1})}};
  EXPECT_EQ(
      render("{{ messages[0].content is defined }}[{{ messages[0].content }}]{{ messages[0] }}",
             {{"messages", Json::array({call})}}),
      "False[]{'role': 'assistant', 'tool_calls': [1]}");
  const auto shown = [](const Json& message) {
    return render("{{ messages[0] }}", {{"messages", Json::array({message})}});
  };
  EXPECT_EQ(shown({{"role", "a"}, {"reasoning", "r"}}),
            "{'thinking': 'r', 'role': 'a', 'reasoning': 'r', 'reasoning_content': 'r'}");
  EXPECT_EQ(shown({{"reasoning_content", "c"}, {"thinking", "t"}}),
            "{'thinking': 't', 'reasoning_content': 'c'}");
  EXPECT_EQ(shown({{"reasoning_content", nullptr}, {"thinking", "t"}}),
            "{'thinking': 't', 'reasoning_content': 't'}");
  EXPECT_EQ(render("{{ messages }}", {{"messages", "no list"}}), "no list");
}

TEST(ChatTemplate, VariablesMayBeAnyJson) {
  EXPECT_NE(message_of("{{ x }}", {{"x", "\xC3"}}).find("is not UTF-8"), std::string::npos);
  EXPECT_NE(message_of("{{ x }}", {{"x", std::uint64_t(1) << 63}}).find("beyond 64 bits"),
            std::string::npos);
  EXPECT_NE(message_of("{{ x }}", Json::array()).find("not a JSON object"), std::string::npos);
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({deep});
  EXPECT_NE(message_of("{{ x }}", {{"x", deep}}).find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::text

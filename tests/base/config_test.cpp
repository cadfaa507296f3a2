// Typed configuration: writing and reading back is the identity, every mistake is named, --set in
// all its forms.
#include "base/text/config.hpp"

#include "base/errors/error.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace rollcall {
namespace {

struct Values {
  bool flag = false;
  std::int64_t count = 3;
  double rate = 0.5;
  std::string word = "plain";
  std::string choice = "red";
  std::vector<std::int64_t> counts;
  std::vector<std::string> words;
  std::int64_t loose = 1;  // outside every section
  ConfigSchema::KeyValues knobs;
  ConfigSchema::KeyValues typed;
  bool operator==(const Values&) const = default;
};

ConfigSchema bind(Values& v) {
  ConfigSchema s;
  s.bind("train.flag", &v.flag, "a switch");
  s.bind("train.count", &v.count, "how many", {0, 1e15});
  s.bind("train.rate", &v.rate, "how fast", {-1e300, 1e300});
  s.bind("paths.word", &v.word, "a text");
  s.bind("paths.choice", &v.choice, "a colour", {}, {"red", "green"});
  s.bind("train.deep.counts", &v.counts, "numbers");
  s.bind("train.deep.words", &v.words, "texts");
  s.bind_table("paths.knobs", &v.knobs, "somebody else's");
  s.bind_table("paths.typed", &v.typed, "of any type", ConfigSchema::Entries::typed);
  s.bind("loose", &v.loose, "no section");
  return s;
}

std::string refusal(Values& v, const std::string& toml) {
  try {
    bind(v).load_text(toml, "run.toml");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

std::string refusal(const std::string& toml) {
  Values v;
  return refusal(v, toml);
}

std::string set_refusal(const std::string& assignment) {
  Values v;
  try {
    bind(v).set(assignment);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

Values after_set(const std::string& assignment) {
  Values v;
  bind(v).set(assignment);
  return v;
}

void expect_in(const std::string& part, const std::string& message) {
  EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" not in: " << message;
}

/// Any text that TOML can hold: every code point but NUL up to U+07FF.
rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 0x800)),
                      [](const std::vector<int>& points) {
                        std::string text;
                        for (const int p : points) {
                          if (p < 0x80) text += char(p);
                          else (text += char(0xC0 | p >> 6)) += char(0x80 | (p & 0x3F));
                        }
                        return text;
                      });
}

RC_GTEST_PROP(Config, WritingAndReadingBackIsTheIdentity,
              (bool flag, const std::vector<std::int64_t>& counts)) {
  Values v;
  v.flag = flag;
  v.count = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000);
  v.rate = std::ldexp(double(*rc::gen::arbitrary<std::int64_t>()), *rc::gen::inRange(-1000, 900));
  v.word = *any_text();
  v.choice = "green";
  v.counts = counts;
  v.words = *rc::gen::container<std::vector<std::string>>(any_text());
  v.loose = *rc::gen::arbitrary<std::int64_t>();
  v.knobs = {{"beta", "0.1"}, {*any_text() + "x", *any_text()}};
  std::sort(v.knobs.begin(), v.knobs.end());
  const std::string text = bind(v).to_toml();
  Values back;
  bind(back).load_text(text, "copy");
  RC_ASSERT(back == v);
}

TEST(Config, FilesAreReadOverTheDefaults) {
  const testing::TemporaryFolder folder;
  Values v;
  bind(v).load(folder.write(
      "run.toml",
      "[train]\ncount = 7\n[paths.knobs]\nbeta = 0.3\nk = 3\nname = \"x\"\non = true\n"));
  EXPECT_EQ(v.count, 7);
  EXPECT_EQ(v.rate, 0.5);
  EXPECT_EQ(v.knobs,
            (ConfigSchema::KeyValues{{"beta", "0.3"}, {"k", "3"}, {"name", "x"}, {"on", "true"}}));
}

// To TOML surrogate.clip = 0.28 is a table in the table, and to a reader it is a name with a dot.
TEST(Config, OpenEntriesMayHaveDots) {
  const ConfigSchema::KeyValues wanted{{"a.b", "0.3"}, {"a.c.d", "word"}, {"e", "1"}};
  EXPECT_EQ(after_set("paths.knobs={a.b = 0.3, a.c.d = \"word\", e = 1}").knobs, wanted);
  EXPECT_EQ(after_set("paths.knobs.a.b=0.3").knobs, (ConfigSchema::KeyValues{{"a.b", "0.3"}}));
  EXPECT_EQ(after_set("paths.knobs={\"a.b\" = 0.3}").knobs,
            (ConfigSchema::KeyValues{{"a.b", "0.3"}}));
  expect_in("is not a number", refusal("paths.knobs.a = {}"));
}

TEST(Config, UnknownKeysNameLineAndNearest) {
  const std::string message = refusal("[train]\nflag = true\ncuont = 3\n");
  expect_in("run.toml:3: train.cuont is not a key", message);
  expect_in("did you mean train.count?", message);
  expect_in("did you mean train.count?", refusal("[trian]\ncount = 3"));
  // A name is near by its letters after the section alone.
  EXPECT_EQ(refusal("[train]\nclips = 3").find("did you mean"), std::string::npos);
  expect_in("trian is not a key", refusal("[trian]"));
  expect_in("train is not a key", refusal("train = 1"));
  EXPECT_EQ(refusal("[train]"), "accepted");
}

TEST(Config, WrongTypesSayWhatIsWanted) {
  expect_in("run.toml:1: train.flag must be true or false", refusal("train.flag = 1"));
  expect_in("must be an integer", refusal("train.count = 1.0"));
  expect_in("must be an integer", refusal("train.count = true"));
  expect_in("write a number up to 9223372036854775807",
            refusal("train.count = 99999999999999999999"));
  expect_in("must be a number", refusal("train.rate = \"1\""));
  expect_in("must be text in quotes", refusal("paths.word = 1"));
  expect_in("must be a list", refusal("train.deep.counts = 1"));
  expect_in("must be an integer", refusal("train.deep.counts = [1, \"a\"]"));
  expect_in("must be an integer", refusal("[train.count]\nx = 1"));
  expect_in("paths.knobs.a is not a number", refusal("paths.knobs.a = 1979-05-27"));
  Values v;
  bind(v).load_text("train.rate = 2", "integers are numbers too");
  EXPECT_EQ(v.rate, 2.0);
}

using KeyValues = ConfigSchema::KeyValues;

TEST(Config, TypedEntriesKeepTheirType) {
  Values v;
  bind(v).load_text(
      "[paths.typed]\na = \"1.10\"\nb = 1.10\nc = \"2026\"\nd = 2026\ne = \"true\"\nf = true\ng = [\"1\", 1, 2.0, [false]]\nh = \"null\"\n",
      "file");
  const KeyValues wanted{{"a", "\"1.10\""},
                         {"b", "1.1"},
                         {"c", "\"2026\""},
                         {"d", "2026"},
                         {"e", "\"true\""},
                         {"f", "true"},
                         {"g", "[\"1\", 1, 2.0, [false]]"},
                         {"h", "\"null\""}};
  EXPECT_EQ(v.typed, wanted);
  Values back;
  bind(back).load_text(bind(v).to_toml(), "copy");
  EXPECT_EQ(back.typed, wanted);
}

TEST(Config, TypedEntriesKeepTheirTypeInSet) {
  EXPECT_EQ(after_set("paths.typed.v=\"1.10\"").typed, (KeyValues{{"v", "\"1.10\""}}));
  EXPECT_EQ(after_set("paths.typed={v = \"1.10\"}").typed, (KeyValues{{"v", "\"1.10\""}}));
  EXPECT_EQ(after_set("paths.typed.v=7").typed, (KeyValues{{"v", "7"}}));
  EXPECT_EQ(after_set("paths.typed.v=false").typed, (KeyValues{{"v", "false"}}));
  EXPECT_EQ(after_set("paths.typed.v=1 Jan 2026").typed, (KeyValues{{"v", "\"1 Jan 2026\""}}))
      << "a bare word";
  EXPECT_EQ(after_set("paths.typed.v=2026-07-01").typed, (KeyValues{{"v", "\"2026-07-01\""}}))
      << "no key is a date";
  expect_in("paths.typed.v is not a finite number", set_refusal("paths.typed.v=inf"));
  expect_in("a date or a time goes in quotes", refusal("paths.typed.v = 2026-07-01"));
}

TEST(Config, KnobsMayBeLists) {
  Values v;
  bind(v).load_text("paths.knobs.a = [0.5, 1.0]", "a list");
  ASSERT_EQ(v.knobs.size(), 1U);
  std::vector<double> read;
  ConfigSchema owner;
  owner.bind("a", &read, "what the knob's owner makes of the text");
  owner.set("a=" + v.knobs[0].second);
  EXPECT_EQ(read, (std::vector<double>{0.5, 1.0}));
}

TEST(Config, RangesIncludeTheirEnds) {
  EXPECT_EQ(refusal("train.count = 0"), "accepted");
  expect_in("run.toml:1: train.count is -1 (how many); use a value from 0 to 1000000000000000",
            refusal("train.count = -1"));
  expect_in("train.rate is nan", refusal("train.rate = nan"));
  expect_in("train.rate is inf", refusal("train.rate = inf"));
}

TEST(Config, ChoicesNameTheNearest) {
  expect_in("paths.choice is \"gren\" (a colour); did you mean green? valid are red, green",
            refusal("paths.choice = \"gren\""));
}

TEST(Config, BrokenTomlNamesTheLine) {
  expect_in("run.toml:2: ", refusal("[train]\ncount = = 3\n"));
}

TEST(Config, ABrokenLineCostsItselfAlone) {
  Values v;
  const std::string said = refusal(
      v,
      "[train]\ncount = many\nflag = True\nrate = fast\n\n[paths]\nword = runs/a\nchoice = \"blue\"\nwrod = 1\n"
      "[train.deep]\ncounts = [1, 2]\n[train]\nrate = 0.25\n");
  expect_in("7 mistakes, one a line:\nrun.toml:2: ", said);
  expect_in("text goes in quotes: count = \"many\"", said);
  expect_in("\nrun.toml:3: ", said);
  expect_in("write flag = true", said);
  expect_in("\nrun.toml:4: ", said);
  expect_in("\nrun.toml:7: ", said);
  expect_in("text goes in quotes: word = \"runs/a\"", said);
  expect_in("\nrun.toml:8: paths.choice is \"blue\"", said);
  expect_in("\nrun.toml:9: paths.wrod is not a key", said);
  expect_in("\nrun.toml:12: ", said);  // the section is there twice
  EXPECT_EQ(v.counts, (std::vector<std::int64_t>{1, 2})) << "what is right is read";
  EXPECT_EQ(v.rate, 0.25) << "also below a second heading";
}

/// Without the line, what is below it would mean something else.
TEST(Config, NothingIsReadBelowAnOpenBracketOrABrokenHeading) {
  for (const char* open : {"counts = [1,\n2 3\n]\n", "words = [\"a\nb\"]\n", "[broken\n",
                           "words = \"\"\"\nno end\n"}) {
    Values v;
    const std::string said = refusal(v, std::string("[train]\ncuont = 1\n[train.deep]\n") + open +
                                            "[paths]\nwrod = 1\nword = \"read\"\n");
    expect_in("2 mistakes", said);
    expect_in("run.toml:2: train.cuont is not a key", said);
    EXPECT_EQ(said.find("wrod"), std::string::npos) << said;
    EXPECT_EQ(v.word, "plain");
  }
}

TEST(Config, PlacesAreThoseOfTheLastWord) {
  Values v;
  ConfigSchema s = bind(v);
  s.load_text("[train]\ncount = 1\nrate = 2\n[paths.knobs]\nbeta = 1\n", "run.toml");
  s.set("train.count=5");
  EXPECT_EQ(s.places().at("train.rate").text, "run.toml:3");
  EXPECT_EQ(s.places().at("train.count").text, "--set train.count=5");
  EXPECT_TRUE(s.places().at("train.count").by_assignment);
  EXPECT_LT(s.places().at("train.rate").order, s.places().at("train.count").order);
  EXPECT_EQ(s.places().at("paths.knobs.beta").text, "run.toml:5");
  EXPECT_FALSE(s.was_set("loose"));
  EXPECT_THROW(s.set("train.flag=3"), ConfigError);
  EXPECT_TRUE(s.was_set("train.flag")) << "to whatever value";
}

TEST(Config, SetRefusesWhatBeginsLikeAListAndIsNone) {
  for (const char* broken :
       {"train.deep.words=[a, b]", "train.deep.counts=[1,2", "train.deep.words=[",
        "paths.knobs.x=[1,2", "paths.knobs={a = 1", "paths.typed.v={a", "paths.word=\"open",
        "paths.word='open", "train.deep.words=\"a", "train.count=\"1\" 2"}) {
    const std::string said = set_refusal(broken);
    expect_in(std::string("--set ") + broken + ": ", said);
    expect_in(" is read as one); ", said);
  }
  expect_in("[\"a\", \"b\"]", set_refusal("train.deep.words=[a, b]"));
  EXPECT_EQ(after_set("paths.word=[INST] {prompt}").word, "[INST] {prompt}")
      << "a text may be anything";
  EXPECT_EQ(after_set("paths.word={prompt}{first}").word, "{prompt}{first}");
  EXPECT_EQ(after_set("train.deep.words=a b").words, (std::vector<std::string>{"a b"}));
}

TEST(Config, ARefusedListKeepsItsOldValue) {
  Values v;
  v.counts = {4};
  EXPECT_THROW(bind(v).load_text("train.deep.counts = [1, true]", "x"), ConfigError);
  EXPECT_EQ(v.counts, (std::vector<std::int64_t>{4}));
}

TEST(Config, SetTakesTomlAndBareWords) {
  EXPECT_EQ(after_set("train.count=9").count, 9);
  EXPECT_EQ(after_set(" train.count = 9 ").count, 9);
  EXPECT_EQ(after_set("train.rate=1e-3").rate, 1e-3);
  EXPECT_TRUE(after_set("train.flag=true").flag);
  EXPECT_EQ(after_set("paths.word=runs/a b=c").word, "runs/a b=c");
  EXPECT_EQ(after_set("paths.word=\"quoted\"").word, "quoted");
  EXPECT_EQ(after_set("paths.word='quoted'").word, "quoted");
  EXPECT_EQ(after_set("paths.word=").word, "");
  EXPECT_EQ(after_set("paths.word=17").word, "17");
  EXPECT_EQ(after_set("train.deep.words=[\"a\", \"b\"]").words,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(after_set("paths.knobs.beta=0.25").knobs, (ConfigSchema::KeyValues{{"beta", "0.25"}}));
  EXPECT_EQ(after_set("paths.knobs.mode=fast").knobs, (ConfigSchema::KeyValues{{"mode", "fast"}}));
  EXPECT_EQ(after_set("loose=4").loose, 4);
}

TEST(Config, KnobsAreSortedAndTheLastSettingCounts) {
  Values v;
  ConfigSchema s = bind(v);
  for (const char* a :
       {"paths.knobs.b=1", "paths.knobs.c=3", "paths.knobs.a=2", "paths.knobs.b=2.5"})
    s.set(a);
  EXPECT_EQ(v.knobs, (ConfigSchema::KeyValues{{"a", "2"}, {"b", "2.5"}, {"c", "3"}}));
}

TEST(Config, SetRefusesWithItsOwnText) {
  expect_in("--set train.count has no '='", set_refusal("train.count"));
  expect_in("has no '='", set_refusal("=3"));
  expect_in("--set train.count=many: train.count must be an integer",
            set_refusal("train.count=many"));
  expect_in("did you mean train.count?", set_refusal("train.cuont=3"));
  for (const char* large : {"99999999999999999999", "-9_999_999_999_999_999_999"})
    expect_in(std::string("train.count is ") + large +
                  " (the largest whole number is 9223372036854775807); write a smaller number",
              set_refusal(std::string("train.count=") + large));
  expect_in("use a value from", set_refusal("train.count=-3"));
}

TEST(Config, AKeyBoundTwiceIsOneSetting) {
  ConfigSchema s;
  std::int64_t here = 1, there = 2;
  s.bind("count", &here, "one reader");
  s.bind("count", &there, "another");
  s.set("count=7");
  EXPECT_EQ(here, 7);
  EXPECT_EQ(there, 7);
}

TEST(Config, DescribeAndKeysListEverything) {
  Values v;
  const ConfigSchema s = bind(v);
  EXPECT_EQ(s.keys().size(), 10U);
  for (const auto& key : s.keys()) expect_in(key, s.describe());
}

/// toml++ walks nested tables by recursion: a key of 20,000 parts used to end the program.
TEST(Config, DepthAndSizeHaveALimit) {
  const auto many = [](const std::string& part, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += part;
    return text;
  };
  for (const std::string& toml :
       {"a" + many(".a", 20000) + " = 1", "[a" + many(" . a", 20000) + "]",
        "a" + many(".\"b.c\"", 20000) + " = 1", "x = " + many("[", 20000) + many("]", 20000),
        "x = " + many("{y = ", 20000) + "1" + many("}", 20000)})
    EXPECT_NE(refusal(toml).find("nests deeper than 32"), std::string::npos)
        << refusal(toml).substr(0, 300);
  EXPECT_NE(set_refusal("a" + many(".a", 20000) + "=1").find("nests deeper than 32"),
            std::string::npos);
  EXPECT_NE(
      refusal("loose = " + std::string(5'000'000, '1')).find("a run file has at most 1048576"),
      std::string::npos);
  EXPECT_LT(refusal(std::string(900'000, 'x') + " = 1").size(), std::size_t{2000})
      << "a message that quotes a long key";
  EXPECT_EQ(refusal("[train.deep]\ncounts = [" + many("1, ", 500) + "]\n# " + many("a.", 100) +
                    "\nwords = \"" + many("b.", 100) + "\"\n"),
            "accepted");
  EXPECT_EQ(
      refusal("[paths]\nword = \"\"\"" + many("c.\n\\\"[[{{", 100) + "\"\"\"\nknobs = {x = [" +
              many("1.5, ", 100) + "], y = '" + many("[.", 99) + "'}"),
      "accepted");
}

TEST(Config, OldNamesAreReadAndToldWithTheNewOnes) {
  std::int64_t tokens = 1;
  const auto read = [&](const std::string& toml, const std::vector<std::string>& assignments = {}) {
    ConfigSchema schema;
    schema.rename("train.leaf_tokens", "train.micro_batch_tokens");
    schema.bind("train.micro_batch_tokens", &tokens, "tokens of a micro-batch");
    schema.load_text(toml, "run.toml");
    for (const auto& assignment : assignments) schema.set(assignment);
    return schema;
  };
  const ConfigSchema old = read("[train]\nleaf_tokens = 64\n");
  EXPECT_EQ(tokens, 64);
  ASSERT_EQ(old.old_names().size(), 1U);
  EXPECT_NE(old.old_names().front().find(
                "run.toml:2: train.leaf_tokens is called train.micro_batch_tokens now"),
            std::string::npos)
      << old.old_names().front();
  EXPECT_TRUE(old.was_set("train.micro_batch_tokens"));
  EXPECT_NE(old.to_toml().find("micro_batch_tokens = 64"), std::string::npos);
  EXPECT_EQ(old.to_toml().find("leaf"), std::string::npos);
  EXPECT_EQ(read("[train]\nmicro_batch_tokens = 64\n", {"train.leaf_tokens=32"}).old_names().size(),
            1U);
  EXPECT_EQ(tokens, 32) << "an assignment comes after the file, whatever it calls the key";
  EXPECT_TRUE(read("[train]\nmicro_batch_tokens = 16\n").old_names().empty());
  EXPECT_THROW(read("[train]\nmicro_batch_tokens = 16\nleaf_tokens = 8\n"), ConfigError)
      << "one of them would be ignored";
}

TEST(Config, AListOfTablesMayTakeThePlaceOfAPath) {
  std::string file;
  const auto make = [&] {
    ConfigSchema schema;
    schema.bind_list("task.file", &file, "files");
    return schema;
  };
  ConfigSchema schema = make();
  schema.load_text(
      "[task]\nfile = [{path = \"a \\\"b\\\".jsonl\", weight = 2.5, where = {\"x.y\" = "
      "[\"z\", 1, true]}}, \"b\"]\n",
      "run.toml");
  const std::string list =
      R"([{"path":"a \"b\".jsonl","weight":2.5,"where":{"x.y":["z",1,true]}},"b"])";
  EXPECT_EQ(file, list);
  const std::string written = schema.to_toml();
  file.clear();
  make().load_text(written, "config.toml");
  EXPECT_EQ(file, list) << written;
  make().set("task.file=[{path=\"a\"}]");
  EXPECT_EQ(file, R"([{"path":"a"}])");
  make().set("task.file=a.jsonl");
  EXPECT_EQ(file, "a.jsonl");
  EXPECT_NE(make().to_toml().find("file = \"a.jsonl\""), std::string::npos);
  EXPECT_THROW(make().set("task.file=[{path=1979-05-27}]"), ConfigError);
  EXPECT_THROW(make().load_text("task.file = 7", "run.toml"), ConfigError);
}

}  // namespace
}  // namespace rollcall

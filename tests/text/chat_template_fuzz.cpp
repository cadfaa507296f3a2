// Any bytes as a template are safe: random mixtures of Jinja's words, real templates with bytes
// changed, plain noise. Run with a count and a seed; every input must render or throw InputError.
#include "base/text/json.hpp"
#include "text/chat/chat_template.hpp"

#include "base/errors/error.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;
using Random = std::mt19937_64;

constexpr const char* kWords[] = {"{{",
                                  "}}",
                                  "{%",
                                  "%}",
                                  "{%-",
                                  "-%}",
                                  "{#",
                                  "#}",
                                  " ",
                                  "\n",
                                  "(",
                                  ")",
                                  "[",
                                  "]",
                                  "{",
                                  "}",
                                  ",",
                                  ":",
                                  ".",
                                  "|",
                                  "~",
                                  "+",
                                  "-",
                                  "*",
                                  "/",
                                  "//",
                                  "%",
                                  "**",
                                  "==",
                                  "<",
                                  "=",
                                  "'a'",
                                  "\"é\"",
                                  "'%5d%s'",
                                  "1",
                                  "0",
                                  "-1",
                                  "2.5",
                                  "99999",
                                  "none",
                                  "true",
                                  "x",
                                  "messages",
                                  "loop",
                                  "n",
                                  "f",
                                  "for ",
                                  " in ",
                                  "if ",
                                  "else ",
                                  "elif ",
                                  "endif",
                                  "endfor",
                                  "set ",
                                  "endset",
                                  "macro ",
                                  "endmacro",
                                  "call ",
                                  "endcall",
                                  "filter ",
                                  "endfilter",
                                  "with ",
                                  "endwith",
                                  "raw ",
                                  "endraw",
                                  "generation",
                                  "endgeneration",
                                  "break",
                                  "continue",
                                  "recursive",
                                  "not ",
                                  "and ",
                                  "or ",
                                  " is ",
                                  "defined",
                                  "string",
                                  "namespace(a=1)",
                                  "range(5)",
                                  "loop.last",
                                  "loop(x)",
                                  "caller()",
                                  "varargs",
                                  ".upper()",
                                  ".split('a')",
                                  ".items()",
                                  ".format(x)",
                                  ".a",
                                  "[::-1]",
                                  "|tojson(indent=2)",
                                  "|map('upper')|list",
                                  "|join(',')",
                                  "|sort",
                                  "|list",
                                  "|int",
                                  "|round(2)",
                                  "|indent(3)",
                                  "|groupby('role')",
                                  "|batch(2)",
                                  "|truncate(3)",
                                  "|replace('','x')",
                                  "|length",
                                  "{% set n = namespace(a=x) %}",
                                  "{% set n.a = [n.a, x] %}",
                                  "{% for a in range(9) %}",
                                  "{% endfor %}",
                                  "{% if x %}",
                                  "{% endif %}",
                                  "{% macro f(a, b=1) %}",
                                  "{% endmacro %}",
                                  "{{ f(x) }}",
                                  "{{ x }}",
                                  "{{ messages[0].role }}",
                                  "\\",
                                  "'",
                                  "\"",
                                  "\xC3",
                                  "😀",
                                  "\t"};

std::string words(Random& random) {
  std::string s;
  for (std::size_t n = random() % 40; n > 0; --n) s += kWords[random() % std::size(kWords)];
  return s;
}

std::string changed(Random& random, std::string s) {
  for (std::size_t n = 1 + random() % 4; n > 0 && !s.empty(); --n) {
    const std::size_t at = random() % s.size();
    switch (random() % 4) {
      case 0: s[at] = char(random()); break;
      case 1: s.erase(at, 1 + random() % 20); break;
      case 2: s.insert(at, kWords[random() % std::size(kWords)]); break;
      default: s.insert(at, s.substr(random() % s.size(), random() % 40)); break;
    }
  }
  return s;
}

std::string noise(Random& random) {
  std::string s(random() % 60, ' ');
  for (char& c : s) c = char(random());
  return "{{" + s;
}

Json value(Random& random, int depth) {
  switch (random() % (depth > 2 ? 5 : 7)) {
    case 0: return nullptr;
    case 1: return std::int64_t(random());
    case 2: return double(std::int64_t(random())) / 1e9;
    case 3: return words(random);
    case 4: return random() % 2 == 0;
    case 5: {
      Json list = Json::array();
      for (std::size_t n = random() % 4; n > 0; --n) list.push_back(value(random, depth + 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (std::size_t n = random() % 4; n > 0; --n)
        object[kWords[random() % std::size(kWords)]] = value(random, depth + 1);
      return object;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: chat_template_fuzz FOLDER-OF-TEMPLATES RUNS [SEED]\n";
    return 2;
  }
  std::vector<std::string> seeds;
  for (const auto& file : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream in(file.path());
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  const std::int64_t runs = std::atoll(argv[2]);
  Random random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  std::int64_t rendered = 0, refused = 0;
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::size_t kind = random() % 8;
    const std::string source = kind == 0 ? noise(random)
                               : kind < 3 && !seeds.empty()
                                   ? changed(random, seeds[random() % seeds.size()])
                                   : words(random);
    Json variables = {{"x", value(random, 0)},
                      {"messages", Json::array({{{"role", "user"}, {"content", value(random, 1)}},
                                                {{"role", "assistant"}, {"content", "b"}}})}};
    try {
      rollcall::text::ChatTemplate(source, "fuzz")
          .render(variables, {.steps = 20'000, .bytes = 1 << 22});
      ++rendered;
    } catch (const rollcall::InputError&) {
      ++refused;
    }
  }
  std::cout << rendered << " rendered, " << refused << " refused\n";
  return rendered > runs / 100 && refused > runs / 100 ? 0 : 1;
}

// Conversations as tokens to learn, in bulk for comparisons: a line in is {"template", "messages",
// "variables", "special": [what ends an answer, other special tokens, ...]}, a line out {"text",
// "learnt": [[first, last], ...]} in bytes, or {"error"}.
#include "text/chat/conversation.hpp"
#include "text/chat/prompt_format.hpp"

#include "base/errors/error.hpp"
#include "support/spelling_tokenizer.hpp"

#include <iostream>

namespace {

using namespace rollcall::text;
using Json = nlohmann::ordered_json;

Json learnt(const Json& given) {
  const auto special = given.at("special").get<std::vector<std::string>>();
  TextFiles files;
  files.tokenizer = std::make_shared<Spelling>(special);
  files.chat_template = given.at("template");
  for (const auto& [name, value] : given.at("variables").items())
    if (name.ends_with("_token")) files.special_tokens[name] = value;
  const PromptFormat format({}, std::move(files), "the conversation");
  Conversation talk{{}, given.at("variables")};
  for (const auto& message : given.at("messages")) talk.messages.push_back(message);
  const Supervised example = format.supervised(talk);
  std::vector<std::size_t> ends{0};  // of tokens, in bytes
  for (const auto token : example.tokens)
    ends.push_back(ends.back() +
                   format.tokenizer()->decode({&token, 1}, Tokenizer::Special::keep).size());
  Json told{{"text", format.tokenizer()->decode(example.tokens, Tokenizer::Special::keep)},
            {"learnt", Json::array()}};
  for (const auto& [first, last] : example.learnt)
    told["learnt"].push_back({ends.at(std::size_t(first)), ends.at(std::size_t(last))});
  return told;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    Json told;
    try {
      told = learnt(Json::parse(line));
    } catch (const rollcall::Error& e) {
      told["error"] = e.what();
    }
    std::cout << told.dump() << "\n" << std::flush;
  }
  return 0;
}

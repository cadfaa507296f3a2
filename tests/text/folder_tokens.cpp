// Reads the tokens of model folders in bulk for comparisons: a line in is {"folder", "texts",
// "tokens"}, a line out {"ids", "templates", "decoded", "variables"} or {"error"}.
#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "text/chat/folder_template.hpp"
#include "text/tokenizer/text_files.hpp"

#include <iostream>
#include <string>

using Json = nlohmann::ordered_json;

Json chosen(const rollcall::text::FolderTemplate& found, bool tools) {
  try {
    return found.for_tools(tools);
  } catch (const rollcall::InputError&) {
    return nullptr;
  }
}

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Json given = Json::parse(line);
    Json told;
    try {
      const std::string folder = given.at("folder");
      const auto tokenizer = rollcall::text::read_folder_tokenizer(folder);
      Json ids = Json::array(), decoded = Json::array();
      for (const std::string text : given.at("texts")) ids.push_back(tokenizer->encode(text));
      for (std::int32_t id = 0; id < given.at("tokens"); ++id)
        decoded.push_back(
            tokenizer->decode(std::span(&id, 1), rollcall::text::Tokenizer::Special::skip));
      const auto found = rollcall::text::read_folder_template(folder);
      const Json templates =
          found.origin.empty() ? Json::array() : Json{chosen(found, false), chosen(found, true)};
      told = {{"ids", ids},
              {"templates", templates},
              {"decoded", decoded},
              {"variables", found.special_tokens}};
    } catch (const rollcall::Error& e) {
      told = {{"error", e.what()}};
    }
    std::cout << told.dump() << "\n" << std::flush;
  }
  return 0;
}

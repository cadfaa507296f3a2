// Renders templates in bulk for comparisons: a line in is {"template", "variables"}, a line out
// {"output"} or {"error"}.
#include "base/text/json.hpp"
#include "text/chat/chat_template.hpp"

#include "base/errors/error.hpp"

#include <iostream>
#include <string>

int main() {
  using Json = nlohmann::ordered_json;
  for (std::string line; std::getline(std::cin, line);) {
    const Json given = Json::parse(line);
    Json told;
    try {
      told["output"] = rollcall::text::ChatTemplate(given.at("template").get<std::string>(), "t")
                           .render(given.at("variables"));
    } catch (const rollcall::Error& e) {
      told["error"] = e.what();
    }
    std::cout << told.dump() << "\n" << std::flush;
  }
  return 0;
}

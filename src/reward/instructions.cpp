// Judges by the instructions that a response follows. A line of IFEval's own input file can be a
// reference.
#include "reward/instruction_checks.hpp"
#include "reward/reference.hpp"

namespace rollcall::reward {
namespace {

constexpr const char* kForm =
    R"({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]})";

}  // namespace

Score judge_instructions(const Prompt& prompt, const Response& response) {
  const auto text = complete_answer(response);
  return read_reference(prompt, kForm, [&](const Json& reference) {
    const auto kinds = reference.at("instruction_id_list").get<std::vector<std::string>>();
    const Json& arguments = reference.at("kwargs");
    check_reference(!kinds.empty() && arguments.is_array() && arguments.size() == kinds.size(),
                    "instruction_id_list and kwargs are of different lengths, or empty");
    std::size_t followed = 0;
    std::string reason;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool good = follows(kinds[i], arguments[i], text.value_or(std::string_view()));
      followed += good ? 1 : 0;
      if (!good) reason += (reason.empty() ? "not followed: " : ", ") + kinds[i];
    }
    if (!text) return no_answer(3);
    const bool correct = followed == kinds.size();
    return score_of({double(correct), double(!text->empty()), share(followed, kinds.size())}, {},
                    reason);
  });
}

}  // namespace rollcall::reward

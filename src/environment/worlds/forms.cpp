// Writes values into the fields of a form, and pays when it is sent.
#include "task/worlds/forms.hpp"

#include "environment/worlds/world.hpp"
#include "environment/worlds/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::environment {
namespace {

constexpr std::int64_t kFill = 1, kClick = 2;  // kinds of actions

class FormWorld final : public World {
 public:
  const Traits& traits() const override {
    static const Traits with_kinds{.kinds = {"fill", "click"}};
    return with_kinds;
  }

 private:
  std::optional<std::string> first_state(const Prompt& prompt, std::uint64_t) const override {
    if (!task::read_form(prompt.answer)) return std::nullopt;
    return prompt.answer;
  }

  std::optional<std::string> seen(const std::string& state) const override {
    const auto form = task::read_form(state);
    if (!form) return std::nullopt;
    return task::view_of(*form);
  }

  Answer act(const std::string& state, const std::string& word, std::uint64_t) const override {
    constexpr std::string_view kOpen = "fill[";
    auto form = *task::read_form(state);
    if (word == "click[send]") return sent(state, form);
    const std::size_t equals = word.find('=');
    const Answer unread{.state = state, .flags = turn_flag::invalid};
    if (!word.starts_with(kOpen) || !word.ends_with(']') || equals == std::string::npos)
      return unread;
    const std::string name = word.substr(kOpen.size(), equals - kOpen.size()),
                      value = word.substr(equals + 1, word.size() - equals - 2);
    const auto field = std::find(form.fields.begin(), form.fields.end(), name);
    if (field == form.fields.end() || !task::is_form_word(value)) return unread;
    std::string& filled = form.filled[std::size_t(field - form.fields.begin())];
    Answer answer{.flags = filled == value ? turn_flag::repeated : 0, .kind = kFill};
    filled = value;
    answer.state = task::text_of(form);
    return answer;
  }

  /// Fills the first field that is not as it is wished, and sends the form when none is left.
  std::optional<std::string> expert_word(const std::string& state, std::uint32_t) const override {
    const auto form = *task::read_form(state);
    for (std::size_t i = 0; i < form.fields.size(); ++i)
      if (form.filled[i] != form.wanted[i])
        return fmt::format("fill[{}={}]", form.fields[i], form.wanted[i]);
    return "click[send]";
  }

  static Answer sent(const std::string& state, const task::Form& form) {
    std::size_t right = 0;
    for (std::size_t i = 0; i < form.fields.size(); ++i)
      right += form.filled[i] == form.wanted[i] ? 1 : 0;
    return {.state = state,
            .reward = double(right) / double(form.fields.size()),
            .done = true,
            .correct = right == form.fields.size(),
            .kind = kClick};
  }
};

}  // namespace

std::unique_ptr<const Environment> make_forms(const RunConfig& config) {
  need_task(config, "forms");
  return std::make_unique<FormWorld>();
}

}  // namespace rollcall::environment

// The only file that uses CLI11: it passes on what commands declare, and words the messages about
// wrong usage.
#include "app/command_line.hpp"

#include "base/errors/faults.hpp"
#include "base/errors/log.hpp"
#include "base/errors/nearest.hpp"
#include "base/errors/visible.hpp"
#include "base/text/joined.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rollcall::app {
namespace {

using Text = const std::string&;
using Words = std::vector<std::string>;

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

/// The words that are valid in this place: commands and flags.
Words valid_words(const CLI::App& app) {
  Words words;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) words.push_back("--" + name);
  }
  for (const auto* command : commands_of(app)) words.push_back(command->get_name());
  return words;
}

/// The command line that shows the help of the chosen command: "rollcall archive ls --help".
std::string help_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return app.get_name() + " " + (chosen.empty() ? std::string("--help") : help_of(*chosen.front()));
}

/// Words that no option or command took, in the order of the command line.
Words unexpected(const CLI::App& app, const Words& arguments) {
  auto left = app.remaining(true);
  Words ordered;
  for (const auto& argument : arguments) {
    const auto found = std::find(left.begin(), left.end(), argument);
    if (found == left.end()) continue;
    left.erase(found);
    ordered.push_back(argument);
  }
  return ordered;
}

/// The number type of a variable for one or several numbers.
template <class Value>
struct NumberOf {
  using type = Value;
};
template <class Value>
struct NumberOf<std::vector<Value>> : NumberOf<Value> {};
template <class Value>
struct NumberOf<std::optional<Value>> : NumberOf<Value> {};

/// CLI11 would read -1 as the largest unsigned number, and says only "Could not convert" about
/// other words.
template <class Number>
std::string number_fault(const std::string& word) {
  const char* wanted = "a number";
  bool fits = false;
  if constexpr (std::is_integral_v<Number>) {
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    fits = error == std::errc() && end == word.data() + word.size();
    wanted = std::is_unsigned_v<Number> ? "a whole number from 0 on" : "a whole number";
  } else {
    Number value{};
    fits = CLI::detail::lexical_cast(word, value);
  }
  return fits ? std::string() : fmt::format("{} is not {}", visible(brief(word)), wanted);
}

/// Refuses a word that is not a number if the variable takes numbers.
template <class Value>
void require_number(CLI::Option* option) {
  using Number = typename NumberOf<Value>::type;
  if constexpr (std::is_arithmetic_v<Number>)
    option->check(CLI::Validator([](std::string& word) { return number_fault<Number>(word); }, ""));
}

constexpr const char* kRest = "rest";  // name of the validator of options that take the rest
constexpr char kAsText = '\x01';       // stands before a word that CLI11 must only pass on

bool takes_rest(CLI::Option& option) {
  try {
    return option.get_validator(kRest) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

/// Puts kAsText before the words that belong to an option which takes the rest.
void keep_rest(CLI::App& program, Words& words) {
  CLI::App* app = &program;
  for (auto word = words.begin(); word != words.end(); ++word) {
    for (auto* command : app->get_subcommands([](CLI::App*) { return true; }))
      if (command->get_name() == *word) app = command;
    auto* option = word->starts_with("--") ? app->get_option_no_throw(*word) : nullptr;
    if (option == nullptr || !takes_rest(*option)) continue;
    for (++word; word != words.end(); ++word) word->insert(word->begin(), kAsText);
    return;
  }
}

/// The message for words that are not understood.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error, const Words& arguments) {
  std::string problem = error.what(), suggestion = "see " + help_of(app);
  Words extra;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) extra = unexpected(app, arguments);
  if (!extra.empty()) {
    const std::string word = extra.front().substr(0, extra.front().find('='));
    const auto& chosen = innermost(app);
    const bool flag = word.starts_with('-'), command = !flag && !commands_of(chosen).empty();
    const std::string where = &chosen == &app ? "" : chosen.get_name() + " ";
    if (command) problem = "there is no command " + where + word;
    else problem = fmt::format("not expected here: {}", joined(extra, " "));
    const std::string nearest = nearest_name(word, valid_words(chosen));
    const bool meant = (flag || command) && is_near(word, nearest);
    if (meant) suggestion = fmt::format("did you mean {}? {} shows all", nearest, help_of(app));
  }
  return error_message(problem, "the command line cannot be understood", suggestion);
}

}  // namespace

Option Option::required() { return option_->required(); }
Option Option::needs(Option other) { return option_->needs(other.option_); }
Option Option::excludes(Option other) { return option_->excludes(other.option_); }
template <class Number>
Option Option::range(Number low, Number high) {
  return option_->check(CLI::Range(low, high));
}
template Option Option::range(int, int);
template Option Option::range(std::int64_t, std::int64_t);
template Option Option::range(std::uint64_t, std::uint64_t);
template Option Option::range(double, double);
Option Option::positive() { return option_->check(CLI::PositiveNumber); }
Option Option::non_negative() { return option_->check(CLI::NonNegativeNumber); }
Option Option::one_of(const Words& choices) { return option_->check(CLI::IsMember(choices)); }
Option Option::takes_rest() {
  return option_->transform(CLI::Validator(
      [](std::string& word) {
        if (word.starts_with(kAsText)) word.erase(0, 1);
        return std::string();
      },
      "", kRest));
}
Option Option::byte_size() { return option_->transform(CLI::AsSizeValue(false)); }
Option Option::default_shown() { return option_->capture_default_str(); }
Option Option::repeated() { return option_->allow_extra_args(false)->take_all(); }
Option Option::comma_separated() { return option_->delimiter(','); }
Option Option::expected(int low, int high) { return option_->expected(low, high); }
Option Option::value_name(const std::string& name) { return option_->type_name(name); }
Option Option::words(const std::string& text) { return option_->option_text(text); }
bool Option::is_given() const { return option_->count() > 0; }

Command Command::command(const std::string& name, const std::string& meaning) {
  CLI::App* added = app_->add_subcommand(name, meaning);
  return {added, chosen_};
}

template <class Value>
Option Command::option(const std::string& name, Value& variable, const std::string& meaning) {
  CLI::Option* added = app_->add_option(name, variable, meaning);
  require_number<Value>(added);
  return added;
}
template Option Command::option(Text, std::string&, Text);
template Option Command::option(Text, int&, Text);
template Option Command::option(Text, std::int64_t&, Text);
template Option Command::option(Text, std::uint64_t&, Text);
template Option Command::option(Text, double&, Text);
template Option Command::option(Text, std::optional<std::uint64_t>&, Text);
template Option Command::option(Text, std::vector<std::string>&, Text);
template Option Command::option(Text, std::vector<int>&, Text);
template Option Command::option(Text, std::vector<double>&, Text);

Option Command::option(Text name, const TakesText& take, Text meaning) {
  CLI::Option* added = app_->add_option_function<std::string>(name, take, meaning);
  return added;
}

Option Command::option(Text name, const TakesNumber& take, Text meaning) {
  CLI::Option* added = app_->add_option_function<std::int64_t>(name, take, meaning);
  require_number<std::int64_t>(added);
  return added;
}

Option Command::flag(Text name, bool& variable, Text meaning) {
  CLI::Option* added = app_->add_flag(name, variable, meaning);
  return added;
}

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* option : app_->get_options()) {
    if (option != app_->get_help_ptr()) options.emplace_back(option);
  }
  return options;
}

void Command::footer(const std::string& text) { app_->footer(text); }
void Command::expects_commands(int low, int high) { app_->require_subcommand(low, high); }
void Command::keeps_rest() { app_->prefix_command(); }

void Command::runs(Action action) {
  app_->callback([app = app_, chosen = chosen_, action = std::move(action)] {
    if (app->get_subcommands().empty()) *chosen = action;
  });
}

std::vector<std::string> Command::rest() const { return app_->remaining(); }

std::string Command::help() const {
  const CLI::App* parent = app_->get_parent();
  return app_->help(parent == nullptr ? "" : parent->get_name());
}

CommandLine::CommandLine(Text name, Text meaning) : app_(new CLI::App(meaning, name)) {}

CommandLine::~CommandLine() = default;

Command CommandLine::program() { return {app_.get(), &chosen_}; }

std::optional<int> CommandLine::read(int argc, char** argv) {
  // Old names of commands, which are accepted until version 0.4.
  constexpr std::pair<const char*, const char*> kOldCommands[] = {{"policies", "schedulers"}};
  Words words(argv + 1, argv + argc);
  for (const auto& [old, name] : kOldCommands) {
    if (words.empty() || words.front() != old) continue;
    log_warning("rollcall {} is called rollcall {} now; the old name goes with the next release",
                old, name);
    words.front() = name;
  }
  keep_rest(*app_, words);
  std::vector<char*> kept{argv[0]};
  for (std::string& word : words) kept.push_back(word.data());
  try {
    app_->parse(int(kept.size()), kept.data());
  } catch (const CLI::CallForHelp& help) {
    return app_->exit(help);
  } catch (const CLI::ParseError& error) {
    complain(usage_error(*app_, error, {argv + 1, argv + argc}));
    return int(ExitCode::misconfigured);
  }
  return std::nullopt;
}

}  // namespace rollcall::app

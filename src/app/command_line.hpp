// The command line: commands with their options and flags. Their parser, CLI11, takes seconds to
// compile, so only command_line.cpp includes it.
#pragma once

#include "base/errors/error.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rollcall::app {

/// The action of a command. Returns the exit code of the process.
using Action = std::function<ExitCode()>;

using TakesText = std::function<void(const std::string&)>;
using TakesNumber = std::function<void(const std::int64_t&)>;

/// An option or a flag. It is a handle, which may be copied and is valid as long as its
/// CommandLine. Functions that restrict the option return it again.
class Option {
 public:
  Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option needs(Option other);
  Option excludes(Option other);
  template <class Number>                 // int, std::int64_t, std::uint64_t or double
  Option range(Number low, Number high);  ///< both ends included
  Option positive();
  Option non_negative();
  Option one_of(const std::vector<std::string>& choices);
  /// The option takes all words that follow, even those that begin with dashes. Its values are
  /// texts.
  Option takes_rest();
  Option byte_size();                          ///< accepts 500G or 10T as well
  Option default_shown();                      ///< shows the present value in the help
  Option repeated();                           ///< takes one value each time the option is given
  Option comma_separated();                    ///< accepts several values in one word as well
  Option expected(int low, int high);          ///< the number of values that the option takes
  Option value_name(const std::string& name);  ///< the text that the help shows in place of the
                                               ///< type and [...]
  Option words(const std::string& text);  ///< the text that the help shows in place of everything
                                          ///< after the option's name
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// A command, or the program itself; a handle as well. CommandLine::read sets the variables, so
/// these must live until then.
class Command {
 public:
  Command(CLI::App* app, Action* chosen) : app_(app), chosen_(chosen) {}

  Command command(const std::string& name, const std::string& meaning);
  /// Names that begin with dashes are options, others are positional arguments. Value may be
  /// std::string, int, std::int64_t, std::uint64_t, double and any other type that command_line.cpp
  /// instantiates.
  template <class Value>
  Option option(const std::string& name, Value& variable, const std::string& meaning);
  /// `take` is called with the value if the option is given.
  Option option(const std::string& name, const TakesText& take, const std::string& meaning);
  Option option(const std::string& name, const TakesNumber& take, const std::string& meaning);
  Option flag(const std::string& name, bool& variable, const std::string& meaning);
  std::vector<Option> options() const;  ///< the options added so far, without --help
  void footer(const std::string& text);
  void expects_commands(int low, int high);  ///< number of its own commands that must be given
  void keeps_rest();  ///< keeps all words from the first one that is not an option on, for rest()

  /// Sets the action of the command if it is chosen and none of its own commands is.
  void runs(Action action);
  std::vector<std::string> rest() const;
  std::string help() const;

 private:
  CLI::App* app_;
  Action* chosen_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& meaning);
  ~CommandLine();

  Command program();
  /// Sets the variables. Returns an exit code if the process must end, after printing the help, or
  /// the mistake together with the nearest valid word.
  std::optional<int> read(int argc, char** argv);
  const Action& chosen() const { return chosen_; }  ///< empty if no command was given

 private:
  std::unique_ptr<CLI::App> app_;
  Action chosen_;
};

}  // namespace rollcall::app

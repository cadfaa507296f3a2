// The command line: commands with their options and flags. Their parser, CLI11, takes seconds to
// compile, so command_line.cpp alone includes it.
#pragma once

#include "base/error.hpp"

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

/// What a command does. Returns the exit code of the process.
using Action = std::function<ExitCode()>;

using TakesText = std::function<void(const std::string&)>;
using TakesNumber = std::function<void(const std::int64_t&)>;

/// An option or a flag: a handle that is copied freely and valid as long as its CommandLine. What
/// restricts it returns it again.
class Option {
 public:
  Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option needs(Option other);
  Option excludes(Option other);
  template <class Number>                 // int, std::int64_t, std::uint64_t or double
  Option range(Number low, Number high);  ///< both ends belong to it
  Option positive();
  Option non_negative();
  Option one_of(const std::vector<std::string>& choices);
  Option byte_size();                          ///< also as 500G or 10T
  Option default_shown();                      ///< in the help: the value at this moment
  Option repeated();                           ///< one value each time it is given
  Option comma_separated();                    ///< values in one word, too
  Option expected(int low, int high);          ///< number of values
  Option value_name(const std::string& name);  ///< in the help, in place of the type and [...]
  Option words(const std::string& text);       ///< in the help, in place of all after its name
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// A command, or the program itself: a handle likewise. CommandLine::read sets the variables, so
/// they have to live until then.
class Command {
 public:
  Command(CLI::App* app, Action* chosen) : app_(app), chosen_(chosen) {}

  Command command(const std::string& name, const std::string& meaning);
  /// Names that begin with dashes are options, others are places. Value: std::string, int,
  /// std::int64_t, std::uint64_t, double and what else command_line.cpp instantiates.
  template <class Value>
  Option option(const std::string& name, Value& variable, const std::string& meaning);
  /// `take` is called with the value where the option is given.
  Option option(const std::string& name, const TakesText& take, const std::string& meaning);
  Option option(const std::string& name, const TakesNumber& take, const std::string& meaning);
  Option flag(const std::string& name, bool& variable, const std::string& meaning);
  std::vector<Option> options() const;  ///< so far, without --help
  void footer(const std::string& text);
  void expects_commands(int low, int high);  ///< of its own
  void keeps_rest();                         ///< from the first word that is no option on: rest()

  /// What is done where it is chosen, and none of its own commands is.
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
  /// Sets the variables. The exit code where the process is to end: its help is printed, or what is
  /// wrong, with the nearest valid word.
  std::optional<int> read(int argc, char** argv);
  const Action& chosen() const { return chosen_; }  ///< empty where no command is

 private:
  std::unique_ptr<CLI::App> app_;
  Action chosen_;
};

}  // namespace rollcall::app

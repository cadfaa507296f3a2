// rollcall recipes: prints the table of objectives, filtered, or one row in full, or a run file with
// a paper's settings.
#include "app/commands.hpp"
#include "app/tables/no_recipes.hpp"
#include "app/tools/install_paths.hpp"
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/files/file.hpp"
#include "base/text/joined.hpp"
#include "method/method.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::app {
namespace {

struct Filter {
  std::string slot, paper;
  int year = 0;
};

/// "weight" selects rows with any weight piece, "weight=tis" rows with that one.
bool has_piece(const method::Recipe& recipe, const std::string& slot) {
  const std::string family = slot.substr(0, slot.find('='));
  const std::vector<std::string> families(method::family_names.begin(), method::family_names.end());
  const auto at = std::find(families.begin(), families.end(), family);
  require<ConfigError>(at != families.end(),
                       fmt::format("--slot {} is not a slot of an objective", family),
                       "an objective is one choice of each slot", suggest_name(family, families));
  const std::string_view pieces = recipe.pieces[std::size_t(at - families.begin())];
  if (family == slot) return pieces != "none";
  return fmt::format("+{}+", pieces).find(fmt::format("+{}+", slot.substr(family.size() + 1))) !=
         std::string::npos;
}

bool matches(const method::Recipe& recipe, const Filter& filter) {
  return (filter.slot.empty() || has_piece(recipe, filter.slot)) &&
         (filter.year == 0 || recipe.year == filter.year) &&
         (filter.paper.empty() || recipe.paper.find(filter.paper) != std::string_view::npos ||
          recipe.title.find(filter.paper) != std::string_view::npos);
}

ExitCode list(const Filter& filter) {
  std::size_t shown = 0;
  const auto& recipes = method::library().recipes();
  for (const auto& recipe : recipes) {
    if (!matches(recipe, filter)) continue;
    std::cout << fmt::format("{:<28} {:<18} {}  {:<8} {}\n", recipe.name, recipe.paper, recipe.year,
                             recipe.lacks.empty() ? "complete" : "partly", recipe.title);
    ++shown;
  }
  std::cout << fmt::format("{} of {} recipes; rollcall recipes NAME shows one in full\n", shown,
                           recipes.size());
  if (shown == recipes.size()) {
    std::cout << "not in the table, and why:\n";
    for (const auto& [name, sentence] : kNoRecipes)
      std::cout << fmt::format("{:<28} {}\n", name, sentence);
  }
  std::cout << std::flush;
  return shown > 0 ? ExitCode::done : ExitCode::misconfigured;
}

ExitCode show(const std::string& name) {
  if (const auto sentence = sentence_of(name); !sentence.empty()) {
    std::cout << fmt::format("{} is no recipe; {}\n", name, sentence) << std::flush;
    return ExitCode::done;
  }
  const auto recipe = method::make_objective(name, {}, {});
  std::cout << recipe->describe();
  const auto& rows = method::library().recipes();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == name; });
  std::cout << fmt::format(
      "  complete: {}\n", row->lacks.empty() ? "yes" : fmt::format("partly, lacks {}", row->lacks));
  if (const auto columns = recipe->columns(); !columns.empty())
    std::cout << fmt::format("  needs columns: {}\n", joined(columns, ", "));
  if (recipe->needs_value()) std::cout << "  trains a value head ([critic] in the run file)\n";
  if (recipe->whole_groups()) std::cout << "  couples the rollouts of a group\n";
  std::cout << fmt::format(
                   "  use: --set objective.recipe={}; pieces and knobs: [objective.pieces] and "
                   "[objective.knobs]; more in src/objective/METHODS.md\n",
                   name)
            << std::flush;
  return ExitCode::done;
}

/// Prints a file of jobs/presets as it is.
ExitCode print_preset(const std::string& name) {
  const std::filesystem::path folder = jobs_folder() / "presets";
  std::vector<std::string> known;
  for (const auto& entry : list_folder(folder)) known.push_back(entry.path().stem().string());
  std::sort(known.begin(), known.end());
  require<ConfigError>(std::find(known.begin(), known.end(), name) != known.end(),
                       fmt::format("there is no preset \"{}\" in {}", name, folder.string()),
                       "its settings are unknown", suggest_name(name, known));
  std::cout << read_file(folder / (name + ".toml")) << std::flush;
  return ExitCode::done;
}

}  // namespace

void add_recipes(Command program) {
  struct Flags {
    std::string name, preset;
    Filter filter;
  };
  auto flags = std::make_shared<Flags>();
  auto command = program.command(
      "recipes", "list the objectives, or show one in full: pieces, formulas, knobs, source");
  auto name = command.option("name", flags->name, "recipe to show in full");
  auto preset = command
                    .option("--preset", flags->preset,
                            "print a complete run file with a paper's settings, which are those of "
                            "jobs/presets; an unknown name lists them")
                    .excludes(name);
  command
      .option("--slot", flags->filter.slot,
              "only rows that choose something for this slot (weight), or this piece (weight=tis)")
      .excludes(name);
  command
      .option("--paper", flags->filter.paper, "only rows whose paper or title contains this text")
      .excludes(name);
  command.option("--year", flags->filter.year, "only rows of this year").excludes(name);
  command.runs([flags, preset] {
    if (preset.is_given()) return print_preset(flags->preset);
    return flags->name.empty() ? list(flags->filter) : show(flags->name);
  });
}

}  // namespace rollcall::app

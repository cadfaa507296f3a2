// rollcall schedulers: prints the table of ways to choose prompts and budgets, filtered, or one row
// in full.
#include "scheduling/schedulers.hpp"
#include "app/commands.hpp"
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

namespace rollcall::app {
namespace {

using namespace scheduling;

struct Filter {
  std::string piece, paper;
  int year = 0;
};

constexpr const char* kFamilies[] = {"sampler", "allocator", "rounds", "selection"};

std::string piece_of(const SchedulerChoice& choice, const std::string& family) {
  return family == "sampler"     ? choice.sampler
         : family == "allocator" ? choice.allocator
         : family == "rounds"    ? choice.rounds
                                 : choice.selection;
}

/// "square_root" selects rows with this piece in any family, "allocator=square_root" rows with it
/// in that family.
bool has_piece(const SchedulerRow& row, const std::string& wanted) {
  const auto equals = wanted.find('=');
  const std::string family = equals == std::string::npos ? "" : wanted.substr(0, equals),
                    piece = wanted.substr(equals == std::string::npos ? 0 : equals + 1);
  const std::vector<std::string> families(std::begin(kFamilies), std::end(kFamilies));
  require<ConfigError>(
      family.empty() || std::find(families.begin(), families.end(), family) != families.end(),
      fmt::format("--piece {}: {} is not a family of pieces", wanted, family),
      "a policy is one piece of each family", suggest_name(family, families));
  return std::any_of(families.begin(), families.end(), [&](const auto& f) {
    return (family.empty() || f == family) && piece_of(row.pieces, f) == piece;
  });
}

bool matches(const SchedulerRow& row, const Filter& filter) {
  const std::string paper = row.paper, title = row.title;
  return (filter.piece.empty() || has_piece(row, filter.piece)) &&
         (filter.year == 0 || row.year == filter.year) &&
         (filter.paper.empty() || paper.find(filter.paper) != std::string::npos ||
          title.find(filter.paper) != std::string::npos);
}

ExitCode list(const Filter& filter) {
  std::size_t shown = 0;
  for (const auto& row : schedulers()) {
    if (!matches(row, filter)) continue;
    const std::string pieces =
        fmt::format("{} x {} x {} x {}", row.pieces.sampler, row.pieces.allocator,
                    row.pieces.rounds, row.pieces.selection);
    std::cout << fmt::format("{:<24} {:<18} {}  {:<8} {:<44} {}\n", row.name, row.paper, row.year,
                             *row.lacks == '\0' ? "complete" : "partly", pieces, row.title);
    ++shown;
  }
  std::cout << fmt::format("{} of {} schedulers; rollcall schedulers NAME shows one in full\n",
                           shown, schedulers().size())
            << std::flush;
  return shown > 0 ? ExitCode::done : ExitCode::misconfigured;
}

template <class Family>
void show_piece(const char* family, const std::string& name,
                std::span<const PieceRow<Family>> table) {
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const auto& r) { return name == r.name; });
  std::cout << fmt::format("  {:<36} {}\n", fmt::format("{} {}", family, name), row->meaning);
}

ExitCode show(const std::string& name) {
  const SchedulerChoice choice = resolve({.row = name});
  const auto row = std::find_if(schedulers().begin(), schedulers().end(),
                                [&](const auto& r) { return r.name == name; });
  std::cout << fmt::format("{}: {}, {} ({})\n", row->name, row->title, row->paper, row->year);
  std::cout << fmt::format("  complete: {}\n", *row->lacks == '\0'
                                                   ? "yes"
                                                   : fmt::format("partly, lacks {}", row->lacks));
  show_piece("sampler", choice.sampler, samplers());
  show_piece("allocator", choice.allocator, allocators());
  show_piece("rounds", choice.rounds, rounds());
  show_piece("selection", choice.selection, selections());
  const auto policy = make_scheduler(choice, {}, PromptTable{.level = {0}}, 0);
  std::cout << "  "
            << (policy->traits().exact_total
                    ? "spends the step's budget exactly"
                    : "hard cap: never draws more than a step's cap, may draw fewer")
            << "\n";
  for (const auto& warning : policy->traits().warnings) std::cout << "  note: " << warning << "\n";
  if (const std::string knobs = describe_knobs(choice); !knobs.empty())
    std::cout << "knobs, with their defaults in this row:\n" << knobs;
  std::cout << fmt::format(
                   "use: --set scheduler.policy={}; pieces: scheduler.sampler, allocator, rounds, "
                   "selection; knobs: [scheduler.knobs]\n",
                   name)
            << std::flush;
  return ExitCode::done;
}

}  // namespace

void add_schedulers(Command program) {
  struct Flags {
    std::string name;
    Filter filter;
  };
  auto flags = std::make_shared<Flags>();
  auto command = program.command(
      "schedulers",
      "list the ways to choose prompts and budgets, or show one in full: pieces, formulas, knobs, "
      "source");
  auto name = command.option("name", flags->name, "scheduler to show in full");
  command
      .option("--piece", flags->filter.piece,
              "only rows with this piece (square_root, or allocator=square_root)")
      .excludes(name);
  command
      .option("--paper", flags->filter.paper, "only rows whose paper or title contains this text")
      .excludes(name);
  command.option("--year", flags->filter.year, "only rows of this year").excludes(name);
  command.runs([flags] { return flags->name.empty() ? list(flags->filter) : show(flags->name); });
}

}  // namespace rollcall::app

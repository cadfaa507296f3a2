// The subcommands of `rollcall`, one file each. A command adds its flags to the parser and leaves what it will do.
#pragma once

#include "base/error.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace rollcall::app {

/// Chosen by the parser, run by main: returns the exit code of the process.
using Action = std::function<ExitCode()>;

/// argc and argv reach MPI_Init through the commands that start a job.
struct Arguments {
  int argc;
  char** argv;
};

void add_train(CLI::App& app, const Arguments& arguments, Action& action);  ///< train and sft
void add_eval(CLI::App& app, const Arguments& arguments, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_chat(CLI::App& app, Action& action);
void add_logprob(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_prove(CLI::App& app, Action& action);
void add_recipes(CLI::App& app, Action& action);
void add_policies(CLI::App& app, Action& action);
void add_schedule(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_archive(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);
void add_view(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_submit(CLI::App& app, Action& action);
void add_score(CLI::App& app, Action& action);
void add_sandbox(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);
void add_template(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);

std::string version();                 ///< "rollcall 0.1.0"
std::string version_with_libraries();  ///< for the archive: with MPI, HDF5 and LibTorch
std::string version_verbose();         ///< with compiler, libraries and kernels

}  // namespace rollcall::app

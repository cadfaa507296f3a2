// The subcommands of `rollcall`, one file each. Each function adds a command with its options and
// its action.
#pragma once

#include "app/command_line.hpp"

#include <string>

namespace rollcall::app {

/// argc and argv reach MPI_Init through the commands that start a job.
struct Arguments {
  int argc;
  char** argv;
};

void add_train(Command program, const Arguments& arguments);  ///< adds train and sft
void add_eval(Command program, const Arguments& arguments);
void add_generate(Command program);
void add_chat(Command program);
void add_logprob(Command program);
void add_compare(Command program);
void add_plan(Command program);
void add_data(Command program);
void add_prove(Command program);
void add_recipes(Command program);
void add_schedulers(Command program);
void add_schedule(Command program);
void add_simulate(Command program);
void add_export(Command program);
void add_weights(Command program);
void add_archive(Command program);
void add_status(Command program);
void add_view(Command program);
void add_report(Command program);
void add_submit(Command program);
void add_score(Command program);
void add_sandbox(Command program);
void add_tokenize(Command program);
void add_template(Command program);
void add_doctor(Command program);

std::string version();                 ///< such as "rollcall 0.2.0"
std::string version_with_libraries();  ///< as stored in archives: with MPI, HDF5 and LibTorch
std::string version_verbose();         ///< version() with compiler, libraries and kernels

}  // namespace rollcall::app

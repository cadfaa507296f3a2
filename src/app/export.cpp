// rollcall export: a checkpoint's weights as a folder that transformers loads.
#include "app/commands.hpp"
#include "model/model_folder.hpp"
#include "stages/run_folder.hpp"

#include <filesystem>
#include <iostream>
#include <memory>

namespace rollcall::app {

void add_export(CLI::App& app, Action& action) {
  struct Flags {
    std::string weights, out;
    bool force = false;
  };
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("export", "write config.json and model.safetensors for transformers");
  command->add_option("weights", flags->weights, "RUN, RUN@STEP or RUN@CHECKPOINT")->required();
  command->add_option("out", flags->out, "folder to write")->required();
  command->add_flag("--force", flags->force, "overwrite an earlier export in that folder");
  command->callback([flags, &action] {
    action = [flags] {
      const auto source = stages::checkpoint_folder(flags->weights);
      const auto [config, weights] = model::read_model_folder(source);  // verifies names, shapes and sizes
      const std::filesystem::path out = flags->out;
      require(flags->force || !std::filesystem::exists(out / "model.safetensors"), out.string() + " already holds a model", "it would be overwritten",
              "choose another folder or add --force");
      model::write_model_folder(out, config, weights);
      std::cout << "exported " << source.string() << " to " << out.string() << "\npolicy sha256 "
                << model::weights_sha256(model::weight_layout(config), weights) << std::endl;
      return ExitCode::done;
    };
  });
}

}  // namespace rollcall::app

// rollcall export: writes a checkpoint's weights as a folder that transformers can load.
#include "app/commands.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/files/output_file.hpp"
#include "core/run_record.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/folder/run_folder.hpp"

#include <filesystem>
#include <memory>

namespace rollcall::app {
namespace {

struct ExportFlags {
  std::string weights, out, dtype = "f32";
  bool force = false;
};

/// The statement of model.safetensors about its origin: run, checkpoint, step, and the digest of
/// the weights before rounding.
std::map<std::string, std::string> origin_of(const std::string& reference,
                                             const std::filesystem::path& source,
                                             const std::string& sha256) {
  std::map<std::string, std::string> metadata{{"policy_sha256", sha256}};
  const auto run = run::run_of(reference);
  if (!holds_record(run)) return metadata;
  const std::string name = source.filename().string();  // such as "train_000120"
  metadata["run"] = std::filesystem::absolute(run).lexically_normal().filename().string();
  metadata["checkpoint"] = name;
  const auto digits = name.find_last_not_of("0123456789") + 1;
  if (digits < name.size()) metadata["step"] = std::to_string(std::stoll(name.substr(digits)));
  return metadata;
}

ExitCode export_weights(const ExportFlags& flags) {
  const LongPhase phase("exporting " + flags.weights);
  const auto source = run::checkpoint_folder(flags.weights);
  const auto text = run::text_folder(flags.weights);
  // throws where names, shapes or sizes are wrong
  const auto [config, weights] = model::read_model_folder(source);
  const std::filesystem::path out = flags.out;
  const bool replaces = std::filesystem::exists(out / "model.safetensors");
  require(flags.force || !replaces, out.string() + " already holds a model",
          "it would be overwritten", "choose another folder or add --force");
  OutputFolder folder(out);
  const std::string sha256 = model::weights_sha256(model::weight_layout(config), weights);
  model::write_model_folder(out, config, weights,
                            {flags.dtype == "bf16" ? model::Dtype::bf16 : model::Dtype::f32,
                             origin_of(flags.weights, source, sha256)});
  // With the tokenizer of another model in the folder, the ids would have other meanings.
  if (!text.empty() || replaces) run::copy_text_files(text, out);
  folder.keep();
  print_visible("exported {} to {}\n", source.string(), out.string());
  if (!text.empty()) print_visible("tokenizer and related files from {}\n", text.string());
  print_visible("policy sha256 {}\n", sha256);
  return ExitCode::done;
}

}  // namespace

void add_export(Command program) {
  auto flags = std::make_shared<ExportFlags>();
  auto command = program.command(
      "export", "write config.json, model.safetensors and the tokenizer's files for transformers");
  command
      .option(
          "weights", flags->weights,
          "RUN, RUN@STEP, RUN@CHECKPOINT, or the folder of a model, or of an adapter, which is merged")
      .required();
  command.option("out", flags->out, "folder to write").required();
  command.option("--dtype", flags->dtype, "f32, or bf16: rounded to the nearest, ties to even")
      .one_of({"f32", "bf16"});
  command.flag("--force", flags->force, "overwrite an earlier export in that folder");
  command.runs([flags] { return export_weights(*flags); });
}

}  // namespace rollcall::app

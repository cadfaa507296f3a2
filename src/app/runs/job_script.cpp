// Reads site files, and fills templates by replacing @NAME@.
#include "app/runs/job_script.hpp"

#include "app/runs/launcher.hpp"
#include "app/runs/pbs_script.hpp"
#include "app/tools/install_paths.hpp"
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/errors/visible.hpp"
#include "base/files/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

namespace rollcall::app {
namespace fs = std::filesystem;

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

namespace {

/// Fills one line of a template, from left to right, so that an @NAME@ within a value is not
/// replaced. Returns nothing for a directive without a value.
std::optional<std::string> fill(std::string_view line,
                                const std::map<std::string, std::string>& values) {
  std::string filled;
  for (std::size_t mark = line.find('@'); mark != std::string_view::npos; mark = line.find('@')) {
    const std::size_t end = line.find('@', mark + 1);
    const auto value = end == std::string_view::npos
                           ? values.end()
                           : values.find(std::string(line.substr(mark + 1, end - mark - 1)));
    filled += line.substr(0, value == values.end() ? mark + 1 : mark);
    line.remove_prefix(value == values.end() ? mark + 1 : end + 1);
    if (value == values.end()) continue;
    if (value->second.empty()) return std::nullopt;
    filled += value->second;
  }
  return filled.append(line);
}

}  // namespace

/// A line break would end a line of the script, and the shell or sbatch would take what follows as
/// a line of its own.
void require_one_line(const std::string& what, const std::string& value) {
  require<ConfigError>(
      visible(value) == value,
      fmt::format("{} \"{}\" holds a control character", what, visible(value)),
      "it would become another line of the batch script, or act on the terminal that shows it",
      "leave it out; inside the quotes of --set key=\"...\" write \\n for a line break");
}

std::string launch_line(const RunOfJob& run) {
  return fmt::format("launch {} {} train --resume --start-if-none {}",
                     shell_quoted(run.dir.string()), shell_quoted(executable().string()),
                     shell_quoted(run.submitted.string()));
}

/// The forms are M, M:S, H:M:S, D-H, D-H:M and D-H:M:S.
std::optional<std::int64_t> seconds_of(std::string_view time) {
  std::int64_t days = 0, parts[3] = {};
  const auto number = [&](std::int64_t& out) {
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), out);
    time.remove_prefix(std::size_t(end - time.data()));
    return error == std::errc() && out >= 0 && out < 1'000'000;
  };
  std::size_t count = 0;
  const bool has_days = time.find('-') != std::string_view::npos;
  if (has_days) {
    if (!number(days) || !time.starts_with('-')) return std::nullopt;
    time.remove_prefix(1);
  }
  while (count < 3 && number(parts[count])) {
    ++count;
    if (!time.starts_with(':')) break;
    time.remove_prefix(1);
  }
  if (count == 0 || !time.empty()) return std::nullopt;
  if (!has_days && count < 3) return 60 * parts[0] + parts[1];
  return 86400 * days + 3600 * parts[0] + 60 * parts[1] + parts[2];
}

std::string filled(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string script;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto done = fill(line, values)) script += *done + "\n";
  }
  return script;
}

namespace {

/// Quotes a text as sbatch reads it in a #SBATCH line: between double quotes, a backslash takes the
/// next character literally.
std::string directive_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + '"';
}

/// The same, but only if the text needs quotes. An empty value stays empty.
std::string directive_value(const std::string& text) {
  return text.find_first_of(" '\"\\#;") == std::string::npos ? text : directive_quoted(text);
}

/// A pattern of Slurm's for file names that begins with a literal folder, in which %% is the
/// character %.
std::string log_pattern(const fs::path& folder, const char* name) {
  std::string pattern;
  for (const char c : folder.string()) pattern += c == '%' ? "%%" : std::string(1, c);
  return pattern + "/" + name;
}

/// sbatch splits a line of the script at its blanks, and the shell has removed the quotes of the
/// command line.
std::string with_quotes(const std::string& option) {
  const std::size_t equals = option.find('=');
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (value.find_first_of(" \t") == std::string::npos ||
      value.find_first_of("\"'") != std::string::npos)
    return option;
  return fmt::format("{}\"{}\"", option.substr(0, equals + 1), value);
}

/// Options for sbatch that the user added, as lines of the script. Options of the template itself
/// have flags.
std::string option_lines(const BatchJob& job, const std::string& script) {
  std::string lines;
  for (const std::string& option : job.options) {
    require_one_line("--sbatch", option);
    const std::string name = option.substr(0, option.find_first_of("= "));
    require<ConfigError>(name.size() > 2 && name.starts_with("--"),
                         fmt::format("--sbatch {} is no option of sbatch in its long form", option),
                         "it becomes a line of the batch script",
                         "write for example --sbatch \"--mail-type=END\"");
    require<ConfigError>(
        script.find(fmt::format("#SBATCH {}=", name)) == std::string::npos && name != "--requeue" &&
            name != "--no-requeue",
        fmt::format("--sbatch {}: the batch script has a line for {} already", option, name),
        "sbatch would take one of the two",
        "use the flag of rollcall submit or the key of the site file (rollcall submit --help)");
    lines += (lines.empty() ? "#SBATCH " : "\n#SBATCH ") + with_quotes(option);
  }
  return lines;
}

/// One line for a single run; for an array the lines of all runs, of which each element takes its
/// own.
std::string launch_lines(const std::vector<RunOfJob>& runs) {
  if (runs.size() == 1) return launch_line(runs.front());
  std::string lines = "case $SLURM_ARRAY_TASK_ID in\n";
  for (std::size_t i = 0; i < runs.size(); ++i)
    lines += fmt::format("  {}) {} ;;\n", i, launch_line(runs[i]));
  return lines + "esac";
}

void check_names(const BatchJob& job) {
  const Site& site = job.site;
  for (const auto& key : site_keys())
    if (const auto* text = std::get_if<std::string Site::*>(&key.member))
      require_one_line(key.flag(), site.*(*text));
  for (const auto& run : job.runs) {
    require_one_line("run.dir", run.dir.string());
  }
  require<ConfigError>(is_pbs(job.site) || job.folder.string().find('\\') == std::string::npos,
                       fmt::format("run.dir {} holds a backslash", job.folder.string()),
                       "Slurm then reads no %j in the name of the log",
                       "choose another name for the folder");
}

std::string unless_zero(std::int64_t value) { return value > 0 ? std::to_string(value) : ""; }

std::map<std::string, std::string> placeholders(const BatchJob& job) {
  const Site& site = job.site;
  const bool array = job.runs.size() > 1;
  std::string setup;
  for (const auto& line : site.setup) setup += (setup.empty() ? "" : "\n") + line;
  return {{"JOB_NAME", directive_value(job.name)},
          {"ACCOUNT", directive_value(site.account)},
          {"PARTITION", directive_value(site.partition)},
          {"QOS", directive_value(site.qos)},
          {"CONSTRAINT", directive_value(site.constraint)},
          {"NODES", std::to_string(job.nodes)},
          {"TASKS_PER_NODE", std::to_string(site.tasks_per_node)},
          {"CPUS_PER_TASK", std::to_string(site.cpus_per_task)},
          {"GPUS_PER_NODE", unless_zero(site.gpus_per_node)},
          {"MEMORY", directive_value(site.memory)},
          {"TIME", directive_value(site.time)},
          {"ARRAY", array ? fmt::format("0-{}{}", job.runs.size() - 1,
                                        job.at_once > 0 ? fmt::format("%{}", job.at_once) : "")
                          : ""},
          {"LOG",
           directive_quoted(log_pattern(job.folder, array ? "slurm-%A_%a.log" : "slurm-%j.log"))},
          {"REQUEUE_OPTION", job.requeue ? "requeue" : "no-requeue"},
          {"SIGNAL_S", std::to_string(site.signal_s)},
          {"SETUP", setup},
          {"LAUNCH", shell_quoted((fs::canonical(jobs_folder()) / "launch.bash").string())},
          {"LAUNCHER", shell_quoted(site.launcher)},
          {"BIND", site.bind},
          {"REQUEUE", job.requeue ? "yes" : "no"},
          {"RUNS", launch_lines(job.runs)}};
}

/// A job that sbatch would refuse is refused before anything is written for it.
void check_time(const Site& site) {
  const bool is_endless = site.time == "UNLIMITED" || site.time == "INFINITE";
  require<ConfigError>(seconds_of(site.time) || is_endless || site.time.empty(),
                       fmt::format("the wall time \"{}\" cannot be read", site.time),
                       "sbatch takes minutes, HH:MM:SS, D-HH and D-HH:MM:SS",
                       "write it as HH:MM:SS, for example --time 02:00:00");
}

/// Otherwise Slurm would signal the job as soon as it starts, and every job that continues it.
void check_signal(const Site& site) {
  const auto time = seconds_of(site.time);
  require<ConfigError>(
      !time || *time > site.signal_s,
      fmt::format(
          "the wall time {} is not longer than the {} s before its end at which the job is signalled",
          site.time, site.signal_s),
      "the run would be told to stop before its first step, in this job and in every one that continues it",
      "raise --time, or lower --signal");
}

}  // namespace

std::string SiteKey::flag() const {
  std::string name = key == "signal_s" ? "signal" : key;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

const std::vector<SiteKey>& site_keys() {
  static const std::vector<SiteKey> keys{
      {"account", &Site::account, "account"},
      {"partition", &Site::partition, "Slurm partition; PBS: queue"},
      {"qos", &Site::qos, "Slurm quality of service"},
      {"constraint", &Site::constraint, "Slurm node features"},
      {"tasks_per_node", &Site::tasks_per_node, "ranks a node", {1, 4096}},
      {"cpus_per_task", &Site::cpus_per_task, "cores a rank", {1, 4096}},
      {"gpus_per_node", &Site::gpus_per_node, "GPUs a node", {0, 64}},
      {"memory", &Site::memory, "memory a node, as Slurm writes it (64G; 0: all)"},
      {"bind", &Site::bind, "what a rank is bound to", {}, {"none", "core", "numa"}},
      {"launcher", &Site::launcher, "launcher; empty: rollcall doctor chooses in the job"},
      {"time", &Site::time, "wall time, HH:MM:SS"},
      // the bounds that Slurm accepts
      {"signal_s", &Site::signal_s, "how long before its end the job is signalled [s]", {1, 65535}},
  };
  return keys;
}

Site read_site(const std::string& name) {
  const fs::path folder = jobs_folder() / "sites";
  const fs::path path = fs::is_regular_file(name) ? fs::path(name) : folder / (name + ".toml");
  std::vector<std::string> known;
  for (const auto& entry : list_folder(folder)) known.push_back(entry.path().stem().string());
  require(fs::exists(path), fmt::format("there is no site \"{}\" in {}", name, folder.string()),
          "its partitions and cores are unknown", suggest_name(name, known));
  Site site;
  ConfigSchema schema;
  schema.bind("source", &site.source, "where the values are documented");
  schema.bind("batch_system", &site.batch_system, "who runs the jobs", {}, {"slurm", "pbs"});
  schema.bind("options", &site.options, "PBS: further options of qsub");
  schema.bind("template", &site.site_template, "batch script", {}, {"cpu", "gpu"});
  schema.bind("setup", &site.setup, "commands before the launcher");
  for (const auto& key : site_keys()) {
    std::visit(
        [&](auto member) {
          schema.bind(key.key, &(site.*member), key.meaning, key.range, key.choices);
        },
        key.member);
  }
  schema.load(path);
  return site;
}

bool books_gpus(const BatchJob& job) {
  const auto books = [](const std::string& option) {
    const std::size_t equals = std::min(option.find_first_of("= "), option.size());
    const std::string_view name = std::string_view(option).substr(0, equals),
                           value = std::string_view(option).substr(equals);
    return name == "--gpus" || name.starts_with("--gpus-per-") ||
           ((name == "--gres" || name.starts_with("--tres-per-")) &&
            value.find("gpu") != value.npos);
  };
  return job.site.gpus_per_node > 0 || std::any_of(job.options.begin(), job.options.end(), books);
}

std::string job_script(const BatchJob& job) {
  check_names(job);
  check_signal(job.site);
  if (is_pbs(job.site)) return pbs_script(job);
  require<ConfigError>(job.site.options.empty(), "the site file has options of qsub",
                       "its batch system is Slurm",
                       "remove `options`, and use --sbatch; or set batch_system = \"pbs\"");
  auto values = placeholders(job);
  check_time(job.site);  // a control character in it has been refused as that
  const std::string text = read_file(jobs_folder() / (job.site.site_template + ".sbatch.in"));
  values["OPTIONS"] = option_lines(job, text);
  require<ConfigError>(
      job.site.gpus_per_node == 0 || text.find("@GPUS_PER_NODE@") != std::string::npos,
      fmt::format("{} GPUs a node are requested, but the site's template {} books none",
                  job.site.gpus_per_node, job.site.site_template),
      "the job would run without them",
      "use a site whose template is gpu, or leave gpus_per_node at 0");
  return filled(text, values);
}

fs::path script_path(const BatchJob& job) {
  return job.folder / (is_pbs(job.site) ? "job.pbs" : "job.sbatch");
}

}  // namespace rollcall::app

// rollcall view: makes pages for a browser from the rollouts of a run, in a folder or served on
// this machine.
#include "app/commands.hpp"
#include "base/errors/visible.hpp"
#include "base/process/stop_signals.hpp"
#include "view/folder.hpp"
#include "view/serve.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::app {
namespace {

struct Flags {
  std::vector<std::string> runs;
  std::string out;
  std::string port;  ///< empty means the default port
};

int port_of(const std::string& text) {
  if (text.empty()) return view::kDefaultPort;
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  require<ConfigError>(
      error == std::errc() && end == text.data() + text.size() && port >= 0 && port <= 65535,
      fmt::format("--serve {}: there is no such port", text), "ports are 1 to 65535",
      "leave the number out, or give 0 for any that is free");
  return port;
}

ExitCode show(const Flags& flags, bool writes, bool serves) {
  require<ConfigError>(writes != serves,
                       writes ? "--out and --serve are two ways to show the pages"
                              : "rollcall view needs --out FOLDER or --serve [PORT]",
                       "a folder is written once, a server answers until it is stopped",
                       "name one of them");
  require<ConfigError>(flags.runs.size() <= 2, fmt::format("{} runs are named", flags.runs.size()),
                       "two can be put side by side, no more", "name one run or two");
  const int port = serves ? port_of(flags.port) : 0;
  if (writes)
    end_on_stop_signals(flags.out + " is as it was before; the same command makes the pages");
  if (writes) view::require_own_pages(flags.out);  // before the runs are read
  view::Site site({flags.runs.begin(), flags.runs.end()});
  if (serves) {
    view::serve(site, port);
    return ExitCode::done;
  }
  const auto written = view::write_site(site, flags.out);
  print_visible("pages      {} files, {:.1f} MB\nopen       {}\n", written.files,
                double(written.bytes) / 1e6,
                (std::filesystem::absolute(flags.out) / "index.html").lexically_normal().string());
  return ExitCode::done;
}

}  // namespace

void add_view(Command program) {
  auto flags = std::make_shared<Flags>();
  auto command = program.command(
      "view",
      "the rollouts of a run as pages for a browser: steps, groups, samples, tokens in colour; two "
      "runs side by side");
  command.option("run", flags->runs, "run folder, or two to put side by side")
      .required()
      .expected(1, 1000)
      .words("RUN [OTHER]");
  const Option writes =
      command
          .option("--out", flags->out,
                  "folder to write; it opens from the disk and from any web server")
          .value_name("FOLDER");
  const std::string served = fmt::format(
      "answer on 127.0.0.1 until Ctrl-C, also while the run writes (reload for new steps); port {}",
      view::kDefaultPort);
  const Option serves =
      command.option("--serve", flags->port, served).value_name("[PORT]").expected(0, 1);
  command.footer(
      "From a cluster: rollcall view RUN --out pages, copy the folder, open pages/index.html.");
  command.runs(
      [flags, writes, serves] { return show(*flags, writes.is_given(), serves.is_given()); });
}

}  // namespace rollcall::app

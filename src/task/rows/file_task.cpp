// Reads files, drops repetitions, and divides the rows.
#include "task/rows/file_task.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/log.hpp"
#include "base/numbers/hash.hpp"
#include "task/answer_source.hpp"
#include "task/generate.hpp"
#include "task/json_lines.hpp"
#include "task/rows/fields.hpp"
#include "task/rows/file_list.hpp"
#include "task/rows/layouts.hpp"
#include "task/rows/row_reading.hpp"
#include "task/sources.hpp"
#include "text/answer/answer_text.hpp"
#include "text/json_tokenizer/steps/normal_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace rollcall::task {
namespace {

constexpr std::size_t kValidationPrompts = 128;  // most by default; from a smaller file, a tenth of
                                                 // its rows

/// A tenth of the rows, rounded; at least one if there are two or more.
std::size_t tenth_of(std::size_t rows) {
  return std::max<std::size_t>((rows + 5) / 10, rows < 2 ? 0 : 1);
}

/// A line of one of the files.
struct Place {
  std::string file;
  std::size_t line;
};

/// Rows that are alike: how many, and where the first two are.
class Likeness {
 public:
  void add(const Place& first, const Line& line) {
    if (rows_++ == 0)
      example_ = first.file == line.file ? fmt::format("lines {} and {}", first.line, line.number)
                                         : fmt::format("{}:{} and {}:{}", first.file, first.line,
                                                       line.file, line.number);
    else if (rows_ == 2) example_ += " for example";
  }
  bool any() const { return rows_ > 0; }
  std::string counted(const char* one, const char* several) const {
    return fmt::format("{} {}", rows_, rows_ == 1 ? one : several);
  }
  const std::string& example() const { return example_; }

 private:
  std::size_t rows_ = 0;
  std::string example_;
};

/// What tells questions apart. A template is given a question without white space at its ends, and
/// é may be one character or two, so that both are read as the same question.
std::string asked_by(const Prompt& prompt) {
  return text::json_tokenizer::to_normal_form(std::string(text::trim(prompt.text)),
                                              {.composed = true});
}

/// Rows of the files that are alike, by the kind of likeness.
class AlikeRows {
 public:
  /// Whether the prompt on this line is asked for the first time. A repeated question is dropped,
  /// which loses nothing if its answer is the same.
  bool is_new(const Prompt& prompt, const Line& line) {
    const std::uint64_t answer = checksum64(prompt.answer);
    const auto [at, first] =
        asked_.try_emplace(asked_by(prompt), Seen{{line.file, line.number}, answer});
    if (!first) (at->second.answer == answer ? same_ : other_).add(at->second.place, line);
    return first;
  }
  /// Notes the id of a row that is kept; the JSON of its extra fields also contains it.
  void note_id(const nlohmann::json& object, std::string_view name, const Line& line) {
    const nlohmann::json id = field_of(object, name.empty() ? "id" : name);
    if (id.is_null()) return;
    const auto [at, first] = ids_.try_emplace(
        checksum64(id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
        Place{line.file, line.number});
    if (!first) shared_ids_.add(at->second, line);
  }
  /// Logs those found since the last call.
  void tell(const std::string& file) {
    if (same_.any())
      log_info("{}: {} asked again with the same answer and left out ({})", file,
               same_.counted("question is", "questions are"), same_.example());
    if (other_.any())
      log_warning("{}: {} asked again with another answer ({}); the first answer counts", file,
                  other_.counted("question is", "questions are"), other_.example());
    if (shared_ids_.any())
      log_warning(
          "{}: {} the id of an earlier one ({}); rollcall archive show --row ID shows the rollouts of both",
          file, shared_ids_.counted("row has", "rows have"), shared_ids_.example());
    same_ = other_ = shared_ids_ = {};
  }

 private:
  struct Seen {
    Place place;
    std::uint64_t answer;  ///< the answer's checksum
  };
  std::unordered_map<std::string, Seen> asked_;   ///< by asked_by()
  std::unordered_map<std::uint64_t, Place> ids_;  ///< by the checksum of the id
  Likeness same_, other_, shared_ids_;
};

using Extras = std::unordered_map<std::string, std::string>;
using FilesOfPrompts = std::unordered_map<std::string, std::size_t>;  // index in RowTally::files

/// Reads files in sequence, and counts.
class Reader {
 public:
  /// Fills `files_of` only if there is a tally.
  Reader(const TaskSection& section, Extras& extras, RowTally* tally, FilesOfPrompts& files_of)
      : section_(section), extras_(extras), tally_(tally), files_of_(files_of) {}

  /// The prompts of a file that no earlier call has returned.
  std::vector<Prompt> read(const RowFile& file) {
    const Layout layout = layout_of_file(file.path, section_.fields);
    if (*layout.data_sets != '\0' && layout.name != "question_answer")
      log_info("{}: rows of the layout {} ({}): {} is the question, {} the answer", file.path,
               layout.name, layout.data_sets, layout.prompt, layout.answer);
    FileTally here{file.path, layout.name};
    bool repeats = false;
    std::string unread_level;  // the name of a field that looks like a level and is not read
    std::vector<Prompt> prompts;
    const auto each = [&](const nlohmann::json& object, const Line& line) {
      if (!matches(file, object)) return leave_out(here, "where");
      if (layout.level.empty() && unread_level.empty())
        for (const char* name : {"level", "difficulty"})
          if (object.contains(name) && unread_level.empty()) unread_level = name;
      Prompt prompt = read_prompt(object, line, layout, section_);
      if (!alike_.is_new(prompt, line)) {
        repeats = true;
        return leave_out(here, "repeated");
      }
      alike_.note_id(object, layout.id, line);
      ++here.rows;
      extras_[prompt.text] = extra_of(object, line, layout);
      // A question in both files is left to the held-out one, which is read last.
      if (tally_ != nullptr) files_of_[prompt.text] = tally_->files.size();
      prompts.push_back(std::move(prompt));
    };
    if (section_.on_bad_line == "drop") {
      const DroppedLines bad = each_good_line(file.path, each);
      for (std::size_t i = 0; i < bad.count; ++i) leave_out(here, "bad_line");
      if (bad.count > 0)
        log_warning(
            "{}: {} lines cannot be read and are left out (task.on_bad_line), for example: {}",
            file.path, bad.count, bad.first);
    } else {
      each_json_line(file.path, each);
    }
    require(!prompts.empty(),
            fmt::format("{} holds no question{}", file.path,
                        repeats ? " that the files before it do not ask" : ""),
            "there is nothing to learn or evaluate",
            repeats              ? "leave the file out"
            : file.where.empty() ? "name a file with one JSON object a line"
                                 : "name a file with rows of such fields, or change where");
    alike_.tell(file.path);
    if (!unread_level.empty())
      log_info(
          "{}: the field {} is not read; task.fields.level = \"{}\" makes it the level of a row",
          file.path, unread_level, unread_level);
    if (tally_ != nullptr) tally_->files.push_back(std::move(here));
    return prompts;
  }

  /// Questions in the next file count as new again.
  void forget() { alike_ = {}; }

 private:
  void leave_out(FileTally& here, const char* why) {
    ++here.rows;
    if (tally_ != nullptr) ++tally_->dropped[why];
  }

  const TaskSection& section_;
  Extras& extras_;
  RowTally* tally_;
  FilesOfPrompts& files_of_;
  AlikeRows alike_;
};

/// Moves the prompts for which `belongs` is true to the end of `to`, in their order.
template <class Belongs>
void move_if(std::vector<Prompt>& from, std::vector<Prompt>& to, const Belongs& belongs) {
  const auto first =
      std::stable_partition(from.begin(), from.end(), [&](const Prompt& p) { return !belongs(p); });
  std::move(first, from.end(), std::back_inserter(to));
  from.erase(first, from.end());
}

/// Takes the `wanted` rows with the smallest hashes of their contents, so that adding or removing a
/// row moves at most one other row.
std::vector<Prompt> take_smallest(std::vector<Prompt>& rows, std::size_t wanted) {
  std::vector<std::uint64_t> hashes(rows.size());
  std::transform(rows.begin(), rows.end(), hashes.begin(),
                 [](const Prompt& p) { return content_hash(p.text); });
  std::vector<Prompt> taken;
  if (wanted == 0) return taken;
  std::vector<std::uint64_t> sorted = hashes;
  const auto last = sorted.begin() + std::ptrdiff_t(wanted - 1);
  std::nth_element(sorted.begin(), last, sorted.end());
  move_if(rows, taken, [&](const Prompt& p) { return content_hash(p.text) <= *last; });
  return taken;
}

/// The number of rows to hold out of `rows`: the configured share, rounded, but at least one if
/// there are two or more.
std::size_t wanted_heldout(const TaskSection& section, std::size_t rows) {
  if (section.heldout_share <= 0.0 || rows < 2) return 0;
  const auto share = std::size_t(std::floor(double(rows) * section.heldout_share + 0.5));
  return std::max<std::size_t>(share, 1);
}

/// `rows` is the number of rows left for training; `all` also counts those held out from the same
/// file.
std::size_t wanted_validation(const TaskSection& section, const std::string& files,
                              std::size_t rows, std::size_t all) {
  const bool exact = section.split == kExactSplit;
  if (section.validation_prompts < 0)
    return std::min({kValidationPrompts, exact ? tenth_of(all) : rows / 10, rows - 1});
  require<ConfigError>(
      std::size_t(section.validation_prompts) < rows,
      fmt::format("task.validation_prompts is {}, and {} has {} rows to choose from",
                  section.validation_prompts, files, rows),
      "no row would be left to train on", "lower it; 0 validates nothing");
  return std::size_t(section.validation_prompts);
}

/// Fills the held-out split from task.heldout_file, or from the same rows. A file that is named
/// twice is held out as a whole, which only an evaluation can use.
void hold_out(PromptSet& set, const TaskSection& section) {
  if (section.heldout_file == section.file) {
    std::swap(set.train, set.heldout);
  } else if (!section.heldout_file.empty()) {
    std::unordered_set<std::string> heldout;
    for (const Prompt& prompt : set.heldout) heldout.insert(asked_by(prompt));
    std::erase_if(set.train, [&](const Prompt& p) { return heldout.contains(asked_by(p)); });
  } else if (section.split == kExactSplit) {
    set.heldout = take_smallest(set.train, wanted_heldout(section, set.train.size()));
  } else {
    move_if(set.train, set.heldout,
            [](const Prompt& p) { return split_of(p.text) == Split::heldout; });
  }
}

/// Cuts a split to the size that the run file asks for and numbers its prompts. Returns the end of
/// a sentence about it, and adds the rows that are cut off to `cut`.
std::string settle(std::vector<Prompt>& prompts, Split split, std::int64_t limit, const char* name,
                   const char* key, std::size_t& cut) {
  const std::size_t all = prompts.size();
  if (limit > 0 && prompts.size() > std::size_t(limit)) prompts.resize(std::size_t(limit));
  cut += all - prompts.size();
  for (std::size_t i = 0; i < prompts.size(); ++i) prompts[i].id = {i}, prompts[i].split = split;
  return fmt::format("{} {}", prompts.size(), name) +
         (prompts.size() < all ? fmt::format(" ({} of {})", key, all) : "");
}

}  // namespace

std::vector<std::string> places_of(const TaskSection& section,
                                   const std::vector<std::string>& prompts) {
  if (prompts.empty()) return {};
  std::unordered_map<std::string_view, std::string> places;
  for (const std::string& prompt : prompts) places.try_emplace(prompt);
  auto files = row_files(section);
  if (!section.heldout_file.empty()) files.insert(files.begin(), {section.heldout_file});
  for (const RowFile& file : files) {
    const Layout layout = layout_of_file(file.path, section.fields);
    each_whole_json_line(file.path, [&](const nlohmann::json& object, const Line& line) {
      if (!matches(file, object)) return;
      const auto place = places.find(prompt_text(object, line, layout, section));
      if (place != places.end() && place->second.empty())
        place->second = fmt::format("{}:{}", file.path, line.number);
    });
  }
  std::vector<std::string> found;
  for (const std::string& prompt : prompts) found.push_back(places.at(prompt));
  return found;
}

namespace {

/// Cuts each file's rows to the largest numbers that are in proportion to the weights.
void weigh(std::vector<std::vector<Prompt>>& rows, const std::vector<RowFile>& files,
           RowTally* tally) {
  if (files.front().weight <= 0.0) return;
  double unit = std::numeric_limits<double>::infinity();  // rows for a weight of 1
  for (std::size_t i = 0; i < files.size(); ++i)
    unit = std::min(unit, double(rows[i].size()) / files[i].weight);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto wanted = std::size_t(std::floor(unit * files[i].weight + 0.5));
    const std::size_t all = rows[i].size(), kept = std::clamp<std::size_t>(wanted, 1, all);
    if (kept < all) rows[i] = take_smallest(rows[i], kept);
    log_info("{}: {} of {} questions are read (its weight is {})", files[i].path, rows[i].size(),
             all, files[i].weight);
    if (tally != nullptr && all > rows[i].size()) tally->dropped["weight"] += all - rows[i].size();
  }
}

/// Reads all files and reports all mistakes in any of them.
PromptSet read_files(const TaskSection& section, RowTally* tally, FilesOfPrompts& files_of) {
  PromptSet set;
  Faults faults;
  Reader reader(section, set.extra, tally, files_of);
  const auto files = row_files(section);
  std::vector<std::vector<Prompt>> rows(files.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    faults.check({}, [&] {  // no key, or a mistake in one file would leave the others unread
      Faults of_file;
      of_file.check({"task.file"}, [&] { rows[i] = reader.read(files[i]); });
      of_file.require_none();
    });
  reader.forget();
  if (!section.heldout_file.empty() && section.heldout_file != section.file)
    faults.check({"task.heldout_file"}, [&] { set.heldout = reader.read({section.heldout_file}); });
  faults.require_none();
  weigh(rows, files, tally);
  for (auto& of_file : rows)
    std::move(of_file.begin(), of_file.end(), std::back_inserter(set.train));
  return set;
}

}  // namespace

PromptSet read_rows(const TaskSection& section, RowTally* tally) {
  check_wordings("file", section.wording, {"plain"});
  FilesOfPrompts files_of_prompts;
  PromptSet set = read_files(section, tally, files_of_prompts);
  const std::string files = shown_files(section);
  const std::size_t rows = set.train.size();
  hold_out(set, section);
  const bool one_file = section.heldout_file.empty(),
             asks_all = section.heldout_file == section.file;
  const std::size_t left = set.train.size() + (one_file ? set.heldout.size() : 0);
  require(asks_all || !set.train.empty(), fmt::format("{} leaves no training prompt", files),
          "held-out questions are kept apart", "use a larger file");
  std::string text = fmt::format("{}: {} rows: ", files, rows);
  std::size_t cut = 0;  // rows beyond the numbers that the run file asks for
  if (!asks_all) {
    set.validation =
        take_smallest(set.train, wanted_validation(section, files, set.train.size(), left));
    text +=
        settle(set.train, Split::train, section.train_prompts, "train", "task.train_prompts", cut);
    text += ", " + settle(set.validation, Split::validation, 0, "validation", "", cut);
    if (left < rows)
      text +=
          fmt::format(", {} left out because {} asks them too", rows - left, section.heldout_file);
    text +=
        one_file ? ", " : fmt::format("; {}: {} rows: ", section.heldout_file, set.heldout.size());
  }
  text += settle(set.heldout, Split::heldout, section.heldout_prompts, "held-out",
                 "task.heldout_prompts", cut);
  log_info("{}", text);
  Extras kept;  // extra fields of the prompts in use only, since a row may be long
  for (const Split split : {Split::train, Split::validation, Split::heldout})
    for (const Prompt& prompt : set.of(split)) kept.insert(set.extra.extract(prompt.text));
  set.extra = std::move(kept);
  set.hash = hash_of(set);
  if (tally == nullptr) return set;
  if (cut > 0) tally->dropped["limit"] = cut;
  if (!asks_all && left < rows) tally->dropped["asked_by_heldout"] = rows - left;
  for (const Split split : {Split::train, Split::validation, Split::heldout})
    for (const Prompt& prompt : set.of(split))
      ++tally->files[files_of_prompts.at(prompt.text)].usable;
  return set;
}

std::vector<Prompt> good_rows(const TaskSection& section) {
  std::vector<Prompt> prompts;
  std::vector<RowFile> files = row_files(section);
  if (!section.heldout_file.empty() && section.heldout_file != section.file)
    files.push_back({section.heldout_file});
  for (const RowFile& file : files) {
    try {
      const Layout layout = layout_of_file(file.path, section.fields);
      each_whole_json_line(file.path, [&](const nlohmann::json& object, const Line& line) {
        if (matches(file, object)) prompts.push_back(read_prompt(object, line, layout, section));
      });
    } catch (const Error&) {  // reported where all rows are read
    }
  }
  return prompts;
}

PromptSet make_file_task(const TaskSection& section, std::uint64_t) { return read_rows(section); }

}  // namespace rollcall::task

// Reads and writes records as JSON in fixed slots.
#include "watch/watch.hpp"

#include "base/files/plain_file.hpp"
#include "base/process/uninterrupted.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace rollcall::watch {
namespace {

using nlohmann::json;
constexpr int kMostRanks = 1 << 20;  // most slots to read, in case the file is not a watch file

double tenths(double seconds) { return std::round(10.0 * seconds) / 10.0; }

json to_json(const WatchRecord& r) {
  json threads = json::array();
  for (const auto& t : r.threads)
    threads.push_back({{"thread", t.thread}, {"state", t.state}, {"stack", t.frames}});
  return {{"rank", r.rank},
          {"ranks", r.ranks},
          {"node", r.node},
          {"pid", r.pid},
          {"stages", r.stages},
          {"activity", r.activity},
          {"waits", r.waits},
          {"activity_s", tenths(r.activity_s)},
          {"pulses", r.pulses},
          {"waits_s", tenths(r.waits_s)},
          {"ended", r.ended},
          {"stood_still_s", tenths(r.stood_still_s)},
          {"moved_unix_s", std::round(1000.0 * r.moved_unix_s) / 1000.0},
          {"silent_s", tenths(r.silent_s)},
          {"threads", threads},
          {"still_s", tenths(r.still_s)},
          {"beat_unix_s", std::round(1000.0 * r.beat_unix_s) / 1000.0}};
}

WatchRecord from_json(const json& j) {
  WatchRecord r;
  j.at("rank").get_to(r.rank), j.at("ranks").get_to(r.ranks), j.at("node").get_to(r.node),
      j.at("pid").get_to(r.pid);
  j.at("stages").get_to(r.stages), j.at("activity").get_to(r.activity),
      j.at("waits").get_to(r.waits);
  j.at("activity_s").get_to(r.activity_s), j.at("waits_s").get_to(r.waits_s),
      j.at("silent_s").get_to(r.silent_s), j.at("still_s").get_to(r.still_s);
  j.at("pulses").get_to(r.pulses), j.at("beat_unix_s").get_to(r.beat_unix_s),
      j.at("ended").get_to(r.ended);
  j.at("stood_still_s").get_to(r.stood_still_s), j.at("moved_unix_s").get_to(r.moved_unix_s);
  for (const auto& t : j.at("threads"))
    r.threads.push_back({t.at("thread"), t.at("state"), t.at("stack")});
  return r;
}

/// Removes the outermost frame of the longest stack. Returns false if there is no stack.
bool shorten(WatchRecord& record) {
  const auto longest = std::max_element(
      record.threads.begin(), record.threads.end(),
      [](const auto& a, const auto& b) { return a.frames.size() < b.frames.size(); });
  if (longest == record.threads.end()) return false;
  if (longest->frames.empty()) record.threads.pop_back();
  else longest->frames.pop_back();
  return true;
}

bool is_blank(std::string_view slot) {
  return std::all_of(slot.begin(), slot.end(), [](char c) { return c == '\0'; });
}

std::string problem(const std::filesystem::path& path) {
  return fmt::format("cannot write {}: {}", path.string(), std::strerror(errno));
}

}  // namespace

std::filesystem::path watch_file(const std::filesystem::path& run_dir) { return run_dir / "watch"; }

std::string to_slot(WatchRecord record) {
  constexpr std::size_t kLongest = 512;  // bytes of each text
  for (std::string* text : {&record.node, &record.stages, &record.activity, &record.waits})
    text->resize(std::min(text->size(), kLongest));
  const auto text_of = [&] {
    return to_json(record).dump(-1, ' ', false, json::error_handler_t::replace);
  };
  std::string text = text_of();
  while (text.size() >= kWatchSlot && shorten(record)) text = text_of();
  text.resize(kWatchSlot - 1, ' ');
  return text + '\n';
}

std::optional<WatchRecord> from_slot(std::string_view slot, int rank) {
  try {
    const auto record = from_json(json::parse(slot));
    const bool sane =
        record.rank == rank && record.ranks > rank && record.ranks <= kMostRanks &&
        std::isfinite(record.beat_unix_s + record.silent_s + record.still_s + record.stood_still_s);
    return sane ? std::optional(record) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string write_record(const std::filesystem::path& run_dir, const WatchRecord& record) {
  const auto path = watch_file(run_dir);
  Descriptor file(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0644);
  if (file < 0) return problem(path);
  const std::string slot = to_slot(record);
  const auto written = uninterrupted([&] {
    return ::pwrite(file, slot.data(), slot.size(), off_t(record.rank) * off_t(kWatchSlot));
  });
  if (written >= 0 && std::size_t(written) < slot.size()) errno = ENOSPC;
  if (written < 0 || std::size_t(written) < slot.size() || !file.close()) return problem(path);
  return "";
}

double longest_standstill(const WatchFile& file, int own, double since_unix_s) {
  double longest_s = 0.0;
  for (const auto& record : file.records)
    if (record.rank != own && record.moved_unix_s > since_unix_s)
      longest_s = std::max(longest_s, record.stood_still_s);
  return longest_s;
}

std::optional<WatchFile> read_watch(const std::filesystem::path& run_dir, int most) {
  const Descriptor file(watch_file(run_dir), kOpenToRead);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  WatchFile all;
  std::string slot(kWatchSlot, '\0');
  const auto read_slot = [&](int rank) {
    const auto got = file < 0 ? -1 : uninterrupted([&] {
      return ::pread(file, slot.data(), slot.size(), off_t(rank) * off_t(kWatchSlot));
    });
    return got < 0 ? std::string_view() : std::string_view(slot).substr(0, std::size_t(got));
  };
  // a folder, or a file that may not be read, counts as one unreadable slot
  all.unreadable = file < 0 || read_slot(0).data() == nullptr ? 1 : 0;
  if (file >= 0 && !what_else(int(file)).empty())
    return WatchFile{.records = {}, .ranks = 0, .unreadable = 1};
  for (int rank = 0; rank < (most > 0 ? most : kMostRanks) && (all.ranks == 0 || rank < all.ranks);
       ++rank) {
    auto text = read_slot(rank);
    if (text.empty()) break;
    auto record = from_slot(text, rank);
    // The rank may have written the slot during the read.
    if (!record && !is_blank(text)) record = from_slot(read_slot(rank), rank);
    if (record)
      all.ranks = std::max(all.ranks, record->ranks), all.records.push_back(std::move(*record));
    else if (!is_blank(text)) ++all.unreadable;
  }
  return all;
}

}  // namespace rollcall::watch

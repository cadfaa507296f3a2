// Shops in which the wanted thing is to be found and bought.
#include "task/worlds/shop.hpp"

#include "base/numbers/random.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::task {
namespace {

using nlohmann::json;

constexpr std::size_t kMostWares = 64;
constexpr std::array<std::string_view, 6> kColours{"black", "blue",  "green",
                                                   "red",   "white", "yellow"};
constexpr std::array<std::string_view, 4> kSizes{"huge", "large", "small", "tiny"};
constexpr std::array<std::string_view, 8> kKinds{"bag",  "bowl", "cup", "hat",
                                                 "lamp", "mug",  "pot", "vase"};
constexpr std::string_view kRules =
    "Buy what is wished for. You see the wish, and then the list of the shop or the thing that is "
    "open. Say one action a turn and nothing else: click[2] opens the second thing of the list and "
    "shows its colour and size, click[back] goes back to the list, and click[buy] buys the thing "
    "that is open, which ends your task.\n";

template <class Words>
bool is_one_of(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_ware(const Ware& ware) {
  return is_one_of(kColours, ware.colour) && is_one_of(kSizes, ware.size) &&
         is_one_of(kKinds, ware.kind);
}

/// A list of colour, size and kind.
std::optional<Ware> read_ware(const json& list) {
  if (!list.is_array() || list.size() != std::size_t(kDemands)) return std::nullopt;
  for (const json& word : list)
    if (!word.is_string()) return std::nullopt;
  Ware ware{list[0].get<std::string>(), list[1].get<std::string>(), list[2].get<std::string>()};
  return is_ware(ware) ? std::optional(ware) : std::nullopt;
}

json list_of(const Ware& ware) { return json::array({ware.colour, ware.size, ware.kind}); }

/// Level n: n wares, about half of them of the wanted kind.
std::optional<Item> draw_shop(const TaskSection& section, std::int64_t level, Draws& draws) {
  Shop shop;
  shop.wish = {std::string(draws.one_of(kColours)), std::string(draws.one_of(kSizes)),
               std::string(draws.one_of(kKinds))};
  std::int64_t fits = 0;  // number of the first ware of the wanted kind
  for (std::int64_t number = 1; number <= level; ++number) {
    const std::string kind = draws.chance(2) ? shop.wish.kind : std::string(draws.one_of(kKinds));
    if (kind == shop.wish.kind && fits == 0) fits = number;
    shop.wares.push_back({{}, {}, kind});
  }
  if (fits == 0) return std::nullopt;
  Item item{view_of(shop), reference_of(shop), fmt::format("click[{}]", fits)};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text.insert(0, kRules);
  return item;
}

}  // namespace

std::int64_t demands_met(const Ware& wish, const Ware& ware) {
  return std::int64_t{ware.colour == wish.colour} + std::int64_t{ware.size == wish.size} +
         std::int64_t{ware.kind == wish.kind};
}

std::string text_of(const Shop& shop) {
  json wares = json::array();
  for (const Ware& ware : shop.wares) wares.push_back(list_of(ware));
  return json{{"open", shop.open}, {"wares", wares}, {"wish", list_of(shop.wish)}}.dump();
}

std::string reference_of(const Shop& shop) {
  json kinds = json::array();
  for (const Ware& ware : shop.wares) kinds.push_back(ware.kind);
  return json{{"kinds", kinds}, {"wish", list_of(shop.wish)}}.dump();
}

std::optional<Shop> read_shop(std::string_view state) {
  std::string fault;
  const json object = parse_foreign<json>(state, fault);
  if (!fault.empty() || !object.contains("wish") || !object.contains("wares") ||
      !object.contains("open"))
    return std::nullopt;
  const auto wish = read_ware(object["wish"]);
  const json &wares = object["wares"], &open = object["open"];
  if (!wish || !wares.is_array() || wares.empty() || wares.size() > kMostWares ||
      !open.is_number_integer() || open < 0 || open > std::int64_t(wares.size()))
    return std::nullopt;
  Shop shop{*wish, {}, open.get<std::int64_t>()};
  for (const json& list : wares) {
    const auto ware = read_ware(list);
    if (!ware) return std::nullopt;
    shop.wares.push_back(*ware);
  }
  return shop;
}

std::optional<Shop> read_shop_reference(std::string_view reference) {
  std::string fault;
  const json object = parse_foreign<json>(reference, fault);
  if (!fault.empty() || !object.contains("wish") || !object.contains("kinds")) return std::nullopt;
  const auto wish = read_ware(object["wish"]);
  const json& kinds = object["kinds"];
  if (!wish || !kinds.is_array() || kinds.size() > kMostWares) return std::nullopt;
  Shop shop{*wish};
  bool has_kind = false;
  for (const json& kind : kinds) {
    if (!kind.is_string() || !is_one_of(kKinds, kind.get<std::string>())) return std::nullopt;
    shop.wares.push_back({{}, {}, kind.get<std::string>()});
    has_kind = has_kind || shop.wares.back().kind == wish->kind;
  }
  return has_kind ? std::optional(shop) : std::nullopt;
}

void stock(Shop& shop, std::uint64_t seed) {
  Draws draws(RandomStream(seed, RandomPurpose::environment));
  std::vector<std::size_t> of_kind;
  for (std::size_t i = 0; i < shop.wares.size(); ++i)
    if (shop.wares[i].kind == shop.wish.kind) of_kind.push_back(i);
  const std::size_t right = draws.one_of(of_kind);
  for (std::size_t i = 0; i < shop.wares.size(); ++i) {
    Ware& ware = shop.wares[i];
    do {
      ware.colour = draws.one_of(kColours);
      ware.size = draws.one_of(kSizes);
    } while (ware.colour == shop.wish.colour && ware.size == shop.wish.size);
    if (i == right) ware = shop.wish;
  }
}

std::string view_of(const Shop& shop) {
  const auto& [colour, size, kind] = shop.wish;
  std::string seen = fmt::format("{} {} {}:", colour, size, kind);
  if (shop.open > 0) {
    const Ware& ware = shop.wares[std::size_t(shop.open - 1)];
    return fmt::format("{} {} {} {} {}>", seen, shop.open, ware.kind, ware.colour, ware.size);
  }
  for (std::size_t i = 0; i < shop.wares.size(); ++i)
    seen += fmt::format(" {} {}", i + 1, shop.wares[i].kind);
  return seen + ">";
}

PromptSet make_shop(const TaskSection& section, std::uint64_t seed) {
  check_wordings("shop", section.wording, {"plain", "question"});
  return generate(
      {"shop", 2, 12,
       [&](std::int64_t level, Draws& draws) { return draw_shop(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task

// Opens the wares of a shop, and pays for how well the one that is bought fits the wish.
#include "task/worlds/shop.hpp"

#include "environment/worlds/world.hpp"
#include "environment/worlds/worlds.hpp"

#include <fmt/format.h>

namespace rollcall::environment {
namespace {

constexpr std::int64_t kOpen = 1, kBack = 2, kBuy = 3;  // kinds of actions

class ShopWorld final : public World {
 public:
  const Traits& traits() const override {
    static const Traits with_kinds{.kinds = {"open", "back", "buy"}};
    return with_kinds;
  }

 private:
  std::optional<std::string> first_state(const Prompt& prompt, std::uint64_t seed) const override {
    auto shop = task::read_shop_reference(prompt.answer);
    if (!shop) return std::nullopt;
    task::stock(*shop, seed);
    return task::text_of(*shop);
  }

  std::optional<std::string> seen(const std::string& state) const override {
    const auto shop = task::read_shop(state);
    if (!shop) return std::nullopt;
    return task::view_of(*shop);
  }

  Answer act(const std::string& state, const std::string& word, std::uint64_t) const override {
    auto shop = *task::read_shop(state);
    if (shop.open > 0 && word == "click[buy]") {
      const std::int64_t met = task::demands_met(shop.wish, shop.wares[std::size_t(shop.open - 1)]);
      return {.state = state,
              .reward = double(met) / double(task::kDemands),
              .done = true,
              .correct = met == task::kDemands,
              .kind = kBuy};
    }
    if (shop.open > 0 && word == "click[back]") {
      shop.open = 0;
      return {.state = task::text_of(shop), .kind = kBack};
    }
    for (std::size_t number = 1; shop.open == 0 && number <= shop.wares.size(); ++number)
      if (word == fmt::format("click[{}]", number)) {
        shop.open = std::int64_t(number);
        return {.state = task::text_of(shop), .kind = kOpen};
      }
    return {.state = state, .flags = turn_flag::invalid};
  }

  /// Opens the things of the wished kind one at a time, and buys the first that is right. The list
  /// does not show which of them were open: an opening and a way back take two turns, and so the
  /// turn says which one is next.
  std::optional<std::string> expert_word(const std::string& state,
                                         std::uint32_t turn) const override {
    const auto shop = *task::read_shop(state);
    if (shop.open > 0) {
      const task::Ware& ware = shop.wares[std::size_t(shop.open - 1)];
      return task::demands_met(shop.wish, ware) == task::kDemands ? "click[buy]" : "click[back]";
    }
    std::vector<std::size_t> of_kind;
    for (std::size_t i = 0; i < shop.wares.size(); ++i)
      if (shop.wares[i].kind == shop.wish.kind) of_kind.push_back(i + 1);
    if (of_kind.empty()) return std::nullopt;
    return fmt::format("click[{}]", of_kind[turn / 2 % of_kind.size()]);
  }
};

}  // namespace

std::unique_ptr<const Environment> make_shop(const RunConfig& config) {
  need_task(config, "shop");
  return std::make_unique<ShopWorld>();
}

}  // namespace rollcall::environment

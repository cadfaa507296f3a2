// What a session is built of: pages of a bounded pool, and a team of threads.
#include "base/errors/error.hpp"
#include "model/engine/page_pool.hpp"
#include "model/support/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace rollcall::model::testing {
namespace {

TEST(PagePool, ItsBoundIsExactAndAPageGoesBackWithItsLastHolder) {
  for (const std::int64_t most : {1, 3, 100}) {
    PagePool pool(192, most);
    std::vector<PagePool::Page> pages;
    std::set<std::byte*> places;
    while (pool.free() > 0) pages.push_back(pool.take()), places.insert(pages.back().get());
    EXPECT_EQ(std::int64_t(pages.size()), most);
    EXPECT_EQ(std::int64_t(places.size()), most);  // no page is given twice
    EXPECT_EQ(pool.taken(), most);
    auto shared = pages.back();
    pages.pop_back();
    EXPECT_EQ(pool.free(), 0);
    std::byte* const place = shared.get();
    shared.reset();
    EXPECT_EQ(pool.free(), 1);
    EXPECT_EQ(pool.take().get(), place);
  }
}

TEST(Team, EveryPartIsDoneOnceAndFailuresArrive) {
  for (const int size : {1, 2, 3, 5}) {
    Team team(size);
    for (int once = 0; once < 2; ++once) {  // a team is gathered again and again
      team.lead(on_new_threads, [&] {
        for (int round = 0; round < 300; ++round) {
          // the others have fallen asleep
          if (round % 100 == 50) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          const auto counts = std::size_t(round);
          std::vector<std::atomic<int>> shared(counts), dealt(counts);
          team.share(round, 1 + round % 4, 1 + round % 7,
                     [&](int, std::int64_t first, std::int64_t last) {
                       for (std::int64_t i = first; i < last; ++i) ++shared[std::size_t(i)];
                     });
          team.deal(round, [&](int, std::int64_t i) { ++dealt[std::size_t(i)]; });
          for (int i = 0; i < round; ++i)
            ASSERT_TRUE(shared[std::size_t(i)] == 1 && dealt[std::size_t(i)] == 1)
                << size << ' ' << round << ' ' << i;
        }
        EXPECT_THROW(team.run([&](int member) {
          require<InputError>(member != size - 1, "one fails", "and all hear of it", "or not");
        }),
                     InputError);
        int after = 0;
        team.run([&](int member) {
          if (member == 0) ++after;
        });
        EXPECT_EQ(after, 1);
      });
      EXPECT_THROW(team.lead(on_new_threads, [] { throw InputError("the leader fails"); }),
                   InputError);
    }
  }
}

}  // namespace
}  // namespace rollcall::model::testing

// What only ranks as threads can show: failures that end the others, misuse that is named, and one
// rank alone.
#include "comm/communicator.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"

#include <gtest/gtest.h>

namespace rollcall::comm {
namespace {

/// Runs `body` on three ranks and returns what each of them threw; the first one comes out of
/// run_as_threads.
std::vector<std::string> errors_of(const std::function<void(Communicator&)>& body) {
  std::vector<std::string> errors(3);
  EXPECT_ANY_THROW(run_as_threads(3, [&](Communicator& world) {
    try {
      body(world);
    } catch (const std::exception& error) {
      errors[std::size_t(world.rank())] = error.what();
      throw;
    }
  }));
  return errors;
}

TEST(ThreadWorld, OneFailureEndsTheOthersWhereverTheyWait) {
  const Stopwatch watch;
  const auto errors = errors_of([](Communicator& world) {
    const auto twin = world.split(0);
    if (world.rank() == 0) receive(world, 60, "what never comes");
    if (world.rank() == 2) twin->barrier();
    throw NumericsError("the loss is not finite");
  });
  EXPECT_EQ(errors[1], "the loss is not finite");
  EXPECT_EQ(errors[0].rfind("rank 0 stops because rank 1 failed (", 0), 0u) << errors[0];
  EXPECT_EQ(errors[2].rfind("rank 2 stops because rank 1 failed (", 0), 0u) << errors[2];
  EXPECT_LT(watch.seconds(), 5);
}

TEST(ThreadWorld, TheFirstErrorIsRethrownAsItWas) {
  EXPECT_THROW(run_as_threads(4,
                              [](Communicator& world) {
                                world.barrier();
                                if (world.rank() == 3) throw NumericsError("x");
                                world.barrier();
                              }),
               NumericsError);
}

TEST(ThreadWorld, DifferentCallsAreNamed) {
  const auto errors = errors_of([](Communicator& world) {
    std::vector<std::int64_t> values(5);
    if (world.rank() == 1) world.barrier();
    else world.sum(values);
  });
  EXPECT_EQ(errors[1].rfind("rank 1 calls barrier(0) while rank 0 calls sum(5) (", 0), 0u)
      << errors[1];
}

TEST(ThreadWorld, DifferentSizesAreNamed) {
  const auto errors = errors_of([](Communicator& world) {
    std::vector<std::int64_t> values(world.rank() == 2 ? 6 : 5);
    world.sum(values);
  });
  EXPECT_EQ(errors[0].rfind("rank 0 calls sum(5) while rank 2 calls sum(6) (", 0), 0u) << errors[0];
}

TEST(ThreadWorld, DeadlineOfACollective) {
  const auto errors = errors_of([](Communicator& world) {
    world.set_collective_deadline(world.rank() == 0 ? 0.05 : 60);
    if (world.rank() == 1) receive(world, 60, "nothing");
    world.split(0)->barrier();
  });
  EXPECT_EQ(errors[0].rfind("rank 0 of 3 waited 0.05", 0), 0u) << errors[0];
  EXPECT_NE(errors[0].find(" s in split ("), std::string::npos) << errors[0];
}

TEST(ThreadWorld, WhoGaveUpWaitingIsNotCounted) {
  run_as_threads(3, [](Communicator& world) {
    std::vector<std::int64_t> ones{1};
    if (world.rank() == 0) {
      world.set_collective_deadline(0.02);
      EXPECT_THROW(world.sum(ones), ProtocolError);
      world.set_collective_deadline(60);
      for (const int to : {1, 2}) world.send(to, 1, "now");
    } else {
      receive(world, 60, "leave to go on");
    }
    world.sum(ones);
    EXPECT_EQ(ones[0], 3);
  });
}

TEST(ThreadWorld, AbortCarriesTheExitCode) {
  try {
    run_as_threads(3, [](Communicator& world) {
      if (world.rank() == 1) world.abort(int(ExitCode::requeue));
      world.barrier();
    });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::requeue);
  }
}

TEST(Alone, IsAWorldOfOne) {
  const auto world = alone();
  EXPECT_EQ(world->rank(), 0);
  EXPECT_EQ(world->size(), 1);
  EXPECT_EQ(world->mpi_handle(), nullptr);
  std::vector<std::int64_t> values{4, -2};
  world->sum(values);
  EXPECT_EQ(values, (std::vector<std::int64_t>{4, -2}));
  EXPECT_EQ(world->gather_all("x"), std::vector<std::string>{"x"});
  world->send(0, 3, "to myself");
  EXPECT_FALSE(world->split(0)->try_receive().has_value());
  EXPECT_EQ(receive(*world, 1, "my letter").bytes, "to myself");
  EXPECT_EQ(world->split(-1), nullptr);
  EXPECT_EQ(world->split_by_host()->size(), 1);
}

}  // namespace
}  // namespace rollcall::comm

// Many producers, one consumer, and every way to end; run it under ThreadSanitizer too.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "channel/delta_channel.h"
#include "check.h"

using namespace unspool;
using namespace std::chrono_literals;
using Got = DeltaChannel::Got;
using Put = DeltaChannel::Put;

static Delta delta(int index, const std::string& text) {
  Delta made;
  made.index = index;
  made.text = text;
  return made;
}

static void all_arrive_in_each_producers_order(std::size_t maxsize) {
  constexpr int kProducers = 4;
  constexpr int kEach = 5000;
  DeltaChannel channel(maxsize);
  std::vector<std::thread> producers;
  std::atomic<int> running = kProducers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kEach; ++i) {
        Delta item = delta(producer, std::to_string(i));
        channel.put(item);
      }
      if (--running == 0) channel.close();
    });
  }
  std::vector<int> next(kProducers, 0);
  std::vector<Delta> batch;
  bool in_order = true;
  bool in_bounds = true;
  while (channel.wait(), true) {
    batch.clear();
    in_bounds = in_bounds && (maxsize == 0 || channel.size() <= maxsize);
    if (channel.drain(batch) == Got::finished) break;
    for (const Delta& item : batch) {
      in_order =
          in_order && item.text == std::to_string(next[static_cast<std::size_t>(item.index)]++);
    }
  }
  for (std::thread& thread : producers) thread.join();
  CHECK(in_order);
  CHECK(in_bounds);
  for (const int count : next) CHECK_EQUAL(count, kEach);
  CHECK(channel.is_finished());
}

static void ends_race_with_puts_and_gets() {
  for (int round = 0; round < 300; ++round) {
    DeltaChannel channel(2);
    std::thread producer([&] {
      for (int i = 0; i < 50; ++i) {
        Delta item = delta(0, "x");
        if (channel.put(item) != Put::accepted) return;
      }
      Delta last = delta(0, "last");
      channel.put_final(last);
    });
    std::thread ender([&, round] {
      std::this_thread::sleep_for(std::chrono::microseconds(round % 40));
      if (round % 3 == 0) channel.close();
      if (round % 3 == 1) channel.cancel();
      if (round % 3 == 2) channel.fail(std::make_exception_ptr(std::string("broken")));
    });
    std::atomic<int> woken = 0;
    Got got = Got::item;
    while (got == Got::item || got == Got::timed_out) {
      if (channel.arm([&] { ++woken; })) {
        while (woken == 0) std::this_thread::yield();
      }
      woken = 0;
      Delta item;
      got = channel.get(item, DeltaChannel::Clock::now() + 1s);
    }
    producer.join();
    ender.join();
    if (got == Got::failed) CHECK(channel.error() != nullptr);
    CHECK(got == Got::finished || got == Got::failed || got == Got::cancelled);
  }
}

static void the_first_end_counts() {
  DeltaChannel channel;
  Delta item = delta(0, "a");
  CHECK(channel.put_final(item) == Put::accepted);
  channel.fail(std::make_exception_ptr(1));
  item = delta(0, "b");
  CHECK(channel.put(item) == Put::closed);
  CHECK_EQUAL(item.text, "b");  // not moved from
  Delta read;
  CHECK(channel.get(read) == Got::item);
  CHECK(channel.get(read) == Got::finished);
  channel.cancel();
  CHECK(channel.get(read) == Got::cancelled);
}

static void a_full_channel_times_out() {
  DeltaChannel channel(1);
  Delta item = delta(0, "a");
  CHECK(channel.put(item) == Put::accepted);
  item = delta(0, "b");
  CHECK(channel.put(item, DeltaChannel::Clock::now() + 5ms) == Put::timed_out);
  channel.cancel();
  CHECK(channel.put(item) == Put::cancelled);
}

static void a_beginning_wakes_whoever_waits_for_it() {
  DeltaChannel channel;
  int woken = 0;
  const auto wake = [&] { ++woken; };
  CHECK(channel.arm(wake, true));
  channel.begin();
  channel.begin();
  CHECK_EQUAL(woken, 1);
  CHECK(channel.has_begun());
  CHECK(!channel.arm(wake, true));
  CHECK(channel.arm(wake));  // there is still nothing to get
  Delta item = delta(0, "a");
  channel.put(item);
  CHECK_EQUAL(woken, 2);
}

int main() {
  all_arrive_in_each_producers_order(0);
  all_arrive_in_each_producers_order(3);
  ends_race_with_puts_and_gets();
  the_first_end_counts();
  a_full_channel_times_out();
  a_beginning_wakes_whoever_waits_for_it();
  return TEST_RESULT();
}

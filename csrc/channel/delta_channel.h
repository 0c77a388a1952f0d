// Deltas from whoever makes them to the one who sends them, across threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "delta/delta.h"

namespace unspool {

/// Bounded, many producers, one consumer. It ends once: closed, failed or cancelled, whichever
/// comes first. Items, end and error are seen together, under one lock.
class DeltaChannel {
 public:
  using Clock = std::chrono::steady_clock;
  /// When to give up waiting; nullopt: never.
  using Deadline = std::optional<Clock::time_point>;

  enum class Put { accepted, timed_out, closed, cancelled };
  enum class Got { item, finished, failed, cancelled, timed_out };

  /// `maxsize` 0: unbounded.
  explicit DeltaChannel(std::size_t maxsize = 0) : maxsize_(maxsize) {}
  DeltaChannel(const DeltaChannel&) = delete;
  DeltaChannel& operator=(const DeltaChannel&) = delete;

  /// Waits while the channel is full. `delta` is moved from only where it is accepted.
  Put put(Delta& delta, const Deadline& deadline = std::nullopt) {
    return put(delta, deadline, false);
  }

  /// The last one: the consumer sees it and the end together.
  Put put_final(Delta& delta, const Deadline& deadline = std::nullopt) {
    return put(delta, deadline, true);
  }

  /// No more puts; what is in it can be read.
  void close();

  /// No more puts; the consumer gets what is in it, then the error. False, and nothing is changed,
  /// where the channel has ended before.
  bool fail(std::exception_ptr error);

  /// What is in it is dropped; waiting producers and the consumer return.
  void cancel();

  /// Waits for an item or the end.
  Got get(Delta& delta, const Deadline& deadline = std::nullopt);

  /// Appends all that is ready; never waits. `timed_out`: nothing is ready.
  Got drain(std::vector<Delta>& deltas);

  /// Waits until get would return at once.
  bool wait(const Deadline& deadline = std::nullopt);

  /// Waits until put would return at once.
  bool wait_for_room(const Deadline& deadline = std::nullopt);

  /// Has `waker` called once, from whichever thread, when get would return at once. False, and not
  /// armed, where it would now.
  bool arm(std::function<void()> waker);
  void disarm();

  /// The error given to fail.
  std::exception_ptr error() const;

  std::size_t size() const;
  std::size_t maxsize() const { return maxsize_; }
  bool is_closed() const;  // takes no more puts
  bool is_cancelled() const;
  bool is_finished() const;  // closed, and nothing left to read

 private:
  enum class End { open, closed, failed, cancelled };
  using Lock = std::unique_lock<std::mutex>;

  Put put(Delta& delta, const Deadline& deadline, bool is_last);
  bool end(End how, std::exception_ptr error);
  Got take(Delta* delta);
  bool is_ready() const { return !items_.empty() || end_ != End::open; }
  bool has_room() const { return end_ != End::open || maxsize_ == 0 || items_.size() < maxsize_; }
  void notify_consumer(Lock lock);
  template <typename Ready>
  static bool wait_for(std::condition_variable& condition, Lock& lock, const Deadline& deadline,
                       Ready ready);

  const std::size_t maxsize_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  std::deque<Delta> items_;
  End end_ = End::open;
  std::exception_ptr error_;
  std::function<void()> waker_;
};

}  // namespace unspool

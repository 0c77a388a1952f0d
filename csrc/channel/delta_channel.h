// A bounded queue of deltas between producer threads and one consumer.
#pragma once

#include <atomic>
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

/// Bounded, with many producers and one consumer. It ends once: closed, failed or cancelled,
/// whichever comes first. One lock covers items, end and error, so they are seen together.
class DeltaChannel {
 public:
  using Clock = std::chrono::steady_clock;
  /// When a wait gives up; nullopt: never.
  using Deadline = std::optional<Clock::time_point>;

  enum class Put { accepted, timed_out, closed, cancelled };
  enum class Got { item, finished, failed, cancelled, timed_out };

  /// `maxsize` 0: unbounded.
  explicit DeltaChannel(std::size_t maxsize = 0) : maxsize_(maxsize) {}
  DeltaChannel(const DeltaChannel&) = delete;
  DeltaChannel& operator=(const DeltaChannel&) = delete;

  /// Waits while the channel is full. Moves from `delta` only if it is accepted.
  Put put(Delta& delta, const Deadline& deadline = std::nullopt) {
    return put(delta, deadline, false);
  }

  /// Puts the last delta and closes: the consumer sees both together.
  Put put_final(Delta& delta, const Deadline& deadline = std::nullopt) {
    return put(delta, deadline, true);
  }

  /// The first token was read, and may have made no delta. Wakes a consumer that waits for it.
  void begin();
  bool has_begun() const { return has_begun_.load(std::memory_order_relaxed); }

  /// Ends the channel: no more puts; queued deltas can still be read.
  void close();

  /// Ends the channel with an error that the consumer gets after the queued deltas. Returns false,
  /// without any effect, if the channel has already ended.
  bool fail(std::exception_ptr error);

  /// Drops the queued deltas and ends all waits.
  void cancel();

  /// Waits for an item or the end.
  Got get(Delta& delta, const Deadline& deadline = std::nullopt);

  /// Appends all queued deltas; never waits. `timed_out`: there are none.
  Got drain(std::vector<Delta>& deltas);

  /// Waits until get would return at once.
  bool wait(const Deadline& deadline = std::nullopt);

  /// Waits until put would return at once.
  bool wait_for_room(const Deadline& deadline = std::nullopt);

  /// Calls `waker` once, in any thread, when get would return at once, or at `begin`. Returns
  /// false, without arming, if get would return now or, with `until_begin`, the channel has begun.
  bool arm(std::function<void()> waker, bool until_begin = false);
  void disarm();

  /// The error passed to fail.
  std::exception_ptr error() const;

  std::size_t size() const;
  std::size_t maxsize() const { return maxsize_; }
  bool is_closed() const;  // accepts no more puts
  bool is_cancelled() const;
  bool is_finished() const;  // closed and empty

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
  // Mutable for the const accessors, which also have to lock.
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  std::deque<Delta> items_;
  End end_ = End::open;
  std::exception_ptr error_;
  std::function<void()> waker_;
  // Set under the lock; atomic, since it is asked at each token.
  std::atomic<bool> has_begun_ = false;
};

}  // namespace unspool

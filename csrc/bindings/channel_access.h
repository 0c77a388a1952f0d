// Lets other bindings use a channel and wait for it without blocking the interpreter.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "bindings/python_types.h"
#include "bindings/state_lock.h"
#include "channel/delta_channel.h"
#include "delta/chat_writer.h"
#include "stream/token_streamer.h"

namespace unspool::bindings {

/// A channel with its Python state. The Python objects are here, not in the native channel, because
/// the garbage collector must see them. They are accessed only with the GIL, and under `lock_`.
class PyChannel {
 public:
  explicit PyChannel(std::size_t maxsize);
  PyChannel(const PyChannel&) = delete;
  PyChannel& operator=(const PyChannel&) = delete;
  ~PyChannel();

  /// The native channel. Throws ChannelCancelledError in a forked child: the threads at its other
  /// end, and the holder of its lock at the fork, do not exist there.
  DeltaChannel& native();

  /// The native channel; null if `native` would throw.
  DeltaChannel* native_or_null() const;

  /// The native channel, for a streamer that puts into it.
  const std::shared_ptr<DeltaChannel>& shared() const { return channel_; }

  /// Ends the channel with an error that the consumer gets after the queued deltas.
  void fail(py::object error);

  /// Raises the error passed to `fail`.
  [[noreturn]] void raise_failure();

  /// Calls `callback` once when get would return at once, or at `begin`, and no earlier one waits.
  /// It returns False if its waiter cannot come. `ticket` 0: at the end of the queue. Returns the
  /// ticket, or 0 without arming if get would return now or, with `until_begin`, the channel has
  /// begun. A waiter has its place until `disarm`.
  std::uint64_t arm(py::object callback, std::uint64_t ticket, bool until_begin);

  /// True if no one waits whose ticket is earlier. A `ticket` of 0 is after all.
  bool has_turn(std::uint64_t ticket);

  void disarm(std::uint64_t ticket);

  template <typename Use>
  void for_each_object(Use&& use) {
    use(failure_);
    for (auto& waiter : waiters_) use(waiter.second);
  }

  /// The reasoning field of outgoing deltas: that of the last incoming one.
  ReasoningField field() const { return field_.load(std::memory_order_relaxed); }
  void set_field(ReasoningField field) { field_.store(field, std::memory_order_relaxed); }

 private:
  bool is_first(std::uint64_t ticket) const;  // under `lock_`
  void wake();

  unsigned fork_;  // identifies the process that created it
  // Atomic, since producers and the consumer use it without the lock.
  std::atomic<ReasoningField> field_ = ReasoningField::reasoning_content;
  StateLock lock_;
  std::shared_ptr<DeltaChannel> channel_;
  py::object failure_;
  std::map<std::uint64_t, py::object> waiters_;  // by ticket
  std::uint64_t last_ticket_ = 0;
};

/// Sends the streamer's unsent deltas; releases the GIL only while it waits for room. Throws the
/// channel errors or KeyboardInterrupt; the rest then waits for the next call.
void send_deltas(TokenStreamer& streamer, PyChannel& channel);

/// Appends all queued deltas without waiting; raises the errors of `DeltaChannel.drain`.
void drain_channel(PyChannel& channel, std::vector<Delta>& deltas);

}  // namespace unspool::bindings

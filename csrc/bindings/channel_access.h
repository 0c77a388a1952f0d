// How other bindings reach a channel, and wait for it without blocking the interpreter.
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

/// A channel and what Python adds to it. The Python objects are here, and not in the native
/// channel, because the garbage collector must see them; they are touched only with the GIL held,
/// and under `lock_`.
class PyChannel {
 public:
  explicit PyChannel(std::size_t maxsize);
  PyChannel(const PyChannel&) = delete;
  PyChannel& operator=(const PyChannel&) = delete;
  ~PyChannel();

  /// The native channel. Throws ChannelCancelledError in a child process: the threads at its other
  /// end, and whoever held its lock at the fork, are not there.
  DeltaChannel& native();

  /// The native channel; null where `native` throws.
  DeltaChannel* native_or_null() const;

  /// The native channel, for a streamer that puts into it.
  const std::shared_ptr<DeltaChannel>& shared() const { return channel_; }

  /// No more puts; the consumer gets `error` after what is in it.
  void fail(py::object error);

  /// Raises the error given to `fail`.
  [[noreturn]] void raise_failure();

  /// Has `callback` called once when get would return at once. Several may wait: they are called in
  /// the order of their tickets. `ticket` 0: at the end of the line. Returns the ticket; 0, and
  /// nothing is armed, where get would return now.
  std::uint64_t arm(py::object callback, std::uint64_t ticket);
  void disarm(std::uint64_t ticket);

  template <typename Use>
  void for_each_object(Use&& use) {
    use(failure_);
    for (auto& waiter : waiters_) use(waiter.second);
  }

  /// Of the deltas that come out: as the last one had it that came in.
  ReasoningField field() const { return field_.load(std::memory_order_relaxed); }
  void set_field(ReasoningField field) { field_.store(field, std::memory_order_relaxed); }

 private:
  void wake();

  unsigned fork_;  // in which process it was made
  std::atomic<ReasoningField> field_ = ReasoningField::reasoning_content;
  StateLock lock_;
  std::shared_ptr<DeltaChannel> channel_;
  py::object failure_;
  std::map<std::uint64_t, py::object> waiters_;  // by ticket
  std::uint64_t last_ticket_ = 0;
};

/// Sends what the streamer has unsent; releases the GIL only while it waits for room. Throws our
/// channel errors, or Python's KeyboardInterrupt: the rest then waits for the next call.
void send_deltas(TokenStreamer& streamer, PyChannel& channel);

/// Appends all that is ready, without waiting; raises what `DeltaChannel.drain` does.
void drain_channel(PyChannel& channel, std::vector<Delta>& deltas);

}  // namespace unspool::bindings

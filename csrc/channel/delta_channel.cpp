// One mutex guards items, end, error and waker. Two conditions wait on it: producers for room, the
// consumer for an item or the end. An event loop cannot wait on a condition; it arms a waker
// instead, which is called once.
//
//   producers ─ put ─► [items] ─ get, drain ─► consumer
//                         ▲
//           close, fail, cancel: the end, seen after the items (cancel drops them)
//
// Callbacks and destructors of foreign objects never run under the lock: they may take other locks,
// such as Python's, and call this channel again.
#include "channel/delta_channel.h"

#include <utility>

namespace unspool {

template <typename Ready>
bool DeltaChannel::wait_for(std::condition_variable& condition, Lock& lock,
                            const Deadline& deadline, Ready ready) {
  // Most waits end here, without a system call. An item that is there counts even if the deadline
  // has passed.
  if (ready()) return true;
  if (!deadline) {
    condition.wait(lock, ready);
    return true;
  }
  return condition.wait_until(lock, *deadline, ready);
}

DeltaChannel::Put DeltaChannel::put(Delta& delta, const Deadline& deadline, bool is_last) {
  Lock lock(mutex_);
  if (!wait_for(not_full_, lock, deadline, [this] { return has_room(); })) return Put::timed_out;
  // After the wait, because the channel may have ended during it; `has_room` is true at the end.
  if (end_ == End::cancelled) return Put::cancelled;
  if (end_ != End::open) return Put::closed;
  items_.push_back(std::move(delta));
  // The last item and the end become visible in one step. Between two steps a consumer could see an
  // empty open channel, and wait once more.
  if (is_last) {
    end_ = End::closed;
    not_full_.notify_all();
  }
  notify_consumer(std::move(lock));
  return Put::accepted;
}

// Wakes the consumer, outside of the lock: an armed waker may run anything.
void DeltaChannel::notify_consumer(Lock lock) {
  // Taken under the lock, so that two producers cannot both call it.
  const std::function<void()> waker = std::exchange(waker_, nullptr);
  not_empty_.notify_all();
  lock.unlock();
  if (waker) waker();
}

void DeltaChannel::begin() {
  if (has_begun()) return;
  Lock lock(mutex_);
  has_begun_ = true;
  notify_consumer(std::move(lock));
}

bool DeltaChannel::end(End how, std::exception_ptr error) {
  std::deque<Delta> dropped;  // destroyed outside of the lock
  Lock lock(mutex_);
  // A cancel counts after another end too: it drops what nobody will read. Any other second end
  // changes nothing.
  const bool cancels = how == End::cancelled && end_ != End::cancelled;
  if (end_ != End::open && !cancels) return false;
  end_ = how;
  error_ = std::move(error);
  if (cancels) dropped.swap(items_);
  not_full_.notify_all();
  notify_consumer(std::move(lock));
  return true;
}

void DeltaChannel::close() { end(End::closed, nullptr); }
bool DeltaChannel::fail(std::exception_ptr error) { return end(End::failed, std::move(error)); }
void DeltaChannel::cancel() { end(End::cancelled, nullptr); }

// Under the lock: the next item, or how it ended.
DeltaChannel::Got DeltaChannel::take(Delta* delta) {
  if (!items_.empty()) {
    *delta = std::move(items_.front());
    items_.pop_front();
    // One item leaves room for one producer.
    not_full_.notify_one();
    return Got::item;
  }
  switch (end_) {
    case End::closed: return Got::finished;
    case End::failed: return Got::failed;
    case End::cancelled: return Got::cancelled;
    case End::open: break;
  }
  return Got::timed_out;
}

DeltaChannel::Got DeltaChannel::get(Delta& delta, const Deadline& deadline) {
  Lock lock(mutex_);
  wait_for(not_empty_, lock, deadline, [this] { return is_ready(); });
  return take(&delta);
}

DeltaChannel::Got DeltaChannel::drain(std::vector<Delta>& deltas) {
  Lock lock(mutex_);
  // Without items, `take` only reports the end and does not touch its argument.
  if (items_.empty()) return take(nullptr);
  for (Delta& delta : items_) deltas.push_back(std::move(delta));
  items_.clear();
  not_full_.notify_all();
  return Got::item;
}

bool DeltaChannel::wait(const Deadline& deadline) {
  Lock lock(mutex_);
  return wait_for(not_empty_, lock, deadline, [this] { return is_ready(); });
}

bool DeltaChannel::wait_for_room(const Deadline& deadline) {
  Lock lock(mutex_);
  return wait_for(not_full_, lock, deadline, [this] { return has_room(); });
}

bool DeltaChannel::arm(std::function<void()> waker, bool until_begin) {
  Lock lock(mutex_);
  // Checked under the lock: what arrives between the caller's last look and this call would
  // otherwise wake nobody.
  if (is_ready() || (until_begin && has_begun_)) return false;
  waker_ = std::move(waker);
  return true;
}

void DeltaChannel::disarm() {
  std::function<void()> waker;  // destroyed outside of the lock
  Lock lock(mutex_);
  waker.swap(waker_);
  lock.unlock();
}

std::exception_ptr DeltaChannel::error() const {
  Lock lock(mutex_);
  return error_;
}

std::size_t DeltaChannel::size() const {
  Lock lock(mutex_);
  return items_.size();
}

bool DeltaChannel::is_closed() const {
  Lock lock(mutex_);
  return end_ != End::open;
}

bool DeltaChannel::is_cancelled() const {
  Lock lock(mutex_);
  return end_ == End::cancelled;
}

bool DeltaChannel::is_finished() const {
  Lock lock(mutex_);
  return end_ != End::open && items_.empty();
}

}  // namespace unspool

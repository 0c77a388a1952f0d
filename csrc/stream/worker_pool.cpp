// A round is a number that counts up. `run` sets the work and the count of busy threads, then
// counts up and wakes all; each thread does its share and counts busy down; the caller does share 0
// and waits for zero. The waits are those of std::atomic, which usually spin for a moment before
// they sleep, so a short step does not pay for two system calls per thread.
#include "stream/worker_pool.h"

#include <memory>
#include <system_error>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace unspool {

namespace {

std::int64_t process_id() {
#ifdef _WIN32
  return 0;  // a process on Windows never forks
#else
  return getpid();
#endif
}

}  // namespace

WorkerPool::WorkerPool(unsigned worker_count) : process_(process_id()) {
  threads_.reserve(worker_count);
  for (unsigned share = 1; share <= worker_count; ++share) {
    try {
      threads_.emplace_back([this, share] { serve(share); });
    } catch (const std::system_error&) {
      return;  // the system allows no more: the existing threads do the work
    }
  }
}

WorkerPool::~WorkerPool() {
  is_over_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(const std::function<void(unsigned)>& work) {
  work_ = &work;
  // Before the round: a thread may finish before `notify_all` returns.
  busy_count_ = static_cast<std::uint32_t>(threads_.size());
  ++round_;
  round_.notify_all();
  work(0);
  for (std::uint32_t left = busy_count_; left != 0; left = busy_count_) busy_count_.wait(left);
}

void WorkerPool::serve(unsigned share) {
  std::uint32_t last_round = 0;
  for (;;) {
    round_.wait(last_round);
    last_round = round_;  // no round begins before all threads have finished this one
    // After the wait and not before it: the destructor counts the round up to be seen.
    if (is_over_) return;
    (*work_)(share);
    if (--busy_count_ == 0) busy_count_.notify_one();
  }
}

bool WorkerPool::is_alive() const { return process_ == process_id(); }

// The destructor would join threads that only the parent process has, and wait for ever.
void WorkerPool::abandon(std::unique_ptr<WorkerPool> pool) { static_cast<void>(pool.release()); }

}  // namespace unspool

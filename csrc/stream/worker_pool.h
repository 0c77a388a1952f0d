// A pool of waiting threads, fast enough to share a step of a few tens of microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace unspool {

class WorkerPool {
 public:
  /// Creates as many threads as the system allows, at most `worker_count`.
  explicit WorkerPool(unsigned worker_count);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// The number of workers plus the caller.
  unsigned share_count() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls `work` with each number below `share_count`, each in its own thread, 0 in the caller's.
  /// Returns when all are done. `work` must not throw. Only one caller at a time.
  void run(const std::function<void(unsigned)>& work);

  /// Whether the threads exist: a forked child does not have its parent's.
  bool is_alive() const;

  /// Releases threads that do not exist in this process.
  static void abandon(std::unique_ptr<WorkerPool> pool);

 private:
  void serve(unsigned share);

  const std::function<void(unsigned)>* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> busy_count_{0};
  std::atomic<bool> is_over_{false};
  // The process that made the threads; a fork copies the pool but not the threads.
  std::int64_t process_;
  std::vector<std::thread> threads_;
};

}  // namespace unspool

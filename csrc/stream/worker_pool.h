// Threads that wait for work, so that a step of a few ten microseconds can be shared.
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
  /// As many threads as the system gives, `worker_count` at most.
  explicit WorkerPool(unsigned worker_count);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// The workers, and the caller.
  unsigned share_count() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls `work` with each number below `share_count`, each in a thread of its own, 0 in the
  /// caller's. Returns when all are done. `work` throws nothing. One caller at a time.
  void run(const std::function<void(unsigned)>& work);

  /// Whether the threads exist: a forked child has none of its parent's.
  bool is_alive() const;

  /// Lets go of threads that do not exist.
  static void abandon(std::unique_ptr<WorkerPool> pool);

 private:
  void serve(unsigned share);

  const std::function<void(unsigned)>* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> busy_count_{0};
  std::atomic<bool> is_over_{false};
  std::int64_t process_;
  std::vector<std::thread> threads_;
};

}  // namespace unspool

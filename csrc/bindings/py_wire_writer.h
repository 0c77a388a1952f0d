// A WireWriter of Python's, and who may use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python_types.h"
#include "bindings/state_lock.h"
#include "delta/wire_writer.h"

namespace unspool::bindings {

/// A batch that writes with a writer of Python's, as the writer sees it.
struct WriterLoan {
  bool is_stepping = false;
  StateLock lock = {};  // of the whole batch
};

struct PyWireWriter {
  std::shared_ptr<WireWriter> writer;
  WireProtocol protocol;
  std::weak_ptr<const WriterLoan> loan = {};  // expired: no batch writes with it
  int slot_count = 0;                         // of that batch
  std::string out = {};                       // of one call
  std::vector<const Delta*> deltas = {};
  std::vector<Delta> drained = {};
  StateLock lock = {};

  /// The native writer, under a WriterGuard. Throws StreamError while a batch works with it.
  WireWriter& native() const;
  /// The same to write deltas. Throws StreamError if that is a batch's.
  WireWriter& native_for_deltas() const;
};

/// Holds what a writer's use needs: its lock, and that of the batch that writes with it.
class WriterGuard {
 public:
  explicit WriterGuard(const PyWireWriter& self);

 private:
  std::shared_ptr<const WriterLoan> loan_;
  std::optional<StateGuard> guard_;
};

}  // namespace unspool::bindings

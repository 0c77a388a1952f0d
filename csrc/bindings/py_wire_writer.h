// A WireWriter owned by Python, and who may use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python_types.h"
#include "bindings/state_lock.h"
#include "delta/wire_writer.h"

namespace unspool::bindings {

/// The batch that writes with a Python-owned writer, from the writer's view.
struct WriterLoan {
  bool is_stepping = false;
  StateLock lock = {};  // of the whole batch
};

struct PyWireWriter {
  std::shared_ptr<WireWriter> writer;
  WireProtocol protocol;
  std::weak_ptr<const WriterLoan> loan = {};  // expired: no batch uses the writer
  int slot_count = 0;                         // in that batch
  std::string out = {};                       // of one call
  std::vector<const Delta*> deltas = {};
  std::vector<Delta> drained = {};
  StateLock lock = {};

  /// The native writer, under a WriterGuard. Throws StreamError while a batch is using it.
  WireWriter& native() const;
  /// The same for writing deltas. Throws StreamError if only a batch may write them.
  WireWriter& native_for_deltas() const;
};

/// Holds the locks for using a writer: its own, and that of the batch that writes with it.
class WriterGuard {
 public:
  explicit WriterGuard(const PyWireWriter& self);

 private:
  std::shared_ptr<const WriterLoan> loan_;
  std::optional<StateGuard> guard_;
};

}  // namespace unspool::bindings

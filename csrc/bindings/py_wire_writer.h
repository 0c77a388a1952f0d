// A WireWriter of Python's, and who may use it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/python_types.h"
#include "delta/wire_writer.h"

namespace unspool::bindings {

/// A batch that writes with a writer of Python's, as the writer sees it.
struct WriterLoan {
  bool is_stepping = false;
};

struct PyWireWriter {
  std::shared_ptr<WireWriter> writer;
  WireProtocol protocol;
  std::weak_ptr<const WriterLoan> loan = {};  // expired: no batch writes with it
  int slot_count = 0;                         // of that batch
  std::string out = {};                       // of one call
  std::vector<const Delta*> deltas = {};
  std::vector<Delta> drained = {};

  /// The native writer. Throws StreamError while a batch works with it.
  WireWriter& native() const;
  /// The same to write deltas. Throws StreamError if that is a batch's.
  WireWriter& native_for_deltas() const;
};

}  // namespace unspool::bindings

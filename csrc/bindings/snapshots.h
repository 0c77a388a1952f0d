// Snapshots of native classes; python/unspool/core/stream/snapshots.py adds the authentication tag
// to the state.
#pragma once

#include <string>
#include <string_view>

#include "bindings/python_types.h"

namespace unspool::bindings {

/// `kind`: the class; `key`: bytes, empty for none.
// In Python: the tag is an HMAC, and Python has one that is kept up to date.
inline py::bytes seal_snapshot(const char* kind, const std::string& state, const py::object& key) {
  return py::module_::import("unspool.core.stream.snapshots")
      .attr("seal")(kind, py::bytes(state), key);
}

/// The state in a snapshot; throws ArgumentError if it is damaged or of another class.
inline std::string open_snapshot(const char* kind, const py::object& snapshot,
                                 const py::object& key) {
  const py::object state =
      py::module_::import("unspool.core.stream.snapshots").attr("unseal")(kind, snapshot, key);
  return state.cast<std::string>();
}

}  // namespace unspool::bindings

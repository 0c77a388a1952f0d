// The Python type Message, made from a native one.
#pragma once

#include <string_view>
#include <vector>

#include "bindings/python_types.h"
#include "delta/message.h"
#include "stream/token_streamer.h"

namespace unspool::bindings {

/// Imports what messages and labels are made of, so that to make one lets no other thread in before
/// it has read its stream. Called before a stream exists.
void import_message_types();

/// An unspool.message.Message. `extra`: a JSON object, or nothing.
py::object make_message(const Message& message, const TokenCounts& counts, std::string_view extra,
                        const std::vector<Events::Audited>& audit, py::handle labels,
                        py::handle deltas, py::handle reasoning_field);

/// The same of a stream, as it stands.
py::object make_message(const TokenStreamer& streamer, py::handle deltas,
                        py::handle reasoning_field);

/// An unspool.labels.Labels; None for null. `message`: of the same stream.
py::object make_labels(const TokenLabels* labels, const Message& message);
py::object labels_type();

}  // namespace unspool::bindings

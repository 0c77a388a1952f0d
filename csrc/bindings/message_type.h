// Converts a native message to the Python type Message.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "bindings/python_types.h"
#include "delta/message.h"
#include "stream/token_streamer.h"

namespace unspool::bindings {

/// Imports the classes of messages and labels, so that creating one cannot switch threads before it
/// has read its stream. Call before a stream is locked.
void import_message_types();

/// Creates an unspool.core.stream.message.Message. `extra`: a JSON object, or empty. `tools`: the
/// request's, which its calls refer to; may be null.
py::object make_message(const Message& message, const TokenCounts& counts, std::string_view extra,
                        const std::vector<Events::Audited>& audit,
                        const std::shared_ptr<const ToolSchemas>& tools, py::handle labels,
                        py::handle deltas, py::handle reasoning_field);

/// The same for a stream in its current state.
py::object make_message(const TokenStreamer& streamer, py::handle deltas,
                        py::handle reasoning_field);

/// Creates an unspool.core.stream.labels.Labels; None for null. `message`: of the same stream.
py::object make_labels(const TokenLabels* labels, const Message& message);
py::object labels_type();

}  // namespace unspool::bindings

// How other bindings reach a channel, and wait for it without blocking the interpreter.
#pragma once

#include <memory>
#include <vector>

#include "bindings/python_types.h"
#include "channel/delta_channel.h"
#include "delta/chat_writer.h"

namespace unspool::bindings {

/// A channel and what Python's deltas need beside the native ones.
struct PyChannel {
  explicit PyChannel(std::size_t maxsize) : channel(maxsize) {}
  DeltaChannel channel;
  ReasoningField field = ReasoningField::reasoning_content;
};

/// Puts, releasing the GIL only while it has to wait. Throws our channel errors, or Python's
/// KeyboardInterrupt.
void put_to_channel(DeltaChannel& channel, Delta& delta, const DeltaChannel::Deadline& deadline,
                    bool is_last);

/// Appends all that is ready, without waiting; raises what `DeltaChannel.drain` does.
void drain_channel(PyChannel& channel, std::vector<Delta>& deltas);

}  // namespace unspool::bindings

// Errors of the caller. Model output never raises: it becomes an event.
#pragma once

#include <stdexcept>

namespace unspool {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A format cannot be compiled.
struct FormatError : Error {
  using Error::Error;
};
/// A tokenizer cannot be compiled into a table.
struct VocabularyError : Error {
  using Error::Error;
};
/// An argument is invalid.
struct ArgumentError : Error {
  using Error::Error;
};
/// A stream was used after its end, or by two threads at the same time.
struct StreamError : Error {
  using Error::Error;
};
/// A channel was used after `close`, `fail` or `cancel`.
struct ChannelClosedError : StreamError {
  using StreamError::StreamError;
};
/// The other side of the channel has called `cancel`.
struct ChannelCancelledError : StreamError {
  using StreamError::StreamError;
};
/// A wait timed out.
struct ChannelTimeoutError : Error {
  using Error::Error;
};

}  // namespace unspool

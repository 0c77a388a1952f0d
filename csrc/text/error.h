// What a caller did wrong. Model output never raises: it becomes an event.
#pragma once

#include <stdexcept>

namespace unspool {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A format that cannot be compiled.
struct FormatError : Error {
  using Error::Error;
};
/// A tokenizer that cannot be compiled into a table.
struct VocabularyError : Error {
  using Error::Error;
};
/// An argument outside what a function takes.
struct ArgumentError : Error {
  using Error::Error;
};
/// A stream used after its end, or by two threads at once.
struct StreamError : Error {
  using Error::Error;
};
/// A channel used after `close`, `fail` or `cancel`.
struct ChannelClosedError : StreamError {
  using StreamError::StreamError;
};
/// The other side of the channel called `cancel`.
struct ChannelCancelledError : StreamError {
  using StreamError::StreamError;
};
/// A wait that ran out of time.
struct ChannelTimeoutError : Error {
  using Error::Error;
};

}  // namespace unspool

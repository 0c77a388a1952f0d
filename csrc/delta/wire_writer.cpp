// How a response is written: everything that the six protocols share.
//
//   write(delta) ─► check ─► withhold? ─► fill bare call ─► put ─► flush ─► bytes
//                   order    WholeCalls   take              (protocol)
//
// - check: all deltas of a write are checked before a byte is written, so a delta that breaks
//   the order leaves no half response behind.
// - withhold: with `IncompleteCalls::withhold`, a call's deltas wait for its end.
// - take: a call whose arguments never came gets `{}` or `{` first (see the contract in the
//   header).
// - put: the protocol appends to the open frame, or closes it and opens another. So deltas that
//   arrive together and belong to one region share a frame: `Hel`, `lo` becomes one chunk with
//   `Hello`.
// - flush: no frame stays open between two writes, since `keep_alive` and another answer's bytes
//   may come next.
//
// A single fragment of text, which is most of a stream, skips all of this (`write_next`).
//
// States: fresh ─ begin ─► begun ─ end, body or fail ─► ended. With `stream` false, `take` collects
// the parts of each answer and writes nothing; `body` writes them at once.
#include "delta/wire_writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "delta/wire_protocols.h"
#include "parser/call_ids.h"
#include "text/error.h"
#include "text/json_escape.h"
#include "text/json_value.h"

namespace unspool {

namespace {

// A softmax in half precision may give the log of slightly more than 1.
constexpr double kRoundedUp = 1e-2;

std::string random_id(std::string_view prefix) {
  // The generator of the calls' ids, so that both kinds are equally hard to guess.
  CallIds ids(CallIdStyle::random, 0, 0);
  const std::string id = ids.id_of({}, {}, 0);
  return std::string(prefix).append(id.substr(std::string_view("call_").size()));
}

std::int64_t now_s() {
  using std::chrono::seconds;
  // Wall time and not steady time: the protocols send it as `created`.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<seconds>(now).count();
}

// Whether an open call ends here at the latest.
bool ends_call(const Delta& delta) {
  switch (delta.kind) {
    case EventKind::tool_call_begin:
    case EventKind::tool_call_end:
    case EventKind::dropped:
    case EventKind::finish: return true;
    case EventKind::tool_call_arguments: return false;
    // Text between two calls ends the first one. An empty delta writes nothing, so it ends nothing.
    default: return delta.index < 0 && !delta.text.empty();
  }
}

/// Whether the delta consists only of its text, which is not empty.
bool is_fragment(const Delta& delta) {
  // Malformed text is not among them: it may carry a reason, and it is rare.
  const bool is_text = delta.kind == EventKind::content || delta.kind == EventKind::reasoning ||
                       delta.kind == EventKind::tool_call_arguments;
  return is_text && !delta.text.empty();
}

}  // namespace

std::string_view to_string(WireProtocol protocol) {
  switch (protocol) {
    case WireProtocol::chat_completions: return "chat_completions";
    case WireProtocol::completions: return "completions";
    case WireProtocol::responses: return "responses";
    case WireProtocol::messages: return "messages";
    case WireProtocol::open_inference: return "open_inference";
    case WireProtocol::google: return "google";
  }
  return "";
}

WireWriter::WireWriter(WireOptions options, std::string_view id_prefix,
                       std::initializer_list<std::string_view> reserved)
    : options_(std::move(options)), framing_(options_.sse) {
  if (options_.n < 1)
    throw ArgumentError("n is " + std::to_string(options_.n) +
                        "; a response has at least 1 answer");
  if (options_.id.empty()) options_.id = random_id(id_prefix);
  // Set once, here: all chunks of a response must have the same id and time, also after a restore.
  if (options_.created == 0) options_.created = now_s();
  if (!options_.extra.empty()) read_extra(reserved);
  orders_.resize(static_cast<std::size_t>(options_.n));
  answers_.resize(static_cast<std::size_t>(options_.n));
}

void WireWriter::read_extra(std::initializer_list<std::string_view> reserved) {
  const std::optional<JsonValue> value = parse_json(options_.extra);
  if (!value || !value->is(JsonValue::Kind::object)) {
    throw ArgumentError("extra is not a JSON object; pass the members to add, by name");
  }
  for (const auto& [name, member] : value->members) {
    if (std::find(reserved.begin(), reserved.end(), name) != reserved.end()) {
      throw ArgumentError("extra sets '" + name +
                          "', which the writer itself writes; leave it out");
    }
    extra_ += ',';
    append_json_line_string(name, extra_);
    extra_ += ':';
    // Written again from the parsed value: the host's JSON may contain line breaks, which would cut
    // an event in two.
    std::string written;
    append_json(member, written);
    append_json_as_line(written, extra_);
    extra_names_.push_back(name);
  }
}

bool WireWriter::has_extra(std::string_view name) const {
  return std::find(extra_names_.begin(), extra_names_.end(), name) != extra_names_.end();
}

void WireWriter::check_open() const {
  if (state_ == State::ended) {
    throw StreamError("this response has ended; create a new WireWriter for the next one");
  }
}

// Rejects deltas that are out of order; otherwise advances the order.
void WireWriter::check(const Delta& delta, std::vector<Order>& orders) {
  // Before the table of orders is indexed with it: deltas come from the host.
  if (delta.choice < 0 || static_cast<std::size_t>(delta.choice) >= orders.size()) {
    throw ArgumentError("a delta is of choice " + std::to_string(delta.choice) + ", and n is " +
                        std::to_string(orders.size()) + "; pass n=" +
                        std::to_string(static_cast<std::int64_t>(delta.choice) + 1) + " or more");
  }
  Order& order = orders[static_cast<std::size_t>(delta.choice)];
  if (order.is_finished) {
    throw ArgumentError("a delta follows the finish of choice " + std::to_string(delta.choice) +
                        "; an answer has one finish, last");
  }
  switch (delta.kind) {
    case EventKind::tool_call_begin:
      // Clients collect calls in a list by this index. A gap makes them raise or merge two calls.
      if (delta.index != order.call_count) {
        throw ArgumentError("call " + std::to_string(delta.index) + " of choice " +
                            std::to_string(delta.choice) + " begins, and the next is " +
                            std::to_string(order.call_count) +
                            "; calls are numbered from 0 without gaps");
      }
      order.has_broken_call |= order.call_is_open;
      ++order.call_count;
      order.call_is_open = true;
      return;
    case EventKind::tool_call_arguments:
    case EventKind::tool_call_end:
      // Only the last call can be open: several protocols have no way to return to an earlier one.
      if (!order.call_is_open || delta.index != order.call_count - 1) {
        throw ArgumentError("a delta is of call " + std::to_string(delta.index) + " of choice " +
                            std::to_string(delta.choice) +
                            ", which is not open; calls come one after the other");
      }
      break;
    // A second finish would be joined with the first one by some clients ("stopstop").
    case EventKind::finish: order.is_finished = true; break;
    default: break;
  }
  if (!ends_call(delta)) return;
  const bool is_complete =
      delta.kind == EventKind::tool_call_end && delta.status == CallStatus::complete;
  order.has_broken_call |= order.call_is_open && !is_complete;
  order.call_is_open = false;
}

void WireWriter::begin(std::string& out) {
  check_open();
  if (state_ == State::begun)
    throw StreamError("begin was called before; call it once, or not at all");
  state_ = State::begun;
  if (options_.stream) do_begin(out);
}

void WireWriter::take(const Delta& delta, std::string& out) {
  Answer& answer = answers_[static_cast<std::size_t>(delta.choice)];
  if (answer.bare_call >= 0 && ends_call(delta)) {
    const bool is_complete =
        delta.kind == EventKind::tool_call_end && delta.status == CallStatus::complete;
    Delta first_fragment;
    first_fragment.kind = EventKind::tool_call_arguments;
    first_fragment.index = answer.bare_call;
    first_fragment.choice = delta.choice;
    // Clients treat empty arguments as `{}`. For a call that was cut off that would be wrong, and
    // they would run it; a single brace is no JSON, so they cannot.
    first_fragment.text = is_complete ? "{}" : "{";
    // It has no tokens of its own; log-probabilities stay with the delta that follows.
    first_fragment.span = {delta.span.begin, delta.span.begin};
    take_checked(first_fragment, answer, out);
  }
  if (delta.kind == EventKind::tool_call_begin) {
    answer.bare_call = delta.index;
  } else if (ends_call(delta) || !Parts::text_of(delta).empty()) {
    // An empty fragment leaves the call bare: the arguments are still to come, or to be filled in.
    answer.bare_call = -1;
  }
  take_checked(delta, answer, out);
}

void WireWriter::take_whole(const Delta& delta, std::string& out) {
  WholeCalls& whole_calls = answers_[static_cast<std::size_t>(delta.choice)].whole_calls;
  // Most deltas are text outside of calls. They are not copied.
  if (whole_calls.passes(delta)) return take(delta, out);
  whole_.clear();
  whole_calls.put(delta, whole_);
  for (const Delta& ready : whole_) take(ready, out);
}

void WireWriter::take_checked(const Delta& delta, Answer& answer, std::string& out) {
  // The counts come from the spans, in case the host does not count tokens itself.
  answer.token_count = std::max(answer.token_count, delta.span.end);
  if (delta.kind == EventKind::finish) answer.finish_reason = delta.finish_reason;
  if (delta.kind == EventKind::tool_call_begin) {
    const std::vector<std::string>& names = options_.custom_tools;
    answer.call_is_custom = std::find(names.begin(), names.end(), delta.name) != names.end();
    answer.input = {};
  }
  const bool is_of_call =
      delta.kind == EventKind::tool_call_begin || delta.kind == EventKind::tool_call_arguments;
  if (is_of_call && answer.call_is_custom) return take_custom(delta, answer, out);
  take_shown(delta, answer, out);
}

// The client gets the decoded text.
void WireWriter::take_custom(const Delta& delta, Answer& answer, std::string& out) {
  Delta custom = delta;
  custom.is_custom = true;
  custom.text.clear();
  answer.input.read(delta.text, custom.text);
  take_shown(custom, answer, out);
}

void WireWriter::take_shown(const Delta& delta, Answer& answer, std::string& out) {
  if (options_.stream) {
    put(delta, out);
    if (delta.kind == EventKind::reasoning && signs_thoughts()) answer.thought.add(delta.text);
  } else {
    answer.parts.put(delta);
    // At each delta and not at the end: the queue knows positions only, not which part they belong
    // to.
    if (keeps_logprobs_by_part()) answer.parts.take_logprobs(delta, answer.logprobs);
  }
}

template <typename Deltas>
void WireWriter::write_all(const Deltas& deltas, std::string& out) {
  const auto delta_of = [](const auto& item) -> const Delta& {
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(item)>>) {
      return *item;
    } else {
      return item;
    }
  };
  check_open();
  if (deltas.empty()) return;
  // One delta, the usual case, changes the order only if it passes. Several need a copy: the third
  // may be wrong after two were right.
  if (deltas.size() == 1) {
    check(delta_of(deltas.front()), orders_);
  } else {
    next_orders_ = orders_;
    for (const auto& item : deltas) check(delta_of(item), next_orders_);
    std::swap(orders_, next_orders_);
  }
  if (state_ == State::fresh) begin(out);
  const bool withholds = options_.incomplete_calls == IncompleteCalls::withhold;
  for (const auto& item : deltas)
    withholds ? take_whole(delta_of(item), out) : take(delta_of(item), out);
  if (!options_.stream) return;
  flush(out);
  const Delta& last = delta_of(deltas.back());
  const bool is_decoded = last.kind == EventKind::tool_call_arguments &&
                          answers_[static_cast<std::size_t>(last.choice)].call_is_custom;
  const bool is_one = deltas.size() == 1 && !withholds && !is_decoded && is_fragment(last);
  // `write_next` may continue only what a lone fragment wrote: then the next frame differs in
  // nothing but its text.
  const bool goes_on =
      is_one && last.kind == last_.kind && last.index == last_.index && last.choice == last_.choice;
  last_ = {is_one, last.kind, last.index, last.choice, goes_on && last_.is_framed};
}

// The protocol writes two fragments that differ in their text, as it would write the next one.
void WireWriter::find_frame() {
  if (!has_frames(last_.kind) || logprobs(last_.choice).is_used()) return;
  Delta delta;
  delta.kind = last_.kind;
  delta.index = last_.index;
  delta.choice = last_.choice;
  const std::uint64_t end = answers_[static_cast<std::size_t>(last_.choice)].token_count;
  delta.span = {end, end};
  const auto written = [&](char text) {
    std::string out;
    delta.text.assign(1, text);
    put(delta, out);
    flush(out);
    return out;
  };
  const std::string one = written('a'), other = written('b');
  const auto first = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
  const auto last = std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend()).first;
  if (first == one.end() || one.size() != other.size()) return;
  const auto begin = static_cast<std::size_t>(first - one.begin());
  const auto tail = one.size() - static_cast<std::size_t>(last - one.rbegin());
  frame_ = {one.substr(0, begin), {}, one.substr(tail)};
  if (tail > begin + 1) frame_.middle = one.substr(begin + 1, tail - begin - 2);
  frame_.is_signed = last_.kind == EventKind::reasoning && signs_thoughts();
  frame_.needs_clean = written('"') != frame_.head + "\\\"" + frame_.tail;
  last_.is_framed = true;
}

bool WireWriter::write_next(const TextFragment& fragment, std::string& out) {
  // Any doubt leads to the long path, which writes the same bytes.
  if (!last_.is_one || !is_next(fragment) || fragment.text.empty() || state_ != State::begun)
    return false;
  if (!last_.is_framed) find_frame();
  if (!last_.is_framed || frame_.needs_clean) return false;
  out += frame_.head;
  append_json_line_escaped(fragment.text, out);
  out += frame_.tail;
  Answer& answer = answers_[static_cast<std::size_t>(fragment.choice)];
  if (frame_.is_signed) answer.thought.add(fragment.text);
  answer.token_count = std::max(answer.token_count, fragment.token_end);
  return true;
}

void WireWriter::write(const Delta& delta, std::string& out) {
  write_all(std::span<const Delta>(&delta, 1), out);
}

void WireWriter::write_many(std::span<const Delta* const> deltas, std::string& out) {
  write_all(deltas, out);
}

void WireWriter::write_many(std::span<const Delta> deltas, std::string& out) {
  write_all(deltas, out);
}

// Checks that all is there, and counts what the host did not.
WireWriter::Ending WireWriter::finish(const Usage& usage, std::string_view stop_sequence) {
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    if (!orders_[i].is_finished) {
      throw StreamError("choice " + std::to_string(i) +
                        " has not finished; write its finish delta first, or call fail");
    }
  }
  Ending ending{usage, stop_sequence};
  if (!ending.usage.prompt_tokens) ending.usage.prompt_tokens = options_.prompt_token_count;
  if (!ending.usage.completion_tokens) {
    std::uint64_t count = 0;
    // `usage` is of the whole response: the tokens of all its answers.
    for (const Answer& answer : answers_) count += answer.token_count;
    ending.usage.completion_tokens = count;
  }
  return ending;
}

void WireWriter::end(const Usage& usage, std::string_view stop_sequence, std::string& out) {
  check_open();
  if (!options_.stream) throw StreamError("this response is not streamed; call body, not end");
  const Ending ending = finish(usage, stop_sequence);
  // Before the bytes are written: if memory runs out halfway, the response cannot be ended again.
  state_ = State::ended;
  last_ = {};
  do_end(ending, out);
}

void WireWriter::body(const Usage& usage, std::string_view stop_sequence, std::string& out) {
  check_open();
  if (options_.stream)
    throw StreamError("this response is streamed; call end, or pass stream=False");
  const Ending ending = finish(usage, stop_sequence);
  state_ = State::ended;
  do_body(ending, out);
}

void WireWriter::fail(const WireError& error, std::string& out) {
  check_open();
  WireError whole = error;
  // Never empty on the wire: clients choose between a retry and an exception by the type.
  if (whole.type.empty()) whole.type = default_error_type();
  state_ = State::ended;
  last_ = {};
  if (options_.stream) {
    do_fail(whole, out);
  } else {
    do_fail_whole(whole, out);
  }
}

void WireWriter::do_fail_whole(const WireError& error, std::string& out) {
  out += "{\"error\":";
  append_openai_error(error.message, error.type, error.code, out);
  out += '}';
}

void WireWriter::keep_alive(std::string& out) const {
  check_open();
  if (options_.stream) do_keep_alive(out);
}

void WireWriter::add_logprobs(std::int32_t choice, std::vector<TokenLogprob> entries) {
  check_open();
  if (choice < 0 || choice >= options_.n) {
    throw ArgumentError("choice is " + std::to_string(choice) + ", and n is " +
                        std::to_string(options_.n));
  }
  const auto is_bad = [](const Logprob& item) {
    return std::isnan(item.logprob) || item.logprob > kRoundedUp;
  };
  for (const TokenLogprob& entry : entries) {
    if (is_bad(entry) || std::any_of(entry.top.begin(), entry.top.end(), is_bad)) {
      throw ArgumentError(
          "a log-probability is NaN or above 0; pass natural logarithms, such as -0.1");
    }
  }
  // After the checks: the same entries are refused for every protocol.
  if (!has_logprobs()) return;
  last_ = {};  // they stand in the frame
  for (TokenLogprob& entry : entries) logprobs(choice).add(std::move(entry));
}

std::vector<TokenLogprob> WireWriter::take_logprobs(std::int32_t choice) {
  std::vector<TokenLogprob> taken;
  // Including tokens after the last text, such as the end token.
  logprobs(choice).take(~std::uint64_t{0}, taken);
  return taken;
}

std::unique_ptr<WireWriter> make_wire_writer(WireProtocol protocol, WireOptions options) {
  const bool has_custom =
      protocol == WireProtocol::chat_completions || protocol == WireProtocol::responses;
  if (!options.custom_tools.empty() && !has_custom) {
    throw ArgumentError("custom_tools is for chat_completions and responses; leave it out");
  }
  if (!options.namespaces.empty() && protocol != WireProtocol::responses) {
    throw ArgumentError("namespaces is for responses; leave it out");
  }
  switch (protocol) {
    case WireProtocol::chat_completions: return make_chat_chunks(std::move(options));
    case WireProtocol::completions: return make_text_completions(std::move(options));
    case WireProtocol::responses: return make_responses_events(std::move(options));
    case WireProtocol::messages: return make_anthropic_events(std::move(options));
    case WireProtocol::open_inference: return make_oip_responses(std::move(options));
    case WireProtocol::google: return make_google_chunks(std::move(options));
  }
  throw ArgumentError("unknown protocol");
}

}  // namespace unspool

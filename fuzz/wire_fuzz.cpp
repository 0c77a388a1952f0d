// The wire writers over deltas in any order: a delta that is out of order is refused and changes
// nothing; whatever was written are whole frames of JSON without raw control characters.
//
// An input: protocol, options, then for each step: what, choice, call, and a text up to a byte of
// 0.
#include <limits>

#include "fuzz.h"
#include "text/json_value.h"
#include "text/utf8.h"
#include "unspool.h"

using namespace unspool;
using namespace unspool::fuzz;

namespace {

void check_json(std::string_view text) {
  const auto value = parse_json(text);
  if (!value || !is_valid_utf8(text)) {
    std::cerr << "\nframe: " << text << "\n";
    fail("a frame is a JSON object");
  }
}

void check_frames(std::string_view wire, bool is_sse) {
  while (!wire.empty()) {
    const std::string_view separator = is_sse ? "\n\n" : "\n";
    const std::size_t end = wire.find(separator);
    expect(end != std::string_view::npos, "a frame is whole");
    std::string_view frame = wire.substr(0, end);
    wire.remove_prefix(end + separator.size());
    if (is_sse) {
      if (frame.empty() || frame.starts_with(":")) continue;  // keeps the connection alive
      if (frame.starts_with("event: ")) frame.remove_prefix(frame.find('\n') + 1);
      expect(frame.starts_with("data: "), "a frame has data");
      frame.remove_prefix(6);
      if (frame == "[DONE]") continue;
    }
    for (const char byte : frame)
      expect(static_cast<unsigned char>(byte) >= 0x20, "a frame holds no control character");
    check_json(frame);
  }
}

void check_array(std::string_view wire) {
  const auto value = parse_json(wire);
  expect(value && value->is(JsonValue::Kind::array), "an array is JSON");
}

Delta make_delta(std::uint8_t what, Input& input) {
  Delta delta;
  delta.kind = static_cast<EventKind>(what % 8);
  delta.choice = static_cast<std::int32_t>(input.below(4)) - 1;
  delta.index = static_cast<std::int32_t>(input.below(4)) - 1;
  delta.status = static_cast<CallStatus>(what / 8 % 3);
  delta.finish_reason = static_cast<FinishReason>(what / 8 % 5);
  const std::string_view text = input.line();
  Utf8Stream utf8;  // what the parser gives is UTF-8
  utf8.put(text, delta.text);
  utf8.end(delta.text);
  delta.id = "call_" + delta.text.substr(0, delta.text.find_first_not_of("abc"));
  delta.name = delta.text;
  delta.reason = "a reason";
  return delta;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return -1;
  Input input(data, size);
  const auto protocol = static_cast<WireProtocol>(input.below(6));
  const std::uint8_t flags = input.byte();
  WireOptions options;
  options.model = "m";
  options.id = "id";
  options.created = 1;
  options.n = 1 + (flags & 1);
  options.stream = (flags & 2) == 0;
  options.sse = (flags & 4) == 0;
  options.include_usage = (flags & 8) != 0;
  options.reasoning_events = (flags & 16) != 0 ? ReasoningEvents::text : ReasoningEvents::summary;
  options.stream_arguments = (flags & 64) != 0;
  if ((flags & 32) != 0) options.extra = R"({"x": [1, "\u2028"]})";
  std::unique_ptr<WireWriter> writer;
  try {
    writer = make_wire_writer(protocol, options);
  } catch (const ArgumentError&) {
    return 0;
  }
  std::string out;
  std::string before;
  while (!input.is_empty()) {
    const std::uint8_t what = input.byte();
    before = out;
    const bool had_begun = writer->has_begun();
    try {
      if (what >= 250) {
        writer->keep_alive(out);
      } else if (what >= 240) {
        writer->fail({std::string("failed \"\n")}, out);
      } else if (what >= 230) {
        const double logprob = what == 230 ? std::numeric_limits<double>::quiet_NaN() : -0.5;
        writer->add_logprobs(0, {{{std::string(input.line()), logprob}, {}}});
      } else {
        writer->write(make_delta(what, input), out);
      }
    } catch (const Error&) {
      expect_equal(out, before, "what is refused writes nothing");
      expect(writer->has_begun() == had_begun, "what is refused changes nothing");
    }
  }
  try {
    if (options.stream) {
      writer->end({}, {}, out);
    } else {
      std::string body;
      writer->body({}, {}, body);
      check_json(body);
    }
  } catch (const Error&) {
  }
  if (!options.stream) return 0;
  const bool is_array = protocol == WireProtocol::google && !options.sse;
  // An array is whole when it has ended.
  if (!is_array) check_frames(out, options.sse);
  if (is_array && writer->has_ended()) check_array(out);
  return 0;
}

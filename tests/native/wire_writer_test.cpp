// The wire without Python: every frame is one line of JSON, bad order is refused before a byte is
// written, and a delta costs no allocation.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "count_allocations.h"
#include "text/json_value.h"
#include "unspool.h"

using namespace unspool;

using test::allocations;

constexpr WireProtocol kAll[] = {WireProtocol::chat_completions, WireProtocol::completions,
                                 WireProtocol::responses,        WireProtocol::messages,
                                 WireProtocol::open_inference,   WireProtocol::google};

static Delta text(EventKind kind, std::string_view text, std::int32_t choice = 0) {
  Delta delta;
  delta.kind = kind;
  delta.text = text;
  delta.choice = choice;
  return delta;
}

static Delta call(EventKind kind, std::int32_t index, std::string_view text = {},
                  std::int32_t choice = 0) {
  Delta delta;
  delta.kind = kind;
  delta.index = index;
  delta.text = text;
  delta.choice = choice;
  delta.id = "call_1";
  delta.name = "f";
  return delta;
}

static Delta finish(FinishReason reason = FinishReason::stop, std::int32_t choice = 0) {
  Delta delta;
  delta.kind = EventKind::finish;
  delta.finish_reason = reason;
  delta.choice = choice;
  return delta;
}

static std::unique_ptr<WireWriter> writer(WireProtocol protocol, std::int32_t n = 1,
                                          bool stream = true) {
  WireOptions options;
  options.model = "m";
  options.id = "id_1";
  options.created = 1;
  options.n = n;
  options.stream = stream;
  options.include_usage = true;
  return make_wire_writer(protocol, std::move(options));
}

// The frames' objects. A client may split lines where Python's splitlines does.
static std::vector<JsonValue> objects(std::string_view wire) {
  std::vector<JsonValue> found;
  while (!wire.empty()) {
    const std::size_t end = wire.find("\n\n");
    CHECK(end != std::string_view::npos);
    std::string_view frame = wire.substr(0, end);
    wire.remove_prefix(end + 2);
    if (frame.starts_with("event: ")) frame.remove_prefix(frame.find('\n') + 1);
    CHECK(frame.starts_with("data: "));
    frame.remove_prefix(6);
    for (const char byte : frame) CHECK(static_cast<unsigned char>(byte) >= 0x20);
    for (const std::string_view line_break : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
      CHECK(frame.find(line_break) == std::string_view::npos);
    }
    if (frame == "[DONE]") continue;
    std::optional<JsonValue> value = parse_json(frame);
    CHECK(value.has_value());
    if (value) found.push_back(std::move(*value));
  }
  return found;
}

// Of each string under this key, in order.
static void collect(const JsonValue& value, std::string_view key, std::string& out) {
  for (const JsonValue& item : value.items) collect(item, key, out);
  for (const auto& [name, member] : value.members) {
    if (name == key && member.is(JsonValue::Kind::string)) out += member.text;
    collect(member, key, out);
  }
}

static void texts_come_back_from_every_frame() {
  std::string all;
  for (char byte = 1; byte > 0; ++byte) all += byte;
  all += "\xC2\x85\xE2\x80\xA8\xE2\x80\xA9\xC2\x84\xE2\x80\xA7\xC3\xA9\xF0\x9F\x8E\x89";
  constexpr std::string_view kKeys[] = {"content", "text", "delta", "text", "", "text"};
  for (std::size_t i = 0; i < std::size(kAll); ++i) {
    const auto made = writer(kAll[i]);
    std::string out;
    made->begin(out);
    out.clear();
    made->write(text(EventKind::content, all), out);
    std::string found;
    const auto frames = objects(out);
    if (!frames.empty()) collect(frames.back(), kKeys[i], found);
    if (!kKeys[i].empty()) CHECK(found.find(all) != std::string::npos);
    made->write(call(EventKind::tool_call_begin, 0), out);
    made->write(call(EventKind::tool_call_arguments, 0, all), out);
    made->write(finish(FinishReason::length), out);
    made->end({}, {}, out);
    CHECK(!objects(out).empty());
  }
}

static bool refuses(const std::function<void()>& act, std::string_view why) {
  try {
    act();
  } catch (const Error& error) {
    if (std::string_view(error.what()).find(why) != std::string_view::npos) return true;
    std::cerr << error.what() << "\n";
  }
  return false;
}

static void bad_order_is_refused_and_changes_nothing() {
  const std::vector<std::pair<std::vector<Delta>, std::string_view>> bad = {
      {{text(EventKind::content, "x", 2)}, "n is 2; pass n=3"},
      {{text(EventKind::content, "x", -1)}, "choice -1"},
      {{call(EventKind::tool_call_begin, 1)}, "the next is 0"},
      {{call(EventKind::tool_call_arguments, 0, "{")}, "not open"},
      {{call(EventKind::tool_call_end, 0)}, "not open"},
      {{call(EventKind::tool_call_begin, 0), text(EventKind::content, "x"),
        call(EventKind::tool_call_arguments, 0, "{")},
       "not open"},
      {{call(EventKind::tool_call_begin, 0), call(EventKind::tool_call_begin, 0)}, "next is 1"},
      {{finish(), text(EventKind::content, "x")}, "one finish"},
      {{finish(), finish()}, "one finish"},
  };
  for (const WireProtocol protocol : {WireProtocol::chat_completions, WireProtocol::completions,
                                      WireProtocol::open_inference, WireProtocol::google}) {
    for (const auto& [deltas, why] : bad) {
      const auto made = writer(protocol, 2);
      std::string out;
      made->begin(out);
      const std::string before = out;
      CHECK(refuses([&] { made->write_many(std::span<const Delta>(deltas), out); }, why));
      CHECK_EQUAL(out, before);
      CHECK(refuses([&] { made->end({}, {}, out); }, "choice 0 has not finished"));
      made->write(call(EventKind::tool_call_begin, 0), out);
      made->write(finish(FinishReason::length), out);
      made->write(finish(FinishReason::stop, 1), out);
      made->end({}, {}, out);
      CHECK(refuses([&] { made->write(finish(), out); }, "has ended"));
      CHECK(refuses([&] { made->fail({"x"}, out); }, "has ended"));
    }
  }
  CHECK(refuses([] { writer(WireProtocol::messages, 2); }, "messages has one answer"));
  CHECK(refuses([] { writer(WireProtocol::responses, 2); }, "responses has one answer"));
  CHECK(refuses([] { writer(WireProtocol::completions, 0); }, "n is 0"));
}

static void deltas_that_are_ready_together_share_a_chunk() {
  const std::vector<Delta> deltas = {
      text(EventKind::reasoning, "a"),
      text(EventKind::reasoning, "b"),
      text(EventKind::content, "c"),
      text(EventKind::content, "d"),
      call(EventKind::tool_call_begin, 0),
      call(EventKind::tool_call_arguments, 0, "{\"x\":"),
      call(EventKind::tool_call_arguments, 0, "1}"),
      call(EventKind::tool_call_end, 0),
      call(EventKind::tool_call_begin, 1),
      call(EventKind::tool_call_arguments, 1, "{}"),
      call(EventKind::tool_call_end, 1),
      finish(FinishReason::tool_calls),
  };
  const auto made = writer(WireProtocol::chat_completions);
  std::string out;
  made->begin(out);
  out.clear();
  made->write_many(std::span<const Delta>(deltas), out);
  std::vector<std::string> shown;
  for (const JsonValue& chunk : objects(out)) {
    std::string written;
    append_json(*chunk.find("choices")->items[0].find("delta"), written);
    shown.push_back(written);
  }
  CHECK_EQUAL(shown.size(), std::size_t{4});
  CHECK_EQUAL(shown[0], "{\"reasoning_content\": \"ab\"}");
  CHECK_EQUAL(shown[1], "{\"content\": \"cd\"}");
  CHECK_EQUAL(shown[2],
              "{\"tool_calls\": [{\"index\": 0, \"id\": \"call_1\", \"type\": \"function\", "
              "\"function\": {\"name\": \"f\", \"arguments\": \"{\\\"x\\\":1}\"}}, {\"index\": 1, "
              "\"id\": \"call_1\", \"type\": \"function\", \"function\": {\"name\": \"f\", "
              "\"arguments\": \"{}\"}}]}");
  CHECK_EQUAL(shown[3], "{}");
}

static void a_delta_costs_no_allocation() {
  constexpr int kRounds = 5000;
  const std::vector<Delta> round = {
      text(EventKind::content,
           "some text \"quoted\" \xE2\x80\xA8 that is longer than a string's own "
           "room"),
      text(EventKind::reasoning, "some more"), text(EventKind::malformed, "raw")};
  for (const WireProtocol protocol : kAll) {
    // Of responses and messages a region opens a part, which is kept: they get one region.
    const bool has_parts =
        protocol == WireProtocol::responses || protocol == WireProtocol::messages;
    const auto made = writer(protocol);
    std::string out;
    out.reserve(1 << 16);
    made->write_many(std::span<const Delta>(round), out);
    made->write(call(EventKind::tool_call_begin, 0), out);
    const Delta fragment = call(EventKind::tool_call_arguments, 0, "{\"some\\narguments\": 123456");
    made->write(fragment, out);
    allocations = 0;
    for (int i = 0; i < kRounds; ++i) {
      out.clear();
      made->write(fragment, out);
    }
    // Responses owes the whole text at the end, google a call and a thought: strings that double.
    const bool keeps = protocol == WireProtocol::responses || protocol == WireProtocol::google;
    CHECK(allocations <= (keeps ? 20U : 0U));
    made->write(text(EventKind::content, "x"), out);
    out.clear();
    allocations = 0;
    for (int i = 0; i < kRounds; ++i) {
      out.clear();
      made->write_many(std::span<const Delta>(round).first(has_parts ? 1 : 3), out);
    }
    CHECK(allocations <= (keeps ? 24U : 0U));
  }
}

static void an_error_ends_the_response() {
  for (const WireProtocol protocol : kAll) {
    for (const bool has_begun : {false, true}) {
      const auto made = writer(protocol);
      std::string out;
      if (has_begun) made->write(text(EventKind::content, "x"), out);
      made->fail({"out of \"memory\""}, out);
      std::string found;
      for (const JsonValue& object : objects(out)) {
        collect(object, "message", found);
        collect(object, "data", found);
      }
      if (protocol != WireProtocol::open_inference)
        CHECK(found.find("out of \"memory\"") != std::string::npos);
      CHECK(out.find("[DONE]") == std::string::npos);
      CHECK(made->has_ended());
    }
  }
}

int main() {
  texts_come_back_from_every_frame();
  bad_order_is_refused_and_changes_nothing();
  deltas_that_are_ready_together_share_a_chunk();
  a_delta_costs_no_allocation();
  an_error_ends_the_response();
  return TEST_RESULT();
}

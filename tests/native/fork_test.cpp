// Copies of a live stream, and streams restored from snapshots: each goes on as a fresh stream
// does, and needs nothing of its origin, which is gone by then. Under AddressSanitizer a link to
// the origin is found.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "formats_for_tests.h"
#include "unspool.h"

using namespace unspool;

namespace {

std::shared_ptr<const Vocabulary> bytes_vocabulary() {
  VocabularySource source;
  source.is_bytes = true;
  for (TokenId byte = 0; byte < 256; ++byte)
    source.tokens.emplace_back(byte, std::string(1, static_cast<char>(byte)));
  return std::make_shared<const Vocabulary>(std::move(source));
}

std::vector<TokenId> ids_of(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::string written(std::span<const Delta> deltas) {
  std::string text;
  for (const Delta& delta : deltas) {
    text.append(to_string(delta.kind)).append("(").append(delta.id).append(delta.name);
    text.append(delta.text).append(delta.reason).append(" ");
    text.append(std::to_string(delta.span.begin))
        .append("-")
        .append(std::to_string(delta.span.end));
    text.append(" ").append(std::to_string(delta.token_ids.size())).append(")");
  }
  return text;
}

std::string shown(const Message& message) {
  std::string text = message.content + "|" + message.reasoning;
  for (const ToolCall& call : message.tool_calls) {
    text.append("|").append(call.name).append(call.arguments).append(to_string(call.status));
    text.append(std::to_string(call.repairs));
  }
  for (const Malformed& item : message.malformed) text.append("!").append(item.text);
  for (const Malformed& item : message.dropped) text.append("-").append(item.text);
  return text;
}

std::string shown(const TokenLabels& labels) {
  std::string text;
  for (const TokenLabels::Run& run : labels.runs()) {
    text.append(" ").append(std::to_string(run.token)).append(":");
    text.append(std::to_string(static_cast<int>(run.label.region))).append(",");
    text.append(std::to_string(run.label.path));
  }
  return text.append(" ").append(std::to_string(labels.paths().nodes().size()));
}

std::string rest_of(TokenStreamer& streamer, std::span<const TokenId> ids) {
  std::string text = written(streamer.put(ids));
  text += written(streamer.end(FinishReason::stop));
  text += shown(streamer.message());
  for (const Events::Audited& piece : streamer.audit())
    text.append("<").append(to_string(piece.fate)).append(">").append(piece.text);
  if (const TokenLabels* labels = streamer.stream().labels()) text += shown(*labels);
  return text;
}

struct Sample {
  Program program;
  std::vector<std::string_view> texts;
};

std::vector<Sample> samples() {
  return {
      {test::tagged(),
       {"<think>\nhm\n</think>\n\nok\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, "
        "\"}</tool_call>\"]}}\n</tool_call> z",
        "<function=f><parameter=a>\nx</parameter>y\n</parameter><parameter=b>1</parameter>"
        "</function> <tool_call>{\"name\": \"g\", \"arguments\": \"{\\\"x\\\": 1}\"}"}},
      {test::bare(),
       {"Hi\n```json\n[{\"name\": \"f\", \"arguments\": {\"b\": null}}]\n```\nand more",
        "<calls>\n[TOOL_CALLS]f[ARGS]{\"k\": {\"l\": [true, 2]}}</calls>"
        "<invoke name=\"g\"><parameter name=\"a\"> [1, 2] </parameter></invoke>"}},
      {test::headed(),
       {"<|channel|>analysis<|message|>think<|end|><|start|>assistant to=functions.f<|channel|>"
        "analysis<|message|>{\"a\": 1}<|call|>",
        "<|tools|>[{\"f\": {\"x\": \"y\"}}]<|/tools|><|begin|>functions.g#3<|args|>{}<|finish|>"}},
      {test::foreign(),
       {"[f(a=1, b=\"x\"), g()]", "<py>f(a=[1, 'é'], k={'z': None})</py> text",
        "<brace>call:f{a:<q>x, y<q>,b:3}</brace>", "]<invoke name=f>]<a>]<b>1]</b>]</a>]</invoke>",
        "<pairs>f\n<key>a</key><value><![CDATA[x]]></value><key>b</key><value>&lt;3</value>"
        "</pairs>",
        "<pairs>f\n{\"a\": [1, {\"b\": \"two\"}], \"c\": null}</pairs> and"}},
  };
}

std::vector<TokenStreamerOptions> all_options() {
  TokenStreamerOptions plain;
  plain.stream.vocabulary = bytes_vocabulary();
  plain.stream.parser.id_seed = 1;
  TokenStreamerOptions labelled = plain;
  labelled.stream.labels = true;
  TokenStreamerOptions filtered = plain;
  filtered.stream.parser.repair = true;
  filtered.stream.parser.audit = true;
  filtered.stream.parser.white_space = WhiteSpace::trim;
  filtered.stream.parser.parallel_calls = false;
  filtered.stream.detokenizer.stop = {"ok\n\n", "more"};
  filtered.incomplete_calls = IncompleteCalls::withhold;
  return {plain, labelled, filtered};
}

void check_forks(const std::shared_ptr<const Format>& format, const TokenStreamerOptions& options,
                 std::string_view text, std::string_view other) {
  const std::vector<TokenId> ids = ids_of(text);
  const std::vector<TokenId> others = ids_of(other);
  for (std::size_t place = 0; place <= ids.size(); ++place) {
    const auto at_place = [&](TokenStreamer& streamer) {
      for (std::size_t i = 0; i < place; ++i) streamer.put(ids[i]);
    };
    std::optional<TokenStreamer> origin(std::in_place, format, options);
    at_place(*origin);
    TokenStreamer fork = origin->fork();
    std::optional<TokenStreamer> middle(std::in_place, fork.fork());
    TokenStreamer last = middle->fork();
    middle.reset();
    TokenStreamer restored(format, options);
    {
      const std::string state = origin->snapshot();
      restored.restore(state);
      CHECK_EQUAL(restored.snapshot(), state);
    }
    const std::span<const TokenId> rest = std::span(ids).subspan(place);
    const std::string of_origin = rest_of(*origin, others);
    origin.reset();
    TokenStreamer fresh(format, options);
    at_place(fresh);
    TokenStreamer fresh_too(format, options);
    at_place(fresh_too);
    const std::string expected = rest_of(fresh, rest);
    CHECK_EQUAL(rest_of(fork, rest), expected);
    CHECK_EQUAL(rest_of(last, rest), expected);
    CHECK_EQUAL(rest_of(restored, rest), expected);
    CHECK_EQUAL(of_origin, rest_of(fresh_too, others));
  }
}

void check_rollbacks(const std::shared_ptr<const Format>& format, TokenStreamerOptions options,
                     std::string_view text, std::string_view other) {
  options.rollback_window = 6;
  const std::vector<TokenId> ids = ids_of(text);
  const std::vector<TokenId> others = ids_of(other);
  std::optional<TokenStreamer> streamer(std::in_place, format, options);
  for (std::size_t place = 0; place < ids.size(); ++place) {
    streamer->put(ids[place]);
    const std::size_t count = std::min<std::size_t>(place + 1, place % 7);
    TokenStreamer back = streamer->fork();
    CHECK(back.rollback(count).empty());
    TokenStreamer fresh(format, options);
    for (std::size_t i = 0; i <= place - count; ++i) fresh.put(ids[i]);
    CHECK_EQUAL(shown(back.message()), shown(fresh.message()));
    CHECK_EQUAL(rest_of(back, others), rest_of(fresh, others));
  }
}

void streams() {
  const std::vector<TokenStreamerOptions> options = all_options();
  for (const Sample& sample : samples()) {
    const auto format = Format::compile(sample.program);
    for (const TokenStreamerOptions& some : options) {
      for (std::size_t i = 0; i < sample.texts.size(); ++i) {
        const std::string_view next = sample.texts[(i + 1) % sample.texts.size()];
        check_forks(format, some, sample.texts[i], next.substr(next.size() / 3));
        check_rollbacks(format, some, sample.texts[i], next.substr(next.size() / 3));
      }
    }
  }
}

void writers() {
  for (const WireProtocol protocol :
       {WireProtocol::chat_completions, WireProtocol::completions, WireProtocol::responses,
        WireProtocol::messages, WireProtocol::open_inference, WireProtocol::google}) {
    WireOptions options;
    options.id = "resp_1";
    options.created = 1;
    const auto delta = [](EventKind kind, std::string text) {
      Delta made;
      made.kind = kind;
      made.text = std::move(text);
      return made;
    };
    const Delta hello = delta(EventKind::content, "Hello");
    const Delta you = delta(EventKind::content, " you");
    const Delta end = delta(EventKind::finish, "");
    std::string straight, begun;
    const auto whole = make_wire_writer(protocol, options);
    for (const Delta& one : {hello, you, end}) whole->write(one, straight);
    auto origin = make_wire_writer(protocol, options);
    origin->write(hello, begun);
    const auto copy = origin->clone();
    const auto restored = restore_wire_writer(origin->snapshot(), protocol, options);
    origin.reset();
    std::string resumed = begun;
    for (const Delta& one : {you, end}) {
      copy->write(one, begun);
      restored->write(one, resumed);
    }
    CHECK_EQUAL(begun, straight);
    CHECK_EQUAL(resumed, straight);
  }
}

}  // namespace

int main() {
  streams();
  writers();
  return TEST_RESULT();
}

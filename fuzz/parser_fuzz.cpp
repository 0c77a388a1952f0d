// Every shipped format with mutated outputs, as text, as ids and both: the answer equals that of
// the whole output for all cuts and copies of the stream, the audit equals the output, and complete
// calls are valid JSON.
//
// Input: which format (two bytes), options, input, cuts, reason, tools, limits, then the output.
// Ids are derived from it: a marker is one token (or is spelled, depending on the options), any
// other byte is its own token.
#include <memory>

#include "body/value_reader.h"
#include "families.h"
#include "fuzz.h"
#include "text/utf8.h"
#include "unspool.h"

using namespace unspool;
using namespace unspool::fuzz;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr std::size_t kHeader = 8;

enum class Kind : std::uint8_t { text, ids, both };

struct Token {
  TokenId id;
  std::string_view text;
};

struct Case {
  const Family* family;
  Kind kind;
  ParserOptions policies;
  bool skips_special;
  Use use;
  FinishReason reason;
  std::string_view output;
  std::vector<Token> tokens;
};

struct Answer {
  std::string message;
  std::string audit;
};

void check_call(const ToolCall& call) {
  if (call.status != CallStatus::complete) return;
  ValueReader reader;
  const bool is_read = reader.check(call.arguments).consumed == call.arguments.size();
  if (!is_read || !reader.is_complete() || !call.arguments.starts_with('{')) {
    std::cerr << "\narguments: " << call.arguments << "\n";
    fail("a complete call's arguments are a JSON object");
  }
}

// `copies`: after each cut a copy continues, and the original stream is destroyed.
Answer parse(const Case& one, const std::vector<std::size_t>& cuts, bool copies) {
  ChunkParserOptions options;
  options.parser = one.policies;
  options.detokenizer.skip_special_tokens = one.skips_special;
  if (one.kind != Kind::text) options.vocabulary = one.family->tokens(one.use);
  auto parser = std::make_unique<ChunkParser>(one.family->format(one.use), std::move(options));
  Events events;
  Answer answer;
  const auto take = [&] {
    for (const Events::Audited& item : events.audit()) answer.audit += item.text;
    for (const Event& event : events.list()) {
      expect(is_valid_utf8(events.text(event)), "an event's text is UTF-8");
      expect(is_valid_utf8(events.name(event)), "a call's name is UTF-8");
    }
    events.clear();
  };
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    if (one.kind == Kind::text) {
      parser->put_text(one.output.substr(begin, end - begin), events);
    } else {
      std::vector<TokenId> ids;
      std::string text;
      for (std::size_t i = begin; i < end; ++i) {
        ids.push_back(one.tokens[i].id);
        text += one.tokens[i].text;
      }
      if (one.kind == Kind::ids) {
        parser->put_ids(ids, events);
      } else {
        parser->put_text_and_ids(text, ids, events);
      }
    }
    begin = end;
    take();
    if (copies) parser = std::make_unique<ChunkParser>(*parser);
  }
  parser->finish(one.reason, events);
  take();
  const Message& message = parser->message();
  answer.message = message.reasoning + "|" + message.content;
  for (const ToolCall& call : message.tool_calls) {
    check_call(call);
    answer.message += "|" + call.id + " " + call.name + " " + call.arguments + " " +
                      std::string(to_string(call.status)) + std::to_string(call.repairs);
  }
  for (const Malformed& item : message.dropped) answer.message += "-" + item.text;
  for (const Malformed& item : message.malformed) answer.message += "!" + item.text + item.reason;
  answer.message += to_string(message.finish_reason);
  return answer;
}

std::vector<Token> tokenize(const Vocabulary& vocabulary, std::string_view output, bool spells) {
  std::vector<Token> tokens;
  const auto& added = vocabulary.added_tokens();
  for (std::size_t at = 0; at < output.size();) {
    const std::string_view rest = output.substr(at);
    Token best{static_cast<std::uint8_t>(rest[0]), rest.substr(0, 1)};
    // If markers are spelled, every other one is.
    for (std::size_t i = 0; i < added.size() && !(spells && tokens.size() % 2 == 0); ++i) {
      const std::string& text = added[i].content;
      if (text.size() > best.text.size() && rest.starts_with(text))
        best = {added[i].id, rest.substr(0, text.size())};
    }
    tokens.push_back(best);
    at += best.text.size();
  }
  return tokens;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHeader || size > 4096) return -1;
  Input input(data, size);
  const std::size_t which = input.byte() + 256U * input.byte();
  const std::uint8_t options = input.byte();
  const std::uint8_t how = input.byte();
  const std::uint8_t seed = input.byte();
  const std::uint8_t reason = input.byte();
  const std::uint8_t tools = input.byte();
  const std::uint8_t limits = input.byte();
  Case one;
  one.family = &families()[which % families().size()];
  one.output = input.rest();
  one.kind = static_cast<Kind>(how % 3);
  one.skips_special = (how & 4) != 0;
  one.use = {one.kind != Kind::text, (how & 32) != 0, tools, static_cast<std::uint8_t>(how >> 6)};
  // A stream of text has no ids that it could trust.
  if (one.kind == Kind::text) one.use.tools &= 0xF8;
  one.policies.by_id = false;
  one.policies.audit = true;
  one.policies.id_seed = 1;
  one.policies.repair = (options & 1) != 0;
  one.policies.parallel_calls = (options & 2) == 0;
  one.policies.only_reasoning = (options & 0x1C) == 0x1C;
  one.policies.unknown_tools = static_cast<UnknownTools>((options >> 5) % 3);
  if ((how & 8) != 0 || one.use.needs_tools()) one.policies.tools = some_tools();
  if ((limits & 1) != 0) one.policies.limits.max_calls = 1;
  if ((limits & 2) != 0) one.policies.limits.max_argument_bytes = 20;
  if ((limits & 4) != 0) one.policies.limits.max_depth = 2;
  if ((limits & 8) != 0) one.policies.limits.max_held_bytes = 20;
  if ((limits & 16) != 0) one.policies.white_space = WhiteSpace::trim;
  if ((limits & 32) != 0) one.policies.starts_in_reasoning = (limits & 64) != 0;
  constexpr FinishReason kReasons[] = {FinishReason::stop, FinishReason::length,
                                       FinishReason::cancelled};
  one.reason = kReasons[reason % 3];
  std::size_t count = one.output.size();
  if (one.kind != Kind::text) {
    one.tokens = tokenize(*one.family->tokens(one.use), one.output, (how & 16) != 0);
    count = one.tokens.size();
  }
  describe([&] {
    return one.family->name +
           (one.kind == Kind::text  ? ", text"
            : one.kind == Kind::ids ? ", ids"
                                    : ", text and ids") +
           (one.policies.repair ? ", repair" : "") + (one.policies.tools ? ", tools" : "") +
           (one.use.reads_others ? ", also any" : "") +
           (one.use.reads_unmarked() ? ", unmarked" : "") + ", " +
           std::string(to_string(one.reason));
  });
  const Answer whole = parse(one, {count}, false);
  const Answer split = parse(one, cuts(count, seed), true);
  expect_equal(whole.message, split.message, "the answer does not depend on how the output is cut");
  expect_equal(whole.audit, split.audit, "nor does the audit");
  if (one.kind == Kind::text) {
    std::string valid;
    Utf8Stream utf8;
    utf8.put(one.output, valid);
    utf8.end(valid);
    expect_equal(whole.audit, valid, "the audit joined is the output");
  }
  return 0;
}

// Half of the mutations insert a text that the format knows, or remove a piece.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  if (size <= kHeader || random() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::size_t which = (data[0] + 256U * data[1]) % families().size();
  static const std::vector<std::string> kPieces = {"\n",
                                                   " ",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "\"",
                                                   "'",
                                                   ",",
                                                   ":",
                                                   "f",
                                                   "s",
                                                   "n",
                                                   "12",
                                                   "1e400",
                                                   "null",
                                                   "True",
                                                   "\\",
                                                   "\\ud83d",
                                                   "\xC3\xA9",
                                                   "\xFF",
                                                   "{\"name\": \"f\", \"arguments\": {",
                                                   "\"s\": \"x\"",
                                                   "```json\n",
                                                   "get_weather",
                                                   "{\"city\": \"Paris\"}",
                                                   "<",
                                                   "</",
                                                   "|>",
                                                   "\r\n"};
  // The markers of another family matter as much if its calls are read.
  const bool others = (data[3] & 32) != 0 && random() % 2 == 0;
  const std::size_t family = others ? random() % families().size() : which;
  const std::vector<std::string>& markers = families()[family].markers;
  const std::size_t pick = random() % (markers.size() + kPieces.size());
  std::string piece = pick < markers.size() ? markers[pick] : kPieces[pick - markers.size()];
  if (random() % 8 == 0) piece.resize(piece.size() - random() % piece.size());
  std::string made(reinterpret_cast<const char*>(data), size);
  const std::size_t at = kHeader + random() % (size - kHeader + 1);
  std::size_t gone = random() % 4 == 0 ? random() % (size - at + 1) : 0;
  if (random() % 4 == 0 && made.compare(at, piece.size(), piece) == 0) {
    gone = piece.size();
    piece.clear();
  }
  made.replace(at, gone, piece);
  if (made.size() > max_size) made.resize(max_size);
  std::copy(made.begin(), made.end(), data);
  return made.size();
}

// The core without Python: a format, ids and text, every split, no allocation in steady state.
#include <cstdlib>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "formats_for_tests.h"
#include "unspool.h"

using namespace unspool;

static std::size_t allocations = 0;
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

static std::shared_ptr<const Vocabulary> bytes_vocabulary() {
  VocabularySource source;
  source.is_bytes = true;
  for (int byte = 0; byte < 256; ++byte) {
    source.tokens.emplace_back(static_cast<TokenId>(byte), std::string(1, static_cast<char>(byte)));
  }
  source.added = {{256, "<tool_call>", "<tool_call>", true},
                  {257, "</tool_call>", "</tool_call>", true}};
  return std::make_shared<Vocabulary>(std::move(source));
}

static std::string summary(const Message& message) {
  std::string text = message.reasoning + "|" + message.content;
  for (const ToolCall& call : message.tool_calls) {
    text += "|" + call.name + call.arguments + std::string(to_string(call.status));
  }
  for (const Malformed& item : message.malformed) text += "!" + item.text;
  return text;
}

static std::string parse(const std::shared_ptr<const Format>& format,
                         std::initializer_list<std::string_view> pieces) {
  ChunkParser parser(format, {});
  Events events;
  for (const std::string_view piece : pieces) {
    events.clear();
    parser.put_text(piece, events);
  }
  events.clear();
  parser.finish(FinishReason::length, events);
  return summary(parser.message());
}

static void every_split_gives_one_message() {
  const auto format = Format::compile(test::tagged());
  for (const std::string_view text :
       {std::string_view("<think>\nhm 🎉\n</think>\n\nok\n<tool_call>\n{\"name\": \"f\", "
                         "\"arguments\": {\"a\": [1, \"}</tool_call>\"]}}\n</tool_call> z"),
        std::string_view("<function=f><parameter=a>\nx</parameter>y\n</parameter><parameter=b>1</"
                         "parameter></function>"),
        std::string_view(
            "<tool_call>{oops</tool_call><tool_call>{\"name\": \"f\", \"arguments\": {\"a\": tr}}"),
        std::string_view("\xE2\x82<tool_call>{\"name\": \"\\ud83d\\ude00\", \"arguments\": "
                         "\"{\\\"x\\\": 1}\"}<|im_end|>\xF0\x9F")}) {
    const std::string whole = parse(format, {text});
    for (std::size_t a = 0; a <= text.size(); ++a) {
      for (std::size_t b = a; b <= text.size(); ++b) {
        CHECK_EQUAL(parse(format, {text.substr(0, a), text.substr(a, b - a), text.substr(b)}),
                    whole);
      }
    }
  }
}

static void what_is_held_is_the_end_of_the_input() {
  const auto format = Format::compile(test::tagged());
  const std::string_view text =
      "<think>\nhm 🎉\n</think>\n\nok\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
      "1}}\n</tool_call> <function=f><parameter=a>\nx</parameter>y\n</parameter></function>";
  ChunkParser parser(format, {});
  Events events;
  for (std::size_t i = 0; i < text.size(); ++i) {
    events.clear();
    parser.put_text(text.substr(i, 1), events);
    const Held held = parser.held();
    CHECK_EQUAL(held.text().size(), held.bytes());
    CHECK(text.substr(0, i + 1).ends_with(held.text()));
    CHECK_EQUAL(held.bytes() == 0, held.reason() == HeldReason::none);
    CHECK_EQUAL(!held.markers().empty(), held.reason() == HeldReason::marker);
    for (const std::string_view marker : held.markers()) {
      std::size_t begun = marker.size() - 1;
      while (begun > 0 && !held.text().ends_with(marker.substr(0, begun))) --begun;
      CHECK(begun > 0);
    }
  }
  events.clear();
  parser.finish(FinishReason::stop, events);
  CHECK_EQUAL(parser.held().bytes(), 0U);
}

static void what_is_held_says_why() {
  const auto format = Format::compile(test::tagged());
  const auto after = [&](std::string_view text) {
    ChunkParser parser(format, {});
    Events events;
    parser.put_text(text, events);
    return std::string(to_string(parser.held().reason())) + ":" + parser.held().text();
  };
  CHECK_EQUAL(after("ok"), "none:");
  CHECK_EQUAL(after("ok <tool_"), "marker:<tool_");
  CHECK_EQUAL(after("ok \xF0\x9F"), "character:\xF0\x9F");
  CHECK_EQUAL(after("ok <tool_\xF0\x9F"), "marker:<tool_\xF0\x9F");
  CHECK_EQUAL(after("<tool_call>{\"name\": \"f"), "name:<tool_call>{\"name\": \"f");
  CHECK_EQUAL(after("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": "), "none:");
  CHECK_EQUAL(after("<function=f><parameter=a"), "key:a");
  CHECK_EQUAL(after("<function=f><parameter=a>x</parameter>"), "closing_tag:</parameter>");
}

static void tokens_are_known_by_id() {
  const auto vocabulary = bytes_vocabulary();
  std::vector<MarkerToken> tokens;
  for (const AddedToken& token : vocabulary->added_tokens())
    tokens.push_back({token.id, token.content});
  ChunkParserOptions options;
  options.vocabulary = vocabulary;
  ChunkParser parser(Format::compile(test::tagged(), tokens), std::move(options));
  Events events;
  const auto put = [&](std::string_view text) {
    for (const char c : text) {
      const TokenId id = static_cast<unsigned char>(c);
      parser.put_ids({&id, 1}, events);
    }
  };
  put("<tool_call> is a tag");
  const TokenId open = 256;
  const TokenId close = 257;
  parser.put_ids({&open, 1}, events);
  put("{\"name\": \"f\", \"arguments\": {\"s\": \"");
  parser.put_ids({&close, 1}, events);
  put("\"}}");
  parser.put_ids({&close, 1}, events);
  parser.finish(FinishReason::stop, events);
  CHECK_EQUAL(summary(parser.message()),
              "|<tool_call> is a tag|f{\"s\": \"</tool_call>\"}complete");
}

static std::string call_id(std::uint64_t seed, std::int32_t choice) {
  ChunkParserOptions options;
  options.parser.id_seed = seed;
  options.parser.choice = choice;
  ChunkParser parser(Format::compile(test::tagged()), std::move(options));
  Events events;
  parser.put_text("<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>", events);
  return parser.message().tool_calls.at(0).id;
}

static void choices_have_their_own_call_ids() {
  CHECK_EQUAL(call_id(7, 0), "call_xIUx4boI7B1uOCQ4JJzMfFPf");  // as before there were choices
  std::set<std::string> seen;
  for (std::int32_t choice = 0; choice < 200; ++choice) {
    CHECK_EQUAL(call_id(7, choice), call_id(7, choice));
    seen.insert(call_id(7, choice));
    seen.insert(call_id(0, choice));  // no seed: random
  }
  CHECK_EQUAL(seen.size(), 400U);
}

static void tokens_are_counted_up_to_a_stop_string() {
  ChunkParserOptions options;
  options.vocabulary = bytes_vocabulary();
  options.detokenizer.stop = {"END"};
  ChunkParser parser(Format::compile(test::tagged()), std::move(options));
  Events events;
  const std::vector<TokenId> prompt(5, 'p');
  parser.put_prompt(prompt);
  CHECK_EQUAL(parser.token_count(), 0U);
  for (const char c : std::string_view("I say END and more")) {
    const TokenId id = static_cast<unsigned char>(c);
    events.clear();
    parser.put_ids({&id, 1}, events);
  }
  CHECK(parser.is_stopped());
  CHECK_EQUAL(parser.stop_reason(), "END");
  CHECK_EQUAL(parser.token_count(), 9U);
  parser.finish(FinishReason::stop, events);
  CHECK_EQUAL(summary(parser.message()), "|I say ");
}

static void steady_state_allocates_nothing() {
  ChunkParserOptions options;
  options.vocabulary = bytes_vocabulary();
  options.keeps_message = false;
  ChunkParser parser(Format::compile(test::tagged()), std::move(options));
  Events events;
  const auto put = [&](std::string_view text) {
    for (const char c : text) {
      const TokenId id = static_cast<unsigned char>(c);
      events.clear();
      parser.put_ids({&id, 1}, events);
    }
  };
  put("Some words first. <tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"some text with \\n "
      "escapes ");
  const std::size_t before = allocations;
  put("more of it, much more, <tag> and \\\" and \xE2\x82\xAC and so on and on and on and on and "
      "on");
  CHECK_EQUAL(allocations - before, 0U);
}

int main() {
  every_split_gives_one_message();
  what_is_held_is_the_end_of_the_input();
  what_is_held_says_why();
  tokens_are_known_by_id();
  choices_have_their_own_call_ids();
  tokens_are_counted_up_to_a_stop_string();
  steady_state_allocates_nothing();
  return TEST_RESULT();
}

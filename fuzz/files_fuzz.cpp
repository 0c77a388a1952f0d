// Readers of files and requests: a format file, a vocabulary file, a request's tools, a tokenizer's
// description. Each input is read or rejected with the reader's own error; what was read must work.
//
// Input: which reader, then its bytes.
#include "fuzz.h"
#include "unspool.h"
#include "vocabulary/detokenizer.h"

using namespace unspool;
using namespace unspool::fuzz;

namespace {

void check_format(std::string_view json) {
  std::shared_ptr<const Format> format;
  try {
    format = read_format(json);
  } catch (const FormatError&) {
    return;
  }
  const auto parse = [&](bool is_split) {
    ChunkParserOptions options;
    options.parser.id_seed = 1;
    ChunkParser parser(format, options);
    Events events;
    const std::string_view output = json.substr(0, 500);
    for (std::size_t i = 0; is_split && i < output.size(); ++i)
      parser.put_text(output.substr(i, 1), events);
    if (!is_split) parser.put_text(output, events);
    parser.finish(FinishReason::stop, events);
    std::string shown = parser.message().content + "|" + parser.message().reasoning;
    for (const ToolCall& call : parser.message().tool_calls)
      shown += "|" + call.name + call.arguments;
    return shown;
  };
  expect_equal(parse(false), parse(true), "a format reads an output in one way");
}

void check_detokenizer(const std::shared_ptr<const Vocabulary>& vocabulary) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < std::min<std::size_t>(vocabulary->size(), 64); ++id) {
    if (vocabulary->unknown() == UnknownId::ignored || vocabulary->is_known(id)) ids.push_back(id);
  }
  const auto decode = [&](bool exact) {
    DetokenizerOptions options;
    options.exact = exact;
    options.stop = {"stop"};
    Detokenizer detokenizer(vocabulary, options);
    std::string text;
    for (const TokenId id : ids) detokenizer.put(id, text);
    detokenizer.end(text);
    expect(is_valid_utf8(text), "text is UTF-8");
  };
  decode(false);
  decode(true);
}

void check_vocabulary(std::string_view bytes) {
  std::shared_ptr<const Vocabulary> vocabulary;
  try {
    vocabulary = read_vocabulary(bytes);
  } catch (const VocabularyError&) {
    return;
  }
  std::string once;
  std::string again;
  write_vocabulary(*vocabulary, once);
  write_vocabulary(*read_vocabulary(once), again);
  expect_equal(once, again, "a vocabulary is written as it was read");
  check_detokenizer(vocabulary);
}

void check_tools(std::string_view json) {
  try {
    read_tools(json);
  } catch (const ArgumentError&) {
  }
}

// Decoder steps until a byte above 7, then tokens.
void check_description(Input input) {
  VocabularySource source;
  for (std::uint8_t kind = input.byte(); kind < 8 && !input.is_empty() && source.steps.size() < 16;
       kind = input.byte()) {
    DecoderStep step;
    step.kind = static_cast<DecoderKind>(kind);
    constexpr std::string_view kContents[] = {" ", "\xE2\x96\x81", "##", "a", "", "</w>"};
    step.content = kContents[input.below(std::size(kContents))];
    step.replacement = std::string(input.byte(), 'a');
    step.start = input.byte() * 1000U;
    step.stop = input.byte();
    step.prepends = input.flag();
    source.steps.push_back(std::move(step));
  }
  source.joins_with_space = source.steps.empty();
  for (TokenId id = 0; !input.is_empty() && id < 64; ++id) {
    const std::string text(input.line());
    if (text.starts_with('<')) {
      source.added.push_back({id, text, text, true});
    } else {
      source.tokens.emplace_back(id, text);
    }
  }
  for (const auto& [id, text] : source.tokens) {
    if (!is_valid_utf8(text)) return;
  }
  for (const AddedToken& token : source.added) {
    if (!is_valid_utf8(token.content)) return;
  }
  try {
    check_detokenizer(std::make_shared<Vocabulary>(std::move(source)));
  } catch (const VocabularyError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  switch (input.byte() % 4) {
    case 0: check_format(input.rest()); break;
    case 1: check_vocabulary(input.rest()); break;
    case 2: check_tools(input.rest()); break;
    default: check_description(input);
  }
  return 0;
}

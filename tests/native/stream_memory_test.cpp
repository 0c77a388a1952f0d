// A stream that keeps no message is small, and stays small behind all that it has read.
#include <string>

#include "check.h"
#include "count_allocations.h"
#include "unspool.h"

namespace {

using namespace unspool;

constexpr std::size_t kIdle = 2176;
constexpr std::size_t kInCall = 5248;
constexpr std::size_t kOfCall = 352;  // what stays of a call: its id, name, status, last events

constexpr std::string_view kJsonCall = R"(name = "json"
reasoning = "<think>${reasoning}</think>\n"
call = "<call>${object}</call>"
)";
constexpr std::string_view kTaggedCall = R"(name = "tagged"
reasoning = "<think>${reasoning}</think>\n"
call = "<call>${name}\n${parameters}</call>"
parameter = "<parameter=${key}>\n${value}\n</parameter>\n"
)";

std::shared_ptr<const Vocabulary> bytes_vocabulary() {
  VocabularySource source;
  source.is_bytes = true;
  for (TokenId id = 0; id < 256; ++id)
    source.tokens.emplace_back(id, std::string(1, static_cast<char>(id)));
  return std::make_shared<const Vocabulary>(std::move(source));
}

struct Call {
  std::string_view format, begin, end;
};

/// A stream in an engine's batch, whose message no one keeps, and the bytes that it holds.
class Measured {
 public:
  explicit Measured(const Call& call) {
    recipe_.options.stream.vocabulary = bytes_vocabulary();
    recipe_.options.stream.keeps_message = false;
    recipe_.format = read_format(call.format, {recipe_.options.stream.vocabulary});
    slot_ = batch_.add(recipe_, {});
    put_each(call.begin);  // the batch finds the memory of its own
    put_each(call.end);
    before_ = test::held_bytes;
    slot_ = batch_.add(recipe_, {});
  }

  std::size_t bytes() const { return test::held_bytes - before_; }

  void put_each(std::string_view text) {
    for (const char& byte : text) step(slot_, {&byte, 1});
  }

  void put_at_once(std::string_view text) {
    step(slot_, text);
    put_each("..");  // the text was the result's until the next step
  }

 private:
  void step(Slot slot, std::string_view text) {
    const std::vector<TokenId> ids(text.begin(), text.end());
    const std::vector<std::int64_t> offsets = {0, static_cast<std::int64_t>(ids.size())};
    batch_.step({&slot, 1}, ids, offsets);
  }

  StreamRecipe recipe_;
  StreamBatch batch_;
  std::size_t before_ = 0;
  Slot slot_ = 0;
};

void test_of(const Call& call) {
  const std::string arguments(1 << 16, 'x');
  Measured stream(call);
  CHECK_AT_MOST(stream.bytes(), kIdle);
  stream.put_each("<think>Let me see");
  CHECK_AT_MOST(stream.bytes(), kIdle);
  stream.put_each("</think>\nHello there");
  CHECK_AT_MOST(stream.bytes(), kIdle);
  stream.put_at_once(std::string(1 << 20, 'x'));
  CHECK_AT_MOST(stream.bytes(), kIdle);
  stream.put_each(call.begin);
  CHECK_AT_MOST(stream.bytes(), kInCall);
  stream.put_each(arguments);
  CHECK_AT_MOST(stream.bytes(), kInCall);
  stream.put_each(call.end);
  CHECK_AT_MOST(stream.bytes(), kIdle + kOfCall);
  stream.put_each("Done");
  CHECK_AT_MOST(stream.bytes(), kIdle + kOfCall);
}

}  // namespace

int main() {
  test_of({kJsonCall, "<call>{\"name\": \"f\", \"arguments\": {\"a\": \"xyz ", "\"}}</call>"});
  test_of({kTaggedCall, "<call>f\n<parameter=a>\nxyz", "\n</parameter>\n</call>"});
  return TEST_RESULT();
}

#include <fstream>
#include <iostream>
#include <iterator>
#include <openvino/genai/llm_pipeline.hpp>
#include <thread>

#include "openvino_streamer.h"

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// openvino_host MODEL_DIR FORMAT.json MODEL.vocabulary PROMPT
int main(int argc, char** argv) try {
  if (argc != 5) return 2;
  ov::genai::LLMPipeline pipe(argv[1], "CPU");
  const auto vocabulary = unspool::read_vocabulary(read_file(argv[3]));
  const auto format = unspool::read_format(read_file(argv[2]), {vocabulary});

  unspool::TokenStreamerOptions options;
  options.stream.vocabulary = vocabulary;
  options.channel = std::make_shared<unspool::DeltaChannel>(64);
  const auto streamer = std::make_shared<OpenVinoStreamer>(format, options);
  auto config = pipe.get_generation_config();
  config.max_new_tokens = 500;
  std::jthread model([&] {
    try {
      pipe.generate(std::string(argv[4]), config, streamer);
    } catch (...) {
      options.channel->fail(std::current_exception());
    }
  });

  unspool::Delta delta;
  std::string json;
  while (options.channel->get(delta) == unspool::DeltaChannel::Got::item) {
    json.clear();
    unspool::append_chat_delta(delta, unspool::ReasoningField::reasoning_content, json);
    std::cout << json << std::endl;
  }
  if (const auto error = options.channel->error()) std::rethrow_exception(error);
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}

// As much of OpenVINO GenAI's pipeline as the example needs to compile, and to run, without it: the
// "model" is a file of token ids, which are what it writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "openvino/genai/streamer_base.hpp"

namespace ov::genai {

struct GenerationConfig {
  std::size_t max_new_tokens = SIZE_MAX;
};

class LLMPipeline {
 public:
  LLMPipeline(const std::filesystem::path& models_path, const std::string& /*device*/)
      : path_(models_path) {}

  GenerationConfig get_generation_config() const { return {}; }

  void generate(const std::string& /*prompt*/, std::optional<GenerationConfig> config,
                const std::shared_ptr<StreamerBase>& streamer) {
    std::ifstream ids(path_);
    std::size_t left = config ? config->max_new_tokens : SIZE_MAX;
    for (std::int64_t id = 0; left-- > 0 && ids >> id;)
      if (streamer->write(id) != StreamingStatus::RUNNING) break;
    streamer->end();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace ov::genai

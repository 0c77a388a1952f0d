// The paths of values in the arguments of a stream's calls: a tree of keys and indices.
//
//   {"days": [1, 2]}     0 the root   1 0.days   2 1[0]   3 1[1]
//
// A label stores a path as one number, and a new value adds one node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/archive.h"

namespace unspool {

class CallPaths {
 public:
  using Id = std::int32_t;
  static constexpr Id kRoot = 0;

  struct Node {
    Id parent = -1;
    std::string key = {};
    std::int64_t index = -1;  // in a list; -1: `key` is used

    void visit(Archive& archive) { archive(parent, key, index); }
  };

  Id member(Id parent, std::string_view key) { return add({parent, std::string(key)}); }
  Id element(Id parent, std::int64_t index) { return add({parent, {}, index}); }

  /// The first node is the root.
  const std::vector<Node>& nodes() const { return nodes_; }

  void visit(Archive& archive) {
    archive(nodes_);
    archive.expect(!nodes_.empty());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {  // each node comes after its parent
      archive.expect(nodes_[i].parent == -1 || std::cmp_less(nodes_[i].parent, i));
      archive.expect(nodes_[i].parent >= -1);
    }
    archive.path_end = nodes_.size();
  }

 private:
  Id add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<Id>(nodes_.size() - 1);
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace unspool

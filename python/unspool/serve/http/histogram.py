"""A histogram of values that are observed at each token."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

import prometheus_client

__all__ = ["Histogram"]


class Histogram(prometheus_client.Histogram):
    """Adds many observations at once, since a single one costs as much as parsing a token."""

    def observe_counts(self, counts: Mapping[float, int]) -> None:
        """Add observations by value and count; only for a histogram without labels."""
        buckets: Counter[int] = Counter()
        for value, count in counts.items():
            buckets[bisect_left(self._upper_bounds, value)] += count
        for place, count in buckets.items():
            self._buckets[place].inc(count)
        self._sum.inc(sum(value * count for value, count in counts.items()))

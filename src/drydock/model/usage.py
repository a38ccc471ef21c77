"""What one call used, tokens and money. They add up, so that a run and a user can be counted."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int = 0
    """All that went in, read from and written to the provider's cache included."""
    output_tokens: int = 0
    """All that came out, thinking included."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    """None where no price is known, which is not the same as free; a sum with such a part is None too."""

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            (self.cost_usd or Decimal(0)) + (other.cost_usd or Decimal(0)) if known else None,
        )

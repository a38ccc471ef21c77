"""What a call cost: by the prices of its entry, else by the published ones that genai-prices carries."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from drydock.model.catalog import Entry, Model
from drydock.model.usage import Usage

if TYPE_CHECKING:
    from pydantic_ai.usage import RequestUsage

MILLION = 1_000_000


def usage_of(model: Model, used: RequestUsage) -> Usage:
    """As counted by the provider, and priced."""
    entry = model.entry
    if entry.input_price is not None or entry.output_price is not None:
        cost: Decimal | None = _told(entry, used)
    elif entry.address:
        # Whoever serves it there, the published price of a model with that name says nothing about it.
        cost = None
    else:
        cost = _published(model, used)
    return Usage(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens, cost)


def _told(entry: Entry, used: RequestUsage) -> Decimal:
    """A cache price that is not told is the input's."""
    plain = entry.input_price or Decimal(0)
    read = plain if entry.cache_read_price is None else entry.cache_read_price
    written = plain if entry.cache_write_price is None else entry.cache_write_price
    uncached = max(used.input_tokens - used.cache_read_tokens - used.cache_write_tokens, 0)
    total = uncached * plain + used.cache_read_tokens * read + used.cache_write_tokens * written
    return (total + used.output_tokens * (entry.output_price or Decimal(0))) / MILLION


def _published(model: Model, used: RequestUsage) -> Decimal | None:
    from genai_prices import calc_price

    try:
        return calc_price(used, model.name.name, provider_id=model.name.provider).total_price
    except LookupError:
        return None

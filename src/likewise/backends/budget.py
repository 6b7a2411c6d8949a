"""What a judge that costs money has spent, and what it may still spend."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Budget"]

PER = 1_000_000
"""Tokens that a price is for."""


@dataclass(slots=True)
class Budget:
    """Prices, a limit, and the account. Prices and limit are in one currency, whichever.

    A request is entered with the most it can cost before it is sent, and with what it did cost when it is answered: the
    sum spent stays within the limit as far as the endpoint keeps to the length that it was asked for and counts tokens
    rightly.

    Attributes:
        input_price: Price of a million tokens read; None: not known.
        output_price: Price of a million tokens written; None: not known.
        limit: What may be spent; None: no limit.
        spent: What was spent.
        reserved: The most that requests under way can still cost.
        over: Whether a request was refused for good; all that follow are refused.
    """

    input_price: float | None = None
    output_price: float | None = None
    limit: float | None = None
    spent: float = 0.0
    reserved: float = 0.0
    over: bool = False

    def __post_init__(self) -> None:
        """Refuse a limit that could not be kept.

        Raises:
            ValueError: A negative number, or a limit without both prices.
        """
        for name in ("input_price", "output_price", "limit"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name.replace('_', ' ')} is a number from 0 on, got {value}")
        if self.limit is not None and not self.priced:
            raise ValueError("a limit on cost needs the price of tokens read and of tokens written")

    @property
    def priced(self) -> bool:
        """Whether cost can be told."""
        return self.input_price is not None and self.output_price is not None

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Cost of a request; 0 where prices are not known."""
        return ((self.input_price or 0.0) * input_tokens + (self.output_price or 0.0) * output_tokens) / PER

    def reserve(self, most: float) -> bool:
        """Enter a request with the most it can cost; False where that might pass the limit."""
        if self.over or (self.limit is not None and self.spent + self.reserved + most > self.limit):
            return False
        self.reserved += most
        return True

    def settle(self, most: float, cost: float) -> None:
        """Replace what was reserved for a request by what it cost."""
        self.reserved = max(0.0, self.reserved - most)
        self.spent += cost

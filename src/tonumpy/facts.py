"""Defines the types of a fact (yes, no or unknown) and of the certainty that a value is a tensor."""

from __future__ import annotations

from typing import Literal

# `tensor`: proved; `likely`: the expression uses methods of torch alone; `possible`: nothing is known of the receiver,
# but torch is the only array framework that the module uses.
Certainty = Literal["tensor", "likely", "possible"]

# A fact is known to hold, known not to hold, or unknown (None). Unknown is never promoted to either.
Fact = bool | None

"""The budget of one query: how many statements may still be evaluated, and how far calls and callers are followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module

# Statements, for the candidates of one function; what is asked beyond them is answered "unknown".
MAX_STATEMENTS = 2_000
# Those of programs show late what they give: with 1,000, ten findings of yolov5 and fairseq were no longer silenced.
MAX_STATEMENTS_ELSEWHERE = 4_000
# Far less than for a `.numpy()`: a value that must be followed far is hardly ever proved to be a tensor.
MAX_STATEMENTS_OF_SINKS = 400
MAX_STATEMENTS_OF_MASKS = 1_000  # of which there are few
MAX_STATEMENTS_OF_OPERATORS = 150

# Calls, from a candidate's function down.
MAX_CALL_DEPTH = 8
MAX_CALLS_BEFORE = 4  # one into the other: those up to callers are followed no deeper

# Callers, from a candidate's function up.
MAX_CALLERS = 24  # of one function in its module; more are not looked at
MAX_CALLERS_IN_REPOSITORY = 48
MAX_CALLER_DEPTH, MAX_CALLER_DEPTH_IN_REPOSITORY = 4, 2  # callers of callers
MAX_CALLER_FILES = 24  # that may call a function; what more do is not looked at


class Budget:
    """Once it is exhausted, every further answer is Unknown.

    `cuts` counts the answers that a limit (this one or the depth) has cut short; the solver keeps no answer that was
    computed meanwhile (see fixpoint.py).
    """

    def __init__(self) -> None:
        self.cuts = 0
        self.queries = 0  # that were begun
        self._spent = 0  # by all queries
        self._calls = 0  # that were followed one into the other, at most: by this query,
        self._calls_before = 0  # and by those before it, added up
        self._left = MAX_STATEMENTS
        self._modules_read: set[str] = set()

    def refuel(self, limit: int) -> None:
        """Set what may be spent to `limit` statements; called before each function that holds candidates."""
        self._left = limit

    def begin_query(self) -> None:
        """Begin another query: nested calls are counted anew."""
        self.queries += 1
        self._calls_before += self._calls
        self._calls = 0

    def is_ample(self, limit: int) -> bool:
        """Whether the query's answer would be the same had it been asked alone: nothing was cut short, and all that was
        spent so far, doubled for each nested call, is below `limit`."""
        calls = self._calls_before + self._calls
        return self.cuts == 0 and calls < MAX_CALLS_BEFORE and self._spent << calls < limit

    def spend(self) -> None:
        """Count one statement."""
        self._left -= 1
        self._spent += 1

    def enter(self, depth: int) -> None:
        """Note that calls, or callers, are followed this deep."""
        self._calls = max(self._calls, depth)

    def cuts_short(self) -> bool:
        """True if the budget is exhausted; notes the cut."""
        if self._left > 0:
            return False
        self.cuts += 1
        return True

    def cut(self) -> None:
        """Note that another limit, that of depth, has cut an answer short."""
        self.cuts += 1

    def may_read(self, module: Module) -> bool:
        """Whether `module` may be parsed: a parse costs as many statements as take the same time."""
        if module.filename not in self._modules_read:
            if self.cuts_short():
                return False
            self._modules_read.add(module.filename)
            self._left -= module.text.size
            self._spent += module.text.size
        return True

    def keep_half(self) -> int:
        """Set half of what is left aside during a call, which is often one of many; return how much that is."""
        kept = self._left // 2
        self._left -= kept
        return kept

    def give_back(self, kept: int) -> None:
        """Undo `keep_half`."""
        self._left += kept

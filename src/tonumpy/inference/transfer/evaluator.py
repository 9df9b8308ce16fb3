"""The evaluator: the transfer functions of all constructs, put together."""

from __future__ import annotations

from tonumpy.inference.transfer.call_chains import evaluate_arguments
from tonumpy.inference.transfer.calls import call_value
from tonumpy.inference.transfer.control_flow import execute
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.frame import Evaluator
from tonumpy.inference.transfer.members import item_of

EVALUATOR = Evaluator(evaluate, evaluate_arguments, call_value, item_of, execute)

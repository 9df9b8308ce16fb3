"""Functions of other libraries that call a function argument and convert its result to an array.

The callback gets an array or a number. Measured on SciPy 1.17 (all of `scipy.optimize`), emcee 3.1.6, cma 4.5.0,
numdifftools 0.11.2, lmfit 1.3.4, bayesian-optimization 1.4.0, shap 0.51.0 and NumPy 2.4.6. `scipy.integrate.quad`,
metrics of `scipy.spatial.distance` and scikit-learn, optuna and hyperopt call `float()`, which takes every tensor of
one number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import NamedTuple


class Caller(NamedTuple):
    """`position` and `names` of the parameters that are called; `errors` by the letters of detectors/consumers.py where
    they are not NumPy's own."""

    position: int
    names: tuple[str, ...]
    errors: tuple[tuple[str, str], ...] = ()


# They replace NumPy's TypeError, but not the RuntimeError about grad.
_VALUE_ERRORS = (("d", "ValueError"), ("b", "ValueError"), ("s", "ValueError"))
_INDEX_ERRORS = (("d", "IndexError"), ("b", "IndexError"))
OPTIMIZERS = "scipy.optimize"
_OPTIMIZER = Caller(0, ("fun", "func", "f", "jac", "fprime"), _VALUE_ERRORS)
_CALLERS = {
    "emcee.EnsembleSampler": Caller(2, ("log_prob_fn",), _VALUE_ERRORS),
    **dict.fromkeys(("cma.fmin", "cma.fmin2"), Caller(0, ("objective_function",), _INDEX_ERRORS)),
    **dict.fromkeys(
        (f"numdifftools.{name}" for name in "Derivative Gradient Jacobian Hessian".split()), Caller(0, ("fun",))
    ),
    "shap.KernelExplainer": Caller(0, ("model",)),
    "lmfit.minimize": Caller(0, ("fcn",)),
    "bayes_opt.BayesianOptimization": Caller(0, ("f",)),
    "scipy.integrate.odeint": Caller(0, ("func",)),
    "scipy.integrate.quad_vec": Caller(0, ("f",)),
    "scipy.integrate.solve_ivp": Caller(0, ("fun",)),
    "scipy.sparse.linalg.LinearOperator": Caller(1, ("matvec", "rmatvec", "matmat")),
    "numpy.apply_along_axis": Caller(0, ("func1d",)),
    "numpy.vectorize": Caller(0, ("pyfunc",)),
}
ROOTS = frozenset(name.partition(".")[0] for name in (*_CALLERS, OPTIMIZERS))


def words_of(roots: Set[str]) -> list[str]:
    """The words that a text must contain to call such a function of one of these libraries."""
    found = [name.rpartition(".")[2] for name in _CALLERS if name.partition(".")[0] in roots]
    return [*found, "optimize"] if "scipy" in roots else found


WORDS = tuple(words_of(ROOTS))  # of all


def caller_of(full_name: str) -> Caller | None:
    """The row of a function that calls its argument; None for any other function."""
    return _OPTIMIZER if full_name.startswith(f"{OPTIMIZERS}.") else _CALLERS.get(full_name)


def named(full_name: str) -> str:
    """The name in messages; SciPy's optimizers share one."""
    return OPTIMIZERS if full_name.startswith(f"{OPTIMIZERS}.") else full_name


def functions_given(call: ast.Call, full_name: str) -> Iterator[ast.expr]:
    """The arguments of a call that this function will call."""
    caller = caller_of(full_name)
    if caller is not None:
        yield from call.args[caller.position : caller.position + 1]
        yield from (each.value for each in call.keywords if each.arg in caller.names)

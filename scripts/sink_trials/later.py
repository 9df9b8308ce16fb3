"""What users do next with what a call gave or changed: what is drawn, printed or written may refuse what the call took.

Each step takes the function that was called and its result, and gives what is seen then: a picture, or a text.
"""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from sink_trials.libraries import Library

Step = Callable[[Any, Any], object]

_MAX_ITEMS = 20


def _things(function: Any, result: Any) -> Iterator[Any]:  # noqa: ANN401
    """The object of a method, then what is in a result."""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type):
        yield owner
    waiting = [result]
    for _ in range(_MAX_ITEMS):
        if not waiting:
            return
        each = waiting.pop(0)
        if isinstance(each, (list, tuple)):
            waiting += each[:_MAX_ITEMS]
        elif isinstance(each, dict):
            waiting += [*each.values()][:_MAX_ITEMS]
        else:
            yield each


def _drawn(function: Any, result: Any) -> object:  # noqa: ANN401
    """Artists that have no axes are given some; then each figure is drawn."""
    from matplotlib import _pylab_helpers
    from matplotlib.artist import Artist
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figures: dict[int, Any] = {}
    for artist in _things(function, result):
        if isinstance(artist, Artist):
            figure = artist if isinstance(artist, Figure) else artist.get_figure(root=True)
            figure = _axes_for(artist).get_figure(root=True) if figure is None else figure
            figures[id(figure)] = figure
    for manager in _pylab_helpers.Gcf.get_all_fig_managers():
        figures.setdefault(id(manager.canvas.figure), manager.canvas.figure)
    pictures = []
    for figure in figures.values():
        figure.set_dpi(20)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pictures.append(bytes(canvas.buffer_rgba()))
    return pictures


def _axes_for(artist: Any) -> Any:  # noqa: ANN401
    """Return what an artist that stands alone is added to, by the method that is made for its like."""
    from matplotlib import collections, figure, image, lines, patches

    in_space = hasattr(artist, "do_3d_projection")
    axes = figure.Figure(figsize=(2, 2)).add_subplot(projection="3d" if in_space else None)
    for kind, add in (
        (patches.Patch, axes.add_patch),
        (lines.Line2D, axes.add_line),
        (collections.Collection, axes.add_collection),
        (image.AxesImage, axes.add_image),
    ):
        if isinstance(artist, kind):
            add(artist)
            return axes
    axes.add_artist(artist)
    return axes


def make_plain() -> None:
    """Figures without ticks and spines from now on: to draw these takes longer than all that is tried."""
    from matplotlib import rcParams

    parts = ("bottom", "top", "left", "right", "labelbottom", "labelleft", "labeltop", "labelright")
    ticks = (f"{axis}.{part}" for axis in ("xtick", "ytick") for part in parts)
    rcParams.update({name: False for name in ticks if name in rcParams})
    rcParams.update({f"axes.spines.{side}": False for side in parts[:4]})
    rcParams.update({"figure.figsize": (2, 2), "figure.dpi": 20})


def _of_bokeh(function: Any, result: Any) -> object:  # noqa: ANN401
    """The numbers that tell the models apart are new in each."""
    model = importlib.import_module("bokeh.model").Model
    document = importlib.import_module("bokeh.document").Document
    for each in _things(function, result):
        if isinstance(each, model):
            while hasattr(each, "renderers") is False and getattr(each, "parent", None) is not None:
                each = each.parent
            document().add_root(each)
            each.document.to_json()
            each.document.clear()
    return None


def _fitted(function: Any, result: Any) -> object:  # noqa: ANN401
    """Return what an estimator is made with is looked at when it is fitted."""
    from sink_trials.values import ARRAYS

    if isinstance(function, type) and hasattr(result, "fit"):
        try:
            result.fit(ARRAYS["x"].copy(), ARRAYS["y"].copy())
        except TypeError as error:
            if "positional argument" not in str(error):
                raise
            result.fit(ARRAYS["x"].copy())
    return None


_STEPS: dict[str, Step] = {
    "bokeh": _of_bokeh,
    "matplotlib": _drawn,
    "seaborn": _drawn,
    "sklearn": _fitted,
}


def step_of(library: Library) -> Step | None:
    """The step of a library: a function above, or the expression `then` of its table, which may name the library, the
    `function`, its `result`, and the `things` in it."""

    def evaluated(function: Any, result: Any) -> object:  # noqa: ANN401
        space = {library.root: importlib.import_module(library.root), "function": function, "result": result}
        return eval(library.then, space | {"things": [*_things(function, result)]})

    return evaluated if library.then else _STEPS.get(library.root)

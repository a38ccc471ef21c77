"""Brings matplotlib's figures back as PNG without the code doing anything special.

`plt.show()` writes every open figure to the output folder; `savefig` to a place outside it leaves a copy there, and
a PNG beside it when the format was another. Nothing is imported until the code itself imports matplotlib.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def watch(output_dir: str) -> None:
    sys.meta_path.insert(0, _AfterImport(output_dir))


class _AfterImport:
    """Lets the ordinary finders find matplotlib, and adds a step after the module has run."""

    def __init__(self, output_dir: str) -> None:
        self._output_dir = output_dir
        self._steps = {"matplotlib": self._choose_backend, "matplotlib.figure": self._copy_saved}

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        step = self._steps.pop(name, None)
        if step is None:
            return None
        import importlib.machinery

        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            step(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _choose_backend(self, matplotlib: Any) -> None:
        sys.modules["drydock_figures"] = _backend(self._output_dir)
        os.environ.get("MPLBACKEND") or matplotlib.rcParams.update({"backend": "module://drydock_figures"})

    def _copy_saved(self, figures: Any) -> None:
        save, output_dir = figures.Figure.savefig, os.path.realpath(self._output_dir)

        def savefig(figure: Any, fname: Any, *args: Any, **kwargs: Any) -> Any:
            result = save(figure, fname, *args, **kwargs)
            if isinstance(fname, (str, os.PathLike)):
                _bring_back(figure, os.fspath(fname), kwargs, output_dir, save)
            return result

        figures.Figure.savefig = savefig


def _bring_back(figure: Any, name: str, kwargs: Any, output_dir: str, save: Any) -> None:
    path = os.path.realpath(name)
    if not os.path.exists(path):
        # savefig adds the format's ending to a name that has none
        endings = [path + "." + str(kwargs.get("format") or "png")]
        path = next((p for p in endings if os.path.exists(p)), path)
    whole, ending = os.path.splitext(path)
    inside = path.startswith(output_dir + os.sep)
    try:
        if not inside:
            with open(path, "rb") as source, open(_place(output_dir, whole, ending), "wb") as copy:
                copy.write(source.read())
        if ending.lower() != ".png" and kwargs.get("format") != "png":
            picture = os.path.join(os.path.dirname(path) if inside else output_dir, os.path.basename(whole) + ".png")
            if _made.get(picture) == whole or not os.path.exists(picture):
                _made[picture] = whole
                save(figure, picture, format="png")
    except OSError as wrong:
        sys.stderr.write(f"drydock: the figure {name} could not be brought back: {wrong.strerror}\n")


_made: dict[str, str] = {}
"""What was written to the output folder, and the path without its ending that the code had named."""


def _place(folder: str, whole: str, ending: str) -> str:
    """Where a figure goes: to its own name again when it is saved again, else to one that is free."""
    number, stem = 0, os.path.basename(whole)
    while True:
        path = os.path.join(folder, f"{stem}-{number}{ending}" if number else stem + ending)
        if _made.get(path) == whole or not os.path.exists(path):
            _made[path] = whole
            return path
        number += 1


def _backend(output_dir: str) -> Any:
    import types

    from matplotlib.backend_bases import Gcf  # type: ignore[import-not-found]
    from matplotlib.backends import backend_agg  # type: ignore[import-not-found]

    shown = [0]

    def show_all(*, block: Any = None) -> None:
        for manager in Gcf.get_all_fig_managers():
            manager.show()
        # As after closing the windows of a desktop: the next show() does not show these again.
        Gcf.destroy_all()

    class Manager(backend_agg.FigureManagerBase):  # type: ignore[misc]
        def show(self) -> None:
            shown[0] += 1
            self.canvas.figure.savefig(os.path.join(output_dir, f"figure-{shown[0]}.png"), format="png")

        @classmethod
        def pyplot_show(cls, *, block: Any = None) -> None:
            show_all()

    class Canvas(backend_agg.FigureCanvasAgg):  # type: ignore[misc]
        manager_class = Manager

    module = types.ModuleType("drydock_figures")
    module.FigureCanvas = Canvas  # type: ignore[attr-defined]
    module.FigureManager = Manager  # type: ignore[attr-defined]
    module.show = show_all  # type: ignore[attr-defined]  # before matplotlib 3.7 the manager is not asked
    return module

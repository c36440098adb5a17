"""How the gallery comes to its pictures: what a notebook would show of a block, and films that it has written."""

import shutil
from pathlib import Path

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

LAST = "___"  # where sphinx-gallery keeps the last expression of a block


def pictures(block, script_vars, gallery_conf):
    """The figure that is the last expression of a block, then films, which are moved to the site."""
    places, names, shown = script_vars["image_path_iterator"], script_vars["example_globals"], []
    figure, names[LAST] = names.get(LAST), None  # a block that ends in a statement would show the last one's again
    if isinstance(figure, Figure):
        titles = [axis.get_title(side) for axis in figure.axes for side in ("left", "center")]
        place = Path(next(places))
        figure.savefig(place, dpi=120)
        shown.append(figure_rst([place], gallery_conf["src_dir"], ", ".join(filter(None, titles))))
    for film in sorted(Path(script_vars["src_file"]).parent.glob("*.gif")):
        place = Path(next(places)).with_suffix(".gif")
        shutil.move(film, place)
        shown.append(figure_rst([place], gallery_conf["src_dir"], film.stem.replace("_", " ")))
    return "".join(shown)

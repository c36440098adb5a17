"""How the gallery comes to its pictures: what a block of a script has written into its folder."""

import shutil
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

SUFFIXES = {".png", ".gif"}


def pictures(block, script_vars, gallery_conf):
    """Moves the files of a block to the site, in the order in which they were written; one below the other."""
    folder, shown = Path(script_vars["src_file"]).parent, []
    made = sorted((p for p in folder.iterdir() if p.suffix in SUFFIXES), key=lambda p: p.stat().st_mtime_ns)
    for picture in made:
        place = Path(next(script_vars["image_path_iterator"])).with_suffix(picture.suffix)
        shutil.move(picture, place)
        shown.append(figure_rst([place], gallery_conf["src_dir"], picture.stem.replace("_", " ")))
    return "".join(shown)

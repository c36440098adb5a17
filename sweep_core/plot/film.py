"""Animated GIFs, written by Pillow, which matplotlib depends on."""

from pathlib import Path
from typing import Any

import numpy as np

from ..io import replacing

COLOURS = 255


def photograph(figure: Any) -> Any:
    """Return a figure as an image of Pillow, 100 dots per inch."""
    from PIL import Image

    figure.canvas.draw()
    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3])


def write_gif(path: Path | str, frames: list[Any], fps: float) -> None:
    """Write an endless GIF whose frames share one palette, so that still pixels are stored once.

    matplotlib's PillowWriter gives each frame its own palette, and the file is more than twice as large.
    """
    from PIL import Image

    samples = np.concatenate([np.asarray(frame) for frame in frames[:: -(-len(frames) // 8)]])
    palette = Image.fromarray(samples).quantize(COLOURS, kmeans=2)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    colours = np.reshape(palette.getpalette() or [], (-1, 3)).astype(np.uint8)
    colours[np.asarray(frames[0])[0, 0]] = 255  # quantization makes the white paper slightly grey
    for frame in frames:
        frame.putpalette(colours.tobytes())
    with replacing(path) as stream:
        frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:], duration=round(1000 / fps), loop=0)

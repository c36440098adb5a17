"""A small survey in a SEG-Y file, right or with something changed."""

import pytest
import segy as standard


@pytest.fixture
def write(tmp_path):
    """A function that writes a file, the small survey where nothing else is given, with changes; returns its path."""

    def written(traces=None, change=None, path="shots.sgy", **options):
        good, headers = standard.survey()
        for n, header in enumerate(headers):
            header.update(change(n) if callable(change) else change or {})
        (tmp_path / path).write_bytes(standard.encode(good if traces is None else traces, headers, **options))
        return tmp_path / path

    return written

"""A small survey in a SEG-Y file, correct or with changes."""

import pytest
import segy as standard


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a SEG-Y file with changes (default: the small survey) and returns its path."""

    def write_file(traces=None, change=None, path="shots.sgy", **options):
        good, headers = standard.survey()
        for n, header in enumerate(headers):
            header.update(change(n) if callable(change) else change or {})
        (tmp_path / path).write_bytes(standard.encode(good if traces is None else traces, headers, **options))
        return tmp_path / path

    return write_file

"""The progress bar of an ingest."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path

import pytest

from slice_os.cli.progress import ProgressBar
from slice_os.ingest.pipeline import IngestSummary


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def times_left(shown: str) -> list[str]:
    return re.findall(r"<([0-9:?]+)", shown)


def test_the_time_left_ignores_what_was_stored_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    clock = iter(range(0, 100_000, 10))
    (tmp_path / "a.txt").write_text("x" * 100_000)
    with ProgressBar([str(tmp_path)], None, "1/1", follow_links=False) as bar:
        bar.update(IngestSummary(bytes=90_000, bytes_unchanged=90_000))
        assert times_left(terminal.getvalue())[-1] == "?"
        for stored in range(91_000, 99_000, 1_000):
            bar.update(IngestSummary(bytes=stored, bytes_unchanged=90_000))
    left = [
        sum(60**n * int(part) for n, part in enumerate(reversed(text.split(":"))))
        for text in times_left(terminal.getvalue())
        if "?" not in text
    ]
    assert len(left) > 4
    assert all(later <= 1.2 * earlier for earlier, later in itertools.pairwise(left))


def test_nothing_is_shown_in_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar([str(tmp_path / "absent")], None, "1/1", follow_links=False) as bar:
        bar.update(IngestSummary(bytes=10))
    assert capsys.readouterr() == ("", "")

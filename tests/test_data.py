"""The catalog of data sets, its command and its page, and the readers of data files."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from slice_os.cli import cli
from slice_os.datasets import catalog as catalog_module
from slice_os.datasets.catalog import Dataset, ListedFile, State, catalog, check
from slice_os.datasets.decontamination import (
    HASHES_FILE,
    SHIPPED_HASHES,
    read_hashes,
    sentence_hash,
)
from slice_os.datasets.files import DataSource
from slice_os.datasets.graded_pairs import GradedPair, read_sts_b
from slice_os.errors import InputError

REPOSITORY = Path(__file__).parents[1]
SHARED = REPOSITORY.parent / "shared" / "data"
SOURCE = DataSource("a table", "https://example.org")


class TestCatalog:
    def test_it_is_complete_and_consistent(self) -> None:
        paths = [file.path for dataset in catalog() for file in dataset.files]
        assert len(paths) == len(set(paths))
        for dataset in catalog():
            assert dataset.home.startswith(("https://", "http://"))
            assert dataset.title
            assert dataset.version
            assert dataset.license
            assert set(dataset.use) <= {"training", "evaluation", "benchmarks"}
            for file in dataset.files:
                assert file.path.startswith(f"{dataset.name}/")
                assert re.fullmatch("[0-9a-f]{64}", file.sha256)

    def test_every_file_of_a_recipe_is_listed(self) -> None:
        paths = {file.path for dataset in catalog() for file in dataset.files}
        for recipe in (REPOSITORY / "recipes").glob("*.toml"):
            for names in re.findall(r"^files = \[(.*)\]", recipe.read_text("utf-8"), re.MULTILINE):
                assert {name.strip().strip('"') for name in names.split(",")} <= paths

    def test_every_folder_of_a_benchmark_is_listed(self) -> None:
        names = {dataset.name for dataset in catalog()}
        for script in (REPOSITORY / "benchmarks").glob("*.py"):
            used = set(re.findall(r'data / "([\w-]+)"', script.read_text("utf-8")))
            assert used <= names, script

    def test_the_pages_are_what_the_catalog_says(self) -> None:
        pages = runpy.run_path(str(REPOSITORY / "docs" / "make_data.py"))["pages"]
        for name, text in pages().items():
            assert (REPOSITORY / "docs" / name).read_text("utf-8") == text, "run `make docs`"

    def test_the_files_beside_the_repository_are_right(self) -> None:
        if not SHARED.is_dir():
            pytest.skip("there is no data folder beside the repository")
        assert {one.path for one in check(SHARED) if one.state is State.DIFFERENT} == set()


class TestCommand:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder with the one data set that the catalog has here."""
        names = ("plain.txt", "packed.txt.gz", "absent.txt")
        digest = hashlib.sha256(b"content").hexdigest()
        files = tuple(ListedFile(f"set/{name}", digest, 7) for name in names)
        dataset = Dataset("set", "A set", "https://example.org", "1", "CC0", ("training",), files)
        monkeypatch.setattr(catalog_module, "catalog", lambda: (dataset,))
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "plain.txt").write_bytes(b"content")
        (tmp_path / "set" / "packed.txt.gz").write_bytes(gzip.compress(b"content", 1))
        return tmp_path

    def test_it_reports_what_is_there_and_what_is_missing(self, folder: Path) -> None:
        answer = CliRunner().invoke(cli, ["eval", "data", str(folder), "--text"])
        assert answer.output.splitlines() == [
            "right      set/plain.txt",
            "right      set/packed.txt.gz",
            "missing    set/absent.txt",
            "3 files: 2 right, 1 missing, 0 different",
        ]
        assert answer.exit_code == 0
        assert CliRunner().invoke(cli, ["eval", "data", str(folder), "--strict"]).exit_code == 1

    @pytest.mark.parametrize(
        ("content", "reason"),
        [(gzip.compress(b"other"), "sha256"), (b"\x1f\x8bdamaged", "cannot be unpacked")],
        ids=["packed", "damaged"],
    )
    def test_other_content_is_an_error(self, folder: Path, content: bytes, reason: str) -> None:
        (folder / "set" / "packed.txt.gz").write_bytes(content)
        answer = CliRunner().invoke(cli, ["eval", "data", str(folder), "--text"])
        assert answer.exit_code == 1
        assert f"different  set/packed.txt.gz: {reason}" in answer.output

    def test_json_is_for_programs(self, folder: Path) -> None:
        (folder / "set" / "plain.txt").write_bytes(b"other")
        answer = CliRunner().invoke(cli, ["eval", "data", str(folder), "--json"])
        result = json.loads(answer.stdout)
        assert (result["right"], result["missing"], result["different"]) == (1, 1, 1)
        assert result["files"][0] == {
            "dataset": "set",
            "path": "set/plain.txt",
            "state": "different",
            "expected": hashlib.sha256(b"content").hexdigest(),
            "found": hashlib.sha256(b"other").hexdigest(),
        }
        assert answer.exit_code == 1

    def test_a_missing_folder_is_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no such folder; give the data folder"):
            list(check(tmp_path / "nowhere"))


class TestEvaluationSentences:
    def test_the_list_ships_with_the_package(self, tmp_path: Path) -> None:
        shipped = read_hashes(SHIPPED_HASHES)
        assert len(shipped.hashes) == 7_326
        assert read_hashes(tmp_path / HASHES_FILE) == shipped

    def test_a_list_in_the_data_folder_takes_precedence(self, tmp_path: Path) -> None:
        own = sentence_hash("A sentence.")
        (tmp_path / HASHES_FILE).write_bytes(gzip.compress(f"{own}\n".encode()))
        assert read_hashes(tmp_path / HASHES_FILE).hashes == {own}

    def test_other_names_have_to_exist(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="not found; expected sha1 hashes"):
            read_hashes(tmp_path / "other.txt.gz")

    def test_the_sets_beside_the_repository_are_covered(self) -> None:
        if not (SHARED / "sts-b-context").is_dir():
            pytest.skip("STS-B-Context is not beside the repository")
        script = REPOSITORY / "recipes" / "evaluation_hashes.py"
        command = [sys.executable, str(script), str(SHARED)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        counts = re.findall(r": ([\d,]+) texts, ([\d,]+) of them in the list", done.stdout)
        assert counts
        assert all(texts == listed for texts, listed in counts)


class TestFiles:
    def test_gzip_is_known_by_its_bytes_and_a_byte_order_mark_is_dropped(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "data.jsonl"
        path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"text": "a"}\n\n{"text": "b"}\r\n'))
        rows = list(SOURCE.json_lines(path))
        assert [(row.number, row.text("text")) for row in rows] == [(1, "a"), (3, "b")]
        path.write_bytes(b"\xef\xbb\xbf[1]")
        assert SOURCE.json(path) == [1]

    def test_tables_with_and_without_header_and_quotes(self, tmp_path: Path) -> None:
        path = tmp_path / "table"
        path.write_text('b,a\r\n"x, ""y""",1\r\n\r\nz,2\r\n', newline="")
        rows = list(SOURCE.table(path, ("a", "b")))
        assert [(row.score("a"), row.text("b"), row.number) for row in rows] == [
            (1, 'x, "y"', 2),
            (2, "z", 4),
        ]
        path.write_text('"quoted"\tsecond\tthird\n')
        (row,) = SOURCE.table(path, ("one", "two"), separator="\t", quoted=False, header=False)
        assert row.values == {"one": '"quoted"', "two": "second"}

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "is empty"),
            (b"a,c\n", "no column 'b'"),
            (b"a,b\n1\n", "line 2: 1 columns of 2"),
            (b"a,b\n1,2,3\n", "line 2: 3 columns of 2"),
            (b'a,b\n"1,2\n', "line 2: not a valid table"),
            (b"a,b\n\xff,2\n", "not UTF-8 at byte 4"),
            (b"\x1f\x8bx", "cannot be unpacked"),
        ],
    )
    def test_a_malformed_table_names_place_reason_and_home(
        self, tmp_path: Path, content: bytes, reason: str
    ) -> None:
        path = tmp_path / "table.csv"
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            list(SOURCE.table(path, ("a", "b")))
        message = str(caught.value)
        assert message.startswith(f"{path}: {reason}")
        assert message.endswith("; expected a table; get it at https://example.org")
        assert "\n" not in message

    def test_a_folder_and_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is a folder; expected a table"):
            SOURCE.read(tmp_path)
        with pytest.raises(InputError, match="not found; expected a table"):
            SOURCE.read(tmp_path / "none")

    def test_sts_b_is_read_with_or_without_titles(self, tmp_path: Path) -> None:
        path = tmp_path / "stsb.csv"
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([["s1", "s2", "gold"], ["One, two.", "Three.", 2.5]])
        assert read_sts_b(path) == (GradedPair("One, two.", "Three.", 2.5),)
        path.write_text("a,b,6\n")
        with pytest.raises(InputError, match="line 1: 'score' is '6'; a number from 0 to 5"):
            read_sts_b(path)
        path.write_text("a,b,1\nc,d,x\n")
        with pytest.raises(InputError, match="line 2: 'score' is 'x'"):
            read_sts_b(path)
        path.write_text("a,b,1\nc,d\n")
        with pytest.raises(InputError, match="line 2: 2 columns of 3"):
            read_sts_b(path)
        path.write_text("s1,s2,gold\n")
        with pytest.raises(InputError, match="has no rows"):
            read_sts_b(path)
        with pytest.raises(
            InputError, match=r"not found; expected comma-separated rows.*get it at"
        ):
            read_sts_b(tmp_path / "none.csv")

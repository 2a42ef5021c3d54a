"""Write docs/data.md and docs/datasets.md from the catalog of data sets.

`make docs` runs it in the root of the repository; a test keeps the pages equal to the catalog.
"""

from __future__ import annotations

from pathlib import Path

from slice_os.datasets.catalog import Dataset, catalog

GUIDE = """\
# Data sets

No data set is part of the product. This page lists every set that a recipe, a harness or a
benchmark names; [Files of data sets](datasets.md) has their versions, paths and checksums. Put
the files into one data folder, under those paths, and check it:

```sh
slice-os eval data DATA            # what is there, what is missing, whether checksums hold
slice-os eval data DATA --json     # the same for programs; --strict makes missing files an error
```

Read the license of a set before you use it. Sets marked "evaluation only" or "research only" must
not go into a model that is shipped. Texts whose home page names no license stay with their
authors.

Three sets are used in part: their figures in these docs belong to that part. With the complete
set, commands work as well and figures differ.

| data set | for | license |
|---|---|---|
"""

MORE = """\
## Evaluation sentences

Recipes name a file of hashes, and no record that contains one of these sentences is trained on.
The list ships with the package (`slice_os/datasets/evaluation-sentence-hashes.txt.gz`); a file of
that name in the data folder takes precedence. It covers 7,326 texts of three sets:

- STS-B test: both sentences of every pair (`stsb/stsb-en-test.csv`);
- STS-B-Context: phrase, paraphrase and passage of every row
  (`sts-b-context/sts-test-sentences-clean.tsv`);
- PiC PS test: both sentences of every pair (`pic/ps_test.json`).

A text is put into lower case, white space is collapsed, everything but letters a to z, digits and
spaces is dropped; then it is hashed with SHA-1. Both a whole record and each of its sentences are
looked up. CUAD, ContractNLI, QMSum, BiRD and the patent phrases are not in the list: their splits
keep training and evaluation apart.

```sh
python recipes/evaluation_hashes.py DATA           # compares the list with the sets in DATA
python recipes/evaluation_hashes.py DATA --write   # regenerates it; needs the three sets in full
```

## Models and vectors

Weights are not data, and no command checks them. Recipes start from
`sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0) and learn from `BAAI/bge-small-en-v1.5` (MIT)
as well, both on Hugging Face; [Train an encoder](training.md#runs) and [Recipes](recipes.md) say
how to get them without a hub.
The quoted GloVe figures use `glove.840B.300d.txt` from <https://nlp.stanford.edu/projects/glove/>.
"""

FILES = """\
# Files of data sets

Where to get each set that [Data sets](data.md) lists, which version, and the file names that
commands expect. `make docs` writes this page from `slice_os/datasets/catalog.json`.

A checksum is the SHA-256 of a file's content, unpacked if its name ends in `.gz`; how it was
packed does not matter. (Results of [evaluations](evaluation.md) name checksums of files as they
were on disk, packed.) "Derived" says how a file is made from the published ones; other files are
as published, some of them gzipped.
"""


def pages() -> dict[str, str]:
    """Return the text of both pages by file name."""
    rows = [
        f"| [{one.title}](datasets.md#{one.name}) | {', '.join(one.use)} | {one.license} |"
        for one in catalog()
    ]
    return {
        "data.md": "\n".join([GUIDE + "\n".join(rows), "", MORE]),
        "datasets.md": "\n".join([FILES, *map(_section, catalog())]).rstrip() + "\n",
    }


def _section(dataset: Dataset) -> str:
    lines = [
        f"## {dataset.name}",
        "",
        f"{dataset.title}: <{dataset.home}>",
        "",
        f"- version: {dataset.version}",
        f"- license: {dataset.license}",
        f"- used for: {', '.join(dataset.use)}",
    ]
    if dataset.note:
        lines.append(f"- {dataset.note}")
    lines += ["", "| file | content | SHA-256 of the content |", "|---|---|---|"]
    for file in dataset.files:
        size = f"{file.bytes:,} bytes"
        derived = f"{size}; derived: {file.derived}" if file.derived else size
        lines.append(f"| `{file.path}` | {derived} | `{file.sha256}` |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    for name, text in pages().items():
        Path("docs", name).write_text(text, encoding="utf-8")

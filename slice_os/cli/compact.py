"""`slice-os compact`."""

from __future__ import annotations

import click

from slice_os.cli.options import store_option


@click.command()
@store_option
def compact(store: str) -> None:
    """Remove from a store's files what deleted and replaced documents left there.

    Their texts are overwritten as soon as they are deleted. Their vectors, and their terms in the
    index for BM25, stay until the store is compacted, which an ingest does by itself when a
    quarter of the vectors are dead. Searches go on meanwhile. It needs room on the disk for a
    second copy of what stays.

    Only for a store in a folder: OpenSearch removes deleted documents itself, as it merges
    segments.
    """
    from slice_os.stores.local import LocalStore
    from slice_os.stores.local.files import folder_size
    from slice_os.stores.registry import find_backend

    folder = find_backend(store).folder(store)
    if folder is None:
        raise click.UsageError(
            "compact is for a store in a folder; OpenSearch removes deleted documents when it "
            "merges segments (POST /INDEX/_forcemerge?only_expunge_deletes=true)"
        )
    opened = LocalStore.open(folder)
    try:
        before = opened.info().size_bytes
        opened.compact()
    finally:
        opened.close()
    after = folder_size(folder)
    click.echo(f"{store}: {before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB after", err=True)

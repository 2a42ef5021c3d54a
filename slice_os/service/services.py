"""What the requests of a service share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from slice_os.service.encoding import Encoders
from slice_os.service.keys import ApiKeys, read_keys
from slice_os.service.settings import ServiceSettings
from slice_os.service.stores import ServedStores
from slice_os.service.work import WorkPool
from slice_os.topics.folder import TopicsFolder
from slice_os.topics.journal import LabelJournal


@dataclass(frozen=True, slots=True)
class Services:
    """What the requests of a service share.

    Attributes:
        settings: that it was started with.
        encoders: of its stores.
        stores: by name.
        pool: threads for blocking work.
        topics: the folder of topics.
        labels: the file of labels.
        keys: those that are accepted; None to demand none.
    """

    settings: ServiceSettings
    encoders: Encoders
    stores: ServedStores
    pool: WorkPool
    topics: TopicsFolder
    labels: LabelJournal
    keys: ApiKeys | None

    @classmethod
    def of(cls, settings: ServiceSettings) -> Services:
        """Those of a service with these settings; no store is opened yet.

        Raises:
            InputError: if the keys cannot be read.
        """
        encoders = Encoders()
        stores = ServedStores(settings.stores, encoders)
        topics, labels = TopicsFolder(settings.topics), LabelJournal(settings.labels)
        keys = None if settings.keys is None else read_keys(settings.keys)
        return cls(settings, encoders, stores, WorkPool(settings.limits), topics, labels, keys)

    def close(self) -> None:
        """Close the stores and end the threads."""
        self.pool.close()
        self.stores.close()


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Shared = Annotated[Services, Depends(_services)]
"""A parameter of this type gets the services of the app."""

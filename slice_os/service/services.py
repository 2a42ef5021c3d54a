"""What the requests of a service share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from slice_os.service.encoding import Encoders
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
    """

    settings: ServiceSettings
    encoders: Encoders
    stores: ServedStores
    pool: WorkPool
    topics: TopicsFolder
    labels: LabelJournal

    @classmethod
    def of(cls, settings: ServiceSettings) -> Services:
        """Those of a service with these settings; nothing is opened or loaded yet."""
        encoders = Encoders()
        stores = ServedStores(settings.stores, encoders)
        topics, labels = TopicsFolder(settings.topics), LabelJournal(settings.labels)
        return cls(settings, encoders, stores, WorkPool(settings.limits), topics, labels)

    def close(self) -> None:
        """Close the stores and end the threads."""
        self.pool.close()
        self.stores.close()


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Shared = Annotated[Services, Depends(_services)]
"""A parameter of this type gets the services of the app."""

"""A client of the service: asks over HTTP, and returns what the library returns.

>>> from slice_os.client import Client
>>> with Client("http://127.0.0.1:8000") as service:
...     for hit in service.search("I want to cancel my subscription"):
...         hit.doc_id, hit.start, hit.end, hit.text, hit.cosine
"""

from slice_os.client.async_client import AsyncClient
from slice_os.client.client import Client
from slice_os.client.errors import (
    AccessError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    ServiceError,
    ServiceUnavailableError,
)
from slice_os.client.records import Highlights, Tagged, TopicTable

__all__ = [
    "AccessError",
    "AsyncClient",
    "BadRequestError",
    "Client",
    "ConflictError",
    "Highlights",
    "NotFoundError",
    "ServiceError",
    "ServiceUnavailableError",
    "Tagged",
    "TopicTable",
]

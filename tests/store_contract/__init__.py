"""Tests that every kind of store passes; those of a store of your own inherit them.

Use pytest, and define a fixture with an address where there is no store yet:

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def location(self) -> str:
            return f"mine://localhost/{uuid4().hex}"
"""

from .document_contract import DocumentContract
from .query_contract import QueryContract


class StoreConformance(DocumentContract, QueryContract):
    """The contract of `slice_os.stores.protocol.Store`, as tests.

    Attributes:
        options: for new stores; see `slice_os.stores.protocol.NewStore`.
    """

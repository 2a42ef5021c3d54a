"""Writing passages: bulk requests, leases of workers, repair."""

"""Reports: the hits of a mining run as one self-contained HTML page."""

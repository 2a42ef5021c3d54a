"""Records as flat tables: data frames in memory, CSV, XLSX and Parquet on disk."""

"""Rows: records as flat tables, in memory as data frames and on disk in the usual formats."""

"""A ranking as one self-contained HTML page: figures, tables and words, readable anywhere and printable."""

from preflearn.report.writing import report_html, write_report

__all__ = ["report_html", "write_report"]

"""The paper's tables and figures as runs, measurements and pictures."""

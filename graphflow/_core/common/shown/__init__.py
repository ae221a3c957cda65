"""What people are shown: tables in a terminal, and pages."""

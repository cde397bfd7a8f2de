"""What the site is built with: pages that follow from the code, code that runs on pages, mathematics, checks."""

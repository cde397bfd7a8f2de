"""Tables and figures of the four papers, one module for each task of a paper."""

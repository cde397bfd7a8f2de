"""What kind of preferences these are: whether they can be ranked or run in circles, and which items are comparable."""

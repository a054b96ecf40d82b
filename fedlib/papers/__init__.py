"""A room per experiment, in a folder per paper."""

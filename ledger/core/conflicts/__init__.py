"""The conflict check, and the index of winners that it searches."""

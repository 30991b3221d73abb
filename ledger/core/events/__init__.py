"""Events of the log, and the values inside them."""

"""Events: what happened, and the parts that events hold many of."""

"""Read predicates: their form on the wire, and their evaluation with the rules of Spark SQL."""

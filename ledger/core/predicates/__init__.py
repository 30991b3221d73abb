"""Read predicates: their form on the wire, and their values as Spark SQL computes them."""

"""The ledger as a catalog of Spark SQL.

Java classes in `java/` are Spark's side: they ask, and make Spark's own objects of the answers.
`questions` lists what they ask. The other modules answer.
"""

"""Benchmarks: ratios of the product to a floor measured in the same run, on the embedded broker."""

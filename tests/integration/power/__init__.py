"""Power cuts: brokers that come back with less than they had acknowledged, and what follows."""

"""Isolation proved from outside: random concurrent histories, re-executed and judged pair by pair.

`play` draws histories, `adapter` tells them in plain records, `lake` replays those; `reexecution`
and `pairwise` judge what committed and what did not. The four modules that judge (`plain`,
`values`, `lake`, the two judges and what they share) import nothing of the product.
"""

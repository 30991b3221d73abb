"""The judge: what a history shows that no order of its txns, one after the other, explains.

`values` and `cells` know rows, `dependencies` orders txns by them, `cycles` finds what no order
explains, `balances`, `stocks` and `feeds` count. `levels` says which findings a level forbids.
"""

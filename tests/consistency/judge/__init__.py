"""The judge: what a history shows that no order of its txns, one after the other, explains.

`values`, `cells` and `stocks` know rows, `dependencies` orders txns by them, `cycles` finds what no
order explains. `pasts`, `sums`, `feeds` and `changes` compare with places and amounts, `grounds`
says whether a run shows anything. `anomalies` says which findings a level forbids.
"""

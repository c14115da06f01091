"""Experiments of two arms: offline A/B, online A/B, and a candidate compared with criteria written beforehand.

`plan`, `assignment` and `outcomes` read what was planned; `arms`, `runs` and `runner` make the runs; `effects`,
`decision` and `criteria` decide; `offline`, `online` and `report` show it.
"""

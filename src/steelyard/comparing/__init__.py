"""Two runs compared: the verdict, why the headline number moved, the report, the operation and the command compare.

`compare` and `headline` give the verdict, `attribution` cuts the change into causes, `score_again` scores recorded
answers by the other run's suite for that, `explain` lists the pairs that a figure is made of. Pairs and differences
come from the kernel package `pairing`.
"""

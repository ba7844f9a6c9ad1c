"""``make bench``: Memford beside a floor, both as real servers on real stores, in one run.

The floor (:mod:`tests.bench.floor`) is the least a server can do for the same answers. One worker of each has
one core; PostgreSQL and the load generator share the other. Rounds alternate between the two, and only ratios
and medians are told: machines differ, and are never quiet.

The load generator takes 10 to 20 per cent of the other core (``generator_busy`` in the JSON), so it is not the
limit; PostgreSQL beside it can be, and then the ratio of processor time per call is the one that holds.

Sessions and streams (:mod:`tests.bench.streams`) have no floor beside them but goals: what an open stream costs, how soon
each write is told on every stream of its project, and what becomes of streams whose instance is killed.
"""

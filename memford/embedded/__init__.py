"""PostgreSQL and Valkey from wheels, and the supervisor behind ``memford up`` (S1).

Nothing here imports Django but :mod:`memford.embedded.migrations`: the stores are up before settings load.
"""

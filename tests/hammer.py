"""``python -m tests.hammer URL COUNT FORM``: a process of its own that posts one form many times at once.

Prints the statuses as JSON. It knows nothing of Django, as a client does not.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx2


def main() -> None:
    """Post, and say what came."""
    url, count, form = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])

    def post(_: int) -> int:
        with httpx2.Client(timeout=30, verify=False) as client:
            return client.post(url, data=form).status_code

    with ThreadPoolExecutor(count) as threads:
        print(json.dumps(list(threads.map(post, range(count)))))


if __name__ == "__main__":
    main()

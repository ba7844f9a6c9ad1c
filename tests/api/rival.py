"""``python -m tests.api.rival URL COOKIE NAME PATH…``: a process that edits each note as of revision 1.

Says ``ready``, waits for a line, and prints the statuses as JSON.
"""

import json
import sys

import httpx2


def main() -> None:
    """Edit, and say what came."""
    url, cookie, name, *paths = sys.argv[1:]
    headers = {"Origin": url, "Cookie": f"sessionid={cookie}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=30, verify=False) as client:
        client.get("/healthz")
        print("ready", flush=True)
        sys.stdin.readline()
        body = {"expected_revision": 1, "content": name}
        print(json.dumps([client.patch(f"/api/{path}", json=body).status_code for path in paths]))


if __name__ == "__main__":
    main()

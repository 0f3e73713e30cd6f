"""One way of reading a file into a matrix of numbers, in a process of its own."""

from __future__ import annotations

import harness
import readers


def main() -> None:
    parser = harness.worker_parser(__doc__, ["reading"])
    parser.add_argument("--peer", required=True, choices=list(readers.READERS))
    parser.add_argument("--file", required=True)
    args = parser.parse_args()
    peer = readers.READERS[args.peer]
    record = {**harness.started(), "version": peer.version()}
    for matrix, _ in harness.repeated(args, record, lambda: peer.read(args.file)):
        record["feature_bytes"] = int(matrix.nbytes)
        del matrix


if __name__ == "__main__":
    main()

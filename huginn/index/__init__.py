"""The index: the port, the payload's shape, the label, and the embedded engine. Owns Qdrant, points and receipts."""

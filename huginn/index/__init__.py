"""The index: port, payload's shape, label, shelf, and the adapters: embedded engine, Qdrant server. Owns Qdrant, points
and receipts.
"""

"""TXT-01: encodings."""

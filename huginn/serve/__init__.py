"""`huginn serve`: a page and an HTTP interface to the index. It answers by `huginn.search`, and knows no other way."""

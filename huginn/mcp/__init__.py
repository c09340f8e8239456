"""Huginn for agents, over the Model Context Protocol (`huginn mcp`): a few tools that ask `huginn.search`."""

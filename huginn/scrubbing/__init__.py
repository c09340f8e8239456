"""The rules of `huginn.scrub`, one file for each way in which a secret gives itself away. Nobody else imports them."""

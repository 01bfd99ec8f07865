-- The tools that the answers of a chat may call, as JSON; null in chats of earlier versions.
ALTER TABLE chats ADD COLUMN tools TEXT;

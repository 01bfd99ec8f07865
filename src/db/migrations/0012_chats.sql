-- Conversations of the playground.
CREATE TABLE chats (
  id TEXT PRIMARY KEY,
  model_id TEXT NOT NULL,                   -- no reference: a chat stays when its model is deleted
  name TEXT,                                -- null: its first words
  chosen TEXT NOT NULL,                     -- which version of a turn is shown
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;

-- Prompts with their answers. Versions of a turn follow the same turn.
CREATE TABLE chat_turns (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  prompt TEXT NOT NULL,
  turn TEXT NOT NULL,
  words TEXT NOT NULL,                      -- what a search finds, in lower case
  UNIQUE (chat_id, id)
);

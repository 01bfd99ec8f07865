-- Whether the answers to a key's requests are kept.
ALTER TABLE access_keys ADD COLUMN recording INTEGER NOT NULL DEFAULT 0;

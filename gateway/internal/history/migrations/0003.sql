-- shadow: calls passed all the same, whatever the breaker said. Events of before say so in their text.
ALTER TABLE event ADD COLUMN shadow INTEGER NOT NULL DEFAULT 0;
UPDATE event SET shadow = 1 WHERE kind = 'transition' AND text LIKE '%; shadow: calls pass%';

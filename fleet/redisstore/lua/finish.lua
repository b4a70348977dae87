-- KEYS: docs, trials of the document. ARGV: its key, version, the token, and which
-- count it adds to: 'good', 'bad' or ''.
-- Returns 'ok' or 'stale', and the counts of good, bad and running.
local docs, trials = KEYS[1], KEYS[2]
local t = now()
local _, rev = document(docs, ARGV[1], t)
if rev ~= ARGV[2] then
	return {'stale', 0, 0, 0}
end
local good, bad, running = settle(trials, t)
if redis.call('HDEL', trials, ARGV[3]) == 0 then
	return {'stale', good, bad, running}
end
if ARGV[4] ~= '' then
	redis.call('HINCRBY', trials, ARGV[4], 1)
end
return {'ok', settle(trials, t)}

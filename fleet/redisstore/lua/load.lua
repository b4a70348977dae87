-- KEYS: log, docs. ARGV: a random number.
-- Returns the time, the place of the last change, and all documents by key.
local log, docs = KEYS[1], KEYS[2]
local t = now()
local last = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
-- An empty store gets a first place, so that a loss is seen there as well.
local place = last and last[1] or log_change(log, '', ARGV[1], t)
return {t, place, redis.call('HGETALL', docs)}

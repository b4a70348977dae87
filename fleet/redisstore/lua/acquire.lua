-- KEYS: docs, trials of the document. ARGV: its key, version, a token, time to live.
-- Returns 'ok', 'conflict' or 'no slot', and the counts of good, bad and running.
local docs, trials = KEYS[1], KEYS[2]
local t = now()
local _, rev, ends, slots = document(docs, ARGV[1], t)
if rev ~= ARGV[2] then
	return {'conflict', 0, 0, 0}
end
local good, bad, running = settle(trials, t)
-- A client that lost the answer may have sent it twice.
if redis.call('HEXISTS', trials, ARGV[3]) == 0 then
	if running + good >= slots then
		return {'no slot', good, bad, running}
	end
	redis.call('HSET', trials, ARGV[3], digits(t + tonumber(ARGV[4])))
	running = running + 1
	if ends > 0 then
		redis.call('PEXPIREAT', trials, digits(math.ceil(ends / 1000)))
	end
end
return {'ok', good, bad, running}

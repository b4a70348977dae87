-- KEYS: log, docs, ends, trials of the document. ARGV: its key, the version that is
-- expected or '', the next, slots, time to live, data, a random number, the channel.
-- Returns whether it is done, the time, and the document that is there.
local log, docs, ends, trials = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local key, expect, next_rev, slots, ttl, data = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local t = now()

local old, rev = document(docs, key, t)
if rev ~= expect then
	return {0, t, old or false}
end

local until_t = ttl > 0 and t + ttl or 0
local value = table.concat({next_rev, digits(t), digits(until_t), slots, data}, ' ')
redis.call('HSET', docs, key, value)
if until_t > 0 then
	redis.call('ZADD', ends, digits(until_t), key)
else
	redis.call('ZREM', ends, key)
end
redis.call('DEL', trials)
log_change(log, key, ARGV[7], t)
-- A user who may not publish still has a store: its nodes look every two seconds.
redis.pcall('PUBLISH', ARGV[8], key)

-- Those that vanished are swept by the puts, a few each.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', digits(t), 'LIMIT', 0, 10)) do
	redis.call('HDEL', docs, gone)
	redis.call('ZREM', ends, gone)
end
return {1, t, value}

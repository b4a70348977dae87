-- KEYS: the rows' hashes, one for each row. ARGV: time to live, then of each row its
-- node, start, sequence and data. A row is kept as "start seq said ends data"; start
-- and sequence have 16 hexadecimal digits, so that their texts compare as they do.
local ttl = tonumber(ARGV[1])
local ttl_ms = math.ceil(ttl / 1000)
local t = now()
for i, hash in ipairs(KEYS) do
	local at = 4 * i - 2
	local node, start, seq, data = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
	local ends = t + ttl
	local old = redis.call('HGET', hash, node)
	if old then
		local old_start, old_seq, old_ends, data_at = string.match(old, '^(%x+) (%x+) %d+ (%d+) ()')
		old_ends = tonumber(old_ends)
		if t < old_ends and old_start == start and old_seq >= seq then
			seq, data = old_seq, string.sub(old, data_at)
			ends = math.max(ends, old_ends)
		end
	end
	redis.call('HSET', hash, node, table.concat({start, seq, digits(t), digits(ends), data}, ' '))
	if redis.call('PTTL', hash) < ttl_ms then
		redis.call('PEXPIRE', hash, 2 * ttl_ms) -- so that it need not be said again with each row
	end
end
return t

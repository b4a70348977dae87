-- KEYS: the role. ARGV: a node, time to live in milliseconds. Returns who holds it.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
	return holder
end
if ARGV[2] == '0' then
	redis.call('DEL', KEYS[1])
	return ''
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]

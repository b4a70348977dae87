-- KEYS: the hash of rows. Returns the time, and node and row of those that live.
local t = now()
local all, live = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
	if t < tonumber(string.match(all[i + 1], '^%x+ %x+ %d+ (%d+) ')) then
		live[#live + 1] = all[i]
		live[#live + 1] = all[i + 1]
	else
		redis.call('HDEL', KEYS[1], all[i])
	end
end
return {t, live}

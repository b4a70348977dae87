-- KEYS: the hash of rows. Deletes those that have vanished. Looked at again here, as
-- they may have been said anew since somebody saw that they were dead.
local t = now()
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
	if tonumber(string.match(all[i + 1], '^%x+ %x+ %d+ (%d+) ')) <= t then
		redis.call('HDEL', KEYS[1], all[i])
	end
end
return t

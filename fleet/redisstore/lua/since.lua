-- KEYS: log, docs. ARGV: a place, how many changes at most.
-- Returns the time, the place of the last of these changes, whether there may be more,
-- and the documents that they changed by key; nothing if the place is not in the log.
local log, docs, place, limit = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local changes = redis.call('XRANGE', log, place, '+', 'COUNT', limit + 1)
if not changes[1] or changes[1][1] ~= place then
	return {}
end
local last, changed = {}, {}
for i = 2, #changes do
	last[changes[i][2][2]] = i
end
for i = 2, #changes do
	local key = changes[i][2][2]
	local value = last[key] == i and redis.call('HGET', docs, key)
	if value then
		changed[#changed + 1] = key
		changed[#changed + 1] = value
	end
end
return {now(), changes[#changes][1], #changes > limit and 1 or 0, changed}
